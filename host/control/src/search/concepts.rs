//! From the text of a query to what it asks for: concepts, each of which any
//! of several terms meets at a weight.

use super::index::Index;
use super::synonyms::{self, ABBREVIATIONS};
use super::tokens::{self, Style};
use super::verbs::Verb;

/// Words of a query that are looked at.
const MAX_WORDS: usize = 24;
/// Bytes of a query that are looked at.
const MAX_BYTES: usize = 2048;
/// Terms that one word may stand for by having it as a prefix.
const MAX_PREFIXED: usize = 24;
/// Words of one query that are compared with every term for typing errors.
const MAX_TYPING_ERRORS: usize = 4;

/// Weights of the ways in which a term meets a word.
const BY_CONCATENATION: f32 = 0.9;
const BY_ABBREVIATION: f32 = 0.8;
const BY_TYPING_ERROR: f32 = 0.8;
const BY_PREFIX: f32 = 0.6;
const BY_DERIVATION: f32 = 0.35;

/// One thing that is asked for.
#[derive(Debug)]
pub(super) struct Concept {
    /// Terms that meet it, by number, each once, with weights up to 1.
    pub(super) terms: Vec<(u32, f32)>,
    /// What it counts against the other concepts.
    pub(super) weight: f32,
}

/// A query, understood.
#[derive(Debug)]
pub(super) struct Question {
    /// Without those that no term of the index meets.
    pub(super) concepts: Vec<Concept>,
    pub(super) verb: Verb,
}

struct Word {
    text: String,
    term: String,
    stop: bool,
}

/// Reads a query that is not blank.
pub(super) fn parse(index: &Index, text: &str) -> Question {
    let words = split(index, clip(text));
    let all_stop = words.iter().all(|word| word.stop);
    let kept: Vec<&Word> = words.iter().filter(|word| all_stop || !word.stop).collect();
    let mut concepts: Vec<(Verb, Concept)> = Vec::new();
    let mut typing_errors = 0;
    for (at, word) in kept.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| kept[before]);
        let around = [before, kept.get(at + 1).copied()];
        let mut terms = meanings(index, word, around);
        if terms.is_empty() && typing_errors < MAX_TYPING_ERRORS {
            typing_errors += 1;
            terms = guesses(index, word);
        }
        if !terms.is_empty() {
            add(&mut concepts, Verb::of(&word.text), terms, &word.term);
        }
    }
    let concepts = concepts.into_iter().map(|(_, concept)| concept).collect();
    Question { concepts, verb: wanted(&words, &kept) }
}

/// Two verbs of one kind are one concept: `open a new issue` creates once.
fn add(concepts: &mut Vec<(Verb, Concept)>, verb: Verb, terms: Vec<(u32, f32)>, word: &str) {
    let same = concepts.iter_mut().find(|(known, _)| verb != Verb::Other && *known == verb);
    if let Some((_, concept)) = same {
        concept.terms.extend(terms);
        concept.terms = strongest(std::mem::take(&mut concept.terms));
        return;
    }
    let weight = if word == "my" { 0.4 } else { 1.0 };
    concepts.push((verb, Concept { terms: strongest(terms), weight }));
}

fn clip(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_BYTES)]
}

/// The words of a query. Where the index knows a word whole, its parts are
/// left out: `GitHub` is not about git.
fn split(index: &Index, text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    for chunk in text.split(|c: char| !c.is_alphanumeric()) {
        let mut parts = Vec::new();
        tokens::words(chunk, Style::Prose, &mut |word| {
            parts.push(word.to_owned());
            parts.len() < MAX_WORDS
        });
        if let Some((whole, _)) = parts.split_last()
            && whole.eq_ignore_ascii_case(chunk)
            && parts.len() > 1
        {
            let known = number(index, &term_of(whole)).is_some();
            let whole = parts.pop();
            if known {
                parts.clear();
                parts.extend(whole);
            }
        }
        for part in parts {
            push(&mut words, part);
        }
        if words.len() >= MAX_WORDS {
            break;
        }
    }
    words.truncate(MAX_WORDS);
    words
}

