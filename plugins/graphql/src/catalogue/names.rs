//! Names of tools: `query.` and `mutation.` with the field as it is.

use std::collections::HashSet;

use crate::text::hash;

/// What the host takes.
const MAX_CHARS: usize = 128;
/// Names that a program can't use, since its language gives them a meaning.
const RESERVED: [&str; 5] = ["then", "constructor", "prototype", "__proto__", "toJSON"];

/// A name for each field, in their order. Those that can't be used as they are
/// get an underscore, or are cut and marked, never with another's name.
pub(crate) fn assign(operation: &str, fields: &[&str]) -> Vec<String> {
    let own: HashSet<&str> = fields.iter().copied().collect();
    let mut taken: HashSet<String> = HashSet::new();
    let mut names = Vec::with_capacity(fields.len());
    for field in fields {
        let room = MAX_CHARS - operation.len() - 1;
        let mut leaf = (*field).to_owned();
        if leaf.len() > room {
            // Of 64 bits there are 16 digits.
            leaf.truncate(room - 17);
            leaf = format!("{leaf}_{:016x}", hash(&[field]));
        }
        while RESERVED.contains(&leaf.as_str())
            || taken.contains(&leaf)
            || (leaf != *field && own.contains(leaf.as_str()))
        {
            leaf.push('_');
        }
        taken.insert(leaf.clone());
        names.push(format!("{operation}.{leaf}"));
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reserved_and_long_names_get_their_own() {
        let long = "a".repeat(190);
        let longer = "a".repeat(191);
        let names = assign("query", &["then", "then_", "viewer", &long, &longer]);
        assert_eq!(names[..3], ["query.then__", "query.then_", "query.viewer"]);
        assert!(names[3].len() <= 128 && names[4].len() <= 128 && names[3] != names[4], "{names:?}");
    }
}
