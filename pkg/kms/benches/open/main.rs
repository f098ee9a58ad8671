//! Benchmark of opening and sealing a 1 KiB value under a cached seed (KMS v2), and of the cipher alone: one
//! derived key and one AES-GCM.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a bench may")]

use component_base::metrics::MetricsRegistry;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use apimachinery::time::UnixTime;
use component_base::clock::Clock;
use divan::Bencher;
use encryption::cipher::ExtendedGcm;
use encryption::{Kms, KmsFactory, KmsProvider, KmsVersion};
use futures::FutureExt;
use kms::{KmsMetrics, Plugins};
use tokio::net::UnixListener;
use tokio::runtime::Runtime;

mod plugin;

const CONTEXT: &[u8] = b"/registry/secrets/default/some-name";

fn main() {
    divan::main();
}

fn plain() -> Vec<u8> {
    vec![b'x'; 1024]
}

fn random(buffer: &mut [u8]) {
    rand::fill(buffer);
}

/// System clock.
struct Now;

impl Clock for Now {
    fn now(&self) -> UnixTime {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        UnixTime { seconds: since.as_secs().try_into().unwrap(), nanos: since.subsec_nanos() }
    }
}

/// Creates a provider whose plugin listens on a socket in `dir`.
fn provider(runtime: &Runtime, dir: &Path) -> Arc<dyn KmsProvider> {
    let path = dir.join("kms.sock");
    let plugins = Plugins {
        clock: Arc::new(Now),
        random: Arc::new(random),
        metrics: Arc::new(KmsMetrics::new(&MetricsRegistry::default(), "bench")),
        v1: false,
    };
    let kms = Kms {
        version: KmsVersion::V2,
        name: "bench".to_owned(),
        cache_size: None,
        endpoint: format!("unix://{}", path.display()),
        timeout: Duration::from_secs(10),
    };
    runtime.block_on(async {
        plugin::serve(UnixListener::bind(&path).unwrap());
        plugins.provider(&kms).await.unwrap()
    })
}

#[divan::bench]
fn open_v2(bencher: Bencher) {
    let runtime = Runtime::new().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let provider = provider(&runtime, dir.path());
    let stored = runtime.block_on(provider.seal(&plain(), CONTEXT)).unwrap();
    bencher.bench(|| provider.try_decrypt(divan::black_box(&stored), CONTEXT).unwrap().unwrap());
}

#[divan::bench]
fn open_cipher_alone(bencher: Bencher) {
    let cipher = ExtendedGcm::new(&[7; 32]).unwrap();
    let mut stored = Vec::new();
    cipher.seal(&mut stored, &plain(), CONTEXT, &random).unwrap();
    bencher.bench(|| cipher.open(divan::black_box(&stored), CONTEXT).unwrap());
}

#[divan::bench]
fn seal_v2(bencher: Bencher) {
    let runtime = Runtime::new().unwrap();
    let dir = tempfile::tempdir().unwrap();
    let plain = plain();
    let provider = provider(&runtime, dir.path());
    bencher.bench(|| {
        // The future is ready immediately.
        provider.seal(divan::black_box(&plain), CONTEXT).now_or_never().unwrap().unwrap()
    });
}
