//! What a misspelt name may have meant.

const MAX_NAMES: usize = 3;

/// The names nearest to `given`, the nearest first; none where all are far.
pub(crate) fn closest<'n>(given: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let wanted = given.to_ascii_lowercase();
    let far = (wanted.chars().count() / 2).clamp(1, 4);
    let mut near: Vec<(usize, &str)> = names
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_ascii_lowercase();
            let contains =
                wanted.len() >= 3 && (lower.contains(&wanted) || wanted.contains(&lower)) && lower.len() >= 3;
            let distance = distance(&wanted, &lower);
            if distance <= far { Some((distance, name)) } else { contains.then_some((far + 1, name)) }
        })
        .collect();
    near.sort();
    near.into_iter().take(MAX_NAMES).map(|(_, name)| name).collect()
}

/// `; did you mean a or b?`, or nothing.
pub(crate) fn hint<'n>(given: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    match closest(given, names).as_slice() {
        [] => String::new(),
        near => format!("; did you mean {}?", near.join(" or ")),
    }
}

/// Edits from one to the other (Levenshtein 1966), of names that are short.
fn distance(one: &str, other: &str) -> usize {
    const MAX_CHARS: usize = 64;
    let one: Vec<char> = one.chars().take(MAX_CHARS).collect();
    let other: Vec<char> = other.chars().take(MAX_CHARS).collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (above, a) in one.iter().enumerate() {
        let mut corner = row[0];
        row[0] = above + 1;
        for (left, b) in other.iter().enumerate() {
            let replaced = corner + usize::from(a != b);
            corner = row[left + 1];
            row[left + 1] = replaced.min(corner + 1).min(row[left] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found() {
        let names = ["name", "nameWithOwner", "id", "createdAt", "owner"];
        assert_eq!(closest("nam", names), ["name", "nameWithOwner"]);
        assert_eq!(closest("ownr", names), ["owner"]);
        assert_eq!(closest("created_at", names), ["createdAt"]);
        assert_eq!(closest("zzzzzz", names), Vec::<&str>::new());
        assert_eq!(hint("ownr", names), "; did you mean owner?");
        assert_eq!(hint("qqqqq", names), "");
    }
}
