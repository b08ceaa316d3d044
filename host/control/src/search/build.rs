//! From documents to an index.

use std::collections::HashMap;

use super::Document;
use super::arena::Arena;
use super::index::{FREQUENCY, Facts, IN_NAME, IN_SUMMARY, Index};
use super::synonyms::{is_preposition, is_stop_word};
use super::tokens::{self, Style};
use super::verbs::Verb;

/// No more distinct terms than this; what comes later is found by its other
/// words and by its path. GitHub's 1,223 tools have about 4,000.
const MAX_TERMS: usize = 1 << 17;
/// No more distinct spellings are remembered than this.
const MAX_SPELLINGS: usize = 1 << 18;

/// What a field counts and how: its weight, how much its length matters
/// (BM25's b), the length that is usual, and the number of words looked at.
/// The usual length is a constant rather than the mean, so that one source
/// does not change the ranking within another.
///
/// `tail` is what words after the first preposition count of that weight:
/// `createForAuthenticatedUser` is about creating. They bear no
/// mark either, nor does the second of two words with `or` between them.
struct Field {
    weight: f32,
    tail: f32,
    b: f32,
    usual: f32,
    max_words: usize,
    mark: u16,
    style: Style,
}

const LEAF: Field =
    Field { weight: 4.0, tail: 0.5, b: 0.4, usual: 3.0, max_words: 16, mark: IN_NAME, style: Style::Name };
const GROUP: Field =
    Field { weight: 3.0, tail: 1.0, b: 0.3, usual: 1.5, max_words: 16, mark: IN_NAME, style: Style::Name };
const SUMMARY: Field = Field {
    weight: 3.0,
    tail: 0.7,
    b: 0.4,
    usual: 6.0,
    max_words: 24,
    mark: IN_SUMMARY,
    style: Style::Prose,
};
const DESCRIPTION: Field =
    Field { weight: 0.8, tail: 1.0, b: 0.5, usual: 30.0, max_words: 48, mark: 0, style: Style::Prose };
const PARAMETERS: Field =
    Field { weight: 0.6, tail: 1.0, b: 0.5, usual: 10.0, max_words: 40, mark: 0, style: Style::Name };
const SOURCE: Field =
    Field { weight: 1.0, tail: 1.0, b: 0.0, usual: 1.0, max_words: 4, mark: 0, style: Style::Prose };

/// A term of the document at hand.
struct Found {
    term: u32,
    weight: f32,
    mark: u16,
}

#[derive(Default)]
pub(super) struct Builder {
    /// From a lower-case word to its term; none for words that are not indexed.
    spellings: HashMap<String, Option<u32>>,
    terms: HashMap<String, u32>,
    sources: HashMap<String, u32>,
    source_names: Vec<String>,
    paths: Vec<String>,
    facts: Vec<Facts>,
    /// The postings of document after document, and where each one's end.
    entries: Vec<(u32, u16)>,
    ends: Vec<u32>,
    found: Vec<Found>,
}

impl Builder {
    pub(super) fn add(&mut self, document: &Document<'_>) {
        self.found.clear();
        let inner = document.path.strip_prefix(document.source).unwrap_or(document.path);
        let (group, leaf) = inner.rsplit_once('.').unwrap_or(("", inner));
        self.field(&LEAF, [leaf]);
        self.field(&GROUP, [group]);
        self.field(&SUMMARY, [document.summary]);
        self.field(&DESCRIPTION, [document.description]);
        self.field(&PARAMETERS, document.parameters.iter().copied());
        self.field(&SOURCE, [document.source]);
        let (name_terms, summary_terms) = self.settle();
        let source = self.source(document.source);
        self.paths.push(document.path.to_owned());
        self.facts.push(Facts {
            source,
            name_terms,
            summary_terms,
            verb: verb_of(leaf, document.summary),
            deprecated: document.deprecated,
            read_only: document.read_only,
        });
    }

    fn source(&mut self, name: &str) -> u32 {
        if let Some(known) = self.sources.get(name) {
            return *known;
        }
        let number = u32::try_from(self.source_names.len()).expect("fewer sources than tools");
        self.sources.insert(name.to_owned(), number);
        self.source_names.push(name.to_owned());
        number
    }

