//! Tests of health checks and of the write seed.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::Ordering::SeqCst;

use super::*;
use crate::testing::{FakePlugin, outside};

const NEW: &str = "sha256:7c36b0a9dedde119c75165957c6c9c187e65df1ee5db87c4c58ad503ad88cbe3";

fn probe(plugin: &Arc<FakePlugin>) -> Arc<Probe> {
    Arc::new(Probe::new(&"p".into(), Arc::clone(plugin) as Arc<dyn Plugin>, &outside()))
}

async fn later(seconds: u64) {
    tokio::time::advance(Duration::from_secs(seconds)).await;
}

/// Checks the next result of a plugin whose status has changed.
async fn check(change: impl FnOnce(&FakePlugin), expected: &str) {
    let plugin = FakePlugin::with_key("key-1");
    let probe = probe(&plugin);
    assert_eq!(probe.check().await, Ok(()));
    change(&plugin);
    later(20).await;
    let error = probe.check().await.unwrap_err().to_string();
    assert_eq!(error.replace(&probe.uid_of(&error), "UID"), expected);
    assert_eq!(probe.write_state().ok().unwrap().source.key_id, "key-1", "the old seed stays");
}

impl Probe {
    /// Returns the `uid` in an error.
    fn uid_of(&self, error: &str) -> String {
        let uid = error.split("uid=\"").nth(1).and_then(|rest| rest.split('"').next());
        uid.unwrap_or("no uid").to_owned()
    }
}

#[tokio::test(start_paused = true)]
async fn unhealthy_plugin_is_reported() {
    let start = "kmsv2 Provider p is not healthy, error:";
    let healthz = format!("{start} got unexpected healthz status: ill");
    check(|plugin| plugin.change_status(|status| status.healthz = "ill".into()), &healthz).await;
    let version = format!("{start} expected KMSv2 API version v2, got v3");
    check(|plugin| plugin.change_status(|status| status.version = "v3".into()), &version).await;
    let changed = format!(
        "{start} KMSv2 API version should not change after the initial status response version v2, got v2beta1"
    );
    check(|plugin| plugin.change_status(|status| status.version = "v2beta1".into()), &changed).await;
    let two_errors = format!(
        "{start} [got unexpected healthz status: ill, got invalid KMSv2 KeyID hash \"\": keyID is empty]"
    );
    let ill = |plugin: &FakePlugin| {
        plugin.change_status(|status| (status.healthz, status.key_id) = ("ill".into(), String::new()));
    };
    check(ill, &two_errors).await;
    let away = "failed to perform status section of the healthz check for KMS Provider p, error: \
                rpc error: code = Unavailable desc = away";
    check(FakePlugin::go_away, away).await;
}

#[tokio::test(start_paused = true)]
async fn invalid_responses_keep_the_old_seed() {
    let start = "kmsv2 Provider p is not healthy, error:";
    let long = "k".repeat(1025);
    let hash = hash_if_any(&long);
    let too_long = format!(
        "{start} got invalid KMSv2 KeyID hash {hash:?}: keyID is 1025 bytes, which exceeds the max size of 1024"
    );
    check(|plugin| plugin.change_status(|status| status.key_id = long), &too_long).await;
    let rotation = |error: &str, sealed_with: &str| {
        let old = hash_if_any("key-1");
        format!(
            "{start} failed to rotate DEK uid=\"UID\", useSeed=true, errState=<nil>, errGen={error}, \
             statusKeyIDHash=\"{NEW}\", encryptKeyIDHash=\"{sealed_with}\", stateKeyIDHash=\"{old}\", \
             expirationTimestamp=2020-01-01T00:03:00Z"
        )
    };
    let mismatch = rotation("<nil>", &hash_if_any("key-1"));
    check(|plugin| plugin.change_status(|status| status.key_id = "key-2".into()), &mismatch).await;
    let seals = |change: fn(&mut EncryptResponse)| {
        move |plugin: &FakePlugin| {
            plugin.change_key("key-2");
            change(&mut plugin.answers.lock().unwrap().sealing);
        }
    };
    let huge = "failed to validate encrypted DEK source: encrypted DEK source is 100000 bytes, which exceeds the max size of 1024";
    check(seals(|answer| answer.ciphertext = vec![1; 100_000]), &rotation(huge, "")).await;
    let nameless = "failed to validate key id: keyID is empty";
    check(seals(|answer| answer.key_id.clear()), &rotation(nameless, "")).await;
    let named = "failed to validate annotations: annotations: Invalid value: \"bad\": should be a domain with at least two segments separated by dots";
    check(seals(|answer| answer.annotations = [("bad".into(), vec![])].into()), &rotation(named, "")).await;
}

#[tokio::test(start_paused = true)]
async fn only_new_key_changes_seed() {
    let plugin = FakePlugin::with_key("key-1");
    let probe = probe(&plugin);
    for _ in 0..3 {
        assert_eq!(probe.check().await, Ok(()));
        later(60).await;
    }
    assert_eq!(plugin.sealed.load(SeqCst), 1);
    plugin.change_key("key-2");
    assert_eq!(probe.check().await, Ok(()));
    assert_eq!((plugin.sealed.load(SeqCst), &*probe.state().ok().unwrap().source.key_id), (2, "key-2"));
}

#[tokio::test(start_paused = true)]
async fn writes_fail_three_minutes_after_last_confirmation() {
    let plugin = FakePlugin::with_key("key-1");
    let probe = probe(&plugin);
    assert_eq!(probe.write_state().err().unwrap().to_string(), NO_STATE);
    probe.check().await.unwrap();
    plugin.go_away();
    later(180).await;
    assert!(probe.write_state().is_ok());
    later(1).await;
    let expired = format!(
        "encryptedDEKSource with keyID hash {:?} expired at 2020-01-01T00:03:00Z (current time is 2020-01-01T00:00:00Z)",
        hash_if_any("key-1")
    );
    assert_eq!(probe.write_state().err().unwrap().to_string(), expired);
    assert!(probe.state().is_ok());
    plugin.come_back("key-1");
    probe.check().await.unwrap();
    assert!(probe.write_state().is_ok());
    assert_eq!(plugin.sealed.load(SeqCst), 1, "the seed is good again");
}

#[tokio::test(start_paused = true)]
async fn unhealthy_plugin_is_polled_more_often() {
    let plugin = FakePlugin::with_key("key-1");
    plugin.go_away();
    let probe = probe(&plugin);
    let watch = tokio::spawn(Arc::clone(&probe).watch());
    tokio::time::sleep(Duration::from_secs(5)).await;
    plugin.come_back("key-1");
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert!(probe.write_state().is_ok());
    plugin.change_key("key-2");
    tokio::time::sleep(Duration::from_secs(58)).await;
    assert_eq!(probe.state().ok().unwrap().source.key_id, "key-1");
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(probe.state().ok().unwrap().source.key_id, "key-2");
    watch.abort();
}
