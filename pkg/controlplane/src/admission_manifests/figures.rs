//! Metrics of manifests (apiserver `pkg/admission/plugin/manifest/metrics`).

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

use server::metrics::Collector;
use sha2::{Digest, Sha256};

use super::files::shown;
use crate::identity;
use crate::system::SystemClock;
use component_base::clock::Clock;

const PREFIX: &str = "apiserver_manifest_admission_config_controller";

#[derive(Default)]
struct Plugin {
    /// Count and last time (seconds since 1970) of failures, then of successes.
    times: [(u64, f64); 2],
    hash: String,
}

/// Metrics by plugin.
pub(crate) struct ManifestFigures {
    server: String,
    plugins: Mutex<BTreeMap<&'static str, Plugin>>,
}

impl ManifestFigures {
    /// Creates empty metrics.
    pub(crate) fn new() -> Self {
        let server = shown(&Sha256::digest(identity::of_this_machine().as_bytes()));
        ManifestFigures { server, plugins: Mutex::default() }
    }

    fn plugins(&self) -> MutexGuard<'_, BTreeMap<&'static str, Plugin>> {
        self.plugins.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a successful load with its hash.
    pub(super) fn succeeded(&self, plugin: &'static str, hash: &str) {
        let mut plugins = self.plugins();
        let counted = plugins.entry(plugin).or_default();
        let [_, successes] = &mut counted.times;
        *successes = (successes.0 + 1, now());
        hash.clone_into(&mut counted.hash);
    }

    /// Records a failed load.
    pub(super) fn failed(&self, plugin: &'static str) {
        let mut plugins = self.plugins();
        let [failures, _] = &mut plugins.entry(plugin).or_default().times;
        *failures = (failures.0 + 1, now());
    }
}

fn now() -> f64 {
    let now = SystemClock.now();
    now.seconds as f64 + f64::from(now.nanos) / 1e9
}

impl Collector for ManifestFigures {
    fn collect(&self, out: &mut String) {
        let (server, plugins) = (&self.server, self.plugins());
        if plugins.is_empty() {
            return;
        }
        let head = |out: &mut String, name: &str, kind: &str, help: &str| {
            let _ = writeln!(out, "# HELP {PREFIX}_{name} [ALPHA] {help}\n# TYPE {PREFIX}_{name} {kind}");
        };
        let timed = |out: &mut String, name: &str, value: fn((u64, f64)) -> f64| {
            for (plugin, counted) in &*plugins {
                for (status, times) in ["failure", "success"].into_iter().zip(counted.times) {
                    if times.0 > 0 {
                        let _ = writeln!(
                            out,
                            "{PREFIX}_{name}{{apiserver_id_hash=\"{server}\",plugin=\"{plugin}\",status=\"{status}\"}} {}",
                            value(times)
                        );
                    }
                }
            }
        };
        let (last, total) = ("automatic_reload_last_timestamp_seconds", "automatic_reloads_total");
        head(
            out,
            last,
            "gauge",
            "Timestamp of the last automatic reload of admission manifest configuration split by status, plugin, and apiserver identity.",
        );
        timed(out, last, |times| times.1);
        head(
            out,
            total,
            "counter",
            "Total number of automatic reloads of admission manifest configuration split by status, plugin, and apiserver identity.",
        );
        timed(out, total, |times| times.0 as f64);
        let info = "last_config_info";
        head(
            out,
            info,
            "gauge",
            "Information about the last applied admission manifest configuration with hash as label, split by plugin and apiserver identity.",
        );
        for (plugin, counted) in &*plugins {
            let hash = &counted.hash;
            let _ = writeln!(
                out,
                "{PREFIX}_{info}{{apiserver_id_hash=\"{server}\",hash=\"{hash}\",plugin=\"{plugin}\"}} 1"
            );
        }
    }
}
