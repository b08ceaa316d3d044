//! SHA-256 digests: the names of everything that is stored by its content.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest (FIPS 180-4), shown as `sha256:` and 64 hexadecimal
/// characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

/// A text that is no digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this is not a digest: such a one is `sha256:` and 64 characters of 0-9 and a-f")]
pub struct DigestError;

const PREFIX: &str = "sha256:";

impl Digest {
    /// The digest of some bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Takes `sha256:<hex>`, or the 64 hexadecimal characters alone.
    ///
    /// # Errors
    /// Says what a digest looks like.
    pub fn parse(text: &str) -> Result<Self, DigestError> {
        let hex = text.strip_prefix(PREFIX).unwrap_or(text);
        if hex.bytes().any(|byte| byte.is_ascii_uppercase()) {
            // One content has one name, also where names are compared as text.
            return Err(DigestError);
        }
        let mut bytes = [0; 32];
        hex::decode_to_slice(hex, &mut bytes).map_err(|_| DigestError)?;
        Ok(Self(bytes))
    }

    /// The 64 hexadecimal characters, in lower case.
    pub fn hex(&self) -> String {
        hex::encode(self.0)
    }

    /// The digest's own 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{PREFIX}{}", self.hex())
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        Self::parse(text)
    }
}

impl TryFrom<String> for Digest {
    type Error = DigestError;

    fn try_from(text: String) -> Result<Self, DigestError> {
        Self::parse(&text)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_the_published_one_and_parses_back() {
        // FIPS 180-4's example for "abc".
        let text = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let digest = Digest::of(b"abc");
        assert_eq!(digest.to_string(), text);
        assert_eq!(Digest::parse(text).unwrap(), digest);
        assert_eq!(Digest::parse(&digest.hex()).unwrap(), digest);
    }

    #[test]
    fn what_is_no_digest_is_refused() {
        let upper = Digest::of(b"abc").hex().to_uppercase();
        for text in ["", "sha256:", "sha256:00", "md5:00", "../../../etc/passwd", &upper] {
            Digest::parse(text).unwrap_err();
        }
    }
}
