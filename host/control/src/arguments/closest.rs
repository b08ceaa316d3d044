//! What may have been meant by a name that does not exist.

/// Suggestions at most.
const MAX_FOUND: usize = 3;
/// Longer words are not compared.
const MAX_CHARS: usize = 160;
/// No candidate that is further away is suggested.
const FARTHEST: f32 = 0.45;
/// Nor one that is further than the best by more than this.
const BEHIND_BEST: f32 = 0.2;

/// The candidates that `word` is likely to stand for, the likeliest first, at
/// most three. Words may be dotted paths: `github.issue.create` finds
/// `github.issues.create`, `issues.create` and `github.createIssue` do too.
pub(crate) fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = Shape::of(word);
    if wanted.letters.is_empty() || wanted.letters.len() > MAX_CHARS {
        return Vec::new();
    }
    let mut found: Vec<(f32, &'a str)> = Vec::new();
    for candidate in candidates {
        if candidate.len() > 4 * MAX_CHARS {
            continue;
        }
        if let Some(distance) = wanted.distance(&Shape::of(candidate)) {
            found.push((distance, candidate));
        }
    }
    found.sort_by(|one, two| one.0.total_cmp(&two.0).then(one.1.cmp(two.1)));
    let best = found.first().map_or(0.0, |(distance, _)| *distance);
    let mut names: Vec<&str> = found
        .into_iter()
        .take_while(|(distance, _)| *distance <= best + BEHIND_BEST)
        .map(|(_, name)| name)
        .collect();
    names.dedup();
    names.truncate(MAX_FOUND);
    names
}

/// A name made comparable.
struct Shape {
    /// Lower case, without the signs between words other than dots.
    letters: Vec<char>,
    /// Which letters are in it at all.
    set: u32,
    /// Its words, sorted, without a plural `s`.
    words: Vec<String>,
}

impl Shape {
    fn of(name: &str) -> Self {
        let mut letters = Vec::new();
        let mut words = Vec::new();
        let mut word = String::new();
        let mut before_is_lower = false;
        for character in name.chars().take(MAX_CHARS + 1) {
            let turn = !character.is_alphanumeric() || (before_is_lower && character.is_uppercase());
            if turn {
                words.push(std::mem::take(&mut word));
            }
            before_is_lower = character.is_lowercase() || character.is_numeric();
            if character.is_alphanumeric() {
                word.extend(character.to_lowercase());
                letters.extend(character.to_lowercase());
            } else if character == '.' {
                letters.push('.');
            }
        }
        words.push(word);
        for word in &mut words {
            if word.len() > 3 && word.ends_with('s') {
                word.pop();
            }
        }
        words.retain(|word| !word.is_empty());
        words.sort_unstable();
        words.dedup();
        let set = letters.iter().fold(0, |set, letter| set | 1 << (u32::from(*letter) % 32));
        Self { letters, set, words }
    }

    /// 0 for the same name in another spelling, up to [`FARTHEST`].
    fn distance(&self, other: &Self) -> Option<f32> {
        let candidates = [self.by_edits(other), self.by_segments(other), self.by_words(other)];
        candidates.into_iter().flatten().filter(|distance| *distance <= FARTHEST).min_by(f32::total_cmp)
    }

    fn by_edits(&self, other: &Self) -> Option<f32> {
        let longer = self.letters.len().max(other.letters.len());
        let most = (longer / 3).max(1);
        let apart = self.letters.len().abs_diff(other.letters.len());
        // Every letter that only one of them has takes an edit; one edit
        // takes care of two.
        let odd = (self.set ^ other.set).count_ones() as usize;
        if apart > most || odd > 2 * most {
            return None;
        }
        let edits = edits(&self.letters, &other.letters, most)?;
        Some(edits as f32 / longer as f32)
    }

    /// One path is the end or the beginning of the other.
    fn by_segments(&self, other: &Self) -> Option<f32> {
        let (short, long) = if self.letters.len() < other.letters.len() {
            (&self.letters, &other.letters)
        } else {
            (&other.letters, &self.letters)
        };
        let at = long.len().checked_sub(short.len() + 1)?;
        let missing = at as f32 / long.len() as f32;
        let ends = long[at] == '.' && long[at + 1..] == short[..];
        // A source alone is the beginning of too much.
        let begins = short.contains(&'.') && long[short.len()] == '.' && long[..short.len()] == short[..];
        (ends || begins).then_some(0.1 + 0.3 * missing)
    }

