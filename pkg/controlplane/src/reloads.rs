//! Files that are followed while a server runs: whether they have changed, and what is counted of that.

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

/// What the metrics of a file are called, and their help with its level of stability.
pub(crate) struct ReloadNames {
    /// What the names begin with.
    pub(crate) prefix: &'static str,
    /// Help of the time of the last attempt.
    pub(crate) last_timestamp: &'static str,
    /// Help of the number of attempts.
    pub(crate) total: &'static str,
    /// Help of the hash of what counts.
    pub(crate) last_config: &'static str,
}

/// What makes a file another one without its being read: where it is, how long, and since when.
pub(crate) type Sign = Option<(u64, u64, i64, i64)>;

/// The present one.
pub(crate) fn sign(path: &Path) -> Sign {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec()))
}

/// How metrics name a text without showing it.
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

/// How often something happened, and when it last did, in seconds since 1970.
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
    /// Of the text that counts.
    hash: String,
}

/// What is counted of a file that is followed.
pub(crate) struct ReloadFigures {
    names: &'static ReloadNames,
    server: String,
    counts: Mutex<Counts>,
}

impl ReloadFigures {
    /// Nothing yet, of a file that says `text`.
    pub(crate) fn new(names: &'static ReloadNames, text: &[u8]) -> Self {
        let counts = Counts { hash: hash(text), ..Counts::default() };
        let server = hash(identity::of_this_machine().as_bytes());
        ReloadFigures { names, server, counts: Mutex::new(counts) }
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new text could not be used.
    pub(crate) fn failed(&self) {
        self.counts().failures.add();
    }

    /// A new text counts, which has this hash.
    pub(crate) fn succeeded(&self, hash: String) {
        let mut counts = self.counts();
        counts.successes.add();
        counts.hash = hash;
    }
}

impl Collector for ReloadFigures {
    fn collect(&self, out: &mut String) {
        let ReloadFigures { names, server, .. } = self;
        let (prefix, counts) = (names.prefix, self.counts());
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
