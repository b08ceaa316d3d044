//! What somebody may have meant.

/// The candidate that is most like `given`, if any is near.
pub(crate) fn nearest<'c>(given: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let given = given.to_lowercase();
    let mut best = None;
    for candidate in candidates {
        let score = strsim::jaro_winkler(&given, &candidate.to_lowercase());
        if score > 0.8 && best.is_none_or(|(_, other)| score > other) {
            best = Some((candidate, score));
        }
    }
    best.map(|(candidate, _)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_is_found_and_far_is_not() {
        let codes = ["timeout", "trap", "out-of-fuel"];
        assert_eq!(nearest("time-out", codes), Some("timeout"));
        assert_eq!(nearest("Out-Of-Feul", codes), Some("out-of-fuel"));
        assert_eq!(nearest("zebra", codes), None);
        assert_eq!(nearest("", codes), None);
    }
}
