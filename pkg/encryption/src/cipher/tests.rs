//! Values that upstream encrypted are decrypted here, and encryption here produces the same bytes.

use std::cell::RefCell;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::{Cbc, ExtendedGcm, Gcm, Secretbox};
use crate::Error;

/// Algorithm, key, `x` and plain text, sealed text; under [`CONTEXT`].
const UPSTREAM: &str = include_str!("testdata/upstream.txt");
const CONTEXT: &[u8] = b"/registry/secrets/default/a";

type Open = Box<dyn Fn(&[u8], &[u8]) -> Result<Vec<u8>, Error>>;
type Seal = Box<dyn Fn(&mut Vec<u8>, &[u8], &dyn Fn(&mut [u8])) -> Result<(), Error>>;

fn cipher(name: &str, key: &[u8]) -> (Open, Seal) {
    match name {
        "aesgcm" => {
            let open = Gcm::new(key).unwrap();
            let seal = Gcm::new(key).unwrap();
            (
                Box::new(move |stored, context| open.open(stored, context)),
                Box::new(move |out, plain, random| seal.seal(out, plain, CONTEXT, random)),
            )
        }
        "extended" => {
            let open = ExtendedGcm::new(key).unwrap();
            let seal = ExtendedGcm::new(key).unwrap();
            (
                Box::new(move |stored, context| open.open(stored, context)),
                Box::new(move |out, plain, random| seal.seal(out, plain, CONTEXT, random)),
            )
        }
        "aescbc" => {
            let open = Cbc::new(key).unwrap();
            let seal = Cbc::new(key).unwrap();
            (
                Box::new(move |stored, _| open.open(stored)),
                Box::new(move |out, plain, random| seal.seal(out, plain, random)),
            )
        }
        "secretbox" => {
            let open = Secretbox::new(key).unwrap();
            let seal = Secretbox::new(key).unwrap();
            (
                Box::new(move |stored, _| open.open(stored)),
                Box::new(move |out, plain, random| seal.seal(out, plain, random)),
            )
        }
        other => panic!("{other}"),
    }
}

/// Calls `check` with the parts of every line: algorithm, key, plain and sealed text.
fn each(check: impl Fn(&str, &[u8], &[u8], &[u8])) {
    let mut count = 0;
    for line in UPSTREAM.lines() {
        let [name, key, plain, sealed] = *line.split(' ').collect::<Vec<_>>() else { panic!("{line}") };
        let decode = |text: &str| STANDARD.decode(text).unwrap();
        check(name, &decode(key), &decode(&plain[1..]), &decode(sealed));
        count += 1;
    }
    assert_eq!(count, 54);
}

#[test]
fn upstream_ciphertexts_decrypt() {
    each(|name, key, plain, sealed| {
        let (open, _) = cipher(name, key);
        assert_eq!(open(sealed, CONTEXT).unwrap(), plain, "{name}");
    });
}

#[test]
fn ciphertexts_equal_upstreams() {
    each(|name, key, plain, sealed| {
        let (_, seal) = cipher(name, key);
        // Every algorithm writes its random bytes first, in the order in which it draws them.
        let drawn = RefCell::new(sealed.to_vec());
        let random = |out: &mut [u8]| {
            let mut drawn = drawn.borrow_mut();
            let rest = drawn.split_off(out.len());
            out.copy_from_slice(&drawn);
            *drawn = rest;
        };
        let mut out = b"prefix:".to_vec();
        seal(&mut out, plain, &random).unwrap();
        assert_eq!(out, [b"prefix:", sealed].concat(), "{name}");
    });
}

#[test]
fn changed_or_truncated_values_do_not_decrypt() {
    each(|name, key, _, sealed| {
        let (open, _) = cipher(name, key);
        for length in 0..sealed.len().min(60) {
            assert!(open(&sealed[..length], CONTEXT).is_err() || name == "aescbc", "{name} {length}");
        }
        if name != "aescbc" {
            let mut changed = sealed.to_vec();
            *changed.last_mut().unwrap() ^= 1;
            assert!(open(&changed, CONTEXT).is_err(), "{name}");
        }
    });
}

#[test]
fn moved_values_decrypt_only_without_context_binding() {
    each(|name, key, _, sealed| {
        let (open, _) = cipher(name, key);
        let binds = ["aesgcm", "extended"].contains(&name);
        assert_eq!(open(sealed, b"/registry/secrets/default/b").is_err(), binds, "{name}");
    });
}

#[test]
fn errors_equal_upstreams() {
    let check = |error: Result<Vec<u8>, Error>, text: &str| assert_eq!(error.unwrap_err().to_string(), text);
    let key = [1; 32];
    let short = "the stored data was shorter than the required size";
    check(Gcm::new(&key).unwrap().open(b"short", b""), short);
    check(Gcm::new(&key).unwrap().open(&[0; 20], b""), "cipher: message authentication failed");
    check(ExtendedGcm::new(&key).unwrap().open(&[0; 31], b""), short);
    check(Secretbox::new(&key).unwrap().open(&[0; 39]), short);
    check(Secretbox::new(&key).unwrap().open(&[0; 40]), "output array was not large enough for encryption");
    let cbc = Cbc::new(&key).unwrap();
    check(cbc.open(&[0; 15]), short);
    check(cbc.open(&[0; 33]), "the stored data is not a multiple of the block size");
    check(cbc.open(&[0; 16]), "invalid PKCS7 data (empty or not padded)");
    assert_eq!(Gcm::new(&[0; 5]).unwrap_err().to_string(), "crypto/aes: invalid key size 5");
    let seed = ExtendedGcm::new(&[0; 31]).unwrap_err();
    assert_eq!(seed.to_string(), "invalid seed length 31 used for key generation");
    let secretbox = Secretbox::new(&[0; 16]).unwrap_err();
    assert_eq!(secretbox.to_string(), "expected key size 32 for secretbox provider, got 16");
}
