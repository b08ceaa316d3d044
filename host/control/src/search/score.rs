//! Ranking: how well each tool meets a question.

use super::concepts::{Concept, Question};
use super::index::{FREQUENCY, IN_NAME, IN_SUMMARY, Index};

/// Saturation of BM25: how soon more occurrences stop to count.
const K1: f32 = 1.5;
/// A term of less weight than this does not count as part of a name.
const SAME_WORD: f32 = 0.5;
/// Factor of a tool that is deprecated.
const DEPRECATED: f32 = 0.6;
/// Above any score that words give; a whole path, then its beginning, then
/// its end.
const EXACT_PATH: f32 = 3000.0;
const PATH_PREFIX: f32 = 2000.0;
const PATH_SUFFIX: f32 = 1000.0;

/// What has been gathered about one tool.
#[derive(Clone, Copy, Default)]
struct Gathered {
    score: f32,
    covered: f32,
    name: u8,
    summary: u8,
}

/// The best match of the concept at hand for one tool.
#[derive(Clone, Copy, Default)]
struct Best {
    value: f32,
    weight: f32,
    marks: u16,
}

/// Every tool that matches, with its score, in no order.
pub(super) fn rank(index: &Index, question: &Question, text: &str, source: Option<u32>) -> Vec<(u32, f32)> {
    let mut gathered = vec![Gathered::default(); index.len()];
    let mut best = vec![Best::default(); index.len()];
    let mut all = 0.0;
    for concept in &question.concepts {
        all += gather(index, concept, &mut gathered, &mut best);
    }
    for (tool, bonus) in by_path(index, text) {
        gathered[tool].score += bonus;
        gathered[tool].covered = all;
    }
    let mut scored = Vec::new();
    for (tool, found) in gathered.iter().enumerate() {
        let facts = &index.facts[tool];
        if found.score <= 0.0 || source.is_some_and(|source| source != facts.source) {
            continue;
        }
        let covered = if all > 0.0 { found.covered / all } else { 1.0 };
        let mut score = found.score * (0.25 + 0.75 * covered * covered);
        score *=
            1.0 + 0.9 * share(found.name, facts.name_terms) + 0.7 * share(found.summary, facts.summary_terms);
        score *= question.verb.fit(facts.verb, facts.read_only);
        if facts.deprecated && found.score < EXACT_PATH {
            score *= DEPRECATED;
        }
        scored.push((tool as u32, score));
    }
    scored
}

/// How much of a name the question accounts for.
fn share(matched: u8, terms: u8) -> f32 {
    if terms == 0 {
        return 0.0;
    }
    f32::from(matched.min(terms)) / f32::from(terms)
}

/// Adds what one concept gives to each tool; answers what it counts.
fn gather(index: &Index, concept: &Concept, gathered: &mut [Gathered], best: &mut [Best]) -> f32 {
    let importance = concept.weight * rarity(index, concept);
    let mut touched = Vec::new();
    for (term, weight) in &concept.terms {
        for (tool, posting) in index.postings(*term) {
            let frequency = f32::from(posting & FREQUENCY) / 512.0;
            let value = weight * frequency / (frequency + K1);
            let best = &mut best[tool as usize];
            if best.weight == 0.0 {
                touched.push(tool);
            }
            if *weight >= SAME_WORD {
                best.marks |= posting & (IN_NAME | IN_SUMMARY);
            }
            best.weight = best.weight.max(*weight);
            best.value = best.value.max(value);
        }
    }
    for tool in touched {
        let best = std::mem::take(&mut best[tool as usize]);
        let gathered = &mut gathered[tool as usize];
        gathered.score += importance * best.value;
        gathered.covered += importance * best.weight.sqrt();
        gathered.name += u8::from(best.marks & IN_NAME != 0);
        gathered.summary += u8::from(best.marks & IN_SUMMARY != 0);
    }
    importance
}

/// The inverse document frequency of a concept: its terms count together, so
/// that a rare synonym of a common word is not mistaken for a rare word.
fn rarity(index: &Index, concept: &Concept) -> f32 {
    let tools = index.len() as f32;
    let holding: f32 =
        concept.terms.iter().map(|(term, weight)| weight * index.frequency(*term) as f32).sum();
    let holding = holding.min(tools);
    (1.0 + (tools - holding + 0.5) / (holding + 0.5)).ln()
}

/// The tools that a text without spaces names by their paths.
fn by_path(index: &Index, text: &str) -> Vec<(usize, f32)> {
    if text.contains(char::is_whitespace) {
        return Vec::new();
    }
    let text = text.trim_start_matches("tools.").trim_end_matches(['.', '*']);
    if text.is_empty() {
        return Vec::new();
    }
    let exact = index.paths.find(text).is_some();
    let dotted = text.contains('.');
    let mut named = Vec::new();
    for (tool, path) in index.paths.iter().enumerate() {
        if let Some(bonus) = path_bonus(path, text, dotted, exact) {
            named.push((tool, bonus));
        }
    }
    named
}

/// Case is looked over, unless that very path exists.
fn path_bonus(path: &str, text: &str, dotted: bool, exact: bool) -> Option<f32> {
    if path.len() < text.len() {
        return None;
    }
    if path == text || (!exact && path.eq_ignore_ascii_case(text)) {
        return Some(EXACT_PATH);
    }
    let same = |part: Option<&str>| part.is_some_and(|part| part.eq_ignore_ascii_case(text));
    let bytes = path.as_bytes();
    if bytes.get(text.len()) == Some(&b'.') && same(path.get(..text.len())) {
        return Some(PATH_PREFIX);
    }
    let start = path.len() - text.len();
    if dotted && start > 0 && bytes[start - 1] == b'.' && same(path.get(start..)) {
        return Some(PATH_SUFFIX);
    }
    None
}
