//! Certificates, certificate requests (PKCS#10) and public keys, as far as validation needs them. The error
//! texts are those of Go's `crypto/x509` and `encoding/asn1`, which upstream returns.

mod asn1;
mod signature;

use thiserror::Error;
use x509_parser::asn1_rs::{FromDer, Tag};
use x509_parser::certificate::X509Certificate;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::extensions::GeneralName;
use x509_parser::public_key::PublicKey;
use x509_parser::x509::SubjectPublicKeyInfo;

/// Type of a public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// RSA with a modulus of this size.
    Rsa {
        /// Size in bits, rounded up to whole bytes.
        bits: usize,
    },
    Ecdsa(Curve),
    Ed25519,
    /// Algorithm that Go does not support.
    Other,
}

/// Elliptic curves that Go supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Curve {
    P224,
    P256,
    P384,
    P521,
}

/// Error of a key, certificate, request or signature, in the words of Go's `crypto/x509`.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub(crate) struct X509Error(String);

/// Public key with the bytes of its bit string.
#[derive(Clone, Copy)]
struct SignatureKey<'d> {
    key: Key,
    bytes: &'d [u8],
}

impl Curve {
    /// Returns Go's name of the curve.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::P224 => "P-224",
            Self::P256 => "P-256",
            Self::P384 => "P-384",
            Self::P521 => "P-521",
        }
    }

    /// Checks that bytes are a point of the curve, in uncompressed form.
    ///
    /// # Errors
    /// Go's error for the malformed point.
    fn check_point(self, bytes: &[u8]) -> Result<(), X509Error> {
        let size = match self {
            Self::P224 => 28,
            Self::P256 => 32,
            Self::P384 => 48,
            Self::P521 => 66,
        };
        let curve = self.name().replace('-', "");
        match bytes {
            [4, rest @ ..] if rest.len() != 2 * size => {
                Err(X509Error(format!("invalid {curve} point encoding")))
            }
            [4, ..] if signature::is_point(self, bytes) => Ok(()),
            [4, ..] => Err(X509Error(format!("{curve} point not on curve"))),
            _ => Err(X509Error("ecdsa: invalid uncompressed public key".to_owned())),
        }
    }
}

impl Key {
    fn of(info: &SubjectPublicKeyInfo<'_>) -> Result<Self, X509Error> {
        let parameters = info.algorithm.parameters.as_ref();
        match info.algorithm.algorithm.to_id_string().as_str() {
            "1.2.840.113549.1.1.1" if parameters.is_none_or(|any| any.tag() != Tag::Null) => {
                Err(X509Error("x509: RSA key missing NULL parameters".to_owned()))
            }
            "1.2.840.113549.1.1.1" => match info.parsed() {
                Ok(PublicKey::RSA(key)) => Ok(Self::Rsa { bits: key.key_size() }),
                _ => Err(X509Error("x509: invalid RSA public key".to_owned())),
            },
            "1.2.840.10045.2.1" => {
                let curve = parameters.and_then(|any| any.as_oid().ok());
                let curve = match curve.map(|curve| curve.to_id_string()).as_deref() {
                    Some("1.3.132.0.33") => Curve::P224,
                    Some("1.2.840.10045.3.1.7") => Curve::P256,
                    Some("1.3.132.0.34") => Curve::P384,
                    Some("1.3.132.0.35") => Curve::P521,
                    Some(_) => return Err(X509Error("x509: unsupported elliptic curve".to_owned())),
                    None => return Err(X509Error("x509: invalid ECDSA parameters".to_owned())),
                };
                curve.check_point(&info.subject_public_key.data)?;
                Ok(Self::Ecdsa(curve))
            }
            "1.3.101.112" if parameters.is_some() => {
                Err(X509Error("x509: Ed25519 key encoded with illegal parameters".to_owned()))
            }
            "1.3.101.112" if info.subject_public_key.data.len() != 32 => {
                Err(X509Error("x509: wrong Ed25519 public key size".to_owned()))
            }
            "1.3.101.112" => Ok(Self::Ed25519),
            _ => Ok(Self::Other),
        }
    }
}

/// Public key with its algorithm (PKIX).
pub(crate) struct PublicKeyInfo<'d> {
    info: SubjectPublicKeyInfo<'d>,
    pub key: Key,
}

impl<'d> PublicKeyInfo<'d> {
    /// Parses a key.
    ///
    /// # Errors
    /// Go's error for a malformed key.
    pub(crate) fn parse(der: &'d [u8]) -> Result<Self, X509Error> {
        let (rest, info) = SubjectPublicKeyInfo::from_der(der)
            .map_err(|_| X509Error("x509: malformed public key".to_owned()))?;
        if !rest.is_empty() {
            return Err(X509Error("x509: trailing data after ASN.1 of public-key".to_owned()));
        }
        let key = Key::of(&info)?;
        Ok(Self { info, key })
    }

