//! Keys to sign and verify tokens: RSA, and ECDSA on P-256, P-384 and P-521.
//!
//! A file contains PEM keys in any common form: PKCS#1, PKCS#8, SEC 1, SPKI, or a certificate. As in
//! upstream's `keyutil`, the contents of a block count, not its label. Blocks without a key are skipped.

use aws_lc_rs::encoding::{AsDer, EcPrivateKeyRfc5915Der, PublicKeyX509Der};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, ECDSA_P521_SHA512_FIXED_SIGNING,
    EcdsaKeyPair, KeyPair, RsaKeyPair,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{DecodingKey, EncodingKey};
use sha2::{Digest, Sha256};
use x509_parser::certificate::X509Certificate;
use x509_parser::der_parser::asn1_rs::oid;
use x509_parser::der_parser::{Oid, parse_der};
use x509_parser::prelude::FromDer;
use x509_parser::x509::SubjectPublicKeyInfo;

const RSA: Oid<'static> = oid!(1.2.840.113549.1.1.1);
const EC: Oid<'static> = oid!(1.2.840.10045.2.1);
const P256: Oid<'static> = oid!(1.2.840.10045.3.1.7);
const P384: Oid<'static> = oid!(1.3.132.0.34);
const P521: Oid<'static> = oid!(1.3.132.0.35);

/// Error in a key file. It prevents the server's start.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Invalid PEM, or no usable public key.
    #[error("data does not contain any valid RSA or ECDSA public keys")]
    NoPublicKey,
    /// Invalid PEM, or no usable private key.
    #[error("data does not contain a valid RSA or ECDSA private key")]
    NoPrivateKey,
    /// The system's random number generator failed.
    #[error("cannot generate a key")]
    Generate,
}

/// Signing algorithm (RFC 7518).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    Rs256,
    Es256,
    Es384,
    Es512,
}

impl Algorithm {
    /// Returns the name in tokens.
    pub(super) fn name(self) -> &'static str {
        match self {
            Algorithm::Rs256 => "RS256",
            Algorithm::Es256 => "ES256",
            Algorithm::Es384 => "ES384",
            Algorithm::Es512 => super::es512::NAME,
        }
    }

    /// Returns the algorithm of `jsonwebtoken`. `None` if that does not support it.
    pub(super) fn library(self) -> Option<jsonwebtoken::Algorithm> {
        match self {
            Algorithm::Rs256 => Some(jsonwebtoken::Algorithm::RS256),
            Algorithm::Es256 => Some(jsonwebtoken::Algorithm::ES256),
            Algorithm::Es384 => Some(jsonwebtoken::Algorithm::ES384),
            Algorithm::Es512 => None,
        }
    }
}

/// A public key for verification.
#[derive(Debug, Clone)]
pub(super) struct PublicKey {
    /// Key id: the digest of the SPKI form.
    pub(super) id: String,
    /// The default algorithm of the key.
    pub(super) algorithm: Algorithm,
    pub(super) decoding: DecodingKey,
    pub(super) numbers: KeyComponents,
    /// True if the key is published. Keys for old tokens are not.
    pub(super) discoverable: bool,
}

/// Numbers of a public key: big-endian, with coordinates in full length.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum KeyComponents {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    Ec { curve: &'static str, x: Vec<u8>, y: Vec<u8> },
}

impl PublicKey {
    /// Parses a SubjectPublicKeyInfo. `None` if it is invalid or the key has another purpose.
    pub(super) fn of_spki(der: &[u8]) -> Option<Self> {
        let (_, info) = SubjectPublicKeyInfo::from_der(der).ok()?;
        let kind = &info.algorithm.algorithm;
        let key = if *kind == RSA {
            let key = aws_lc_rs::rsa::PublicKey::from_der(info.raw).ok()?;
            let n = key.modulus().big_endian_without_leading_zero().to_vec();
            let e = key.exponent().big_endian_without_leading_zero().to_vec();
            (Algorithm::Rs256, DecodingKey::from_rsa_der(info.raw), KeyComponents::Rsa { n, e })
        } else if *kind == EC {
            let named = info.algorithm.parameters.as_ref().and_then(|any| any.as_oid().ok())?;
            let (algorithm, curve, bytes) = match named {
                named if named == P256 => (Algorithm::Es256, "P-256", 32),
                named if named == P384 => (Algorithm::Es384, "P-384", 48),
                named if named == P521 => (Algorithm::Es512, "P-521", 66),
                _ => return None,
            };
            let point = &*info.subject_public_key.data;
            let (x, y) = point.strip_prefix(&[4]).filter(|xy| xy.len() == 2 * bytes)?.split_at(bytes);
            let numbers = KeyComponents::Ec { curve, x: x.to_vec(), y: y.to_vec() };
            (algorithm, DecodingKey::from_ec_der(point), numbers)
        } else {
            return None;
        };
        let (algorithm, decoding, numbers) = key;
        let id = URL_SAFE_NO_PAD.encode(Sha256::digest(info.raw));
        Some(PublicKey { id, algorithm, decoding, numbers, discoverable: true })
    }

