//! Metrics of an external signer, with upstream's names (`pkg/serviceaccount/externaljwt/metrics`).

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use apimachinery::time::UnixTime;
use component_base::metrics::Histogram;

use super::SignerError;

/// Upper bounds of durations, as text and in microseconds.
const BOUNDS: [(&str, u64); 14] = [
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
    ("30", 30_000_000),
    ("60", 60_000_000),
];

/// Metrics of a signer. The set of codes is small: those of gRPC, and one for other errors.
#[derive(Debug, Default)]
pub struct SignerFigures(Mutex<Figures>);

#[derive(Debug, Default)]
struct Figures {
    /// Time of the last key fetch.
    fetched: Option<UnixTime>,
    /// The signer's timestamp of these keys.
    data: Option<UnixTime>,
    fetches: BTreeMap<&'static str, u64>,
    signs: BTreeMap<&'static str, u64>,
    /// By method and code.
    calls: BTreeMap<(&'static str, &'static str), Histogram<14>>,
}

fn code<T>(outcome: &Result<T, SignerError>) -> &'static str {
    outcome.as_ref().map_or_else(|error| error.code, |_| "OK")
}

impl SignerFigures {
    fn figures(&self) -> MutexGuard<'_, Figures> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a call with its gRPC method and status code.
    pub fn called(&self, method: &'static str, code: &'static str, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        self.figures().calls.entry((method, code)).or_default().observe(&BOUNDS, micros, micros);
    }

    /// Records a key fetch; `outcome` contains the signer's timestamp of the keys.
    pub(super) fn fetched(&self, outcome: &Result<UnixTime, SignerError>, now: UnixTime) {
        let mut figures = self.figures();
        *figures.fetches.entry(code(outcome)).or_default() += 1;
        if let Ok(data) = outcome {
            (figures.fetched, figures.data) = (Some(now), Some(*data));
        }
    }

    /// Records a signature request.
    pub(super) fn signed<T>(&self, outcome: &Result<T, SignerError>) {
        *self.figures().signs.entry(code(outcome)).or_default() += 1;
    }

    /// Appends the non-empty metrics in the Prometheus text format.
    pub fn write(&self, out: &mut String) {
        let figures = self.figures();
        for (name, help, time) in [
            (
                "apiserver_externaljwt_fetch_keys_data_timestamp",
                "Unix Timestamp in seconds of the last successful FetchKeys data_timestamp value returned by the \
                 external signer",
                figures.data,
            ),
            (
                "apiserver_externaljwt_fetch_keys_success_timestamp",
                "Unix Timestamp in seconds of the last successful FetchKeys request",
                figures.fetched,
            ),
        ] {
            if let Some(UnixTime { seconds, nanos }) = time {
                let _ = writeln!(out, "# HELP {name} [ALPHA] {help}\n# TYPE {name} gauge");
                let _ = writeln!(out, "{name} {seconds}.{nanos:09}");
            }
        }
        for (name, help, counts) in [
            (
                "apiserver_externaljwt_fetch_keys_request_total",
                "Total attempts at syncing supported JWKs",
                &figures.fetches,
            ),
            ("apiserver_externaljwt_sign_request_total", "Total attempts at signing JWT", &figures.signs),
        ] {
            if !counts.is_empty() {
                let _ = writeln!(out, "# HELP {name} [ALPHA] {help}\n# TYPE {name} counter");
            }
            for (code, count) in counts {
                let _ = writeln!(out, "{name}{{code=\"{code}\"}} {count}");
            }
        }
        if !figures.calls.is_empty() {
            let name = "apiserver_externaljwt_request_duration_seconds";
            let help = "Request duration and time for calls to external-jwt-signer";
            let _ = writeln!(out, "# HELP {name} [ALPHA] {help}\n# TYPE {name} histogram");
            for ((method, code), durations) in &figures.calls {
                let labels = format!("code=\"{code}\",method=\"{method}\"");
                durations.write(out, name, &labels, 0, &BOUNDS, 1e6);
            }
        }
    }
}
