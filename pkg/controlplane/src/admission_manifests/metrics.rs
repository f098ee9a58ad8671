//! Metrics of manifests (apiserver `pkg/admission/plugin/manifest/metrics`).

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use component_base::clock::Clock;
use component_base::metrics::{Counter, Family, Gauge, Page, Stability};
use component_base::weakened::{WeakenedDecisions, WeakenedKind};
use sha2::{Digest, Sha256};

use super::files::digest_label;
use crate::error::ConfigurationError;
use crate::identity;
use crate::process::Monitoring;
use crate::system::SystemClock;

const LAST_TIMESTAMP: Family<Gauge, 3> = Family::gauge(
    Stability::Alpha,
    "apiserver_manifest_admission_config_controller_automatic_reload_last_timestamp_seconds",
    "Timestamp of the last automatic reload of admission manifest configuration split by status, plugin, and apiserver identity.",
    ["apiserver_id_hash", "plugin", "status"],
);
const TOTAL: Family<Counter, 3> = Family::counter(
    Stability::Alpha,
    "apiserver_manifest_admission_config_controller_automatic_reloads_total",
    "Total number of automatic reloads of admission manifest configuration split by status, plugin, and apiserver identity.",
    ["apiserver_id_hash", "plugin", "status"],
);
const LAST_CONFIG: Family<Gauge, 3> = Family::gauge(
    Stability::Alpha,
    "apiserver_manifest_admission_config_controller_last_config_info",
    "Information about the last applied admission manifest configuration with hash as label, split by plugin and apiserver identity.",
    ["apiserver_id_hash", "hash", "plugin"],
);

/// Count of an event, and its last time in seconds since 1970.
#[derive(Clone, Copy, Default)]
struct Times {
    count: u64,
    last_seconds: f64,
}

impl Times {
    fn add(&mut self) {
        let now = SystemClock.now();
        self.count += 1;
        self.last_seconds = now.seconds as f64 + f64::from(now.nanos) / 1e9;
    }
}

#[derive(Default)]
struct Plugin {
    failures: Times,
    successes: Times,
    hash: String,
}

type Plugins = Mutex<BTreeMap<&'static str, Plugin>>;

/// Metrics by plugin.
pub(crate) struct ManifestMetrics {
    plugins: Arc<Plugins>,
    weakened: WeakenedDecisions,
}

impl ManifestMetrics {
    /// Creates empty metrics.
    pub(crate) fn new(monitoring: Monitoring<'_>) -> Self {
        let server = digest_label(&Sha256::digest(identity::of_this_machine().as_bytes()));
        let plugins = Arc::<Plugins>::default();
        let read = Arc::clone(&plugins);
        monitoring.metrics.collect(&[&LAST_TIMESTAMP, &TOTAL, &LAST_CONFIG], move |page| {
            write(page, &server, &locked(&read));
        });
        ManifestMetrics { plugins, weakened: monitoring.weakened.clone() }
    }

    /// Records a successful load with its hash.
    pub(super) fn succeeded(&self, plugin: &'static str, hash: &str) {
        let mut plugins = locked(&self.plugins);
        let counted = plugins.entry(plugin).or_default();
        counted.successes.add();
        hash.clone_into(&mut counted.hash);
    }

    /// Records and logs a failed reload. The previous manifests remain active.
    pub(super) fn failed(&self, plugin: &'static str, directory: &Path, why: &ConfigurationError) {
        locked(&self.plugins).entry(plugin).or_default().failures.add();
        let directory = directory.display().to_string();
        self.weakened.record(WeakenedKind::StaleConfiguration, &directory, why);
    }
}

fn locked(plugins: &Plugins) -> MutexGuard<'_, BTreeMap<&'static str, Plugin>> {
    plugins.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write(page: &mut Page<'_>, server: &str, plugins: &BTreeMap<&'static str, Plugin>) {
    let times = || {
        plugins.iter().flat_map(|(plugin, counted)| {
            [("failure", counted.failures), ("success", counted.successes)]
                .into_iter()
                .filter(|(_, times)| times.count > 0)
                .map(move |(status, times)| ([server, plugin, status], times))
        })
    };
    let mut samples = page.family(&LAST_TIMESTAMP);
    times().for_each(|(labels, times)| samples.add(labels, times.last_seconds));
    drop(samples);
    let mut samples = page.family(&TOTAL);
    times().for_each(|(labels, times)| samples.add(labels, times.count));
    drop(samples);
    let mut samples = page.family(&LAST_CONFIG);
    for (plugin, counted) in plugins {
        samples.add([server, &counted.hash, plugin], 1);
    }
}
