//! Signature verification with all algorithms that Go's `crypto/x509` supports in a request, including SHA-1
//! and small keys.

mod unsupported_by_aws_lc;

use super::{Curve, Key, SignatureKey, X509Error};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA1_ASN1, ECDSA_P256_SHA256_ASN1, ECDSA_P256_SHA384_ASN1, ECDSA_P256_SHA512_ASN1,
    ECDSA_P384_SHA256_ASN1, ECDSA_P384_SHA384_ASN1, ECDSA_P384_SHA512_ASN1, ECDSA_P521_SHA1_ASN1,
    ECDSA_P521_SHA256_ASN1, ECDSA_P521_SHA384_ASN1, ECDSA_P521_SHA512_ASN1, ED25519, ParsedPublicKey,
    RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY, RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY,
    RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY, RSA_PKCS1_2048_8192_SHA384, RSA_PSS_2048_8192_SHA256,
    RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, UnparsedPublicKey, VerificationAlgorithm,
};
use x509_parser::signature_algorithm::RsaSsaPssParams;
use x509_parser::x509::AlgorithmIdentifier;

type Algorithm = &'static dyn VerificationAlgorithm;

/// Go's lower limit of RSA keys in bits.
const RSA_BITS_MIN: usize = 1024;
/// Lower limit of RSA keys in bits for which `aws-lc` supports all schemes.
const RSA_BITS_USUAL: usize = 2048;
const RSA_FAILURE: &str = "crypto/rsa: verification error";

/// Implementation that verifies a signature.
#[derive(Clone, Copy)]
enum Check {
    /// By `aws-lc`.
    Usual(Algorithm),
    P224,
    P384Sha1,
    Pkcs1Sha384,
    Pss,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hash {
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

/// Signature scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Scheme {
    family: Family,
    hash: Hash,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Pkcs1,
    Pss,
    Ecdsa,
    Ed25519,
}

fn unimplemented() -> X509Error {
    X509Error("x509: cannot verify signature: algorithm unimplemented".to_owned())
}

impl Scheme {
    /// Returns the scheme of an algorithm identifier.
    ///
    /// # Errors
    /// The scheme is unknown or insecure.
    pub(crate) fn of(identifier: &AlgorithmIdentifier<'_>) -> Result<Self, X509Error> {
        let (family, hash) = match identifier.algorithm.to_id_string().as_str() {
            "1.2.840.113549.1.1.4" => {
                return Err(X509Error(
                    "x509: cannot verify signature: insecure algorithm MD5-RSA".to_owned(),
                ));
            }
            "1.2.840.113549.1.1.5" | "1.3.14.3.2.29" => (Family::Pkcs1, Hash::Sha1),
            "1.2.840.113549.1.1.11" => (Family::Pkcs1, Hash::Sha256),
            "1.2.840.113549.1.1.12" => (Family::Pkcs1, Hash::Sha384),
            "1.2.840.113549.1.1.13" => (Family::Pkcs1, Hash::Sha512),
            "1.2.840.113549.1.1.10" => (Family::Pss, pss_hash(identifier).ok_or_else(unimplemented)?),
            "1.2.840.10045.4.1" => (Family::Ecdsa, Hash::Sha1),
            "1.2.840.10045.4.3.2" => (Family::Ecdsa, Hash::Sha256),
            "1.2.840.10045.4.3.3" => (Family::Ecdsa, Hash::Sha384),
            "1.2.840.10045.4.3.4" => (Family::Ecdsa, Hash::Sha512),
            "1.3.101.112" => (Family::Ed25519, Hash::Sha512),
            _ => return Err(unimplemented()),
        };
        Ok(Self { family, hash })
    }

    /// Verifies a signature with a key.
    ///
    /// # Errors
    /// Go's reason for rejecting the signature.
    pub(super) fn verify(
        self,
        public: SignatureKey<'_>,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), X509Error> {
        let SignatureKey { key, bytes } = public;
        let (check, failure) = match (self.family, key) {
            (Family::Pkcs1 | Family::Pss, Key::Rsa { bits }) if bits < RSA_BITS_MIN => {
                return Err(X509Error(format!(
                    "crypto/rsa: {bits}-bit keys are insecure (see \
                     https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size)"
                )));
            }
            (Family::Pkcs1, Key::Rsa { bits }) => (self.pkcs1(bits), RSA_FAILURE),
            (Family::Pss, Key::Rsa { bits }) => (self.pss(bits), RSA_FAILURE),
            (Family::Ecdsa, Key::Ecdsa(curve)) => (self.ecdsa(curve), "x509: ECDSA verification failure"),
            (Family::Ed25519, Key::Ed25519) => (Check::Usual(&ED25519), "x509: Ed25519 verification failure"),
            (_, Key::Other) => return Err(unimplemented()),
            (family, key) => return Err(mismatch(family, key)),
        };
        let right = match check {
            Check::Usual(algorithm) => {
                UnparsedPublicKey::new(algorithm, bytes).verify(message, signature).is_ok()
            }
            Check::P224 => unsupported_by_aws_lc::p224(self.hash, bytes, message, signature),
            Check::P384Sha1 => unsupported_by_aws_lc::p384_sha1(bytes, message, signature),
            Check::Pkcs1Sha384 => unsupported_by_aws_lc::pkcs1_sha384(bytes, message, signature),
            Check::Pss => unsupported_by_aws_lc::pss(self.hash, bytes, message, signature),
        };
        if right { Ok(()) } else { Err(X509Error(failure.to_owned())) }
    }

