//! Signatures that Go verifies and `aws-lc` does not: ECDSA on P-224, SHA-1 on P-384, and RSA with keys below
//! 2048 bits for SHA-384 and for PSS. The inputs are public: requests that prove possession of their own key.

use aws_lc_rs::digest::{Algorithm, SHA1_FOR_LEGACY_USE_ONLY, SHA256, SHA384, SHA512, digest};
use num_bigint::BigUint;
use p224::ecdsa::signature::hazmat::PrehashVerifier;
use x509_parser::asn1_rs::FromDer;
use x509_parser::public_key::RSAPublicKey;

use super::Hash;

impl Hash {
    fn algorithm(self) -> &'static Algorithm {
        match self {
            Hash::Sha1 => &SHA1_FOR_LEGACY_USE_ONLY,
            Hash::Sha256 => &SHA256,
            Hash::Sha384 => &SHA384,
            Hash::Sha512 => &SHA512,
        }
    }

    fn of(self, message: &[u8]) -> Vec<u8> {
        digest(self.algorithm(), message).as_ref().to_vec()
    }
}

pub(crate) fn is_p224_point(bytes: &[u8]) -> bool {
    p224::ecdsa::VerifyingKey::from_sec1_bytes(bytes).is_ok()
}

/// Verifies a P-224 signature. The key must be a valid point.
pub(crate) fn p224(hash: Hash, key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let key = p224::ecdsa::VerifyingKey::from_sec1_bytes(key).ok();
    let signature = p224::ecdsa::DerSignature::try_from(signature).ok();
    key.zip(signature)
        .is_some_and(|(key, signature)| key.verify_prehash(&hash.of(message), &signature).is_ok())
}

/// Verifies a P-384 signature with SHA-1. The key must be a valid point.
pub(crate) fn p384_sha1(key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let key = p384::ecdsa::VerifyingKey::from_sec1_bytes(key).ok();
    let signature = p384::ecdsa::DerSignature::try_from(signature).ok();
    // The library rejects hashes shorter than half the field size, so the hash is padded to the same number.
    let mut number = vec![0; 48 - 20];
    number.extend(Hash::Sha1.of(message));
    key.zip(signature).is_some_and(|(key, signature)| key.verify_prehash(&number, &signature).is_ok())
}

/// Go's upper limit of the public exponent.
const EXPONENT_MAX: u32 = (1 << 31) - 1;

/// Raises an RSA signature to the public exponent. Returns the signed bytes and the bit length of the
/// modulus.
fn recover_signed_bytes(key: &[u8], signature: &[u8]) -> Option<(Vec<u8>, usize)> {
    let (_, key) = RSAPublicKey::from_der(key).ok()?;
    let modulus = BigUint::from_bytes_be(key.modulus);
    let exponent = u32::try_from(BigUint::from_bytes_be(key.exponent)).ok()?;
    let bits = usize::try_from(modulus.bits()).ok()?;
    let number = BigUint::from_bytes_be(signature);
    let sound = (2..=EXPONENT_MAX).contains(&exponent)
        && exponent % 2 == 1
        && signature.len() == bits.div_ceil(8)
        && number < modulus;
    if !sound {
        return None;
    }
    let bytes = number.modpow(&exponent.into(), &modulus).to_bytes_be();
    let mut padded = vec![0; signature.len().checked_sub(bytes.len())?];
    padded.extend(bytes);
    Some((padded, bits))
}

/// Prefix of a SHA-384 hash (RFC 8017, 9.2).
const SHA384_INFO: [u8; 19] =
    [0x30, 0x41, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 2, 5, 0, 4, 0x30];

/// Verifies an RSA PKCS#1 v1.5 signature with SHA-384. The encoding of the signed bytes is unique.
pub(crate) fn pkcs1_sha384(key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    let Some((recovered, _)) = recover_signed_bytes(key, signature) else { return false };
    let tail = [&[0][..], &SHA384_INFO, &Hash::Sha384.of(message)].concat();
    let Some(padding) = recovered.len().checked_sub(tail.len() + 2).filter(|padding| *padding >= 8) else {
        return false;
    };
    recovered == [&[0, 1][..], &vec![0xff; padding], &tail].concat()
}

/// Verifies an RSA PSS signature with a salt as long as its hash (RFC 8017, 9.1.2).
pub(crate) fn pss(hash: Hash, key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    recover_signed_bytes(key, signature)
        .and_then(|(recovered, bits)| recover_pss_digest(hash, &recovered, bits, message))
        .unwrap_or(false)
}

fn recover_pss_digest(hash: Hash, recovered: &[u8], modulus_bits: usize, message: &[u8]) -> Option<bool> {
    let bits = modulus_bits - 1;
    let length = bits.div_ceil(8);
    let (leading, encoded) = recovered.split_at_checked(recovered.len().checked_sub(length)?)?;
    let size = hash.algorithm().output_len();
    let (masked, rest) = encoded.split_at_checked(length.checked_sub(size + 1)?)?;
    let (expected, end) = rest.split_at_checked(size)?;
    let top = 0xff_u8.checked_shr(u32::try_from(8 * length - bits).ok()?)?;
    if leading.iter().any(|byte| *byte != 0) || end != [0xbc] || masked.first()? & !top != 0 {
        return Some(false);
    }
    let mut block: Vec<u8> =
        masked.iter().zip(mask(hash, expected, masked.len())).map(|(a, b)| a ^ b).collect();
    *block.first_mut()? &= top;
    let (padding, salt) = block.split_at_checked(block.len().checked_sub(size)?)?;
    let (one, zeros) = padding.split_last()?;
    if *one != 1 || zeros.iter().any(|byte| *byte != 0) {
        return Some(false);
    }
    Some(hash.of(&[&[0; 8], &*hash.of(message), salt].concat()) == expected)
}

/// The mask generation function MGF1 (RFC 8017, B.2.1).
fn mask(hash: Hash, seed: &[u8], length: usize) -> impl Iterator<Item = u8> {
    let block = move |counter: u32, seed: &[u8]| hash.of(&[seed, &counter.to_be_bytes()].concat());
    let seed = seed.to_vec();
    (0..).flat_map(move |counter| block(counter, &seed)).take(length)
}