    /// The same words in another order, or most of them.
    fn by_words(&self, other: &Self) -> Option<f32> {
        if self.words.len() < 2 {
            return None;
        }
        let shared = self.words.iter().filter(|word| other.words.contains(word)).count();
        let share = 2.0 * shared as f32 / (self.words.len() + other.words.len()) as f32;
        (share >= 0.65).then_some(0.15 + (1.0 - share) * 0.8)
    }
}

/// Letters added, left out, changed or swapped with the next (restricted
/// Damerau distance), if there are not more than `most`.
fn edits(one: &[char], two: &[char], most: usize) -> Option<usize> {
    let width = two.len() + 1;
    let mut before: Vec<usize> = vec![usize::MAX / 2; width];
    let mut above: Vec<usize> = (0..width).collect();
    let mut row = vec![0; width];
    for (i, letter) in one.iter().enumerate() {
        row[0] = i + 1;
        let mut least = row[0];
        for (j, other) in two.iter().enumerate() {
            let same = usize::from(letter != other);
            let mut edits = (above[j] + same).min(above[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *letter == two[j - 1] && one[i - 1] == *other {
                edits = edits.min(before[j - 1] + 1);
            }
            row[j + 1] = edits;
            least = least.min(edits);
        }
        if least > most {
            return None;
        }
        std::mem::swap(&mut before, &mut above);
        std::mem::swap(&mut above, &mut row);
    }
    Some(above[two.len()]).filter(|edits| *edits <= most)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOOLS: &[&str] = &[
        "github.issues.create",
        "github.issues.createComment",
        "github.issues.listForRepo",
        "github.issues.get",
        "github.pulls.create",
        "github.pulls.merge",
        "slack.chat.postMessage",
        "stripe.customers.create",
    ];

    #[track_caller]
    fn check(word: &str, first: &str) {
        let found = closest(word, TOOLS.iter().copied());
        assert_eq!(found.first().copied(), Some(first), "{word}: {found:?}");
        assert!(found.len() <= 3);
    }

    #[test]
    fn finds_the_path_that_was_meant() {
        check("github.issue.create", "github.issues.create");
        check("issues.create", "github.issues.create");
        check("github.createIssue", "github.issues.create");
        check("github.issues.list_for_repo", "github.issues.listForRepo");
        check("GITHUB.ISSUES.CREATE", "github.issues.create");
        check("github.pull.merge", "github.pulls.merge");
        check("slack.postMessage", "slack.chat.postMessage");
        check("stripe.customer.create", "stripe.customers.create");
        check("github.issues.craete", "github.issues.create");
        check("github.issues.create.now", "github.issues.create");
    }

    #[test]
    fn finds_nothing_where_nothing_is_near() {
        for word in ["", "zebra", "github", "x", "...", "aws.s3.putObject", &"a".repeat(5000)] {
            let found = closest(word, TOOLS.iter().copied());
            assert!(found.is_empty(), "{word} {found:?}");
        }
        assert!(closest("titel", []).is_empty());
    }

    #[test]
    fn finds_arguments() {
        let names = ["title", "body", "per_page", "assignees", "é"];
        assert_eq!(closest("titel", names), ["title"]);
        assert_eq!(closest("perPage", names), ["per_page"]);
        assert_eq!(closest("assignee", names), ["assignees"]);
        assert_eq!(closest("zzz", names), Vec::<&str>::new());
    }

    #[test]
    fn edits_are_counted() {
        for (one, two, expect) in [("", "", 0), ("ab", "ba", 1), ("kitten", "sitting", 3), ("abc", "", 3)] {
            let letters = |text: &str| text.chars().collect::<Vec<_>>();
            assert_eq!(edits(&letters(one), &letters(two), 10), Some(expect), "{one} {two}");
            assert_eq!(edits(&letters(two), &letters(one), 10), Some(expect), "{two} {one}");
        }
        assert_eq!(edits(&['a'; 9], &['b'; 9], 3), None);
    }
}