    /// Notes the terms of one field in `found`.
    fn field<'a>(&mut self, field: &Field, texts: impl IntoIterator<Item = &'a str>) {
        let first = self.found.len();
        let mut words = 0;
        let (mut weight, mut mark) = (1.0, field.mark);
        let mut alternative = false;
        for text in texts {
            tokens::words(text, field.style, &mut |word| {
                if field.tail < 1.0 && words > 0 && is_preposition(word) {
                    (weight, mark) = (field.tail, 0);
                }
                words += 1;
                if let Some(term) = self.term(word) {
                    let mark = if alternative { 0 } else { mark };
                    self.found.push(Found { term, weight, mark });
                }
                alternative = word == "or";
                words < field.max_words
            });
            if words >= field.max_words {
                break;
            }
        }
        let length = (self.found.len() - first) as f32;
        let factor = field.weight / (1.0 - field.b + field.b * length / field.usual);
        for found in &mut self.found[first..] {
            found.weight *= factor;
        }
    }

    fn term(&mut self, word: &str) -> Option<u32> {
        if let Some(known) = self.spellings.get(word) {
            return *known;
        }
        let term = self.new_term(word);
        if self.spellings.len() < MAX_SPELLINGS {
            self.spellings.insert(word.to_owned(), term);
        }
        term
    }

    fn new_term(&mut self, word: &str) -> Option<u32> {
        if is_stop_word(word) {
            return None;
        }
        let mut term = word.to_owned();
        tokens::normalise(&mut term);
        if let Some(known) = self.terms.get(&term) {
            return Some(*known);
        }
        if self.terms.len() >= MAX_TERMS {
            return None;
        }
        let number = u32::try_from(self.terms.len()).expect("bounded by MAX_TERMS");
        self.terms.insert(term, number);
        Some(number)
    }

    /// Turns `found` into postings; gives the numbers of distinct terms in
    /// name and summary.
    fn settle(&mut self) -> (u8, u8) {
        self.found.sort_unstable_by_key(|found| found.term);
        let (mut in_name, mut in_summary) = (0u8, 0u8);
        for same in self.found.chunk_by(|one, two| one.term == two.term) {
            let weight: f32 = same.iter().map(|found| found.weight).sum();
            let marks = same.iter().fold(0, |marks, found| marks | found.mark);
            in_name = in_name.saturating_add(u8::from(marks & IN_NAME != 0));
            in_summary = in_summary.saturating_add(u8::from(marks & IN_SUMMARY != 0));
            let frequency = (weight * 512.0).clamp(1.0, f32::from(FREQUENCY)) as u16;
            self.entries.push((same[0].term, frequency | marks));
        }
        let end = u32::try_from(self.entries.len()).expect("fewer than 2^32 postings");
        self.ends.push(end);
        (in_name, in_summary)
    }

    pub(super) fn finish(self) -> Index {
        let (terms, renumbered) = sorted_terms(&self.terms);
        let mut documents: Vec<u32> = (0..self.paths.len() as u32).collect();
        documents.sort_by(|one, two| self.paths[*one as usize].cmp(&self.paths[*two as usize]));
        let mut starts = vec![0u32; terms.len() + 1];
        for (term, _) in &self.entries {
            starts[renumbered[*term as usize] as usize + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        let mut next = starts.clone();
        let mut tools = vec![0u32; self.entries.len()];
        let mut weights = vec![0u16; self.entries.len()];
        let mut paths = Arena::default();
        let mut facts = Vec::with_capacity(documents.len());
        for (tool, document) in documents.iter().enumerate() {
            let document = *document as usize;
            paths.push(&self.paths[document]);
            facts.push(self.facts[document]);
            let first = document.checked_sub(1).map_or(0, |before| self.ends[before]);
            for (term, weight) in &self.entries[first as usize..self.ends[document] as usize] {
                let slot = &mut next[renumbered[*term as usize] as usize];
                tools[*slot as usize] = tool as u32;
                weights[*slot as usize] = *weight;
                *slot += 1;
            }
        }
        paths.shrink();
        Index { terms, starts, tools, weights, paths, documents, facts, sources: self.source_names }
    }
}

/// The terms in order, and from the old numbers to the new ones.
fn sorted_terms(terms: &HashMap<String, u32>) -> (Arena, Vec<u32>) {
    let mut sorted: Vec<_> = terms.iter().collect();
    sorted.sort_unstable();
    let mut renumbered = vec![0u32; sorted.len()];
    let mut arena = Arena::default();
    for (new, (text, old)) in sorted.iter().enumerate() {
        arena.push(text);
        renumbered[**old as usize] = new as u32;
    }
    arena.shrink();
    (arena, renumbered)
}

fn verb_of(leaf: &str, summary: &str) -> Verb {
    let mut name = Vec::new();
    tokens::words(leaf, Style::Name, &mut |word| {
        name.push(word.to_owned());
        name.len() < 4
    });
    let mut first = None;
    tokens::words(summary, Style::Name, &mut |word| {
        first = Some(word.to_owned());
        false
    });
    Verb::of_tool(&name, first.as_deref())
}
