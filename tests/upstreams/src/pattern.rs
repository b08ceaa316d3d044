//! Paths of requests, matched with wildcards.

/// True where `path` fits `pattern`: segment by segment, `*` standing for any
/// one segment and a last `**` for whatever is left, nothing included.
pub(crate) fn path_matches(pattern: &str, path: &str) -> bool {
    let mut segments = path.split('/');
    let mut wanted = pattern.split('/').peekable();
    while let Some(want) = wanted.next() {
        if want == "**" && wanted.peek().is_none() {
            return true;
        }
        match segments.next() {
            Some(segment) if want == "*" || want == segment => {}
            _ => return false,
        }
    }
    segments.next().is_none()
}

/// True where `method` is `pattern`, or `pattern` is `*`.
pub(crate) fn method_matches(pattern: &str, method: &str) -> bool {
    pattern == "*" || pattern.eq_ignore_ascii_case(method)
}

#[cfg(test)]
mod tests {
    use super::{method_matches, path_matches};

    #[test]
    fn segments_match_one_by_one() {
        assert!(path_matches("/user", "/user"));
        assert!(!path_matches("/user", "/users"));
        assert!(!path_matches("/user", "/user/repos"));
        assert!(path_matches("/repos/*/*/issues", "/repos/a/b/issues"));
        assert!(!path_matches("/repos/*/*/issues", "/repos/a/b/issues/1"));
    }

    #[test]
    fn a_last_double_star_matches_the_rest() {
        assert!(path_matches("/repos/**", "/repos/a/b"));
        assert!(path_matches("/**", "/"));
        assert!(!path_matches("/repos/**", "/user"));
    }

    #[test]
    fn methods_match_in_any_case() {
        assert!(method_matches("get", "GET"));
        assert!(method_matches("*", "DELETE"));
        assert!(!method_matches("GET", "POST"));
    }
}
