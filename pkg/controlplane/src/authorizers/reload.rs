//! Follows `--authorization-config` (upstream's `pkg/kubeapiserver/authorizer/reload.go`).

use std::fmt::Write;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use apimachinery::clock::Clock;
use authorization::{Reloadable, Reloaded};
use server::metrics::Collector;
use sha2::{Digest, Sha256};
use tokio::time::{Instant, sleep};

use crate::config::ConfigurationFile;
use crate::identity_lease;
use crate::system::SystemClock;

/// How often is looked whether the file is another one.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// How often it is read although it seems to be the same.
const READ_EVERY: Duration = Duration::from_secs(60);
/// How large it may be, in bytes.
const FILE_BYTES_MAX: u64 = 3 << 20;

const PREFIX: &str = "apiserver_authorization_config_controller";

/// Keeps an authorizer as its file says.
pub(super) struct Follower {
    file: ConfigurationFile,
    authorizer: Arc<Reloadable>,
    figures: Arc<Figures>,
}

/// What makes a file another one without its being read: where it is, how long, and since when.
type Sign = Option<(u64, u64, i64, i64)>;

fn sign(path: &Path) -> Sign {
    let metadata = fs::metadata(path).ok()?;
    Some((metadata.ino(), metadata.len(), metadata.mtime(), metadata.mtime_nsec()))
}

impl Follower {
    /// Follows the file that `authorizer` was made from.
    pub(super) fn new(file: ConfigurationFile, authorizer: Arc<Reloadable>) -> Self {
        let figures = Arc::new(Figures::new(&identity_lease::of_this_machine(), &file.text));
        Follower { file, authorizer, figures }
    }

    /// What is counted.
    pub(super) fn collector(&self) -> Arc<dyn Collector> {
        Arc::clone(&self.figures) as Arc<dyn Collector>
    }

    /// Looks at the file again and again.
    pub(super) async fn run(self) {
        let this = Arc::new(self);
        // The first look is a reading: the file may have changed since the flags were read.
        let (mut seen, mut read) = (None, None::<Instant>);
        loop {
            let now = sign(&this.file.path);
            if now != seen || read.is_none_or(|read| read.elapsed() >= READ_EVERY) {
                (seen, read) = (now, Some(Instant::now()));
                let this = Arc::clone(&this);
                // Expressions are compiled, which takes a while.
                if let Err(error) = tokio::task::spawn_blocking(move || this.look()).await {
                    tracing::error!(%error, "reloading authorization config");
                }
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Reads the file, and does what it says if that is new.
    pub(super) fn look(&self) {
        let text = match bounded(&self.file.path) {
            Ok(text) => text,
            Err(error) => {
                tracing::error!(%error, "reloading authorization config");
                return self.figures.failed();
            }
        };
        let hash = hash(&text);
        match self.authorizer.reload(text) {
            Reloaded::Unchanged => {}
            Reloaded::Replaced => {
                tracing::info!("reloaded authz config");
                self.figures.succeeded(hash);
            }
            Reloaded::Kept(error) => {
                tracing::error!(%error, "reloading authorization config");
                self.figures.failed();
            }
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

fn hash(text: &[u8]) -> String {
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
struct Figures {
    server: String,
    counts: Mutex<Counts>,
}

impl Figures {
    fn new(server: &str, text: &[u8]) -> Self {
        let counts = Counts { hash: hash(text), ..Counts::default() };
        Figures { server: hash(server.as_bytes()), counts: Mutex::new(counts) }
    }

    fn counts(&self) -> std::sync::MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self) {
        self.counts().failures.add();
    }

    fn succeeded(&self, hash: String) {
        let mut counts = self.counts();
        counts.successes.add();
        counts.hash = hash;
    }
}

impl Collector for Figures {
    fn collect(&self, out: &mut String) {
        let (server, counts) = (&self.server, self.counts());
        let mut metric = |name: &str, kind: &str, help: &str, samples: &[String]| {
            if !samples.is_empty() {
                let _ = writeln!(out, "# HELP {PREFIX}_{name} {help}\n# TYPE {PREFIX}_{name} {kind}");
            }
            for sample in samples {
                let _ = writeln!(out, "{PREFIX}_{name}{{apiserver_id_hash=\"{server}\",{sample}");
            }
        };
        let both = [("failure", counts.failures), ("success", counts.successes)];
        let happened = || both.iter().filter(|(_, times)| times.count > 0);
        let stamps =
            happened().map(|(status, times)| format!("status=\"{status}\"}} {}", times.last_seconds));
        metric(
            "automatic_reload_last_timestamp_seconds",
            "gauge",
            "[BETA] Timestamp of the last automatic reload of authorization configuration split by status and apiserver identity.",
            &stamps.collect::<Vec<_>>(),
        );
        let totals = happened().map(|(status, times)| format!("status=\"{status}\"}} {}", times.count));
        metric(
            "automatic_reloads_total",
            "counter",
            "[BETA] Total number of automatic reloads of authorization configuration split by status and apiserver identity.",
            &totals.collect::<Vec<_>>(),
        );
        metric(
            "last_config_info",
            "gauge",
            "[ALPHA] Information about the last applied authorization configuration with hash as label, split by apiserver identity.",
            &[format!("hash=\"{}\"}} 1", counts.hash)],
        );
    }
}
