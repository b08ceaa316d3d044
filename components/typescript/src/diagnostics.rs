//! What is told about a program that does not compile.

use oxc::diagnostics::{OxcDiagnostic, Severity};
use oxc::span::Span;

use crate::bindings::Diagnostic;
use crate::limits::DIAGNOSTICS;
use crate::positions::position;

/// A file as the parser sees it.
pub(crate) struct Text<'a> {
    pub(crate) path: &'a str,
    /// The author's lines; what is prose around them is blank.
    pub(crate) source: &'a str,
}

impl Text<'_> {
    /// An error of ours at a place of this file.
    pub(crate) fn error(
        &self,
        span: Span,
        code: &str,
        message: impl Into<String>,
        help: Option<String>,
    ) -> Diagnostic {
        Diagnostic {
            path: self.path.to_owned(),
            start: position(self.source, span.start),
            end: position(self.source, span.end),
            severity: "error".to_owned(),
            code: code.to_owned(),
            message: message.into(),
            help,
        }
    }

    /// What oxc found, at most [`DIAGNOSTICS`] of it.
    pub(crate) fn translate(&self, found: impl IntoIterator<Item = OxcDiagnostic>) -> Vec<Diagnostic> {
        let translated = found.into_iter().take(DIAGNOSTICS);
        translated.map(|diagnostic| self.one(&diagnostic)).collect()
    }

    fn one(&self, found: &OxcDiagnostic) -> Diagnostic {
        let label = found.labels.iter().find(|label| label.primary()).or(found.labels.first());
        let span = label.map_or(Span::new(0, 0), |label| {
            Span::new(label.offset(), label.offset().saturating_add(label.len()))
        });
        let said = label.and_then(|label| label.label()).map(str::to_owned);
        let code = found.code.to_string();
        Diagnostic {
            severity: severity(found.severity).to_owned(),
            ..self.error(
                span,
                if code.is_empty() { "syntax" } else { &code },
                found.message.clone(),
                found.help.as_deref().map(str::to_owned).or(said),
            )
        }
    }
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        _ => "warning",
    }
}

/// An error that belongs to no place of a file.
pub(crate) fn general(
    path: &str,
    code: &str,
    message: impl Into<String>,
    help: Option<String>,
) -> Diagnostic {
    Text { path, source: "" }.error(Span::new(0, 0), code, message, help)
}
