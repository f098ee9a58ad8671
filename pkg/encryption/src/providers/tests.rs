//! Key rotation: the write key, the read keys and stale values.

use std::sync::Mutex;

use async_trait::async_trait;

use super::*;
use crate::Transformer;
use crate::configuration::Key;

const CONTEXT: &[u8] = b"/registry/secrets/a/b";

fn keys(algorithm: Algorithm, names: &[&str]) -> Arc<RuleProvider> {
    let key = |name: &&str| Key { name: (*name).to_owned(), secret: vec![name.as_bytes()[0]; 32] };
    let keys: Vec<Key> = names.iter().map(key).collect();
    Arc::new(RuleProvider::keys(Keys::new(algorithm, &keys).unwrap()))
}

fn protection(members: &[Arc<RuleProvider>]) -> Protection {
    let random: Random = Arc::new(|out| out.fill(7));
    Protection::new("secrets".to_owned(), members, &Arc::default(), &random)
}

fn identity() -> Arc<RuleProvider> {
    Arc::new(RuleProvider::identity())
}

async fn sealed(by: &Protection) -> Bytes {
    by.seal(Bytes::from_static(b"text"), CONTEXT).await.unwrap()
}

fn stale(by: &Protection, stored: &Bytes) -> bool {
    let opened = by.open_now(stored, CONTEXT).unwrap().unwrap();
    assert_eq!(opened.plain, "text");
    opened.stale
}

fn failure(by: &Protection, stored: &[u8]) -> String {
    by.open_now(&Bytes::copy_from_slice(stored), CONTEXT).unwrap().unwrap_err().to_string()
}

#[tokio::test]
async fn values_begin_with_provider_and_key() {
    for (algorithm, prefix) in [
        (Algorithm::AesGcm, "k8s:enc:aesgcm:v1:one:"),
        (Algorithm::AesCbc, "k8s:enc:aescbc:v1:one:"),
        (Algorithm::Secretbox, "k8s:enc:secretbox:v1:one:"),
    ] {
        let protection = protection(&[keys(algorithm, &["one", "two"])]);
        let stored = sealed(&protection).await;
        assert!(stored.starts_with(prefix.as_bytes()), "{stored:?}");
        assert!(!stale(&protection, &stored));
    }
}

#[tokio::test]
async fn value_of_other_key_is_stale() {
    let old = protection(&[keys(Algorithm::AesGcm, &["old"])]);
    let stored = sealed(&old).await;
    assert!(stale(&protection(&[keys(Algorithm::AesGcm, &["new", "old"])]), &stored));
    assert!(stale(
        &protection(&[keys(Algorithm::AesCbc, &["new"]), keys(Algorithm::AesGcm, &["old"])]),
        &stored
    ));
    assert!(stale(&protection(&[identity(), keys(Algorithm::AesGcm, &["old"])]), &stored));
    let plain = Bytes::from_static(b"text");
    assert!(stale(&protection(&[keys(Algorithm::AesGcm, &["old"]), identity()]), &plain));
    assert!(!stale(&protection(&[identity(), keys(Algorithm::AesGcm, &["old"])]), &plain));
}

#[tokio::test]
async fn two_keys_of_one_name_are_both_tried() {
    let old = protection(&[keys(Algorithm::AesGcm, &["old"])]);
    let stored = sealed(&old).await;
    let wrong_key = [Key { name: "old".to_owned(), secret: vec![1; 32] }];
    let wrong_key = Arc::new(RuleProvider::keys(Keys::new(Algorithm::AesGcm, &wrong_key).unwrap()));
    assert!(stale(&protection(&[wrong_key, keys(Algorithm::AesGcm, &["old"])]), &stored));
}

#[test]
fn unmatched_prefix_error_equals_upstreams() {
    let aes = protection(&[keys(Algorithm::AesGcm, &["one"])]);
    assert_eq!(
        failure(&aes, b"k8s:enc:aesgcm:v1:two:x"),
        "no matching key was found for the provided AES transformer"
    );
    assert_eq!(failure(&aes, b"plain"), "no matching prefix found");
    assert_eq!(
        failure(&aes, b"k8s:enc:aesgcm:v1:one:x"),
        "the stored data was shorter than the required size"
    );
    let secretbox = protection(&[keys(Algorithm::Secretbox, &["one"])]);
    let text = "no matching key was found for the provided Secretbox transformer";
    assert_eq!(failure(&secretbox, b"k8s:enc:secretbox:v1:two:x"), text);
    assert_eq!(failure(&protection(&[identity()]), b"k8s:enc:aescbc:v1:one:x"), "no matching prefix found");
}

/// A plugin that never decrypts without waiting.
struct Plugin(Mutex<u32>);

#[async_trait]
impl Transformer for Plugin {
    fn try_decrypt(&self, _: &[u8], _: &[u8]) -> Option<Result<DecryptedValue, Error>> {
        None
    }

    async fn open(&self, stored: &[u8], _: &[u8]) -> Result<DecryptedValue, Error> {
        *self.0.lock().unwrap() += 1;
        match stored {
            b"down" => Err(Error::grpc("no plugin", "Unavailable")),
            stored => Ok(DecryptedValue::current(Bytes::copy_from_slice(stored))),
        }
    }

    async fn seal(&self, plain: &[u8], _: &[u8]) -> Result<Bytes, Error> {
        Ok(Bytes::copy_from_slice(plain))
    }
}

#[async_trait]
impl KmsProvider for Plugin {
    async fn healthy(&self) -> Result<(), Error> {
        Ok(())
    }
}

#[tokio::test]
async fn plugin_is_called_only_by_async_open() {
    let plugin = Arc::new(Plugin(Mutex::new(0)));
    let member = RuleProvider::kms("k8s:enc:kms:v2:p:".to_owned(), Arc::clone(&plugin) as _);
    let protection = protection(&[Arc::new(member)]);
    let stored = sealed(&protection).await;
    assert_eq!(stored, "k8s:enc:kms:v2:p:text");
    assert!(protection.open_now(&stored, CONTEXT).is_none());
    assert_eq!(*plugin.0.lock().unwrap(), 0);
    assert_eq!(protection.open(&stored, CONTEXT).await.unwrap(), DecryptedValue::current("text".into()));
    let down = protection.open(&"k8s:enc:kms:v2:p:down".into(), CONTEXT).await.unwrap_err();
    assert!(down.is_transient());
    assert_eq!((down.to_string().as_str(), down.status()), ("no plugin", "Unavailable"));
}
