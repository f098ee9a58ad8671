//! Tests of requests, keys and certificates. The files in `testdata` were made with OpenSSL.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::pem::blocks;

macro_rules! der {
    ($name:literal) => {
        blocks(include_bytes!(concat!("../../../testdata/x509/", $name))).next().unwrap().bytes
    };
}

fn verdict(der: &[u8]) -> Result<(), String> {
    Request::parse(der).and_then(|request| request.check_signature()).map_err(|error| error.to_string())
}

#[test]
fn requests_are_signed_with_their_key() {
    for good in [
        der!("p256.csr"),
        der!("p384.csr"),
        der!("p521.csr"),
        der!("ed25519.csr"),
        der!("rsa1024.csr"),
        der!("rsa2048.csr"),
        der!("rsa2048-sha1.csr"),
        der!("rsa2048-pss.csr"),
        der!("p224.csr"),
        der!("p224-sha1.csr"),
        der!("p224-sha512.csr"),
        der!("p256-sha1.csr"),
        der!("p384-sha1.csr"),
        der!("p521-sha1.csr"),
        der!("rsa1024-sha384.csr"),
        der!("rsa1024-pss.csr"),
        der!("rsa1535-pss-sha512.csr"),
    ] {
        assert_eq!(verdict(&good), Ok(()));
    }
    let check = |der: Vec<u8>, expected: &str| assert_eq!(verdict(&der).unwrap_err(), expected);
    check(der!("secp256k1.csr"), "x509: unsupported elliptic curve");
    check(
        der!("rsa512.csr"),
        "crypto/rsa: 512-bit keys are insecure (see https://go.dev/pkg/crypto/rsa#hdr-Minimum_key_size)",
    );
    let spoilt = |mut der: Vec<u8>| {
        *der.last_mut().unwrap() ^= 1;
        der
    };
    check(spoilt(der!("p256.csr")), "x509: ECDSA verification failure");
    check(spoilt(der!("ed25519.csr")), "x509: Ed25519 verification failure");
    check(spoilt(der!("rsa2048.csr")), "crypto/rsa: verification error");
    check(spoilt(der!("rsa2048-pss.csr")), "crypto/rsa: verification error");
    for rare in [der!("p224.csr"), der!("p224-sha1.csr"), der!("p384-sha1.csr"), der!("p521-sha1.csr")] {
        check(spoilt(rare), "x509: ECDSA verification failure");
    }
    for rare in [der!("rsa1024-sha384.csr"), der!("rsa1024-pss.csr"), der!("rsa1535-pss-sha512.csr")] {
        check(spoilt(rare), "crypto/rsa: verification error");
    }
    check(der!("rsa2048-md5.csr"), "x509: cannot verify signature: insecure algorithm MD5-RSA");
    check(der!("rsa2048-pss-salt20.csr"), "x509: cannot verify signature: algorithm unimplemented");
}

#[test]
fn ecdsa_key_is_a_point_of_its_curve() {
    let check = |mut der: Vec<u8>, expected: &str| {
        // The uncompressed key follows the length of its bit string and a 0 byte for no unused bits.
        let at = der.windows(3).position(|bytes| bytes[0] == 3 && bytes[2] == 0).unwrap() + 3;
        let mut spoil = |offset: usize, by: u8, expected: &str| {
            der[at + offset] ^= by;
            assert_eq!(verdict(&der).unwrap_err(), expected);
            der[at + offset] ^= by;
        };
        spoil(1, 1, expected);
        spoil(0, 6, "ecdsa: invalid uncompressed public key");
    };
    check(der!("p224.csr"), "P224 point not on curve");
    check(der!("p256.csr"), "P256 point not on curve");
    check(der!("p384.csr"), "P384 point not on curve");
}

#[test]
fn malformed_requests_have_gos_errors() {
    let check = |der: &[u8], expected: &str| {
        let error = verdict(der).unwrap_err();
        assert!(error.starts_with(expected), "{error}");
    };
    let file = der!("rsa2048.csr");
    let tags = |error: &str| format!("asn1: structure error: tags don't match (16 vs {{{error}}})");
    check(&[], "asn1: syntax error: sequence truncated");
    check(&[0x30, 0], "asn1: syntax error: sequence truncated");
    check(&file[..file.len() - 5], "asn1: syntax error: data truncated");
    check(&[file.clone(), vec![0]].concat(), "asn1: syntax error: trailing data");
    check(&[0, 0, 0], &tags("class:0 tag:0 length:0 isCompound:false"));
    check(b"hello", &tags("class:1 tag:8 length:101 isCompound:true"));
    check(&[0x30, 3, 2, 1, 1], &tags("class:0 tag:2 length:1 isCompound:false"));
    assert!(verdict(&[0x30, 3, 2, 1, 1]).unwrap_err().ends_with("tbsCertificateRequest @2"));
    check(&[0x30, 2, 0x30, 0], "asn1: syntax error: sequence truncated");
}

#[test]
fn truncated_files_do_not_overread() {
    for file in [
        der!("rsa2048.csr"),
        der!("rsa1024-pss.csr"),
        der!("p256.csr"),
        der!("p224.csr"),
        der!("leaf.crt"),
        der!("ca.crt"),
    ] {
        for end in 0..file.len() {
            assert!(verdict(&file[..end]).is_err());
            assert!(Certificate::parse(&file[..end]).is_err());
            assert!(PublicKeyInfo::parse(&file[..end]).is_err());
        }
    }
}

#[test]
fn certificates_have_names_and_keys() {
    let authority = der!("ca.crt");
    let leaf = der!("leaf.crt");
    assert_eq!(Certificate::count(&[authority.clone(), leaf.clone()].concat()), Ok(2));
    assert_eq!(Certificate::count(&[]), Ok(0));
    let authority = Certificate::parse(&authority).unwrap();
    let leaf = Certificate::parse(&leaf).unwrap();
    assert!(authority.is_ca() && !leaf.is_ca());
    assert_eq!(leaf.dns_names().collect::<Vec<_>>(), ["a.example"]);
    assert_eq!(leaf.mailboxes().collect::<Vec<_>>(), ["a@b.example"]);
    let (from, until) = leaf.validity();
    assert_eq!(until - from, 24 * 60 * 60);
    let request = der!("p256.csr");
    let request = Request::parse(&request).unwrap();
    assert_eq!(request.raw_key(), leaf.raw_key());
    let key = PublicKeyInfo::parse(leaf.raw_key()).unwrap();
    assert_eq!((key.key, key.raw()), (Key::Ecdsa(Curve::P256), leaf.raw_key()));
    assert!(!key.verifies_signature(b"uid", b"no signature"));
}
