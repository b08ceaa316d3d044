//! Tool patterns, as policies and toolkits write them.
//!
//! A pattern is dot-separated segments. `*` stands for exactly one segment, a
//! trailing `*` for everything below what precedes it (`github.*` matches
//! `github.issues.create`, not `github`), and a lone `*` for every tool.
//! Segments are compared as written: there are no partial wildcards, so that
//! what a rule covers can be seen without thinking about spelling.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

/// Longest pattern in bytes; tool paths are far shorter.
const MAX_BYTES: usize = 1024;

/// One segment. The order is the order of specificity, the most specific first.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Segment {
    Literal(String),
    One,
    Subtree,
}

/// A parsed pattern. Sorting a list of them puts the more specific first: a
/// pattern that matches a subset of what another matches always precedes it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Pattern {
    segments: Vec<Segment>,
}

/// Why a text is no pattern. `position` counts bytes from 0.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PatternFault {
    /// Nothing but white space was given.
    #[error("the pattern is empty: write a tool path such as `github.issues.create`, `github.*` or `*`")]
    Empty,
    /// Longer than any tool path can be.
    #[error("the pattern is {bytes} bytes long, the limit is {MAX_BYTES}")]
    TooLong {
        /// Length in bytes.
        bytes: usize,
    },
    /// Two dots in a row, or a dot at either end.
    #[error("an empty segment at position {position}: segments are separated by one dot")]
    EmptySegment {
        /// Where the missing segment would start.
        position: usize,
    },
    /// A `*` beside other characters.
    #[error(
        "`{segment}` at position {position} mixes `*` with other characters: `*` stands for one whole segment, \
         a trailing `.*` for everything below (try `{suggestion}`)"
    )]
    PartialWildcard {
        /// The segment as written.
        segment: String,
        /// Where the `*` is.
        position: usize,
        /// The nearest pattern that is valid.
        suggestion: String,
    },
    /// White space or a control character.
    #[error("the character {character:?} at position {position} can't be part of a tool path")]
    BadCharacter {
        /// The character.
        character: char,
        /// Where it is.
        position: usize,
    },
}

impl FromStr for Pattern {
    type Err = PatternFault;

    fn from_str(text: &str) -> Result<Self, PatternFault> {
        if text.trim().is_empty() {
            return Err(PatternFault::Empty);
        }
        if text.len() > MAX_BYTES {
            return Err(PatternFault::TooLong { bytes: text.len() });
        }
        let mut segments = Vec::new();
        let mut position = 0;
        for part in text.split('.') {
            let end = position + part.len();
            segments.push(parse_segment(text, part, position, end == text.len())?);
            position = end + 1;
        }
        Ok(Self { segments })
    }
}

fn parse_segment(text: &str, part: &str, position: usize, last: bool) -> Result<Segment, PatternFault> {
    if part.is_empty() {
        return Err(PatternFault::EmptySegment { position });
    }
    if part == "*" {
        return Ok(if last { Segment::Subtree } else { Segment::One });
    }
    for (offset, character) in part.char_indices() {
        if character.is_whitespace() || character.is_control() {
            let position = position + offset;
            return Err(PatternFault::BadCharacter { character, position });
        }
    }
    if let Some(offset) = part.find('*') {
        return Err(PatternFault::PartialWildcard {
            segment: part.to_owned(),
            position: position + offset,
            suggestion: format!("{}*", &text[..position]),
        });
    }
    Ok(Segment::Literal(part.to_owned()))
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, segment) in self.segments.iter().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            match segment {
                Segment::Literal(text) => f.write_str(text)?,
                Segment::One | Segment::Subtree => f.write_str("*")?,
            }
        }
        Ok(())
    }
}

impl Pattern {
    /// Whether the tool at `path` (dot-separated, without wildcards) is meant.
    pub(crate) fn matches(&self, path: &str) -> bool {
        let mut parts = path.split('.');
        for segment in &self.segments {
            let Some(part) = parts.next() else {
                return false;
            };
            match segment {
                Segment::Subtree => return true,
                Segment::One => {}
                Segment::Literal(text) => {
                    if text != part {
                        return false;
                    }
                }
            }
        }
        parts.next().is_none()
    }

    /// Whether every path that `other` matches is matched by this one too.
    pub(crate) fn covers(&self, other: &Pattern) -> bool {
        let mut theirs = other.segments.iter();
        for ours in &self.segments {
            match (ours, theirs.next()) {
                (_, None) => return false,
                (Segment::Subtree, Some(_)) => return true,
                (_, Some(Segment::Subtree)) => return false,
                (Segment::One, Some(_)) => {}
                (Segment::Literal(_), Some(their)) => {
                    if ours != their {
                        return false;
                    }
                }
            }
        }
        theirs.next().is_none()
    }

    /// Where a new rule goes in an ordered list of which the first match wins:
    /// right above the first rule that would keep it from ever matching, so
    /// below those that are more specific; at the end where there is none.
    pub(crate) fn placement<'a>(&self, rules: impl IntoIterator<Item = &'a Pattern>) -> usize {
        let mut count = 0;
        for rule in rules {
            if rule.covers(self) {
                break;
            }
            count += 1;
        }
        count
    }
}

impl Ord for Pattern {
    fn cmp(&self, other: &Self) -> Ordering {
        let rank = |segment: &Segment| match segment {
            Segment::Literal(_) => 0u8,
            Segment::One => 1,
            Segment::Subtree => 2,
        };
        let ours = self.segments.iter().map(rank);
        let theirs = other.segments.iter().map(rank);
        ours.cmp(theirs).then_with(|| self.to_string().cmp(&other.to_string()))
    }
}