    fn pkcs1(self, bits: usize) -> Check {
        match self.hash {
            Hash::Sha1 => Check::Usual(&RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY),
            Hash::Sha256 => Check::Usual(&RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY),
            Hash::Sha384 if bits < RSA_BITS_USUAL => Check::Pkcs1Sha384,
            Hash::Sha384 => Check::Usual(&RSA_PKCS1_2048_8192_SHA384),
            Hash::Sha512 => Check::Usual(&RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY),
        }
    }

    fn pss(self, bits: usize) -> Check {
        match self.hash {
            _ if bits < RSA_BITS_USUAL => Check::Pss,
            // No identifier exists for PSS with SHA-1.
            Hash::Sha1 | Hash::Sha256 => Check::Usual(&RSA_PSS_2048_8192_SHA256),
            Hash::Sha384 => Check::Usual(&RSA_PSS_2048_8192_SHA384),
            Hash::Sha512 => Check::Usual(&RSA_PSS_2048_8192_SHA512),
        }
    }

    fn ecdsa(self, curve: Curve) -> Check {
        let algorithm: Algorithm = match (curve, self.hash) {
            (Curve::P224, _) => return Check::P224,
            (Curve::P384, Hash::Sha1) => return Check::P384Sha1,
            (Curve::P256, Hash::Sha1) => &ECDSA_P256_SHA1_ASN1,
            (Curve::P256, Hash::Sha256) => &ECDSA_P256_SHA256_ASN1,
            (Curve::P256, Hash::Sha384) => &ECDSA_P256_SHA384_ASN1,
            (Curve::P256, Hash::Sha512) => &ECDSA_P256_SHA512_ASN1,
            (Curve::P384, Hash::Sha256) => &ECDSA_P384_SHA256_ASN1,
            (Curve::P384, Hash::Sha384) => &ECDSA_P384_SHA384_ASN1,
            (Curve::P384, Hash::Sha512) => &ECDSA_P384_SHA512_ASN1,
            (Curve::P521, Hash::Sha1) => &ECDSA_P521_SHA1_ASN1,
            (Curve::P521, Hash::Sha256) => &ECDSA_P521_SHA256_ASN1,
            (Curve::P521, Hash::Sha384) => &ECDSA_P521_SHA384_ASN1,
            (Curve::P521, Hash::Sha512) => &ECDSA_P521_SHA512_ASN1,
        };
        Check::Usual(algorithm)
    }
}

/// Returns the hash of a PSS signature with the parameters that Go supports: the salt is as long as the hash.
fn pss_hash(identifier: &AlgorithmIdentifier<'_>) -> Option<Hash> {
    let parameters = RsaSsaPssParams::try_from(identifier.parameters.as_ref()?).ok()?;
    let hash = parameters.hash_algorithm_oid().to_id_string();
    let (hash_of, bytes) = match hash.as_str() {
        "2.16.840.1.101.3.4.2.1" => (Hash::Sha256, 32),
        "2.16.840.1.101.3.4.2.2" => (Hash::Sha384, 48),
        "2.16.840.1.101.3.4.2.3" => (Hash::Sha512, 64),
        _ => return None,
    };
    let mask = parameters.mask_gen_algorithm().ok()?;
    let standard = mask.mgf.to_id_string() == "1.2.840.113549.1.1.8"
        && mask.hash.to_id_string() == hash
        && parameters.salt_length() == bytes
        && parameters.trailer_field() == 1;
    standard.then_some(hash_of)
}

/// Returns the error for a key of the wrong type.
fn mismatch(family: Family, key: Key) -> X509Error {
    let expected = match family {
        Family::Pkcs1 | Family::Pss => "RSA",
        Family::Ecdsa => "ECDSA",
        Family::Ed25519 => "Ed25519",
    };
    let actual = match key {
        Key::Rsa { .. } => "*rsa.PublicKey",
        Key::Ecdsa(_) => "*ecdsa.PublicKey",
        Key::Ed25519 | Key::Other => "ed25519.PublicKey",
    };
    X509Error(format!(
        "x509: signature algorithm specifies an {expected} public key, but have public key of type {actual}"
    ))
}

/// See [`super::PublicKeyInfo::verifies_signature`].
pub(super) fn proves_possession(public: SignatureKey<'_>, message: &[u8], signature: &[u8]) -> bool {
    let family = match public.key {
        Key::Rsa { .. } => Family::Pss,
        Key::Ecdsa(_) => Family::Ecdsa,
        Key::Ed25519 | Key::Other => Family::Ed25519,
    };
    Scheme { family, hash: Hash::Sha256 }.verify(public, message, signature).is_ok()
}

/// True if the bytes are a point of the curve.
pub(crate) fn is_point(curve: Curve, bytes: &[u8]) -> bool {
    let algorithm: Algorithm = match curve {
        Curve::P224 => return unsupported_by_aws_lc::is_p224_point(bytes),
        Curve::P256 => &ECDSA_P256_SHA256_ASN1,
        Curve::P384 => &ECDSA_P384_SHA384_ASN1,
        Curve::P521 => &ECDSA_P521_SHA512_ASN1,
    };
    ParsedPublicKey::new(algorithm, bytes).is_ok()
}
