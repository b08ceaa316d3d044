//! The key that seals secrets: 32 bytes in a file of the home that only its
//! user can read.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use zeroize::Zeroizing;

use crate::digest::Digest;
use crate::error::{Result, StoreError};
use crate::files::{self, At};

pub(crate) const KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 24;
const FILE_LIMIT_BYTES: u64 = 1024;

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
    /// Reads the key, or `None` if there is no file.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>> {
        Ok(Self::read_bytes(path)?.map(|key| Self::of(&key)))
    }

    /// The key's own bytes.
    pub(crate) fn read_bytes(path: &Path) -> Result<Option<Zeroizing<[u8; KEY_BYTES]>>> {
        let Some(text) = files::read_text(path, FILE_LIMIT_BYTES)?.map(Zeroizing::new) else {
            return Ok(None);
        };
        if fs::metadata(path).at(path)?.mode() & 0o077 != 0 {
            return Err(wrong(path, "other users can read it (set its mode to 600)"));
        }
        let decoded = URL_SAFE_NO_PAD.decode(text.trim()).map(Zeroizing::new);
        let key = decoded
            .ok()
            .and_then(|bytes| <[u8; KEY_BYTES]>::try_from(bytes.as_slice()).ok())
            .map(Zeroizing::new)
            .ok_or_else(|| wrong(path, "it holds no key"))?;
        Ok(Some(key))
    }

    /// Makes a new key; when this returns, a crash can't lose it.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        getrandom::fill(key.as_mut_slice()).map_err(StoreError::Random)?;
        Self::write(path, &key)?;
        Ok(Self::of(&key))
    }

    /// Writes a key; when this returns, a crash can't lose it.
    pub(crate) fn write(path: &Path, key: &[u8; KEY_BYTES]) -> Result<()> {
        let text = Zeroizing::new(URL_SAFE_NO_PAD.encode(key.as_slice()));
        Ok(files::write_durably(path, text.as_bytes())?)
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
