//! AES-GCM.

use aws_lc_rs::aead::{
    AES_128_GCM, AES_192_GCM, AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey,
};

use super::{cipher_error, too_short};
use crate::Error;

/// The length of an authentication tag.
const TAG_LENGTH: usize = 16;
/// Bytes that encryption adds to a value.
const OVERHEAD: usize = NONCE_LEN + TAG_LENGTH;

/// AES-GCM with a random nonce, which precedes the ciphertext. Binds the context.
///
/// A key must not encrypt more than 2^32 values: beyond that, two values are likely to share a nonce (NIST SP
/// 800-38D). Keys must be rotated in time.
#[derive(Debug)]
pub struct Gcm(LessSafeKey);

impl Gcm {
    /// Creates a cipher with a key of 16, 24 or 32 bytes.
    ///
    /// # Errors
    /// In Go's words, if the key has another length.
    pub fn new(key: &[u8]) -> Result<Self, Error> {
        let algorithm = match key.len() {
            16 => &AES_128_GCM,
            24 => &AES_192_GCM,
            32 => &AES_256_GCM,
            length => return Err(Error::new(format!("crypto/aes: invalid key size {length}"))),
        };
        Ok(Self(LessSafeKey::new(UnboundKey::new(algorithm, key).map_err(cipher_error)?)))
    }

    /// Decrypts a value.
    ///
    /// # Errors
    /// The value was not encrypted with this key and context.
    pub fn open(&self, stored: &[u8], context: &[u8]) -> Result<Vec<u8>, Error> {
        let forged = |_| Error::new("cipher: message authentication failed");
        let (nonce, sealed) = stored.split_first_chunk::<NONCE_LEN>().ok_or_else(too_short)?;
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let (sealed, tag) =
            sealed.split_last_chunk::<TAG_LENGTH>().ok_or_else(|| forged(aws_lc_rs::error::Unspecified))?;
        let mut plain = vec![0; sealed.len()];
        self.0.open_separate_gather(nonce, Aad::from(context), sealed, tag, &mut plain).map_err(forged)?;
        Ok(plain)
    }

    /// Encrypts a value and appends it to `out`.
    ///
    /// # Errors
    /// The value is too long for the algorithm (64 GiB).
    pub fn seal(
        &self,
        out: &mut Vec<u8>,
        plain: &[u8],
        context: &[u8],
        random: &dyn Fn(&mut [u8]),
    ) -> Result<(), Error> {
        let mut nonce = [0; NONCE_LEN];
        random(&mut nonce);
        out.reserve(OVERHEAD + plain.len());
        out.extend_from_slice(&nonce);
        let begin = out.len();
        out.extend_from_slice(plain);
        let text = out.get_mut(begin..).unwrap_or_default();
        let nonce = Nonce::assume_unique_for_key(nonce);
        let tag = self.0.seal_in_place_separate_tag(nonce, Aad::from(context), text).map_err(cipher_error)?;
        out.extend_from_slice(tag.as_ref());
        Ok(())
    }
}
