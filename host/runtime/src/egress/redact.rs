//! Takes secrets out of what an upstream echoes, as it streams through.

/// What stands where a secret stood.
const MARK: &[u8] = b"[redacted]";

/// A shorter value is not looked for: it would be found where it is not meant.
const SHORTEST: usize = 8;

/// Finds a set of values in a stream of bytes, across the joints of chunks.
#[derive(Clone, Default)]
pub(crate) struct Redactor {
    secrets: Vec<Vec<u8>>,
    longest: usize,
    held: Vec<u8>,
}

impl Redactor {
    pub(crate) fn new<'a>(secrets: impl Iterator<Item = &'a str>) -> Self {
        let mut secrets: Vec<Vec<u8>> = secrets
            .filter(|secret| secret.len() >= SHORTEST)
            .map(|secret| secret.as_bytes().to_vec())
            .collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        let longest = secrets.first().map_or(0, Vec::len);
        Self { secrets, longest, held: Vec::new() }
    }

    /// Whether there is anything to look for.
    pub(crate) fn may_change(&self) -> bool {
        self.longest > 0
    }

    /// Takes the next chunk and gives what is sure to be free of secrets.
    pub(crate) fn push(&mut self, chunk: Vec<u8>) -> Vec<u8> {
        if self.longest == 0 {
            return chunk;
        }
        self.held.extend_from_slice(&chunk);
        let sure = self.held.len().saturating_sub(self.longest - 1);
        self.release(sure)
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
            match self.secrets.iter().find(|secret| rest.starts_with(secret)) {
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
    fn passes_everything_without_secrets() {
        let mut redactor = Redactor::new(std::iter::empty());
        assert_eq!(redactor.push(vec![1, 2, 3]), [1, 2, 3]);
        assert!(redactor.finish().is_empty());
    }
}
