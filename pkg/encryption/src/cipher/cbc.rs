//! AES-CBC.

use aws_lc_rs::cipher::{
    AES_128, AES_192, AES_256, Algorithm, DecryptingKey, DecryptionContext, EncryptingKey, EncryptionContext,
    UnboundCipherKey,
};
use aws_lc_rs::iv::FixedLength;

use super::{cipher_error, too_short};
use crate::Error;

/// Length of a block and of the initialization vector in bytes.
const BLOCK: usize = 16;

/// AES-CBC with a random initialization vector, which precedes the ciphertext, and PKCS #7 padding. It does
/// not authenticate: only bad padding reveals that a value was changed or moved.
#[derive(Debug)]
pub struct Cbc {
    encrypt: EncryptingKey,
    decrypt: DecryptingKey,
}

impl Cbc {
    /// Creates a cipher with a key of 16, 24 or 32 bytes.
    ///
    /// # Errors
    /// In Go's words, if the key has another length.
    pub fn new(key: &[u8]) -> Result<Self, Error> {
        let algorithm: &'static Algorithm = match key.len() {
            16 => &AES_128,
            24 => &AES_192,
            32 => &AES_256,
            length => return Err(Error::new(format!("crypto/aes: invalid key size {length}"))),
        };
        let unbound = || UnboundCipherKey::new(algorithm, key).map_err(cipher_error);
        Ok(Self {
            encrypt: EncryptingKey::cbc(unbound()?).map_err(cipher_error)?,
            decrypt: DecryptingKey::cbc(unbound()?).map_err(cipher_error)?,
        })
    }

    /// Decrypts a value.
    ///
    /// # Errors
    /// The value cannot be from this key. Many changed values go unnoticed.
    pub fn open(&self, stored: &[u8]) -> Result<Vec<u8>, Error> {
        let (iv, sealed) = stored.split_first_chunk::<BLOCK>().ok_or_else(too_short)?;
        if !sealed.len().is_multiple_of(BLOCK) {
            return Err(Error::new("the stored data is not a multiple of the block size"));
        }
        let mut plain = sealed.to_vec();
        self.decrypt
            .decrypt(&mut plain, DecryptionContext::Iv128(FixedLength::from(*iv)))
            .map_err(cipher_error)?;
        let padding = plain.last().copied().unwrap_or_default();
        let length = plain.len().checked_sub(usize::from(padding)).filter(|_| padding > 0);
        let length = length.ok_or_else(|| Error::new("invalid PKCS7 data (empty or not padded)"))?;
        // Go checks as many bytes as the padding byte demands, which may be more than a block.
        if plain.iter().skip(length).any(|byte| *byte != padding) {
            return Err(Error::new("invalid padding on input"));
        }
        plain.truncate(length);
        Ok(plain)
    }

    /// Encrypts a value and appends it to `out`.
    ///
    /// # Errors
    /// The library's.
    pub fn seal(&self, out: &mut Vec<u8>, plain: &[u8], random: &dyn Fn(&mut [u8])) -> Result<(), Error> {
        let padding = BLOCK - plain.len() % BLOCK;
        let mut iv = [0; BLOCK];
        random(&mut iv);
        out.reserve(BLOCK + plain.len() + padding);
        out.extend_from_slice(&iv);
        let begin = out.len();
        out.extend_from_slice(plain);
        out.resize(out.len() + padding, u8::try_from(padding).unwrap_or_default());
        let text = out.get_mut(begin..).unwrap_or_default();
        let iv = EncryptionContext::Iv128(FixedLength::from(iv));
        self.encrypt.less_safe_encrypt(text, iv).map_err(cipher_error)?;
        Ok(())
    }
}
