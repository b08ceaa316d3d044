//! The key that seals secrets: 32 bytes. `key_place` says where they are kept.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use crate::digest::Digest;
use crate::error::{Result, StoreError};

pub(crate) const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;

/// The bytes of a key; the memory is cleared when they go.
pub(crate) type KeyBytes = Zeroizing<[u8; KEY_BYTES]>;

/// Seals and opens with XChaCha20-Poly1305 (draft-irtf-cfrg-xchacha-03), whose
/// nonces are long enough to be random.
pub(crate) struct SecretKey {
    /// Names the key without telling it.
    id: String,
    cipher: XChaCha20Poly1305,
}

/// What sealing gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sealed {
    pub(crate) nonce: Vec<u8>,
    pub(crate) ciphertext: Vec<u8>,
}

/// Bytes that were opened; the memory is cleared when they go.
#[derive(Clone)]
pub struct SecretValue(Zeroizing<Vec<u8>>);

impl SecretValue {
    /// The secret.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The secret, where it is text.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }
}

impl AsRef<[u8]> for SecretValue {
    fn as_ref(&self) -> &[u8] {
        self.bytes()
    }
}

impl std::fmt::Debug for SecretValue {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("SecretValue(…)")
    }
}

impl std::fmt::Debug for SecretKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "SecretKey({})", self.id)
    }
}

impl SecretKey {
    /// A new key.
    pub(crate) fn random() -> Result<KeyBytes> {
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        getrandom::fill(key.as_mut_slice()).map_err(StoreError::Random)?;
        Ok(key)
    }

    /// A key as text, as it is kept.
    pub(crate) fn text(key: &KeyBytes) -> Zeroizing<String> {
        Zeroizing::new(URL_SAFE_NO_PAD.encode(key.as_slice()))
    }

    /// The key of a text, or `None` where it holds none.
    pub(crate) fn bytes_of(text: &str) -> Option<KeyBytes> {
        let decoded = URL_SAFE_NO_PAD.decode(text.trim()).map(Zeroizing::new).ok()?;
        <[u8; KEY_BYTES]>::try_from(decoded.as_slice()).ok().map(Zeroizing::new)
    }

    pub(crate) fn of(key: &[u8; KEY_BYTES]) -> Self {
        let mut named = Zeroizing::new(b"executor secret key\0".to_vec());
        named.extend_from_slice(key);
        let mut id = Digest::of(&named).hex();
        id.truncate(16);
        Self { id, cipher: XChaCha20Poly1305::new(key.into()) }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Seals a value, so that it opens only with the same `place`.
    pub(crate) fn seal(&self, place: &Place<'_>, value: &[u8]) -> Result<Sealed> {
        let mut nonce = [0; NONCE_BYTES];
        getrandom::fill(&mut nonce).map_err(StoreError::Random)?;
        let aad = place.associated_data(&self.id);
        let payload = Payload { msg: value, aad: &aad };
        let ciphertext = self
            .cipher
            .encrypt(&XNonce::from(nonce), payload)
            .expect("a bounded value is not too long to seal");
        Ok(Sealed { nonce: nonce.to_vec(), ciphertext })
    }

    /// Opens what was sealed, or gives `None` where any bit of it, its place
    /// or the key is another.
    pub(crate) fn open(&self, place: &Place<'_>, sealed: &Sealed) -> Option<SecretValue> {
        let nonce = <[u8; NONCE_BYTES]>::try_from(sealed.nonce.as_slice()).ok()?;
        let aad = place.associated_data(&self.id);
        let payload = Payload { msg: &sealed.ciphertext, aad: &aad };
        let opened = self.cipher.decrypt(&XNonce::from(nonce), payload).ok()?;
        Some(SecretValue(Zeroizing::new(opened)))
    }
}

/// Where a sealed value belongs: a row that is copied to another place does
/// not open there.
pub(crate) struct Place<'a> {
    pub(crate) workspace: &'a str,
    pub(crate) id: &'a str,
}

impl Place<'_> {
    /// Each part with its length before it, so that no two places run into
    /// the same bytes.
    fn associated_data(&self, key_id: &str) -> Vec<u8> {
        let mut data = Vec::new();
        for part in ["executor secret 1", self.workspace, self.id, key_id] {
            data.extend_from_slice(&(part.len() as u64).to_be_bytes());
            data.extend_from_slice(part.as_bytes());
        }
        data
    }
}

pub(crate) fn wrong(path: &Path, what: impl Into<String>) -> StoreError {
    StoreError::WrongKey { path: PathBuf::from(path), what: what.into() }
}
