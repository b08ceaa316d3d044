//! The names of tools: one segment of a path each, whatever a server calls
//! them.

use std::collections::BTreeMap;

use crate::text::hash_of;

/// What a host takes.
const MAX_CHARS: usize = 128;
const MARK_CHARS: usize = 9;
/// Segments that a host refuses, and those under which other things stand.
const TAKEN: [&str; 7] = ["then", "constructor", "prototype", "__proto__", "toJSON", "prompts", "resources"];

/// A name for each of some names that all differ, in their order, below a
/// prefix. It follows from the name itself and from whether others are alike,
/// so that it stays when a server lists in another order. A name that needs no
/// change is never taken by another.
pub(crate) fn segments(wire: &[&str], prefix: &str) -> Vec<String> {
    let room = MAX_CHARS - prefix.len();
    let plain: Vec<String> = wire.iter().map(|name| sanitised(name, room)).collect();
    let mut shared: BTreeMap<&str, usize> = BTreeMap::new();
    for name in &plain {
        *shared.entry(name).or_default() += 1;
    }
    wire.iter()
        .zip(&plain)
        .map(|(wire, plain)| {
            let is_own = wire == plain;
            let segment =
                if is_own || shared[plain.as_str()] == 1 { plain.clone() } else { marked(plain, wire, room) };
            format!("{prefix}{segment}")
        })
        .collect()
}

fn sanitised(wire: &str, room: usize) -> String {
    let safe = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$');
    let name: String = wire.trim().chars().map(|c| if safe(c) { c } else { '_' }).collect();
    if name.chars().count() > room {
        return marked(&name, wire, room);
    }
    if name.is_empty() || TAKEN.contains(&name.as_str()) { format!("{name}_") } else { name }
}

fn marked(name: &str, wire: &str, room: usize) -> String {
    let kept: String = name.chars().take(room - MARK_CHARS).collect();
    format!("{kept}_{:08x}", hash_of(wire) & 0xFFFF_FFFF)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_segments_and_stay() {
        let wire = [
            "get_weather",
            "admin.tools/list",
            "__proto__",
            "then",
            "",
            "prompts",
            "日本 語",
            "a\u{1b}[31m\n",
        ];
        let expected =
            ["get_weather", "admin_tools_list", "__proto___", "then_", "_", "prompts_", "日本_語", "a__31m_"];
        // The escape and the bracket are two characters that are replaced.
        assert_eq!(segments(&wire, "")[..7], expected[..7]);
        assert!(segments(&wire, "")[7].chars().all(|c| c.is_alphanumeric() || c == '_'));
    }

    #[test]
    fn names_that_become_alike_are_told_apart_by_what_they_were() {
        let names = segments(&["a.b", "a_b", "a/b"], "");
        assert_eq!(names[1], "a_b", "who needs no change keeps its name");
        assert!(names[0].starts_with("a_b_") && names[2].starts_with("a_b_") && names[0] != names[2]);
        let turned = segments(&["a/b", "a_b", "a.b"], "");
        assert_eq!((&turned[0], &turned[2]), (&names[2], &names[0]));
    }

    #[test]
    fn long_names_and_many_names_all_fit() {
        let long: Vec<String> = (0..10_000).map(|n| format!("{}{n}", "x".repeat(200))).collect();
        let wire: Vec<&str> = long.iter().map(String::as_str).collect();
        let names = segments(&wire, "prompts.");
        assert!(names.iter().all(|name| name.chars().count() <= MAX_CHARS));
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 10_000);
    }
}