fn push(words: &mut Vec<Word>, text: String) {
    let long = ABBREVIATIONS.iter().find(|(short, _)| *short == text || format!("{short}s") == text);
    if let Some((_, long)) = long {
        for part in long {
            push_word(words, (*part).to_owned());
        }
    } else {
        push_word(words, text);
    }
}

/// A word that is there twice counts once.
fn push_word(words: &mut Vec<Word>, text: String) {
    let term = term_of(&text);
    if words.iter().all(|word| word.term != term) {
        let stop = synonyms::is_stop_word(&text);
        words.push(Word { text, term, stop });
    }
}

fn term_of(word: &str) -> String {
    let mut term = word.to_owned();
    tokens::normalise(&mut term);
    term
}

fn number(index: &Index, term: &str) -> Option<u32> {
    index.terms.find(term).map(|at| at as u32)
}

/// What is to be done: the first verb, unless the object says it better. A
/// word that an article follows is an imperative, whatever it is.
fn wanted(all: &[Word], words: &[&Word]) -> Verb {
    if let [first, second, ..] = all
        && Verb::of(&first.text) == Verb::Other
        && matches!(second.text.as_str(), "a" | "an" | "the" | "on" | "my" | "this")
    {
        return Verb::Act;
    }
    let verbs = || words.iter().map(|word| Verb::of(&word.text)).filter(|verb| *verb != Verb::Other);
    // `open` and `new` are adjectives wherever another verb is.
    let adjective = |word: &&&Word| matches!(word.text.as_str(), "open" | "new");
    let first = words
        .iter()
        .filter(|word| !adjective(word))
        .map(|word| Verb::of(&word.text))
        .find(|verb| *verb != Verb::Other)
        .or_else(|| verbs().next())
        .unwrap_or(Verb::Other);
    let last = words.last().map_or("", |word| &word.text);
    let many = last.len() > 3 && last.ends_with('s') && !last.ends_with("ss") && !last.ends_with("us");
    match first {
        Verb::Get if many || verbs().any(|verb| verb == Verb::List) => Verb::List,
        verb => verb,
    }
}

/// The terms that mean `word`, given its neighbours.
fn meanings(index: &Index, word: &Word, around: [Option<&Word>; 2]) -> Vec<(u32, f32)> {
    let mut terms = Vec::new();
    let itself = number(index, &word.term);
    terms.extend(itself.map(|term| (term, 1.0)));
    let means = |member: &str| term_of(member) == word.term;
    for (member, weight) in synonyms::synonyms(means) {
        terms.extend(number(index, &term_of(member)).map(|term| (term, weight)));
    }
    let [before, after] = around;
    for (one, two) in [(before, Some(word)), (Some(word), after)] {
        let (Some(one), Some(two)) = (one, two) else {
            continue;
        };
        let joined = term_of(&format!("{}{}", one.text, two.text));
        terms.extend(number(index, &joined).map(|term| (term, BY_CONCATENATION)));
        for (short, long) in ABBREVIATIONS {
            if term_of(long[0]) == one.term && term_of(long[1]) == two.term {
                terms.extend(number(index, short).map(|term| (term, BY_ABBREVIATION)));
            }
        }
    }
    derived(index, &word.term, itself.is_none(), &mut terms);
    terms
}

