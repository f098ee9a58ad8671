//! Checks that a private key belongs to a certificate, with the errors of Go's `tls.X509KeyPair`, which
//! upstream uses for TLS secrets.
//!
//! Certificates and keys are only parsed as far as needed. Go derives the public key from the private one.
//! Here it is read from the key file, where RSA keys always and EC keys usually contain it. A key without it
//! (Ed25519, some EC keys) is assumed to match any certificate of its type.

use crate::pem::{Block, blocks};

type Error = String;

/// Comparable part of a public key.
#[derive(Debug, PartialEq, Eq)]
enum PublicKey<'d> {
    /// Modulus and exponent.
    Rsa(&'d [u8], &'d [u8]),
    /// The point; `None` if the private key does not contain it.
    Ec(Option<&'d [u8]>),
    Ed25519,
    Other,
}

const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];

const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];

const ED25519: &[u8] = &[0x2b, 0x65, 0x70];

/// Checks the first certificate in one PEM text against the first private key in another.
///
/// # Errors
/// Go's text about the problem.
pub(super) fn check(certificate: &[u8], key: &[u8]) -> Result<(), Error> {
    let certificate = first_certificate(certificate)?;
    let key = first_key(key)?;
    let public = parse_certificate(&certificate)?;
    let private = parse_key(&key).ok_or("tls: failed to parse private key")?;
    match (&public, &private) {
        (PublicKey::Rsa(..), PublicKey::Rsa(..)) | (PublicKey::Ed25519, PublicKey::Ed25519) => {}
        (PublicKey::Ec(_), PublicKey::Ec(None)) => return Ok(()),
        (PublicKey::Ec(_), PublicKey::Ec(_)) => {}
        (PublicKey::Other, _) => return Err("tls: unknown public key algorithm".to_owned()),
        _ => return Err("tls: private key type does not match public key type".to_owned()),
    }
    if public == private { Ok(()) } else { Err("tls: private key does not match public key".to_owned()) }
}

fn first_certificate(text: &[u8]) -> Result<Vec<u8>, Error> {
    let mut skipped = Vec::new();
    for Block { label, bytes, .. } in blocks(text) {
        if label == "CERTIFICATE" {
            return Ok(bytes);
        }
        skipped.push(label);
    }
    Err(match skipped.as_slice() {
        [] => "tls: failed to find any PEM data in certificate input".to_owned(),
        [label] if label.ends_with("PRIVATE KEY") => {
            "tls: failed to find certificate PEM data in certificate \
            input, but did find a private key; PEM inputs may have been switched"
                .to_owned()
        }
        labels => format!(
            "tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of \
             the following types: [{}]",
            labels.join(" ")
        ),
    })
}

fn first_key(text: &[u8]) -> Result<Vec<u8>, Error> {
    let mut skipped = Vec::new();
    for Block { label, bytes, .. } in blocks(text) {
        if label == "PRIVATE KEY" || label.ends_with(" PRIVATE KEY") {
            return Ok(bytes);
        }
        skipped.push(label);
    }
    Err(match skipped.as_slice() {
        [] => "tls: failed to find any PEM data in key input".to_owned(),
        [label] if label == "CERTIFICATE" => {
            "tls: found a certificate rather than a key in the PEM for the private key".to_owned()
        }
        labels => format!(
            "tls: failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM \
             blocks of the following types: [{}]",
            labels.join(" ")
        ),
    })
}

const INTEGER: u8 = 0x02;

const BIT_STRING: u8 = 0x03;

const OCTET_STRING: u8 = 0x04;

const OBJECT_IDENTIFIER: u8 = 0x06;

const SEQUENCE: u8 = 0x30;

const CONTEXT_0: u8 = 0xa0;

const CONTEXT_1: u8 = 0xa1;

/// Remaining DER bytes.
#[derive(Clone, Copy)]
struct Der<'d>(&'d [u8]);

