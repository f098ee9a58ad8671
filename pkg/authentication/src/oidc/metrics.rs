//! Metrics of issuers and their tokens, with upstream's names.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use component_base::clock::Clock;
use component_base::metrics::{
    Family, Gauge, GaugeVec, Histogram, HistogramVec, MetricsRegistry, Stability, buckets,
};
use sha2::{Digest, Sha256};

const SECONDS: Family<Histogram, 2> = Family::histogram(
    Stability::Alpha,
    "apiserver_authentication_jwt_authenticator_latency_seconds",
    "Latency of jwt authentication operations in seconds. This is the time spent authenticating a token for cache miss only (i.e. when the token is not found in the cache).",
    ["jwt_issuer_hash", "result"],
    &buckets::JWT_SECONDS,
);
const LAST_FETCH: Family<Gauge, 3> = Family::gauge(
    Stability::Alpha,
    "apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds",
    "Timestamp of the last successful or failed JWKS fetch split by result, api server identity and jwt issuer for the JWT authenticator.",
    ["apiserver_id_hash", "jwt_issuer_hash", "result"],
);
const KEY_SETS: Family<Gauge, 3> = Family::gauge(
    Stability::Alpha,
    "apiserver_authentication_jwt_authenticator_jwks_fetch_last_key_set_info",
    "Information about the last JWKS fetched by the JWT authenticator with hash as label, split by api server identity and jwt issuer.",
    ["apiserver_id_hash", "hash", "jwt_issuer_hash"],
);

pub struct Metrics {
    clock: Arc<dyn Clock>,
    /// True if fetches of keys are recorded (`StructuredAuthenticationConfigurationJWKSMetrics`).
    keys: bool,
    /// Hash of the server's id, for a label.
    server_hash: String,
    seconds: HistogramVec<2>,
    /// Time of the last key fetch, by issuer and result.
    last_fetch: GaugeVec<3>,
    /// Digest of the last fetched keys, by issuer.
    key_sets: GaugeVec<3>,
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
    pub fn new(registry: &MetricsRegistry, clock: Arc<dyn Clock>, server_id: &str, keys: bool) -> Self {
        Metrics {
            clock,
            keys,
            server_hash: label_hash(server_id.as_bytes()),
            seconds: registry.register_vec(&SECONDS),
            last_fetch: registry.register_vec(&LAST_FETCH),
            key_sets: registry.register_vec(&KEY_SETS),
        }
    }

    /// Records the verification of a token.
    pub(super) fn record_verification(&self, issuer: &str, accepted: bool, duration: Duration) {
        let result = if accepted { "success" } else { "failure" };
        self.seconds.with([&label_hash(issuer.as_bytes()), result]).observe_duration(duration);
    }

    /// Records a fetch of keys; `None` for a failure.
    pub(super) fn record_fetch(&self, issuer: &str, body: Option<&[u8]>) {
        if !self.keys {
            return;
        }
        let issuer = label_hash(issuer.as_bytes());
        if let Some(body) = body {
            self.key_sets.retain(|[_, _, of]| of != issuer);
            self.key_sets.with([&self.server_hash, &label_hash(body), &issuer]).set(1);
        }
        let result = if body.is_some() { "success" } else { "failure" };
        self.last_fetch.with([&self.server_hash, &issuer, result]).set(self.clock.now().seconds);
    }

    /// Removes the series of an issuer.
    pub(super) fn forget(&self, issuer: &str) {
        let issuer = label_hash(issuer.as_bytes());
        self.key_sets.retain(|[_, _, of]| of != issuer);
        self.last_fetch.retain(|[_, of, _]| of != issuer);
    }
}