    /// Returns the key in the encoding of certificates.
    pub(crate) fn raw(&self) -> &[u8] {
        self.info.raw
    }

    /// Returns true if `signature` proves possession of the private key, as in pod certificate requests
    /// (KEP-4317). The hash is SHA-256; for RSA the scheme is PSS with a salt as long as the hash.
    pub(crate) fn verifies_signature(&self, message: &[u8], signature: &[u8]) -> bool {
        let bytes = &self.info.subject_public_key.data;
        signature::proves_possession(SignatureKey { key: self.key, bytes }, message, signature)
    }
}

pub(crate) struct Request<'d> {
    parsed: X509CertificationRequest<'d>,
    /// Type of the requested certificate's key.
    pub key: Key,
}

impl<'d> Request<'d> {
    /// Parses a request.
    ///
    /// # Errors
    /// Go's error for a malformed request.
    pub(crate) fn parse(der: &'d [u8]) -> Result<Self, X509Error> {
        let outline = asn1::request_outline(der)?;
        if !outline.rest.is_empty() {
            return Err(X509Error("asn1: syntax error: trailing data".to_owned()));
        }
        let Ok((_, parsed)) = X509CertificationRequest::from_der(der) else {
            outline.check_subject()?;
            return Err(X509Error("asn1: structure error: malformed certificate request".to_owned()));
        };
        let key = Key::of(&parsed.certification_request_info.subject_pki)?;
        outline.check_subject()?;
        Ok(Self { parsed, key })
    }

    /// Checks that the request is signed with its own key.
    ///
    /// # Errors
    /// The signature is wrong or cannot be checked.
    pub(crate) fn check_signature(&self) -> Result<(), X509Error> {
        let info = &self.parsed.certification_request_info;
        let key = SignatureKey { key: self.key, bytes: &info.subject_pki.subject_public_key.data };
        let scheme = signature::Scheme::of(&self.parsed.signature_algorithm)?;
        scheme.verify(key, info.raw, &self.parsed.signature_value.data)
    }

    /// Returns the key in the encoding of certificates.
    pub(crate) fn raw_key(&self) -> &[u8] {
        self.parsed.certification_request_info.subject_pki.raw
    }
}

pub(crate) struct Certificate<'d>(X509Certificate<'d>);

impl<'d> Certificate<'d> {
    /// Parses a certificate without trailing data.
    ///
    /// # Errors
    /// Go's error for a malformed certificate.
    pub(crate) fn parse(der: &'d [u8]) -> Result<Self, X509Error> {
        match Self::first(der)? {
            (certificate, []) => Ok(certificate),
            _ => Err(X509Error("x509: trailing data".to_owned())),
        }
    }

    /// Counts consecutive certificates.
    ///
    /// # Errors
    /// The error of the first malformed one.
    pub(crate) fn count(mut der: &'d [u8]) -> Result<usize, X509Error> {
        let mut count = 0;
        while !der.is_empty() {
            der = Self::first(der)?.1;
            count += 1;
        }
        Ok(count)
    }

    fn first(der: &'d [u8]) -> Result<(Self, &'d [u8]), X509Error> {
        let (rest, certificate) = X509Certificate::from_der(der)
            .map_err(|_| X509Error("x509: malformed certificate".to_owned()))?;
        Key::of(certificate.public_key())?;
        Ok((Self(certificate), rest))
    }

    /// True for a CA certificate.
    pub(crate) fn is_ca(&self) -> bool {
        self.0.is_ca()
    }

    /// Returns the key in the encoding of the certificate.
    pub(crate) fn raw_key(&self) -> &[u8] {
        self.0.public_key().raw
    }

    /// Returns start and end of the validity, in Unix seconds.
    pub(crate) fn validity(&self) -> (i64, i64) {
        let validity = self.0.validity();
        (validity.not_before.timestamp(), validity.not_after.timestamp())
    }

    /// Iterates over the DNS names of the subject.
    pub(crate) fn dns_names(&self) -> impl Iterator<Item = &str> {
        self.alternative_names().filter_map(|name| match name {
            GeneralName::DNSName(name) => Some(*name),
            _ => None,
        })
    }

    /// Iterates over the email addresses of the subject.
    pub(crate) fn mailboxes(&self) -> impl Iterator<Item = &str> {
        self.alternative_names().filter_map(|name| match name {
            GeneralName::RFC822Name(name) => Some(*name),
            _ => None,
        })
    }

    fn alternative_names(&self) -> impl Iterator<Item = &GeneralName<'d>> {
        let extension = self.0.subject_alternative_name().ok().flatten();
        extension.into_iter().flat_map(|extension| &extension.value.general_names)
    }
}

#[cfg(test)]
mod tests;
