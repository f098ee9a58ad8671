//! Test plugins, a clock and deterministic randomness.
#![allow(clippy::unwrap_used)]

use component_base::metrics::MetricsRegistry;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use apimachinery::time::UnixTime;
use async_trait::async_trait;
use component_base::clock::TestClock;
use encryption::Error;
use tokio::sync::Semaphore;

use crate::plugin::v2::{DecryptRequest, EncryptRequest, EncryptResponse, StatusResponse};
use crate::plugin::{v1, v2};
use crate::{KmsMetrics, Plugins};

/// Prefix of every key that a test plugin has sealed.
pub(crate) const SEAL: &[u8] = b"wrapped:";

/// Returns the plain bytes behind a test plugin's seal.
pub(crate) fn unwrapped(sealed: &[u8]) -> Vec<u8> {
    sealed.strip_prefix(SEAL).unwrap().to_vec()
}

/// Deterministic randomness that counts up, and a clock that starts in 2020.
pub(crate) fn outside() -> Plugins {
    let next = AtomicU8::new(0);
    let random = move |buffer: &mut [u8]| buffer.fill_with(|| next.fetch_add(1, SeqCst));
    Plugins {
        clock: Arc::new(TestClock::at(UnixTime::from_seconds(1_577_836_800))),
        random: Arc::new(random),
        metrics: Arc::new(KmsMetrics::new(&MetricsRegistry::default(), "server")),
        v1: true,
    }
}

/// Returns the error of an unavailable plugin.
pub(crate) fn away() -> Error {
    Error::grpc("rpc error: code = Unavailable desc = away", "Unavailable")
}

pub(crate) struct TestResponses {
    pub(crate) status: Result<StatusResponse, Error>,
    /// Key id and annotations of its encrypt responses.
    pub(crate) sealing: EncryptResponse,
    pub(crate) away: bool,
    /// Decrypt result that replaces the real one.
    pub(crate) opens_to: Option<Vec<u8>>,
}

pub(crate) struct FakePlugin {
    pub(crate) answers: Mutex<TestResponses>,
    /// Counts of encrypt and decrypt calls.
    pub(crate) sealed: AtomicUsize,
    pub(crate) opened: AtomicUsize,
    /// Each decrypt call takes a permit.
    pub(crate) open: Semaphore,
}

impl FakePlugin {
    pub(crate) fn with_key(key_id: &str) -> Arc<Self> {
        let plugin = FakePlugin {
            answers: Mutex::new(TestResponses {
                status: Ok(StatusResponse::default()),
                sealing: EncryptResponse::default(),
                away: false,
                opens_to: None,
            }),
            sealed: AtomicUsize::new(0),
            opened: AtomicUsize::new(0),
            open: Semaphore::new(1),
        };
        plugin.change_key(key_id);
        Arc::new(plugin)
    }

    pub(crate) fn change_key(&self, key_id: &str) {
        let mut answers = self.answers.lock().unwrap();
        answers.status = Ok(StatusResponse {
            version: "v2".to_owned(),
            healthz: "ok".to_owned(),
            key_id: key_id.to_owned(),
        });
        answers.sealing.key_id = key_id.to_owned();
    }

    /// Changes the status response.
    pub(crate) fn change_status(&self, change: impl FnOnce(&mut StatusResponse)) {
        change(self.answers.lock().unwrap().status.as_mut().unwrap());
    }

    pub(crate) fn go_away(&self) {
        let mut answers = self.answers.lock().unwrap();
        (answers.status, answers.away) = (Err(away()), true);
    }

    pub(crate) fn come_back(&self, key_id: &str) {
        self.change_key(key_id);
        self.answers.lock().unwrap().away = false;
    }

    fn seal(&self, plain: &[u8]) -> Result<EncryptResponse, Error> {
        self.sealed.fetch_add(1, SeqCst);
        let answers = self.answers.lock().unwrap();
        if answers.away {
            return Err(away());
        }
        let mut response = answers.sealing.clone();
        if response.ciphertext.is_empty() {
            response.ciphertext = [SEAL, plain].concat();
        }
        Ok(response)
    }

    async fn unseal(&self, sealed: &[u8]) -> Result<Vec<u8>, Error> {
        self.opened.fetch_add(1, SeqCst);
        let _turn = self.open.acquire().await.unwrap();
        let answers = self.answers.lock().unwrap();
        if answers.away {
            return Err(away());
        }
        Ok(answers.opens_to.clone().unwrap_or_else(|| unwrapped(sealed)))
    }
}

#[async_trait]
impl v2::Plugin for FakePlugin {
    async fn status(&self) -> Result<StatusResponse, Error> {
        self.answers.lock().unwrap().status.clone()
    }

    async fn encrypt(&self, request: EncryptRequest) -> Result<EncryptResponse, Error> {
        self.seal(&request.plaintext)
    }

    async fn decrypt(&self, request: DecryptRequest) -> Result<Vec<u8>, Error> {
        self.unseal(&request.ciphertext).await
    }
}

#[async_trait]
impl v1::Plugin for FakePlugin {
    async fn encrypt(&self, plain: Vec<u8>) -> Result<Vec<u8>, Error> {
        self.seal(&plain).map(|answer| answer.ciphertext)
    }

    async fn decrypt(&self, sealed: Vec<u8>) -> Result<Vec<u8>, Error> {
        self.unseal(&sealed).await
    }
}

pub(crate) fn unhex(digits: &str) -> Vec<u8> {
    let pairs = digits.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// Storage path of the values of [`vectors`].
pub(crate) const CONTEXT: &[u8] = b"/registry/secrets/default/a";

/// Returns values that upstream stored, by test case: the plain bytes and the stored bytes. Upstream's plugin
/// sealed with [`SEAL`] and the key `key-1`.
pub(crate) fn vectors(name: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let lines = include_str!("testing/vectors.txt").lines();
    let lines = lines.map(|line| line.split('\t').collect::<Vec<_>>());
    let pairs: Vec<_> =
        lines.filter(|line| line[0] == name).map(|line| (unhex(line[1]), unhex(line[2]))).collect();
    assert!(!pairs.is_empty(), "{name}");
    pairs
}
