//! Tests of v1 values.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::Ordering::SeqCst;

use super::*;
use crate::testing::{CONTEXT, FakePlugin, away, outside, vectors};

fn provider(plugin: &Arc<FakePlugin>, keys_max: Option<usize>) -> Provider {
    Provider::new("p", Arc::clone(plugin) as Arc<dyn Plugin>, keys_max, &outside())
}

#[tokio::test]
async fn upstream_values_open() {
    for (name, stale) in [("v1 gcm", false), ("v1 cbc", true)] {
        for (plain, stored) in vectors(name) {
            let provider = provider(&FakePlugin::with_key(""), Some(1));
            assert_eq!(provider.try_decrypt(&stored, CONTEXT), None);
            let opened = DecryptedValue { plain: plain.into(), stale };
            assert_eq!(provider.open(&stored, CONTEXT).await, Ok(opened.clone()), "{name}");
            assert_eq!(provider.try_decrypt(&stored, CONTEXT), Some(Ok(opened)), "{name}");
        }
    }
}

#[tokio::test]
async fn written_values_open_without_a_call() {
    let plugin = FakePlugin::with_key("");
    let here = provider(&plugin, Some(2));
    let stored = here.seal(b"secret", b"/a").await.unwrap();
    assert_eq!(here.try_decrypt(&stored, b"/a"), Some(Ok(DecryptedValue::current("secret".into()))));
    assert_eq!(plugin.opened.load(SeqCst), 0);
    let elsewhere = provider(&plugin, Some(2));
    assert_eq!(elsewhere.open(&stored, b"/a").await, Ok(DecryptedValue::current("secret".into())));
    assert_eq!(plugin.opened.load(SeqCst), 1);
}

#[tokio::test]
async fn evicted_keys_are_decrypted_again() {
    let plugin = FakePlugin::with_key("");
    let provider = provider(&plugin, Some(1));
    let first = provider.seal(b"1", b"/a").await.unwrap();
    let second = provider.seal(b"2", b"/a").await.unwrap();
    assert!(provider.try_decrypt(&second, b"/a").is_some());
    assert_eq!(provider.try_decrypt(&first, b"/a"), None);
}

#[tokio::test]
async fn disabled_cache_costs_one_call_per_value() {
    let plugin = FakePlugin::with_key("");
    let provider = provider(&plugin, None);
    let stored = provider.seal(b"secret", b"/a").await.unwrap();
    for calls in 1..3 {
        assert_eq!(provider.try_decrypt(&stored, b"/a"), None);
        provider.open(&stored, b"/a").await.unwrap();
        assert_eq!(plugin.opened.load(SeqCst), calls);
    }
}

#[tokio::test]
async fn a_moved_value_does_not_open() {
    let provider = provider(&FakePlugin::with_key(""), Some(1));
    let stored = provider.seal(b"secret", b"/a").await.unwrap();
    let error = provider.open(&stored, b"/b").await.unwrap_err().to_string();
    assert!(error.starts_with("[cipher: message authentication failed, "), "{error}");
}

#[tokio::test]
async fn broken_values_are_refused_without_a_call() {
    let provider = provider(&FakePlugin::with_key(""), Some(1));
    let broken =
        "invalid data encountered by envelope transformer: failed to read uint16 length prefixed data";
    for stored in [&b""[..], b"\0", b"\0\x05abcd", b"\xff\xff"] {
        assert_eq!(provider.try_decrypt(stored, b"/a"), Some(Err(Error::new(broken))), "{stored:?}");
        assert_eq!(provider.open(stored, b"/a").await, Err(Error::new(broken)), "{stored:?}");
    }
}

#[tokio::test]
async fn hostile_keys_are_refused() {
    let plugin = FakePlugin::with_key("");
    let provider = provider(&plugin, Some(1));
    plugin.answers.lock().unwrap().opens_to = Some(vec![1; 33]);
    let wrong = provider.open(b"\0\x01abc", b"/a").await;
    assert_eq!(wrong, Err(Error::new("crypto/aes: invalid key size 33")));
    plugin.answers.lock().unwrap().sealing.ciphertext = vec![1; 65_536];
    let long = "cryptobyte: pending child length 65536 exceeds 2-byte length prefix";
    assert_eq!(provider.seal(b"secret", b"/a").await, Err(Error::new(long)));
}

#[tokio::test(start_paused = true)]
async fn plugin_is_healthy_after_a_round_trip() {
    let plugin = FakePlugin::with_key("");
    let provider = provider(&plugin, Some(1));
    assert_eq!(provider.healthy().await, Ok(()));
    plugin.go_away();
    assert_eq!(provider.healthy().await, Ok(()), "it was not long ago");
    tokio::time::advance(std::time::Duration::from_secs(20)).await;
    let expected = "failed to perform encrypt section of the healthz check for KMS Provider p, error: \
                rpc error: code = Unavailable desc = away";
    assert_eq!(provider.healthy().await.unwrap_err().to_string(), expected);
    assert_eq!(provider.healthy().await, Err(away()));
    assert_eq!(provider.seal(b"secret", b"/a").await.unwrap_err().status(), "Unavailable");
}
