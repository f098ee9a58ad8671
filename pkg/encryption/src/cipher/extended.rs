//! AES-GCM with one derived key per value.

use aws_lc_rs::hmac;

use super::{Gcm, too_short};
use crate::Error;

/// Length in bytes of the derivation info, of derived keys and (at least) of seeds.
const LENGTH: usize = 32;

/// AES-GCM with a key that is derived from a seed and 32 random bytes, which precede the nonce. Binds the
/// context.
///
/// Two values never share a key, so a seed may encrypt any number of them (upstream's
/// `aes_extended_nonce.go`). The derivation is HKDF-Expand with SHA-256 (RFC 5869) for one block.
#[derive(Debug)]
pub struct ExtendedGcm(hmac::Key);

impl ExtendedGcm {
    /// Minimum seed length in bytes.
    pub const SEED_LENGTH_MIN: usize = LENGTH;

    /// Creates a cipher from a random seed.
    ///
    /// # Errors
    /// The seed has less than 32 bytes.
    pub fn new(seed: &[u8]) -> Result<Self, Error> {
        if seed.len() < LENGTH {
            return Err(Error::new(format!("invalid seed length {} used for key generation", seed.len())));
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, seed)))
    }

    /// Decrypts a value.
    ///
    /// # Errors
    /// The value was not encrypted with this seed and context.
    pub fn open(&self, stored: &[u8], context: &[u8]) -> Result<Vec<u8>, Error> {
        let (info, sealed) = stored.split_first_chunk::<LENGTH>().ok_or_else(too_short)?;
        self.derived(info)?.open(sealed, context)
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
        let mut info = [0; LENGTH];
        random(&mut info);
        out.extend_from_slice(&info);
        self.derived(&info)?.seal(out, plain, context, random)
    }

    fn derived(&self, info: &[u8; LENGTH]) -> Result<Gcm, Error> {
        let mut expand = hmac::Context::with_key(&self.0);
        expand.update(info);
        expand.update(&[1]);
        Gcm::new(expand.sign().as_ref())
    }
}
