//! "Did you mean": the most similar of the names there are.

use crate::limits::SUGGESTIONS;

/// The name with the fewest edits to `wanted`, where those are few enough for
/// it to be a slip.
pub(crate) fn closest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (wanted.chars().count() / 3).clamp(1, 4);
    names
        .into_iter()
        .take(SUGGESTIONS)
        .filter(|name| name.len() <= 200 && wanted.len() <= 200)
        .map(|name| (distance(wanted, name), name))
        .filter(|(edits, _)| *edits <= allowed)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, name)| name)
}

/// Levenshtein's distance.
fn distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (index, from) in left.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, to) in right.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_its_name_and_another_word_does_not() {
        let names = ["lib/github.ts", "lib/issues.ts"];
        assert_eq!(closest("lib/githib.ts", names), Some("lib/github.ts"));
        assert_eq!(closest("lib/issue.ts", names), Some("lib/issues.ts"));
        assert_eq!(closest("something", names), None);
        assert_eq!(closest("", names), None);
    }
}
