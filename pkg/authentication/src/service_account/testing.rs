//! Keys and objects for tests. The keys were generated with openssl and protect nothing.
#![allow(clippy::unwrap_used, reason = "a test may say what must hold")]

use std::collections::HashMap;
use std::sync::Mutex;

use apimachinery::time::UnixTime;
use async_trait::async_trait;
use futures::FutureExt;
use serde_json::Value;

use super::{
    Claims, Grant, ObjectKind, ObjectState, PublicKeys, Reference, SecretState, SigningKey, TokenObjects,
};
use crate::Error;

macro_rules! key {
    ($file:literal) => {
        include_str!(concat!("../../testdata/", $file, ".pem"))
    };
}

pub(super) const RSA_PKCS1: &str = key!("rsa.pkcs1");
pub(super) const RSA_PKCS8: &str = key!("rsa.pkcs8");
pub(super) const RSA_PUBLIC: &str = key!("rsa.pub");
pub(super) const RSA_CERTIFICATE: &str = key!("rsa.crt");
pub(super) const P256_SEC1: &str = key!("p256.sec1");
pub(super) const P256_PKCS8: &str = key!("p256.pkcs8");
pub(super) const P256_PUBLIC: &str = key!("p256.pub");
pub(super) const P384_SEC1: &str = key!("p384.sec1");
pub(super) const P384_PUBLIC: &str = key!("p384.pub");
pub(super) const P521_SEC1: &str = key!("p521.sec1");
pub(super) const P521_PUBLIC: &str = key!("p521.pub");

/// Issuer and audience in tests.
pub(super) const ISSUER: &str = "https://issuer";
pub(super) const API: &str = "https://api";
/// The fixed current time.
pub(super) const NOW: i64 = 1_000_000;

pub(super) fn now() -> UnixTime {
    UnixTime::from_seconds(NOW)
}

pub(super) fn keys(files: &[&str]) -> PublicKeys {
    let mut keys = PublicKeys::default();
    files.iter().for_each(|file| keys.add_pem(file).unwrap());
    keys
}

pub(super) fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

pub(super) fn named(name: &str) -> Reference {
    Reference { name: name.to_owned(), uid: format!("uid-{name}") }
}

/// Grant of a one-hour token for the service account `sa`.
pub(super) fn grant() -> Grant {
    Grant {
        id: "id".to_owned(),
        namespace: "ns".to_owned(),
        account: named("sa"),
        audiences: texts(&[API]),
        now: NOW,
        seconds: 3600,
        ..Grant::default()
    }
}

/// Signs arbitrary claims.
pub(super) fn sign(key: &str, claims: &Value) -> String {
    let key = SigningKey::from_pem(key).unwrap();
    let header = jsonwebtoken::Header {
        kid: Some(key.public.id.clone()),
        ..jsonwebtoken::Header::new(key.public.algorithm.library().unwrap())
    };
    jsonwebtoken::encode(&header, claims, &key.encoding).unwrap()
}

/// Issues a token of [`ISSUER`].
pub(super) fn issue(key: &str, grant: Grant) -> String {
    let signer = super::Signer::Key(Box::new(SigningKey::from_pem(key).unwrap()));
    let issuer = super::Issuer::new(ISSUER.to_owned(), signer);
    // A local key signs without waiting.
    issuer.issue(Claims::of(grant)).now_or_never().unwrap().unwrap()
}

/// Fake objects.
#[derive(Default)]
pub(super) struct Objects {
    pub(super) states: Mutex<HashMap<(ObjectKind, String), ObjectState>>,
    pub(super) secret: Mutex<Option<SecretState>>,
    /// Secrets listed by the service account.
    pub(super) listed: Mutex<Vec<String>>,
    /// The days on which secrets were marked as used.
    pub(super) used: Mutex<Vec<String>>,
}

impl Objects {
    /// Adds an object with a uid, in `ns` unless it is a node. `deletion` is in seconds after [`NOW`].
    pub(super) fn put(&self, kind: ObjectKind, name: &str, uid: &str, deletion: Option<i64>) {
        let state = ObjectState { uid: uid.to_owned(), deletion: deletion.map(|after| NOW + after) };
        self.states.lock().unwrap().insert((kind, name.to_owned()), state);
    }
}

#[async_trait]
impl TokenObjects for Objects {
    async fn state(&self, kind: ObjectKind, namespace: &str, name: &str) -> Result<ObjectState, Error> {
        assert_eq!(namespace, if kind.is_namespaced() { "ns" } else { "" });
        let state = self.states.lock().unwrap().get(&(kind, name.to_owned())).cloned();
        state.ok_or_else(|| Error::unavailable(format!("{} \"{name}\" not found", kind.name())))
    }

    async fn secret(&self, namespace: &str, name: &str) -> Result<SecretState, Error> {
        assert_eq!((namespace, name), ("ns", "tok"));
        self.secret.lock().unwrap().clone().ok_or_else(|| Error::unavailable("not found".to_owned()))
    }

    async fn lists_secret(&self, namespace: &str, account: &str, secret: &str) -> bool {
        assert_eq!((namespace, account), ("ns", "sa"));
        self.listed.lock().unwrap().iter().any(|listed| listed == secret)
    }

    async fn mark_used(&self, namespace: &str, name: &str, _: &str, today: &str) {
        assert_eq!((namespace, name), ("ns", "tok"));
        self.used.lock().unwrap().push(today.to_owned());
    }
}
