//! Change detection and metrics for reloadable files.

use std::fmt::Write;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use component_base::clock::Clock;
use server::metrics::Collector;
use sha2::{Digest, Sha256};

use crate::identity;
use crate::system::SystemClock;

/// Names and help texts of a file's metrics.
pub(crate) struct ReloadNames {
    /// Prefix of the names.
    pub(crate) prefix: &'static str,
    /// Help text for the time of the last attempt.
    pub(crate) last_timestamp: &'static str,
    /// Help text for the number of attempts.
    pub(crate) total: &'static str,
    /// Help text for the hash of the active configuration.
    pub(crate) last_config: &'static str,
}

/// File identity for change detection without reading: inode, size and modification time.
pub(crate) type FileIdentity = Option<(u64, u64, i64, i64)>;

/// Returns the current identity.
pub(crate) fn sign(path: &Path) -> FileIdentity {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec()))
}

/// Returns the hash of a text for a label.
pub(crate) fn hash(text: &[u8]) -> String {
    if text.is_empty() {
        return String::new();
    }
    let digest = Sha256::digest(text);
    digest.iter().fold("sha256:".to_owned(), |mut hash, byte| {
        let _ = write!(hash, "{byte:02x}");
        hash
    })
}

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
struct Counts {
    successes: Times,
    failures: Times,
    /// Hash of the active text.
    hash: String,
}

/// Metrics of a reloadable file.
pub(crate) struct ReloadFigures {
    names: &'static ReloadNames,
    server: String,
    counts: Mutex<Counts>,
}

impl ReloadFigures {
    /// Creates empty metrics for a file with this text.
    pub(crate) fn new(names: &'static ReloadNames, text: &[u8]) -> Self {
        let counts = Counts { hash: hash(text), ..Counts::default() };
        let server = hash(identity::of_this_machine().as_bytes());
        ReloadFigures { names, server, counts: Mutex::new(counts) }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn failed(&self) {
        self.counts().failures.add();
    }

    /// Records a successful reload with the new hash.
    pub(crate) fn succeeded(&self, hash: String) {
        let mut counts = self.counts();
        counts.successes.add();
        counts.hash = hash;
    }
}

impl Collector for ReloadFigures {
    fn collect(&self, out: &mut String) {
        let ReloadFigures { names, server, .. } = self;
        let prefix = names.prefix;
        let counts = self.counts();
        let mut metric = |name: &str, kind: &str, help: &str, samples: &[String]| {
            if !samples.is_empty() {
                let _ = writeln!(out, "# HELP {prefix}_{name} {help}\n# TYPE {prefix}_{name} {kind}");
            }
            for sample in samples {
                let _ = writeln!(out, "{prefix}_{name}{{apiserver_id_hash=\"{server}\",{sample}");
            }
        };
        let both = [("failure", counts.failures), ("success", counts.successes)];
        let happened = || both.iter().filter(|(_, times)| times.count > 0);
        let stamps =
            happened().map(|(status, times)| format!("status=\"{status}\"}} {}", times.last_seconds));
        metric(
            "automatic_reload_last_timestamp_seconds",
            "gauge",
            names.last_timestamp,
            &stamps.collect::<Vec<_>>(),
        );
        let totals = happened().map(|(status, times)| format!("status=\"{status}\"}} {}", times.count));
        metric("automatic_reloads_total", "counter", names.total, &totals.collect::<Vec<_>>());
        metric("last_config_info", "gauge", names.last_config, &[format!("hash=\"{}\"}} 1", counts.hash)]);
    }
}
