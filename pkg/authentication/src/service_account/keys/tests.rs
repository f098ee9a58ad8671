//! Tests of key files.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::service_account::testing::*;

/// Key ids, as derived with openssl.
const RSA_ID: &str = "vFVM0pSaeNPg8J62Fdz6Ere9-SnfOp96IE1hd1dTsOg";
const P256_ID: &str = "nFGE2GW1pd8VtaMO-4Vq4OFlH7qcnccTsPBAzeddm0I";
const P521_ID: &str = "2NGagpGMIQPdy2_bnvk1_wd3AcveO84pBvor1PIU9Bs";
const P384_ID: &str = "BtJrtAHCBUsEDeN80yFzWZT-v8TObq5d0WVfiRzXyOA";

#[test]
fn key_id_is_independent_of_encoding() {
    let check = |file: &str, id: &str, algorithm: Algorithm| {
        let keys = keys(&[file]);
        let actual: Vec<_> = keys.discoverable().map(|key| (key.id.as_str(), key.algorithm)).collect();
        assert_eq!(actual, [(id, algorithm)], "{file}");
    };
    for file in [RSA_PKCS1, RSA_PKCS8, RSA_PUBLIC, RSA_CERTIFICATE] {
        check(file, RSA_ID, Algorithm::Rs256);
    }
    for file in [P256_SEC1, P256_PKCS8, P256_PUBLIC] {
        check(file, P256_ID, Algorithm::Es256);
    }
    for file in [P384_SEC1, P384_PUBLIC] {
        check(file, P384_ID, Algorithm::Es384);
    }
    for file in [P521_SEC1, P521_PUBLIC] {
        check(file, P521_ID, Algorithm::Es512);
    }
}

#[test]
fn file_may_contain_several_keys_and_other_blocks() {
    let other = pem::encode(&pem::Pem::new("NOTES", b"hello".as_slice()));
    let keys = keys(&[&format!("text\n{RSA_PUBLIC}{other}{P256_SEC1}"), P384_PUBLIC]);
    let ids = |id: &str| keys.with_id(id).map(|key| key.id.as_str()).collect::<Vec<_>>();
    assert_eq!(ids(""), [RSA_ID, P256_ID, P384_ID]);
    assert_eq!(ids(P256_ID), [P256_ID]);
    assert!(ids("x").is_empty());
}

#[test]
fn a_file_without_a_usable_key_is_an_error() {
    let check = |file: &str, public: Option<KeyError>, private: Option<KeyError>| {
        assert_eq!(PublicKeys::default().add_pem(file).err(), public, "{file}");
        assert_eq!(SigningKey::from_pem(file).err(), private, "{file}");
    };
    let other = pem::encode(&pem::Pem::new("PRIVATE KEY", b"\x30\x03abc".as_slice()));
    for file in ["", "text", &other, "-----BEGIN PUBLIC KEY-----\n!\n-----END PUBLIC KEY-----\n"] {
        check(file, Some(KeyError::NoPublicKey), Some(KeyError::NoPrivateKey));
    }
    for file in [RSA_PUBLIC, RSA_CERTIFICATE, P256_PUBLIC] {
        check(file, None, Some(KeyError::NoPrivateKey));
    }
    check(P521_PUBLIC, None, Some(KeyError::NoPrivateKey));
}

#[test]
fn generated_keys_are_valid_and_unique() {
    let id = || SigningKey::from_pem(&SigningKey::generate_pem().unwrap()).unwrap().public.id;
    assert_ne!(id(), id());
    let key = SigningKey::generate_pem().unwrap();
    assert_eq!(keys(&[&key]).discoverable().count(), 1);
    assert!(key.starts_with("-----BEGIN EC PRIVATE KEY-----"), "upstream reads no other form for both uses");
}