/// Terms that begin with `term` or that it begins with: `assign` and
/// `assignee`, and `notif` for one who stopped typing.
fn derived(index: &Index, term: &str, unknown: bool, terms: &mut Vec<(u32, f32)>) {
    let letters = term.chars().count();
    if letters < 3 || (letters < 5 && !unknown) {
        return;
    }
    let weight = if unknown { BY_PREFIX } else { BY_DERIVATION };
    let reach = if unknown { 16 } else { 4 };
    let first = index.terms.lower_bound(term);
    for at in first..index.terms.len().min(first + 8 * MAX_PREFIXED) {
        let longer = index.terms.get(at);
        if !longer.starts_with(term) || terms.len() >= MAX_PREFIXED {
            break;
        }
        if longer.len() > term.len() && longer.len() <= term.len() + reach {
            terms.push((at as u32, weight));
        }
    }
    for (end, _) in term.char_indices().rev().take(3) {
        if end >= 5 {
            terms.extend(number(index, &term[..end]).map(|term| (term, BY_DERIVATION)));
        }
    }
}

/// For a word that the index does not know: two words written as one, or a
/// term that is one typing error away.
fn guesses(index: &Index, word: &Word) -> Vec<(u32, f32)> {
    if word.text.chars().count() < 5 {
        return Vec::new();
    }
    let term = word.term.as_str();
    let letters: Vec<char> = term.chars().collect();
    for (at, _) in term.char_indices().skip(3) {
        let (left, right) = (term_of(&term[..at]), term_of(&term[at..]));
        if right.len() >= 3
            && let (Some(left), Some(right)) = (number(index, &left), number(index, &right))
        {
            return vec![(left, BY_TYPING_ERROR), (right, BY_TYPING_ERROR)];
        }
    }
    let mut near = Vec::new();
    for (at, candidate) in index.terms.iter().enumerate() {
        let length = candidate.len().abs_diff(term.len());
        if candidate.len() >= 4 && length <= 4 && one_error(&letters, candidate) {
            near.push((at as u32, BY_TYPING_ERROR));
        }
    }
    near.sort_by_key(|(term, _)| std::cmp::Reverse(index.frequency(*term)));
    near.truncate(4);
    near
}

/// Whether one letter added, left out, changed or swapped with the next makes
/// `right` of `wrong`.
fn one_error(wrong: &[char], right: &str) -> bool {
    let mut rights = right.chars();
    let mut same = 0;
    let mut odd = None;
    for letter in rights.by_ref() {
        if wrong.get(same) == Some(&letter) {
            same += 1;
        } else {
            odd = Some(letter);
            break;
        }
    }
    let rest = &wrong[same..];
    let tail = rights.as_str();
    let equal = |letters: &[char], text: &str| letters.iter().copied().eq(text.chars());
    let Some(odd) = odd else {
        return rest.len() <= 1;
    };
    let added = rest.first().is_some_and(|_| {
        let mut right = std::iter::once(odd).chain(tail.chars());
        rest[1..].iter().all(|letter| right.next() == Some(*letter)) && right.next().is_none()
    });
    let left_out = equal(rest, tail);
    let changed = !rest.is_empty() && equal(&rest[1..], tail);
    let swapped = rest.len() >= 2
        && rest[1] == odd
        && tail.starts_with(rest[0])
        && equal(&rest[2..], &tail[rest[0].len_utf8()..]);
    added || left_out || changed || swapped
}

/// Each term once, at its highest weight.
fn strongest(mut terms: Vec<(u32, f32)>) -> Vec<(u32, f32)> {
    terms.sort_by(|one, two| one.0.cmp(&two.0).then(two.1.total_cmp(&one.1)));
    terms.dedup_by_key(|(term, _)| *term);
    terms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(wrong: &str, right: &str, expect: bool) {
        let letters: Vec<char> = wrong.chars().collect();
        assert_eq!(one_error(&letters, right), expect, "{wrong} {right}");
    }

    #[test]
    fn one_error_is_one() {
        check("repositry", "repository", true);
        check("repositoryy", "repository", true);
        check("repositery", "repository", true);
        check("repositroy", "repository", true);
        check("repository", "repository", true);
        check("epository", "repository", true);
        check("xrepository", "repository", true);
        check("repsitry", "repository", false);
        check("repositoryyy", "repository", false);
        check("caféx", "café", true);
        check("acfé", "café", true);
        check("", "a", true);
        check("", "ab", false);
    }
}
