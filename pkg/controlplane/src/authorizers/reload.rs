//! Reloads `--authorization-config` (upstream's `pkg/kubeapiserver/authorizer/reload.go`).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use authorization::{Reload, Reloadable};
use component_base::metrics::{Counter, Family, Gauge, Stability};
use tokio::time::{Instant, sleep};

use crate::config::ConfigurationFile;
use crate::process::Monitoring;
use crate::reloads::{ReloadFamilies, ReloadMetrics, hash, identify};

/// Interval of checks for a changed file.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Interval of unconditional reads.
const READ_INTERVAL: Duration = Duration::from_secs(60);
/// Maximum size of the file in bytes.
const FILE_BYTES_MAX: u64 = 3 << 20;

const LAST_TIMESTAMP: Family<Gauge, 2> = Family::gauge(
    Stability::Beta,
    "apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds",
    "Timestamp of the last automatic reload of authorization configuration split by status and apiserver identity.",
    ["apiserver_id_hash", "status"],
);
const TOTAL: Family<Counter, 2> = Family::counter(
    Stability::Beta,
    "apiserver_authorization_config_controller_automatic_reloads_total",
    "Total number of automatic reloads of authorization configuration split by status and apiserver identity.",
    ["apiserver_id_hash", "status"],
);
const LAST_CONFIG: Family<Gauge, 2> = Family::gauge(
    Stability::Alpha,
    "apiserver_authorization_config_controller_last_config_info",
    "Information about the last applied authorization configuration with hash as label, split by apiserver identity.",
    ["apiserver_id_hash", "hash"],
);
const FAMILIES: ReloadFamilies =
    ReloadFamilies { last_timestamp: &LAST_TIMESTAMP, total: &TOTAL, last_config: &LAST_CONFIG };

/// Reload task of an authorizer's file.
pub(super) struct FileReloader {
    file: ConfigurationFile,
    authorizer: Arc<Reloadable>,
    metrics: ReloadMetrics,
}

impl FileReloader {
    /// Creates the task for the file of `authorizer`.
    pub(super) fn new(
        file: ConfigurationFile,
        authorizer: Arc<Reloadable>,
        monitoring: Monitoring<'_>,
    ) -> Self {
        let metrics = ReloadMetrics::new(monitoring, &FAMILIES, &file.path, &file.text);
        FileReloader { file, authorizer, metrics }
    }

    /// Watches the file. Never returns.
    pub(super) async fn run(self) {
        let this = Arc::new(self);
        // The first round always reads the file, because it may have changed since the flags were parsed.
        let mut last = None;
        let mut last_read = None::<Instant>;
        loop {
            let identity = identify(&this.file.path);
            if identity != last || last_read.is_none_or(|last_read| last_read.elapsed() >= READ_INTERVAL) {
                (last, last_read) = (identity, Some(Instant::now()));
                let this = Arc::clone(&this);
                // Compiling expressions takes long.
                if let Err(error) = tokio::task::spawn_blocking(move || this.reload_if_changed()).await {
                    tracing::error!(%error, "reloading authorization config");
                }
            }
            sleep(CHECK_INTERVAL).await;
        }
    }

    /// Reads the file and applies it if it has changed.
    pub(super) fn reload_if_changed(&self) {
        let text = match bounded(&self.file.path) {
            Ok(text) => text,
            Err(error) => return self.metrics.failed(&error),
        };
        let hash = hash(&text);
        match self.authorizer.reload(text) {
            Reload::Unchanged => {}
            Reload::Replaced => {
                tracing::info!("reloaded authz config");
                self.metrics.succeeded(hash);
            }
            Reload::Invalid(error) => self.metrics.failed(&error),
            Reload::StillInvalid(error) => self.metrics.stale(&error),
        }
    }
}

fn bounded(path: &Path) -> io::Result<Vec<u8>> {
    let length = fs::metadata(path)?.len();
    if length > FILE_BYTES_MAX {
        return Err(io::Error::other(format!("{} is larger than {FILE_BYTES_MAX} bytes", path.display())));
    }
    fs::read(path)
}
