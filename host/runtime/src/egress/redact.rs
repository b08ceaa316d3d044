//! Takes secrets out of what an upstream echoes, as it streams through.

/// What stands where a secret stood.
const MARK: &[u8] = b"[redacted]";

/// A shorter value is not looked for: it would be found where it is not meant.
const SHORTEST: usize = 8;

/// Finds a set of values in a stream of bytes, across the joints of chunks.
#[derive(Clone, Default)]
pub(crate) struct Redactor {
    /// The longest first.
    secrets: Vec<Vec<u8>>,
    held: Vec<u8>,
}

impl Redactor {
    pub(crate) fn new<'a>(secrets: impl Iterator<Item = &'a str>) -> Self {
        let mut secrets: Vec<Vec<u8>> = secrets
            .filter(|secret| secret.len() >= SHORTEST)
            .map(|secret| secret.as_bytes().to_vec())
            .collect();
        secrets.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        secrets.dedup();
        Self { secrets, held: Vec::new() }
    }

    /// Whether there is anything to look for.
    pub(crate) fn may_change(&self) -> bool {
        !self.secrets.is_empty()
    }

    /// Takes the next chunk and gives what is sure to be free of secrets. Only
    /// what a secret could begin with is held back: whoever waits for the end
    /// of a line or of an event gets it when it is there.
    pub(crate) fn push(&mut self, chunk: Vec<u8>) -> Vec<u8> {
        if self.secrets.is_empty() {
            return chunk;
        }
        self.held.extend_from_slice(&chunk);
        let sure = self.held.len() - self.begun();
        self.release(sure)
    }

    /// The length of the longest end of what is held that a secret begins
    /// with.
    fn begun(&self) -> usize {
        let longest = self.secrets.first().map_or(0, Vec::len);
        let first = self.held.len().saturating_sub(longest.saturating_sub(1));
        let begins = |end: &[u8]| {
            self.secrets.iter().any(|secret| secret.len() > end.len() && secret.starts_with(end))
        };
        let ends = (first..self.held.len()).map(|at| &self.held[at..]);
        ends.into_iter().find(|end| begins(end)).map_or(0, <[u8]>::len)
    }

    /// What was held back, at the end.
    pub(crate) fn finish(&mut self) -> Vec<u8> {
        let all = self.held.len();
        self.release(all)
    }

    /// A text on its own, a header's value.
    pub(crate) fn text(&self, text: &[u8]) -> Vec<u8> {
        let mut once = Self { held: text.to_vec(), ..self.clone() };
        once.finish()
    }

    /// Gives the first `sure` bytes, and more where a secret begins in them.
    fn release(&mut self, sure: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(sure);
        let mut at = 0;
        while at < sure {
            let rest = &self.held[at..];
            let secret = self.secrets.iter().find(|secret| secret[0] == rest[0] && rest.starts_with(secret));
            match secret {
                Some(secret) => {
                    out.extend_from_slice(MARK);
                    at += secret.len();
                }
                None => {
                    out.push(rest[0]);
                    at += 1;
                }
            }
        }
        self.held.drain(..at);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(chunks: &[&str], expect: &str) {
        let mut redactor = Redactor::new(["canary-secret", "canary-secret-longer", "short"].into_iter());
        let mut out = Vec::new();
        for chunk in chunks {
            out.extend(redactor.push(chunk.as_bytes().to_vec()));
        }
        out.extend(redactor.finish());
        assert_eq!(String::from_utf8(out).expect("text stays text"), expect, "{chunks:?}");
    }

    #[test]
    fn finds_secrets_wherever_chunks_are_cut() {
        let text = "a canary-secret b canary-secret-longer c short";
        let expect = "a [redacted] b [redacted] c short";
        check(&[text], expect);
        for cut in 0..text.len() {
            let (left, right) = text.split_at(cut);
            check(&[left, right], expect);
        }
        let bytes: Vec<String> = text.chars().map(String::from).collect();
        check(&bytes.iter().map(String::as_str).collect::<Vec<_>>(), expect);
    }

    #[test]
    fn holds_back_what_a_secret_begins_with_and_nothing_else() {
        let mut redactor = Redactor::new(["canary-secret", "ry-secrets-too"].into_iter());
        let mut pushed = |chunk: &str| {
            let out = redactor.push(chunk.as_bytes().to_vec());
            String::from_utf8(out).expect("text stays text")
        };
        assert_eq!(pushed("event: endpoint\ndata: /m\n\n"), "event: endpoint\ndata: /m\n\n");
        assert_eq!(pushed("data: cana"), "data: ");
        assert_eq!(pushed("da\n\n"), "canada\n\n");
        assert_eq!(pushed("canary-secret"), "[redacted]");
        assert_eq!(pushed("s-canary"), "s-");
        assert_eq!(pushed("-secre"), "");
        assert_eq!(pushed("ts-too"), "[redacted]s-too", "the first that begins is found first");
        assert!(redactor.finish().is_empty());
    }

    #[test]
    fn passes_everything_without_secrets() {
        let mut redactor = Redactor::new(std::iter::empty());
        assert_eq!(redactor.push(vec![1, 2, 3]), [1, 2, 3]);
        assert!(redactor.finish().is_empty());
    }
}