impl<'d> Der<'d> {
    /// Takes the contents of the next element, which must have this tag.
    fn take(&mut self, tag: u8) -> Option<Der<'d>> {
        if self.0.first() == Some(&tag) { self.any() } else { None }
    }

    /// Takes the contents of the next element. Tags have one byte, lengths have the shortest form.
    fn any(&mut self) -> Option<Der<'d>> {
        let (_, rest) = self.0.split_first().filter(|(tag, _)| **tag & 0x1f != 0x1f)?;
        let (short, rest) = rest.split_first()?;
        let (length, rest) = match usize::from(*short) {
            length @ ..0x80 => (length, rest),
            count => {
                let digits = rest.split_at_checked(count - 0x80);
                let (digits, rest) = digits.filter(|(digits, _)| (1..=4).contains(&digits.len()))?;
                let length = digits.iter().fold(0, |length, digit| length << 8 | usize::from(*digit));
                let shortest = digits.first() != Some(&0) && length >= 0x80;
                (shortest.then_some(length)?, rest)
            }
        };
        let (contents, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some(Der(contents))
    }

    /// Takes an integer in the shortest form and returns its bytes.
    fn integer(&mut self) -> Option<&'d [u8]> {
        let bytes = self.take(INTEGER)?.0;
        let padded = matches!(bytes, [0, second, ..] if second & 0x80 == 0)
            || matches!(bytes, [0xff, second, ..] if second & 0x80 != 0);
        (!bytes.is_empty() && !padded).then_some(bytes)
    }

    /// Takes a bit string of whole bytes.
    fn bits(&mut self) -> Option<&'d [u8]> {
        let bytes = self.take(BIT_STRING)?.0;
        bytes.split_first().filter(|(unused, _)| **unused == 0).map(|(_, bytes)| bytes)
    }
}

fn parse_certificate(der: &[u8]) -> Result<PublicKey<'_>, Error> {
    let mut outer = Der(der);
    let mut certificate = outer.take(SEQUENCE).ok_or("x509: malformed certificate")?;
    let mut body = certificate.take(SEQUENCE).ok_or("x509: malformed tbs certificate")?;
    let version = version(&mut body).ok_or("x509: malformed version")?;
    if version > 2 {
        return Err("x509: invalid version".to_owned());
    }
    let serial = body.integer().ok_or("x509: malformed serial number")?;
    if serial.first().is_some_and(|byte| byte & 0x80 != 0) {
        return Err("x509: negative serial number".to_owned());
    }
    let inner = body.take(SEQUENCE).ok_or("x509: malformed signature algorithm identifier")?;
    let algorithm = certificate.take(SEQUENCE).ok_or("x509: malformed algorithm identifier")?;
    if inner.0 != algorithm.0 {
        return Err("x509: inner and outer signature algorithm identifiers don't match".to_owned());
    }
    name_of(inner)?;
    body.take(SEQUENCE).ok_or("x509: malformed issuer")?;
    body.take(SEQUENCE).ok_or("x509: malformed validity")?;
    body.take(SEQUENCE).ok_or("x509: malformed issuer")?;
    let mut info = body.take(SEQUENCE).ok_or("x509: malformed spki")?;
    let key = public_key(&mut info)?;
    if outer.0.is_empty() { Ok(key) } else { Err("x509: trailing data".to_owned()) }
}

/// Parses the version, counted from 0; the default is 0.
fn version(body: &mut Der<'_>) -> Option<u8> {
    if body.0.first() != Some(&CONTEXT_0) {
        return Some(0);
    }
    let mut wrapper = body.take(CONTEXT_0)?;
    let bytes = wrapper.integer().filter(|_| wrapper.0.is_empty())?;
    match bytes {
        [byte @ ..0x80] => Some(*byte),
        [first, ..] if first & 0x80 != 0 => None,
        _ => Some(u8::MAX),
    }
}

/// Returns the OID of an algorithm, which may be followed by parameters.
fn name_of(mut algorithm: Der<'_>) -> Result<&[u8], Error> {
    let name = algorithm.take(OBJECT_IDENTIFIER).filter(|name| !name.0.is_empty());
    let name = name.ok_or("x509: malformed OID")?;
    if !algorithm.0.is_empty() {
        algorithm.any().ok_or("x509: malformed parameters")?;
    }
    Ok(name.0)
}

fn public_key<'d>(info: &mut Der<'d>) -> Result<PublicKey<'d>, Error> {
    let algorithm = info.take(SEQUENCE).ok_or("x509: malformed public key algorithm identifier")?;
    let name = name_of(algorithm)?;
    let bits = info.bits().ok_or("x509: malformed subjectPublicKey")?;
    Ok(match name {
        RSA => {
            let mut key = Der(bits).take(SEQUENCE).ok_or("x509: invalid RSA public key")?;
            let modulus = key.integer().ok_or("x509: invalid RSA modulus")?;
            PublicKey::Rsa(modulus, key.integer().ok_or("x509: invalid RSA public exponent")?)
        }
        EC => PublicKey::Ec(Some(bits)),
        ED25519 => PublicKey::Ed25519,
        _ => PublicKey::Other,
    })
}

