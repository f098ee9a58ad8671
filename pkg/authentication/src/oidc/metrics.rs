//! Metrics of issuers and their tokens, with upstream's names.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use component_base::clock::Clock;
use sha2::{Digest, Sha256};

/// Upper bounds of the histogram, as text and in microseconds.
const BOUNDS: [(&str, u128); 12] = [
    ("0.001", 1_000),
    ("0.005", 5_000),
    ("0.01", 10_000),
    ("0.025", 25_000),
    ("0.05", 50_000),
    ("0.1", 100_000),
    ("0.25", 250_000),
    ("0.5", 500_000),
    ("1", 1_000_000),
    ("2.5", 2_500_000),
    ("5", 5_000_000),
    ("10", 10_000_000),
];
const LATENCY: &str = "apiserver_authentication_jwt_authenticator_latency_seconds";
const FETCHED: &str = "apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds";
const KEY_SET: &str = "apiserver_authentication_jwt_authenticator_jwks_fetch_last_key_set_info";

pub struct Metrics {
    clock: Arc<dyn Clock>,
    /// True if fetches of keys are recorded (`StructuredAuthenticationConfigurationJWKSMetrics`).
    keys: bool,
    /// Hash of the server's id, for a label.
    server_hash: String,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By result and issuer.
    latencies: BTreeMap<(&'static str, String), Histogram>,
    /// Time of the last key fetch, by issuer and result.
    fetched: BTreeMap<(String, &'static str), i64>,
    /// Digest of the last fetched keys, by issuer.
    key_sets: BTreeMap<String, String>,
}

#[derive(Default)]
struct Histogram {
    counts: [u64; BOUNDS.len()],
    total: u64,
    sum: f64,
}

/// Returns the hash for a label; empty for empty data.
pub fn label_hash(data: &[u8]) -> String {
    if data.is_empty() {
        return String::new();
    }
    let digest = Sha256::digest(data);
    digest.iter().fold("sha256:".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

impl Metrics {
    /// Creates empty metrics. `keys` enables the metrics of key fetches.
    pub fn new(clock: Arc<dyn Clock>, server_id: &str, keys: bool) -> Self {
        Metrics { clock, keys, server_hash: label_hash(server_id.as_bytes()), state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the verification of a token.
    pub(super) fn judged(&self, issuer: &str, accepted: bool, took: Duration) {
        let result = if accepted { "success" } else { "failure" };
        let mut state = self.state();
        let histogram = state.latencies.entry((result, label_hash(issuer.as_bytes()))).or_default();
        let bucket = BOUNDS.partition_point(|(_, bound)| *bound < took.as_micros());
        if let Some(count) = histogram.counts.get_mut(bucket) {
            *count += 1;
        }
        histogram.total += 1;
        histogram.sum += took.as_secs_f64();
    }

    /// Records a fetch of keys; `None` for a failure.
    pub(super) fn keys_fetched(&self, issuer: &str, body: Option<&[u8]>) {
        if !self.keys {
            return;
        }
        let (now, issuer) = (self.clock.now().seconds, label_hash(issuer.as_bytes()));
        let mut state = self.state();
        if let Some(body) = body {
            state.key_sets.insert(issuer.clone(), label_hash(body));
        }
        let result = if body.is_some() { "success" } else { "failure" };
        state.fetched.insert((issuer, result), now);
    }

    /// Removes the series of an issuer.
    pub(super) fn forget(&self, issuer: &str) {
        let issuer = label_hash(issuer.as_bytes());
        let mut state = self.state();
        state.key_sets.remove(&issuer);
        state.fetched.retain(|(of, _), _| *of != issuer);
    }

    /// Appends the non-empty metrics in the Prometheus text format.
    pub fn write(&self, out: &mut String) {
        let state = self.state();
        let server = &self.server_hash;
        if !state.key_sets.is_empty() {
            let _ = writeln!(
                out,
                "# HELP {KEY_SET} [ALPHA] Which keys an issuer had when they were fetched last.\n# TYPE {KEY_SET} gauge"
            );
        }
        for (issuer, hash) in &state.key_sets {
            let _ = writeln!(
                out,
                "{KEY_SET}{{apiserver_id_hash=\"{server}\",hash=\"{hash}\",jwt_issuer_hash=\"{issuer}\"}} 1"
            );
        }
        if !state.fetched.is_empty() {
            let _ = writeln!(
                out,
                "# HELP {FETCHED} [ALPHA] When the keys of an issuer were fetched last, by result.\n# TYPE {FETCHED} gauge"
            );
        }
        for ((issuer, result), seconds) in &state.fetched {
            let _ = writeln!(
                out,
                "{FETCHED}{{apiserver_id_hash=\"{server}\",jwt_issuer_hash=\"{issuer}\",result=\"{result}\"}} {seconds}"
            );
        }
        if !state.latencies.is_empty() {
            let _ = writeln!(
                out,
                "# HELP {LATENCY} [ALPHA] How long tokens were looked at that were not remembered.\n# TYPE {LATENCY} histogram"
            );
        }
        for ((result, issuer), histogram) in &state.latencies {
            histogram.write(out, &format!("jwt_issuer_hash=\"{issuer}\",result=\"{result}\""));
        }
    }
}

impl Histogram {
    fn write(&self, out: &mut String, labels: &str) {
        let mut below = 0;
        for ((bound, _), count) in BOUNDS.iter().zip(&self.counts) {
            below += count;
            let _ = writeln!(out, "{LATENCY}_bucket{{{labels},le=\"{bound}\"}} {below}");
        }
        let (total, sum) = (self.total, self.sum);
        let _ = writeln!(
            out,
            "{LATENCY}_bucket{{{labels},le=\"+Inf\"}} {total}\n{LATENCY}_sum{{{labels}}} {sum}\n{LATENCY}_count{{{labels}}} {total}"
        );
    }
}
