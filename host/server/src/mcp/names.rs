//! Names of the catalogue's tools as MCP clients take them.
//!
//! A name is made from its path alone, so that it stays the same whatever else
//! is in the catalogue: `github.issues.create` is `github__issues__create`.
//! Where that would lose something or be too long, the end is a digest of the
//! path.

/// Characters of a name: what the strictest clients take.
const NAME_LIMIT: usize = 64;
/// What stands for the dot of a path.
const DOT: &str = "__";
/// Before a digest.
const MARK: &str = "_x";
const DIGEST_DIGITS: usize = 12;

/// The name of the tool at a path.
pub(super) fn name_of(path: &str) -> String {
    match plain(path) {
        Some(name) => name,
        None => digested(path),
    }
}

/// The only path that a name can stand for, or none where it ends in a digest
/// and the catalogue has to be asked.
pub(super) fn path_of(name: &str) -> Option<String> {
    let path = name.replace(DOT, ".");
    (plain(&path).as_deref() == Some(name)).then_some(path)
}

/// The name that shows its path: every segment as it is.
fn plain(path: &str) -> Option<String> {
    let kept = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let sound = |segment: &str| {
        !segment.is_empty()
            && segment.bytes().all(kept)
            && !segment.contains(DOT)
            && !segment.starts_with('_')
            && !segment.ends_with('_')
    };
    let name = path.replace('.', DOT);
    (path.contains('.') && path.split('.').all(sound) && name.len() <= NAME_LIMIT && !ends_in_digest(&name))
        .then_some(name)
}

fn digested(path: &str) -> String {
    let room = NAME_LIMIT - MARK.len() - DIGEST_DIGITS;
    let shown = |character: char| match character {
        '.' | '_' => '_',
        '-' => '-',
        other if other.is_ascii_alphanumeric() => other,
        _ => '_',
    };
    let head: String = path.replace('.', DOT).chars().map(shown).take(room).collect();
    let digest = format!("{:016x}", digest(path));
    format!("{}{MARK}{}", head.trim_end_matches('_'), &digest[..DIGEST_DIGITS])
}

fn ends_in_digest(name: &str) -> bool {
    name.len() >= MARK.len() + DIGEST_DIGITS && {
        let end = &name.as_bytes()[name.len() - DIGEST_DIGITS - MARK.len()..];
        end.starts_with(MARK.as_bytes())
            && end[MARK.len()..].iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    }
}

/// FNV-1a, 64 bits. It keeps names apart, it protects nothing.
fn digest(path: &str) -> u64 {
    path.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_lead_back_to_their_paths() {
        for path in ["github.issues.create", "a.b-c.d_e", "x.1"] {
            let name = name_of(path);
            assert_eq!(path_of(&name).as_deref(), Some(path));
        }
        assert_eq!(name_of("github.issues.create"), "github__issues__create");
        for name in ["execute", "resume", "a__", "__a", "a__b_x0123456789ab", "a.b", "a__b___c", ""] {
            assert_eq!(path_of(name), None, "{name}");
        }
    }

    #[test]
    fn odd_paths_have_valid_names_of_their_own() {
        let long = format!("github.{}", "segment.".repeat(30));
        let paths = [
            "a.b_.c",
            "a.b._c",
            "a.b__c",
            "a.b.c",
            "a.b_c",
            "a.ünï",
            "a.uni",
            "a.b c",
            "a.b/c",
            "a.",
            ".a",
            "a.b_x0123456789ab",
            "a.b..c",
            &long,
            &format!("{long}x"),
            "a.B",
            "a.b\u{202e}",
        ];
        let names: HashSet<String> = paths.iter().map(|path| name_of(path)).collect();
        assert_eq!(names.len(), paths.len(), "{names:?}");
        for name in names {
            assert!(name.len() <= NAME_LIMIT, "{name}");
            assert!(
                name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')),
                "{name}"
            );
            assert!(name.contains('_'), "{name} can't be the name of a tool of our own");
        }
    }
}