/// Returns the public half of a private key in any of the three formats that Go tries.
fn parse_key(der: &[u8]) -> Option<PublicKey<'_>> {
    let key = Der(der).take(SEQUENCE)?;
    rsa_key(key).or_else(|| wrapped_key(key)).or_else(|| ec_key(key))
}

/// PKCS #1.
fn rsa_key(mut key: Der<'_>) -> Option<PublicKey<'_>> {
    key.integer()?;
    let modulus = key.integer()?;
    let exponent = key.integer()?;
    key.integer()?;
    Some(PublicKey::Rsa(modulus, exponent))
}

/// PKCS #8.
fn wrapped_key(mut key: Der<'_>) -> Option<PublicKey<'_>> {
    key.integer()?;
    let algorithm = key.take(SEQUENCE)?.take(OBJECT_IDENTIFIER)?;
    let mut contents = key.take(OCTET_STRING)?;
    match algorithm.0 {
        RSA => rsa_key(contents.take(SEQUENCE)?),
        EC => ec_key(contents.take(SEQUENCE)?),
        ED25519 => contents.take(OCTET_STRING).map(|_| PublicKey::Ed25519),
        _ => None,
    }
}

/// SEC 1.
fn ec_key(mut key: Der<'_>) -> Option<PublicKey<'_>> {
    key.integer().filter(|version| *version == [1])?;
    key.take(OCTET_STRING)?;
    _ = key.take(CONTEXT_0);
    Some(PublicKey::Ec(key.take(CONTEXT_1).and_then(|mut public| public.bits())))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;

    fn pem(label: &str, der: &str) -> String {
        let mut text = String::new();
        _ = write!(text, "-----BEGIN {label}-----\n{der}\n-----END {label}-----\n");
        text
    }

    /// Self-signed certificates and keys: RSA of 1024 bits, P-256, Ed25519.
    const RSA_CERTIFICATE: &str = "MIIBjTCB96ADAgECAgEBMA0GCSqGSIb3DQEBCwUAMAwxCjAIBgNVBAMTAWEwIBcNNzAwMTAxMDAwMDAwWhgPMjEwNjAyMDcw\
        NjI4MTZaMAwxCjAIBgNVBAMTAWEwgZ8wDQYJKoZIhvcNAQEBBQADgY0AMIGJAoGBAMNAlwzwM0eOczAwqmGgUXS5Bukx1cNo\
        zSUhmgka+kszrIQdyIFzzVtSb3uF1+vPX5LZmXIjnpvtfdeAOB1fCVLAcBcqIlfbrne2HuLtT2qZwJE4V0x0xM+NTStBA13+\
        WCHQ+Lr+eTIrS0vuACRG/QYcz4rJzs2ddPc4znzbC/vxAgMBAAEwDQYJKoZIhvcNAQELBQADgYEAtw2fXN9hfFIC6TEpokw/\
        ED1UJirvmRkci5tJOS/2K2/eOoEMpl6Gw/XLrBu/LiuPGRuhObKB80FnOLmR8F2C705Yg/zu1otMznM+j7JNxe8Ekx5qFsWI\
        C3cGPF5RfZMfGtsj+76GeLhbkXj1H+0dX9kYbfCNbJDD0Y4eubZLPsU=";
    const RSA_KEY: &str = "MIICXgIBAAKBgQDDQJcM8DNHjnMwMKphoFF0uQbpMdXDaM0lIZoJGvpLM6yEHciBc81bUm97hdfrz1+S2ZlyI56b7X3XgDgd\
        XwlSwHAXKiJX2653th7i7U9qmcCROFdMdMTPjU0rQQNd/lgh0Pi6/nkyK0tL7gAkRv0GHM+Kyc7NnXT3OM582wv78QIDAQAB\
        AoGAPw2gugDnznfmIu3UV+qZ44PNA4mgapZxiUgsojwgECED2TZ1BbkL3C3m6pDyhahWSOoUb5OpKNmtBebWOEX0kEAdzM1o\
        gxLaV8MFSOjJfvw1/r1VnRlA2j236MFxCMEQUVvxawN6Z2dD5ysZi5DBrV8PlsuL4RYKBU53IwyNXfECQQDVTgiJuLqHy1Qt\
        qKBYsxW/zaNgND8uJwgx2F36I89NDMLzuM1WSJhDjtPNPkL9ElEbADXY6ZFIpu2jnEmWHgRzAkEA6lWG0nlhxkxkD5YAOI4b\
        +r3Q6zIqqJ5p8eeWWDiz3+AS5ezdlShjseSlnvuR6Tr/s/8pQrqaByjD88gTY09JCwJBAIlVQ3QAZsBVbi4zeoGBVAh4yq5/\
        FQqPANyu1NrfQXH3PHGU00exV69vfviPFKxBpcx/lyvAPdUL/MaxMkOfsfcCQQDRYUYsPiTtCEjH3GGqJuA9NOm9nX+cVp+X\
        dDRT86ZVPWPlabW7lvEtfH24BlSjrwHXFQELDKygBP7Bjl40eB1tAkEAhm7rh55/uZKN4eojiXYlqM+YKbN6BwdDkt0NxlUX\
        PKB+Obe6cZ9GePMFoPGi1k3cJPith3pfdnwzmWYZhNR+aw==";
    const OTHER_RSA_KEY: &str = "MIICWwIBAAKBgQC/BmVgHBc46fJROtX/OX7nw2TZBjqqlv1CE6jI5Y0bNEc1kZUf2kshl//+uzGhOzsfAD1F+eTlHTVipbGw\
        cQLoy2dQj190tgM4TNoVClUYelmiuIr15KgPRr8TNCGereZz/LiZvUDR5FydnxTPFEwT2sK70dOyOmXSt4urNpZTAQIDAQAB\
        AoGACnxCDvHRHyv4Q8KEV0DDWTATK7Z5Jz6nzXthcGWT8UJVW6NkxB1/XOtdqeXXO4+8wbQ0U3r8DXd6TrKO+624XbvwHyJP\
        m/gVoi2JOO6jgTEjEB2G3/Fo8q1kSNG/VIYj6CGFlOEFS1XP8wQhUo+b10zjSrBIcWPb+AViz47A+GECQQDelPWWNtoiwVHW\
        mrujm4yj2AQ3Qwqb35/DlWMmI8EBoTkr+nAdb28gd3JRC3FxTmGP9QZVOAYFBDXHu28EsG47AkEA27SIWFKqWRLdslo3QKUQ\
        KC8rdlib8KqKY1r3KzSkitcYpmWnWgSA6El/put5qAnrXHUdy7WNWW+R1WxxmUkD8wJADt9PJZFWs/nM2RUPspfjJtN5PKQL\
        Im0nxK7HqDW9YLmAE3MxaJYYi8fPaKDmHJcLJ85MdQdAR7eHTGg2u856HwJAY7kvBgAHqESi8lh2qdYCXmsCrEYOChAunmhk\
        tmy/nvGBE84iRv6yUD1EPsy1PKu79AyIyLUQgp7cr+X4Lh5xNwJAam1CFPZsGoK7WL8tbyY8Wyg8S2zChMnyy+g9P6uBazE6\
        p9qdMnxky2sPvHxPu9ECeYczaSYzycKnuE+U4NYTnQ==";
    const EC_CERTIFICATE: &str = "MIIBBjCBraADAgECAgEBMAoGCCqGSM49BAMCMAwxCjAIBgNVBAMTAWEwIBcNNzAwMTAxMDAwMDAwWhgPMjEwNjAyMDcwNjI4\
        MTZaMAwxCjAIBgNVBAMTAWEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARZ6WZKPAjPjs8yJqZ8ymmIBIj9k+ciSm3HXfX0\
        ne/52u65Gk1gQLTL5sO30LlnisHvWHgPu+s6iQmDqKZezchQMAoGCCqGSM49BAMCA0gAMEUCIQCM8lKWNIcJ9jygvreAu2N3\
        xot3tZ1/hcrPqlTOyfi1MwIgVwWSFvAudN/F3yiowLMMptGvMS8wPQQOLqC66WgkC0Y=";
    const EC_KEY: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgTl0rz6/1HnQG/V34YJqifHTnN5w6K39tT7JflC7QZpqhRANC\
        AARZ6WZKPAjPjs8yJqZ8ymmIBIj9k+ciSm3HXfX0ne/52u65Gk1gQLTL5sO30LlnisHvWHgPu+s6iQmDqKZezchQ";
    const OTHER_EC_KEY: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgSrlydXqjkI2xIDblBB8X9wikiqGOqxi5bBvbLLIeud+hRANC\
        AASsGKpaWPNuGi3cK8xi18iTndPi1i+2U+xc6gX87xQn5sKDUh40iZ5JRWN0dpOB97pXbL4MA22avu9+w6pmNrmd";
    const ED25519_CERTIFICATE: &str = "MIHFMHmgAwIBAgIBATAFBgMrZXAwDDEKMAgGA1UEAxMBYTAgFw03MDAxMDEwMDAwMDBaGA8yMTA2MDIwNzA2MjgxNlowDDEK\
        MAgGA1UEAxMBYTAqMAUGAytlcAMhAClqa2ABXht9NxYTIthHC4MfBoEcGpBlo4kYcd9GQBRMMAUGAytlcANBAGGmq36lsUXL\
        VegFAvwz6GrRBGcHQmHFXJsQh6m+QrexiiXuDIeKLdpWvrlhAkd9tSA/itiTtpjHDLEdUGW5DAk=";
    const ED25519_KEY: &str = "MC4CAQAwBQYDK2VwBCIEIOcGvTG7j2i0PKagggN3wZ3XGidHjt89A2brTZCSHjqe";

    #[track_caller]
    fn is(certificate: &str, key: &str, expected: &str) {
        let error = super::check(certificate.as_bytes(), key.as_bytes()).err().unwrap_or_default();
        assert_eq!(error, expected);
    }

    #[test]
    fn a_key_fits_its_certificate() {
        let keys = [
            (RSA_CERTIFICATE, "RSA PRIVATE KEY", RSA_KEY),
            (EC_CERTIFICATE, "PRIVATE KEY", EC_KEY),
            (ED25519_CERTIFICATE, "PRIVATE KEY", ED25519_KEY),
        ];
        for (certificate, label, key) in keys {
            is(&pem("CERTIFICATE", certificate), &pem(label, key), "");
        }
    }

    #[test]
    fn a_key_fits_no_other_certificate() {
        let rsa = pem("CERTIFICATE", RSA_CERTIFICATE);
        let ec = pem("CERTIFICATE", EC_CERTIFICATE);
        let other = "tls: private key does not match public key";
        is(&rsa, &pem("RSA PRIVATE KEY", OTHER_RSA_KEY), other);
        is(&ec, &pem("PRIVATE KEY", OTHER_EC_KEY), other);
        let other = "tls: private key type does not match public key type";
        is(&rsa, &pem("PRIVATE KEY", EC_KEY), other);
        is(&ec, &pem("PRIVATE KEY", RSA_KEY), other);
        is(&ec, &pem("PRIVATE KEY", ED25519_KEY), other);
    }

    #[test]
    fn certificates_and_keys_are_found_in_their_texts() {
        let certificate = pem("CERTIFICATE", EC_CERTIFICATE);
        let key = pem("PRIVATE KEY", EC_KEY);
        let x = pem("X", "");
        let y = pem("Y", "");
        is(&format!("{x}{certificate}{y}"), &format!("{y}{key}"), "");
        is("", &key, "tls: failed to find any PEM data in certificate input");
        is(&certificate, "key", "tls: failed to find any PEM data in key input");
        is(
            &key,
            &certificate,
            "tls: failed to find certificate PEM data in certificate input, but did find a private key; PEM \
             inputs may have been switched",
        );
        is(
            &certificate,
            &certificate,
            "tls: found a certificate rather than a key in the PEM for the private key",
        );
        is(
            &format!("{x}{y}"),
            &key,
            "tls: failed to find \"CERTIFICATE\" PEM block in certificate input after skipping PEM blocks of the \
             following types: [X Y]",
        );
        is(
            &certificate,
            &x,
            "tls: failed to find PEM block with type ending in \"PRIVATE KEY\" in key input after skipping PEM \
             blocks of the following types: [X]",
        );
    }

    #[test]
    fn malformed_certificates_and_keys_are_reported() {
        let certificate = pem("CERTIFICATE", EC_CERTIFICATE);
        let key = pem("PRIVATE KEY", EC_KEY);
        is(&certificate, &pem("PRIVATE KEY", "AQID"), "tls: failed to parse private key");
        for (der, expected) in [
            ("", "malformed certificate"),
            ("AQID", "malformed certificate"),
            ("MIAAAA==", "malformed certificate"),
            ("MAA=", "malformed tbs certificate"),
            ("MAIwAA==", "malformed serial number"),
            ("MAUwAwIB/w==", "negative serial number"),
            ("MAUwAwIBAQ==", "malformed signature algorithm identifier"),
            ("MAcwBQIBATAA", "malformed algorithm identifier"),
            ("MAkwBQIBATAAMAA=", "malformed OID"),
            ("MAgwBqADAgH/AA==", "malformed version"),
            ("MAcwBaADAgEF", "invalid version"),
        ] {
            is(&pem("CERTIFICATE", der), &key, &format!("x509: {expected}"));
        }
    }
}