    /// Parses a block of a file: a public key, a certificate, or a private key.
    fn of_block(der: &[u8]) -> Option<Self> {
        if let Some(private) = SigningKey::of_block(der) {
            return Some(private.public);
        }
        PublicKey::of_spki(der).or_else(|| {
            let (_, certificate) = X509Certificate::from_der(der).ok()?;
            PublicKey::of_spki(certificate.public_key().raw)
        })
    }
}

/// The keys to verify tokens.
#[derive(Debug, Clone, Default)]
pub struct PublicKeys(Vec<PublicKey>);

impl PublicKeys {
    /// Adds the keys of a file in order. Only the public part of a private key is added.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn add_pem(&mut self, text: &str) -> Result<(), KeyError> {
        let blocks = pem::parse_many(text).map_err(|_| KeyError::NoPublicKey)?;
        let before = self.0.len();
        self.0.extend(blocks.iter().filter_map(|block| PublicKey::of_block(block.contents())));
        if self.0.len() == before { Err(KeyError::NoPublicKey) } else { Ok(()) }
    }

    pub(super) fn add(&mut self, key: PublicKey) {
        self.0.push(key);
    }

    /// Returns the published keys.
    pub(super) fn discoverable(&self) -> impl Iterator<Item = &PublicKey> {
        self.0.iter().filter(|key| key.discoverable)
    }

    /// Returns the keys with an id, or all keys for an empty id.
    pub(super) fn with_id(&self, id: &str) -> impl Iterator<Item = &PublicKey> {
        self.0.iter().filter(move |key| id.is_empty() || key.id == id)
    }
}

/// The key to sign tokens.
#[derive(Clone)]
pub struct SigningKey {
    pub(super) encoding: EncodingKey,
    pub(super) public: PublicKey,
}

impl SigningKey {
    /// Parses the first private key of a file.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        let blocks = pem::parse_many(text).map_err(|_| KeyError::NoPrivateKey)?;
        blocks.iter().find_map(|block| SigningKey::of_block(block.contents())).ok_or(KeyError::NoPrivateKey)
    }

    /// Generates a P-256 key and returns it in PEM.
    ///
    /// # Errors
    /// [`KeyError::Generate`].
    pub fn generate_pem() -> Result<String, KeyError> {
        let pair =
            EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).map_err(|_| KeyError::Generate)?;
        let der: EcPrivateKeyRfc5915Der<'_> = pair.private_key().as_der().map_err(|_| KeyError::Generate)?;
        Ok(pem::encode(&pem::Pem::new("EC PRIVATE KEY", der.as_ref())))
    }

    /// Parses a private key in any form. `None` if it is invalid.
    fn of_block(der: &[u8]) -> Option<Self> {
        let spki = |key: &dyn AsDer<PublicKeyX509Der<'static>>| {
            key.as_der().ok().and_then(|der| PublicKey::of_spki(der.as_ref()))
        };
        let rsa = RsaKeyPair::from_der(der).ok().map(|pair| (pair, der));
        let rsa = rsa.or_else(|| Some((RsaKeyPair::from_pkcs8(der).ok()?, pkcs8_content(der)?)));
        if let Some((pair, pkcs1)) = rsa {
            let encoding = EncodingKey::from_rsa_der(pkcs1);
            return Some(SigningKey { encoding, public: spki(pair.public_key())? });
        }
        let curves = [
            &ECDSA_P256_SHA256_FIXED_SIGNING,
            &ECDSA_P384_SHA384_FIXED_SIGNING,
            &ECDSA_P521_SHA512_FIXED_SIGNING,
        ];
        let pair = curves.iter().find_map(|curve| EcdsaKeyPair::from_private_key_der(curve, der).ok())?;
        let encoding = EncodingKey::from_ec_der(pair.to_pkcs8v1().ok()?.as_ref());
        Some(SigningKey { encoding, public: spki(pair.public_key())? })
    }
}

/// Returns the key of a PrivateKeyInfo: its third field, an octet string.
fn pkcs8_content(der: &[u8]) -> Option<&[u8]> {
    let (_, info) = parse_der(der).ok()?;
    match info.content {
        x509_parser::der_parser::ber::BerObjectContent::Sequence(members) => {
            match members.into_iter().nth(2)?.content {
                x509_parser::der_parser::ber::BerObjectContent::OctetString(key) => Some(key),
                _ => None,
            }
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
