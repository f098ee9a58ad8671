//! Change detection and metrics for reloadable files.

use std::fmt::{Display, Write};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use component_base::clock::Clock;
use component_base::metrics::{Counter, Family, Gauge, Page};
use component_base::weakened::{WeakenedDecisions, WeakenedKind};
use sha2::{Digest, Sha256};

use crate::identity;
use crate::process::Monitoring;
use crate::system::SystemClock;

/// Families of a file's metrics.
pub(crate) struct ReloadFamilies {
    /// Time of the last attempt, by server and status.
    pub(crate) last_timestamp: &'static Family<Gauge, 2>,
    /// Number of attempts, by server and status.
    pub(crate) total: &'static Family<Counter, 2>,
    /// Server, and hash of the active configuration.
    pub(crate) last_config: &'static Family<Gauge, 2>,
}

/// File identity for change detection without reading: inode, size and modification time.
pub(crate) type FileIdentity = Option<(u64, u64, i64, i64)>;

/// Returns the current identity.
pub(crate) fn identify(path: &Path) -> FileIdentity {
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
struct EventTimes {
    count: u64,
    last_seconds: f64,
}

impl EventTimes {
    fn add(&mut self) {
        let now = SystemClock.now();
        self.count += 1;
        self.last_seconds = now.seconds as f64 + f64::from(now.nanos) / 1e9;
    }
}

#[derive(Default)]
struct Counts {
    successes: EventTimes,
    failures: EventTimes,
    /// Hash of the active text.
    hash: String,
}

/// Metrics of a reloadable file.
pub(crate) struct ReloadMetrics {
    counts: Arc<Mutex<Counts>>,
    file: String,
    weakened: WeakenedDecisions,
}

impl ReloadMetrics {
    /// Registers the metrics of a file with this text.
    pub(crate) fn new(
        monitoring: Monitoring<'_>,
        families: &'static ReloadFamilies,
        file: &Path,
        text: &[u8],
    ) -> Self {
        let ReloadFamilies { last_timestamp, total, last_config } = families;
        let counts = Arc::new(Mutex::new(Counts { hash: hash(text), ..Counts::default() }));
        let read = Arc::clone(&counts);
        let server = hash(identity::of_this_machine().as_bytes());
        monitoring.metrics.collect(&[*last_timestamp, *total, *last_config], move |page| {
            locked(&read).write(page, families, &server);
        });
        ReloadMetrics { counts, file: file.display().to_string(), weakened: monitoring.weakened.clone() }
    }

    /// Records and logs a failed reload.
    pub(crate) fn failed(&self, why: &dyn Display) {
        locked(&self.counts).failures.add();
        self.stale(why);
    }

    /// Records that the previous configuration is active because of an earlier failure. Reload tasks call this
    /// once per minute for as long as that is the case, which upstream's metrics do not show.
    pub(crate) fn stale(&self, why: &dyn Display) {
        self.weakened.record(WeakenedKind::StaleConfiguration, &self.file, why);
    }

    /// Records a successful reload with the new hash.
    pub(crate) fn succeeded(&self, hash: String) {
        let mut counts = locked(&self.counts);
        counts.successes.add();
        counts.hash = hash;
    }
}

fn locked(counts: &Mutex<Counts>) -> MutexGuard<'_, Counts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Counts {
    fn write(&self, page: &mut Page<'_>, families: &ReloadFamilies, server: &str) {
        let outcomes = [("failure", self.failures), ("success", self.successes)];
        let counted = || outcomes.iter().filter(|(_, times)| times.count > 0);
        let mut samples = page.family(families.last_timestamp);
        counted().for_each(|(status, times)| samples.add([server, status], times.last_seconds));
        drop(samples);
        let mut samples = page.family(families.total);
        counted().for_each(|(status, times)| samples.add([server, status], times.count));
        drop(samples);
        page.family(families.last_config).add([server, &self.hash], 1);
    }
}
