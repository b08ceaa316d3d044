//! Finding tools by what somebody wants done.
//!
//! BM25F (Robertson and Zaragoza, 2009) over path, leaf name, summary,
//! description, parameter names and source, with synonyms, light stemming and
//! a prior for verbs. A query is a bag of words of which any may miss: a tool
//! that matches more of it, and whose name holds little else, ranks higher.
//!
//! An index is immutable and rebuilt when its catalogue changes. 14,000 tools
//! take about 4 MB.

mod arena;
mod build;
mod concepts;
mod index;
mod score;
mod synonyms;
#[cfg(test)]
mod tests;
mod tokens;
mod verbs;

pub(crate) use index::Index;

/// A tool as the index sees it. Texts are bounded inside: as long as they may
/// be, a fixed number of words of each is looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Document<'a> {
    /// Dot-separated, with the source in front: `github.issues.create`.
    pub(crate) path: &'a str,
    /// The source that holds the tool.
    pub(crate) source: &'a str,
    /// One line; empty where the API has none.
    pub(crate) summary: &'a str,
    /// The longer text, in whatever markup the API uses.
    pub(crate) description: &'a str,
    /// Names of the arguments, nested ones as far as the caller likes.
    pub(crate) parameters: &'a [&'a str],
    /// Still callable, ranked lower.
    pub(crate) deprecated: bool,
    /// Whether the tool is known to change nothing.
    pub(crate) read_only: bool,
}

/// What is looked for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Query<'a> {
    /// Words, a path or the beginning of one; empty for everything of `source`.
    pub(crate) text: &'a str,
    /// Only tools of this source.
    pub(crate) source: Option<&'a str>,
    /// How many hits at most.
    pub(crate) limit: usize,
    /// How many of the best hits to leave out.
    pub(crate) offset: usize,
}

/// A page of hits, best first, those of equal score in path order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Results {
    /// At most `limit` of them.
    pub(crate) hits: Vec<Hit>,
    /// How many tools match at all.
    pub(crate) total: usize,
}

/// One tool that matches.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Hit {
    /// Its place in the iterator that the index was built from.
    pub(crate) document: u32,
    /// Above 0; 0 in a listing. Comparable within one query only.
    pub(crate) score: f32,
}
