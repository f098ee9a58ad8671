//! NaCl secretbox: XSalsa20 and Poly1305.

use std::fmt;

use crypto_secretbox::aead::{AeadInPlace, KeyInit};
use crypto_secretbox::{Key, Nonce, Tag, XSalsa20Poly1305};

use super::too_short;
use crate::Error;

const NONCE_LENGTH: usize = 24;
const TAG_LENGTH: usize = 16;

/// NaCl's `crypto_secretbox` with a random nonce, which precedes the tag. Detects a changed value, but not a
/// moved one.
pub struct Secretbox(XSalsa20Poly1305);

impl fmt::Debug for Secretbox {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secretbox")
    }
}

impl Secretbox {
    /// Creates a cipher with a key of 32 bytes.
    ///
    /// # Errors
    /// The key has another length.
    pub fn new(key: &[u8]) -> Result<Self, Error> {
        let key: &[u8; 32] = key.try_into().map_err(|_| {
            Error::new(format!("expected key size 32 for secretbox provider, got {}", key.len()))
        })?;
        Ok(Self(XSalsa20Poly1305::new(&Key::from(*key))))
    }

    /// Decrypts a value.
    ///
    /// # Errors
    /// The value is from another key, or was changed. The text is upstream's.
    pub fn open(&self, stored: &[u8]) -> Result<Vec<u8>, Error> {
        let (nonce, sealed) = stored.split_first_chunk::<NONCE_LENGTH>().ok_or_else(too_short)?;
        let (tag, sealed) = sealed.split_first_chunk::<TAG_LENGTH>().ok_or_else(too_short)?;
        let mut plain = sealed.to_vec();
        self.0
            .decrypt_in_place_detached(&Nonce::from(*nonce), &[], &mut plain, &Tag::from(*tag))
            .map_err(|_| Error::new("output array was not large enough for encryption"))?;
        Ok(plain)
    }

    /// Encrypts a value and appends it to `out`.
    ///
    /// # Errors
    /// The library's.
    pub fn seal(&self, out: &mut Vec<u8>, plain: &[u8], random: &dyn Fn(&mut [u8])) -> Result<(), Error> {
        let mut nonce = [0; NONCE_LENGTH];
        random(&mut nonce);
        out.reserve(NONCE_LENGTH + TAG_LENGTH + plain.len());
        out.extend_from_slice(&nonce);
        let tag_at = out.len();
        out.resize(tag_at + TAG_LENGTH, 0);
        let begin = out.len();
        out.extend_from_slice(plain);
        let text = out.get_mut(begin..).unwrap_or_default();
        let tag = self
            .0
            .encrypt_in_place_detached(&Nonce::from(nonce), &[], text)
            .map_err(|_| Error::new("the cipher cannot be used"))?;
        out.get_mut(tag_at..begin).unwrap_or_default().copy_from_slice(&tag);
        Ok(())
    }
}
