//! Path templates.

use super::parameters::Declared;
use crate::wire::binding::{Piece, Place};
use crate::wire::encode;

/// A path template cut at its placeholders.
pub(super) struct Template<'d> {
    parts: Vec<Part<'d>>,
    /// Each placeholder's name, once.
    pub(super) names: Vec<&'d str>,
    /// What the template has as a query, already encoded.
    pub(super) query: String,
}

enum Part<'d> {
    Literal(&'d str),
    Name { name: &'d str, multi: bool },
}

impl<'d> Template<'d> {
    /// # Errors
    /// In words, why no request can be made of it.
    pub(super) fn read(path: &'d str) -> Result<Self, String> {
        if path.len() > 4096 {
            return Err("its path is longer than 4096 characters".to_owned());
        }
        // AWS marks operations of one path in the fragment, which is not sent.
        let path = path.split('#').next().unwrap_or_default();
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let query: Vec<String> = query
            .split('&')
            .filter(|pair| !pair.is_empty() && !pair.contains('{'))
            .map(encode::literal)
            .collect();
        let mut template = Self { parts: Vec::new(), names: Vec::new(), query: query.join("&") };
        let mut rest = path;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((inside, after)) = after.split_once('}') else {
                break;
            };
            let name = inside.trim_start_matches('+').trim_end_matches('*');
            if name.is_empty() {
                return Err("its path has a placeholder without a name".to_owned());
            }
            template.parts.push(Part::Literal(before));
            template.parts.push(Part::Name { name, multi: name.len() != inside.len() });
            if !template.names.contains(&name) {
                template.names.push(name);
            }
            rest = after;
        }
        template.parts.push(Part::Literal(rest));
        Ok(template)
    }

    /// The path as a binding has it. Every placeholder has its parameter.
    pub(super) fn pieces(&self, declared: &[Declared<'_>]) -> Vec<Piece> {
        let mut pieces = Vec::new();
        if !matches!(self.parts.first(), Some(Part::Literal(text)) if text.starts_with('/')) {
            pieces.push(Piece::Literal("/".to_owned()));
        }
        for part in &self.parts {
            match part {
                Part::Literal("") => {}
                Part::Literal(text) => pieces.push(Piece::Literal(encode::literal(text))),
                Part::Name { name, multi } => {
                    let index = declared
                        .iter()
                        .position(|each| each.place == Place::Path && each.name == *name)
                        .expect("a placeholder without a parameter was given one");
                    let multi = *multi || declared[index].is_multi_segment();
                    pieces.push(Piece::Parameter { index, multi });
                }
            }
        }
        pieces
    }
}