impl PartialOrd for Pattern {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Pattern {
        text.parse().expect(text)
    }

    #[track_caller]
    fn check(text: &str, path: &str, expect: bool) {
        assert_eq!(pattern(text).matches(path), expect, "{text} on {path}");
    }

    #[test]
    fn matches_by_segments() {
        check("*", "github.issues.create", true);
        check("*", "github", true);
        check("github.*", "github.issues.create", true);
        check("github.*", "github.zen", true);
        check("github.*", "github", false);
        check("github.*", "github2.issues", false);
        check("github.*.create", "github.issues.create", true);
        check("github.*.create", "github.issues.labels.create", false);
        check("*.issues.*", "gitea.issues.create", true);
        check("*.issues.*", "gitea.issues", false);
        check("github.issues.create", "github.issues.create", true);
        check("github.issues.create", "github.issues.createComment", false);
        check("github.issues.create", "github.issues", false);
        check("github.issues", "github.issues.create", false);
        check("GitHub.*", "github.issues", false);
    }

    #[track_caller]
    fn refused(text: &str, expect: &str) {
        let message = text.parse::<Pattern>().expect_err(text).to_string();
        assert!(message.contains(expect), "{text}: {message}");
    }

    #[test]
    fn says_what_is_wrong_and_where() {
        refused("", "is empty");
        refused("  ", "is empty");
        refused("github..create", "empty segment at position 7");
        refused(".github", "empty segment at position 0");
        refused("github.", "empty segment at position 7");
        refused("github.foo*", "position 10");
        refused("github.foo*", "(try `github.*`)");
        refused("*foo", "(try `*`)");
        refused("a.**", "mixes `*`");
        refused("git hub.*", "' ' at position 3");
        refused("git\u{1b}hub", "position 3");
        refused(&"a".repeat(2000), "2000 bytes");
    }

    #[test]
    fn writes_itself_back() {
        for text in ["*", "a.*", "a.*.b", "*.b.*", "a.b.c", "日本.é"] {
            assert_eq!(pattern(text).to_string(), text);
        }
    }

    #[test]
    fn the_more_specific_sorts_first() {
        let mut patterns: Vec<_> = ["*", "a.*", "a.*.c", "a.b.*", "a.b.c", "*.b.c"].map(pattern).to_vec();
        patterns.sort();
        let texts: Vec<_> = patterns.iter().map(ToString::to_string).collect();
        assert_eq!(texts, ["a.b.c", "a.b.*", "a.*.c", "a.*", "*.b.c", "*"]);
    }

    #[track_caller]
    fn placed(rules: &[&str], new: &str, expect: usize) {
        let rules: Vec<_> = rules.iter().map(|text| pattern(text)).collect();
        assert_eq!(pattern(new).placement(&rules), expect, "{new}");
    }

    #[test]
    fn a_new_rule_stands_above_what_would_shadow_it() {
        placed(&[], "a.*", 0);
        placed(&["a.b.c", "a.*", "*"], "a.b.*", 1);
        placed(&["a.b.c", "a.*", "*"], "a.b.d", 1);
        placed(&["a.b.c", "a.*", "*"], "b.*", 2);
        placed(&["a.b.c", "a.*", "*"], "*", 2);
        placed(&["a.b.c"], "*", 1);
        placed(&["*", "a.b"], "a.*", 0);
    }

    /// Numbers from a fixed seed: xorshift64.
    fn numbers(mut state: u64) -> impl FnMut(u64) -> u64 {
        move |below| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        }
    }

    fn random_text(next: &mut impl FnMut(u64) -> u64, words: &[&str]) -> String {
        let count = 1 + next(4);
        let parts: Vec<_> = (0..count).map(|_| words[next(words.len() as u64) as usize]).collect();
        parts.join(".")
    }

    /// The definition again, in the slowest and plainest way.
    fn matches_plainly(pattern: &[&str], path: &[&str]) -> bool {
        match (pattern, path) {
            (["*"], [_, ..]) => true,
            ([], []) => true,
            ([first, pattern @ ..], [part, path @ ..]) => {
                (*first == "*" || first == part) && matches_plainly(pattern, path)
            }
            _ => false,
        }
    }

    #[test]
    fn random_patterns_keep_the_laws() {
        let mut next = numbers(0x5eed);
        let mut paths = Vec::new();
        for _ in 0..300 {
            paths.push(random_text(&mut next, &["a", "b", "c"]));
        }
        for _ in 0..2000 {
            let one = pattern(&random_text(&mut next, &["a", "b", "*", "*"]));
            let two = pattern(&random_text(&mut next, &["a", "b", "*", "*"]));
            let texts = (one.to_string(), two.to_string());
            assert_eq!(pattern(&texts.0), one);
            for path in &paths {
                let plain = matches_plainly(
                    &texts.0.split('.').collect::<Vec<_>>(),
                    &path.split('.').collect::<Vec<_>>(),
                );
                assert_eq!(one.matches(path), plain, "{one} on {path}");
                if one.covers(&two) && two.matches(path) {
                    assert!(one.matches(path), "{one} covers {two} but not {path}");
                }
            }
            if one.covers(&two) && one != two {
                assert!(two < one, "{two} is within {one}");
            }
            assert_eq!(one.cmp(&two), two.cmp(&one).reverse());
        }
    }
}
