//! Tests of v2 values.
#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use super::*;
use crate::testing::{CONTEXT, FakePlugin, away, outside, unhex, vectors};

async fn provider(plugin: &Arc<FakePlugin>) -> Provider {
    Provider::start("p", Arc::clone(plugin) as Arc<dyn Plugin>, &outside()).await
}

#[tokio::test]
async fn upstream_values_open() {
    for (name, stale) in [("v2 seed", false), ("v2 seed annotated", false), ("v2 key", true)] {
        for (plain, stored) in vectors(name) {
            let provider = provider(&FakePlugin::with_key("key-1")).await;
            assert_eq!(provider.try_decrypt(&stored, CONTEXT), None);
            let opened = DecryptedValue { plain: plain.into(), stale };
            assert_eq!(provider.open(&stored, CONTEXT).await, Ok(opened.clone()), "{name}");
            assert_eq!(provider.try_decrypt(&stored, CONTEXT), Some(Ok(opened)), "{name}");
        }
    }
}

/// Upstream can open these bytes.
#[tokio::test]
async fn written_bytes_match_upstream() {
    let provider = provider(&FakePlugin::with_key("key-1")).await;
    let stored = provider.seal(b"k8s\0 a value", CONTEXT).await.unwrap();
    let hex = stored.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    });
    assert_eq!(hex, include_str!("../testing/sealed.txt").trim());
    assert_eq!(unhex(&hex), stored);
}

#[tokio::test(start_paused = true)]
async fn key_rotation_makes_values_stale() {
    let plugin = FakePlugin::with_key("key-1");
    let provider = provider(&plugin).await;
    let stored = provider.seal(b"secret", b"/a").await.unwrap();
    assert_eq!(provider.try_decrypt(&stored, b"/a"), Some(Ok(DecryptedValue::current("secret".into()))));
    plugin.change_key("key-2");
    tokio::time::advance(Duration::from_secs(20)).await;
    provider.healthy().await.unwrap();
    let stale = DecryptedValue { plain: "secret".into(), stale: true };
    assert_eq!(provider.try_decrypt(&stored, b"/a"), Some(Ok(stale)));
    let anew = provider.seal(b"secret", b"/a").await.unwrap();
    assert_eq!(provider.try_decrypt(&anew, b"/a"), Some(Ok(DecryptedValue::current("secret".into()))));
    assert_eq!(plugin.opened.load(SeqCst), 0);
}

#[tokio::test(start_paused = true)]
async fn concurrent_reads_share_one_call() {
    let plugin = FakePlugin::with_key("key-1");
    let stored = provider(&plugin).await.seal(b"secret", b"/a").await.unwrap();
    let provider = provider(&plugin).await;
    let permit = plugin.open.acquire().await.unwrap();
    let opens = futures::future::join_all((0..50).map(|_| provider.open(&stored, b"/a")));
    let release = async {
        tokio::time::sleep(Duration::from_millis(1)).await;
        drop(permit);
    };
    let (opened, ()) = tokio::join!(opens, release);
    assert!(opened.into_iter().all(|opened| opened == Ok(DecryptedValue::current("secret".into()))));
    assert_eq!(plugin.opened.load(SeqCst), 1);
}

#[tokio::test]
async fn failed_decrypt_is_retried() {
    let plugin = FakePlugin::with_key("key-1");
    let stored = provider(&plugin).await.seal(b"secret", b"/a").await.unwrap();
    let provider = provider(&plugin).await;
    plugin.go_away();
    let failed = provider.open(&stored, b"/a").await;
    assert_eq!(failed, Err(away().context("failed to decrypt DEK, error")));
    assert_eq!(failed.unwrap_err().status(), "Unavailable");
    plugin.come_back("key-1");
    assert_eq!(provider.open(&stored, b"/a").await, Ok(DecryptedValue::current("secret".into())));
}

#[tokio::test]
async fn never_healthy_plugin_blocks_reads_and_writes() {
    let plugin = FakePlugin::with_key("key-1");
    let stored = provider(&plugin).await.seal(b"secret", b"/a").await.unwrap();
    plugin.go_away();
    let provider = provider(&plugin).await;
    let error = Error::unavailable("got unexpected nil transformer");
    assert_eq!(provider.try_decrypt(&stored, b"/a"), Some(Err(error.clone())));
    assert_eq!(provider.open(&stored, b"/a").await, Err(error.clone()));
    assert_eq!(provider.seal(b"secret", b"/a").await, Err(error));
}

#[tokio::test]
async fn hostile_seeds_and_moved_values_are_refused() {
    let plugin = FakePlugin::with_key("key-1");
    let here = provider(&plugin).await;
    let stored = here.seal(b"secret", b"/a").await.unwrap();
    let moved = Error::new("cipher: message authentication failed");
    assert_eq!(here.open(&stored, b"/b").await, Err(moved.clone()));
    let elsewhere = provider(&plugin).await;
    plugin.answers.lock().unwrap().opens_to = Some(vec![1; 31]);
    let short = Error::new("invalid seed length 31 used for key generation");
    assert_eq!(elsewhere.open(&stored, b"/a").await, Err(short));
    plugin.answers.lock().unwrap().opens_to = Some(vec![1; 100_000]);
    assert_eq!(elsewhere.open(&stored, b"/a").await, Err(moved));
}
