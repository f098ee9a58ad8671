//! Benchmarks of decryption and encryption: `cargo bench -p mainstay-encryption`.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use bytes::Bytes;
use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use encryption::cipher::ExtendedGcm;
use encryption::{
    Configuration, EncryptionMetrics, Error, Kms, KmsFactory, KmsProvider, Protection, ProviderDeps, Rules,
};

/// Length of a value in bytes, about that of a Secret with a token.
const LENGTH: usize = 1024;
const CONTEXT: &[u8] = b"/registry/secrets/default/a";
const PROVIDERS: [&str; 3] = ["aesgcm", "aescbc", "secretbox"];

fn main() {
    divan::main();
}

struct NoPlugins;

#[async_trait::async_trait]
impl KmsFactory for NoPlugins {
    async fn provider(&self, _: &Kms) -> Result<Arc<dyn KmsProvider>, Error> {
        Err(Error::new("none"))
    }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn protection(provider: &str) -> Protection {
    let text = format!(
        "kind: EncryptionConfiguration\napiVersion: apiserver.config.k8s.io/v1\nresources: [{{resources: [secrets], \
         providers: [{{{provider}: {{keys: [{{name: one, secret: \
         MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}}]}}}}]}}]"
    );
    let configuration = Configuration::read(text.as_bytes(), false).unwrap();
    let metrics = Arc::new(EncryptionMetrics::default());
    let means = ProviderDeps { factory: &NoPlugins, random: Arc::new(|out| out.fill(7)), metrics };
    wait(Rules::new(&configuration, means)).unwrap().protection("", "secrets").unwrap()
}

#[divan::bench(args = PROVIDERS)]
fn open(bencher: Bencher, provider: &str) {
    let protection = protection(provider);
    let stored = wait(protection.seal(vec![1; LENGTH].into(), CONTEXT)).unwrap();
    bencher.counter(BytesCount::new(LENGTH)).bench_local(|| protection.open_now(black_box(&stored), CONTEXT));
}

#[divan::bench(args = PROVIDERS)]
fn seal(bencher: Bencher, provider: &str) {
    let protection = protection(provider);
    let plain = Bytes::from(vec![1; LENGTH]);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    bencher
        .counter(BytesCount::new(LENGTH))
        .bench_local(|| runtime.block_on(protection.seal(black_box(plain.clone()), CONTEXT)));
}

/// Decrypts one page of the initial list of a cache.
#[divan::bench(args = PROVIDERS)]
fn open_5000(bencher: Bencher, provider: &str) {
    let protection = protection(provider);
    let stored: Vec<Bytes> =
        (0..5_000).map(|_| wait(protection.seal(vec![1; LENGTH].into(), CONTEXT)).unwrap()).collect();
    bencher.counter(BytesCount::new(5_000 * LENGTH)).bench_local(|| {
        stored
            .iter()
            .map(|value| protection.open_now(value, CONTEXT))
            .filter(|opened| opened.is_some())
            .count()
    });
}

#[divan::bench]
fn open_with_a_derived_key(bencher: Bencher) {
    let cipher = ExtendedGcm::new(&[1; 32]).unwrap();
    let mut stored = Vec::new();
    cipher.seal(&mut stored, &[1; LENGTH], CONTEXT, &|out| out.fill(7)).unwrap();
    bencher.counter(BytesCount::new(LENGTH)).bench_local(|| cipher.open(black_box(&stored), CONTEXT));
}
