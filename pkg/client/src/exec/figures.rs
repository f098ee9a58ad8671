//! Metrics of credential plugins, with upstream's names (component-base `metrics/prometheus/restclient`).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use apimachinery::time::UnixTime;
use component_base::metrics::{Family, Histogram, Stability};
use slab::Slab;

use super::PluginCredentials;

const CALLS: Family = Family::counter(
    Stability::Alpha,
    "rest_client_exec_plugin_call_total",
    "Runs of programs that give credentials, by how they ended and the exit code.",
);
const TTL: Family = Family::gauge(
    Stability::Alpha,
    "rest_client_exec_plugin_ttl_seconds",
    "How long the first certificate of a program to expire is good, in seconds; +Inf without any.",
);
const AGE: Family = Family::histogram(
    Stability::Alpha,
    "rest_client_exec_plugin_certificate_rotation_age",
    "How old certificates of programs were when another one took their place, in seconds.",
);

/// Upper bounds in seconds.
const AGES: [(&str, u64); 11] = [
    ("600", 600),
    ("1800", 1800),
    ("3600", 3600),
    ("14400", 14_400),
    ("86400", 86_400),
    ("604800", 604_800),
    ("2.592e+06", 2_592_000),
    ("7.776e+06", 7_776_000),
    ("1.5552e+07", 15_552_000),
    ("3.1104e+07", 31_104_000),
    ("1.24416e+08", 124_416_000),
];

/// Result of a plugin run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunResult {
    /// Exit code of the program; −1 if a signal ended it.
    Ended(i32),
    /// The program could not be started.
    NotFound,
    /// Another failure.
    Failed,
}

impl RunResult {
    /// Returns the labels: exit code and result.
    fn labels(self) -> (i32, &'static str) {
        match self {
            RunResult::Ended(0) => (0, "no_error"),
            RunResult::Ended(code) => (code, "plugin_execution_error"),
            RunResult::NotFound => (1, "plugin_not_found_error"),
            RunResult::Failed => (1, "client_internal_error"),
        }
    }
}

/// Metrics of credential plugins.
#[derive(Debug, Default)]
pub struct ExecFigures {
    /// Counts by exit code, of which there are few, and result.
    calls: Mutex<BTreeMap<(i32, &'static str), u64>>,
    ages: Histogram<11>,
    /// Expiry of each plugin's current certificate, in seconds since 1970.
    ends: Mutex<Slab<Option<i64>>>,
}

impl ExecFigures {
    fn ends(&self) -> MutexGuard<'_, Slab<Option<i64>>> {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends the metric families. `now` determines the remaining validity of certificates.
    pub fn write(&self, now: UnixTime, out: &mut String) {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut samples = CALLS.write(out);
        for ((code, status), count) in calls {
            samples.add(&[("call_status", status), ("code", &code.to_string())], count);
        }
        let first = self.ends().iter().filter_map(|(_, end)| *end).min();
        let ttl = first.map(|end| end.saturating_sub(now.seconds).to_string());
        TTL.write(out).add(&[], ttl.as_deref().unwrap_or("+Inf"));
        AGE.write(out).histogram(&[], &self.ages, &AGES, 1.0);
    }
}

/// Registration of a plugin in the metrics, until dropped.
#[derive(Debug)]
pub(super) struct PluginRegistration {
    figures: Arc<ExecFigures>,
    place: usize,
}

impl PluginRegistration {
    /// Registers a plugin without credentials.
    pub(super) fn new(figures: &Arc<ExecFigures>) -> Self {
        let place = figures.ends().insert(None);
        PluginRegistration { figures: Arc::clone(figures), place }
    }

    /// Counts a run.
    pub(super) fn record_run(&self, run: RunResult) {
        let mut calls = self.figures.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let count = calls.entry(run.labels()).or_default();
        *count = count.wrapping_add(1);
    }

    /// Records new credentials, and the age of replaced ones.
    pub(super) fn record_credentials(
        &self,
        new: &PluginCredentials,
        old: Option<&PluginCredentials>,
        now: UnixTime,
    ) {
        if let Some(validity) =
            old.filter(|old| old.certificate != new.certificate).and_then(|old| old.validity)
        {
            let age = u64::try_from(now.seconds.saturating_sub(validity.begin)).unwrap_or(0);
            self.figures.ages.observe(&AGES, age, age);
        }
        if let Some(end) = self.figures.ends().get_mut(self.place) {
            *end = new.validity.map(|validity| validity.end);
        }
    }
}

impl Drop for PluginRegistration {
    fn drop(&mut self) {
        self.figures.ends().try_remove(self.place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tls::Validity;

    fn page(figures: &ExecFigures, now: i64) -> String {
        let mut page = String::new();
        figures.write(UnixTime::from_seconds(now), &mut page);
        page
    }

    /// Returns credentials with a certificate that is valid from `begin` to `end`.
    fn issued(begin: i64, end: i64) -> PluginCredentials {
        let certificate = Some((begin.to_string().into_bytes(), Vec::new()));
        PluginCredentials { token: None, certificate, validity: Some(Validity { begin, end }), until: None }
    }

    #[test]
    fn earliest_expiry_of_live_plugins_is_reported() {
        let figures = Arc::<ExecFigures>::default();
        let (one, other) = (PluginRegistration::new(&figures), PluginRegistration::new(&figures));
        let ttl = |now, ttl: &str| {
            let line = format!("\nrest_client_exec_plugin_ttl_seconds {ttl}\n");
            assert!(page(&figures, now).contains(&line), "{}", page(&figures, now));
        };
        ttl(0, "+Inf");
        one.record_credentials(&issued(0, 500), None, UnixTime::from_seconds(10));
        other.record_credentials(&issued(0, 300), None, UnixTime::from_seconds(10));
        ttl(100, "200");
        ttl(301, "-1");
        drop(other);
        ttl(100, "400");
        let token =
            PluginCredentials { token: Some("t".to_owned()), certificate: None, validity: None, until: None };
        one.record_credentials(&token, Some(&issued(0, 500)), UnixTime::from_seconds(20));
        ttl(100, "+Inf");
    }

    #[test]
    fn replaced_certificate_age_is_recorded() {
        let figures = Arc::<ExecFigures>::default();
        let counted = PluginRegistration::new(&figures);
        counted.record_credentials(&issued(100, 500), None, UnixTime::from_seconds(100));
        counted.record_credentials(&issued(100, 500), Some(&issued(100, 500)), UnixTime::from_seconds(200));
        counted.record_credentials(&issued(900, 999), Some(&issued(100, 500)), UnixTime::from_seconds(1000));
        let page = page(&figures, 1000);
        let of = |what: &str| format!("rest_client_exec_plugin_certificate_rotation_age_{what}\n");
        for line in ["bucket{le=\"600\"} 0", "bucket{le=\"1800\"} 1", "sum 900", "count 1"] {
            assert!(page.contains(&of(line)), "{line}: {page}");
        }
    }
}
