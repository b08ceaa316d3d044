//! The index: terms, their postings and what is known of each tool.

use super::arena::Arena;
use super::build::Builder;
use super::concepts;
use super::score;
use super::verbs::Verb;
use super::{Document, Hit, Query, Results};

/// Set in a posting's weight when the term is in the tool's group or leaf.
pub(super) const IN_NAME: u16 = 1 << 15;
/// Set in a posting's weight when the term is in the tool's summary.
pub(super) const IN_SUMMARY: u16 = 1 << 14;
/// The rest of a posting's weight: the pseudo-frequency of BM25F in 1/512.
pub(super) const FREQUENCY: u16 = IN_SUMMARY - 1;

/// What ranking needs of a tool beside its postings.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    pub(super) source: u32,
    /// Distinct terms of group and leaf, at most 255.
    pub(super) name_terms: u8,
    /// Distinct terms of the summary, at most 255.
    pub(super) summary_terms: u8,
    pub(super) verb: Verb,
    pub(super) deprecated: bool,
    pub(super) read_only: bool,
}

/// A search index over a catalogue. Tools are numbered in path order inside.
#[derive(Debug)]
pub(crate) struct Index {
    /// Sorted.
    pub(super) terms: Arena,
    /// Where a term's postings start; one more than there are terms.
    pub(super) starts: Vec<u32>,
    pub(super) tools: Vec<u32>,
    pub(super) weights: Vec<u16>,
    /// Sorted.
    pub(super) paths: Arena,
    /// From path order to the caller's order.
    pub(super) documents: Vec<u32>,
    pub(super) facts: Vec<Facts>,
    pub(super) sources: Vec<String>,
}

impl Index {
    /// Indexes every document; their order gives the numbers in [`Hit`].
    pub(crate) fn build<'a>(documents: impl IntoIterator<Item = Document<'a>>) -> Self {
        let mut builder = Builder::default();
        for document in documents {
            builder.add(&document);
        }
        builder.finish()
    }

    /// The tools that match, best first.
    pub(crate) fn search(&self, query: &Query<'_>) -> Results {
        let source = match query.source {
            None => None,
            Some(name) => match self.sources.iter().position(|known| known == name) {
                Some(at) => Some(u32::try_from(at).expect("fewer sources than tools")),
                None => {
                    return Results { hits: Vec::new(), total: 0 };
                }
            },
        };
        let text = query.text.trim();
        if text.is_empty() {
            return self.listing(source, query);
        }
        let question = concepts::parse(self, text);
        let scored = score::rank(self, &question, text, source);
        self.page(scored, query)
    }

    /// How many tools it holds.
    pub(super) fn len(&self) -> usize {
        self.facts.len()
    }

    fn listing(&self, source: Option<u32>, query: &Query<'_>) -> Results {
        let Some(source) = source else {
            return Results { hits: Vec::new(), total: 0 };
        };
        let of_source = || (0..self.len()).filter(|tool| self.facts[*tool].source == source);
        let hits = of_source()
            .skip(query.offset)
            .take(query.limit)
            .map(|tool| Hit { document: self.documents[tool], score: 0.0 })
            .collect();
        Results { hits, total: of_source().count() }
    }

    /// `scored` is (tool, score) in any order.
    fn page(&self, mut scored: Vec<(u32, f32)>, query: &Query<'_>) -> Results {
        let better = |one: &(u32, f32), two: &(u32, f32)| two.1.total_cmp(&one.1).then(one.0.cmp(&two.0));
        let total = scored.len();
        let wanted = query.offset.saturating_add(query.limit);
        if wanted == 0 || query.offset >= total {
            return Results { hits: Vec::new(), total };
        }
        if wanted < total {
            scored.select_nth_unstable_by(wanted - 1, better);
            scored.truncate(wanted);
        }
        scored.sort_unstable_by(better);
        let hits = scored
            .iter()
            .skip(query.offset)
            .map(|(tool, score)| Hit { document: self.documents[*tool as usize], score: *score })
            .collect();
        Results { hits, total }
    }

    /// The postings of a term: (tool, weight).
    pub(super) fn postings(&self, term: u32) -> impl Iterator<Item = (u32, u16)> {
        let range = self.starts[term as usize] as usize..self.starts[term as usize + 1] as usize;
        let weights = &self.weights[range.clone()];
        self.tools[range].iter().copied().zip(weights.iter().copied())
    }

    /// In how many tools the term is.
    pub(super) fn frequency(&self, term: u32) -> u32 {
        self.starts[term as usize + 1] - self.starts[term as usize]
    }
}
