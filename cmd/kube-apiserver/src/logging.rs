//! Logging to standard error in upstream's formats (`--logging-format`).

mod line;
mod recent;

use std::sync::Arc;

use component_base::clock::Clock;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload::{self, Handle};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Registry, fmt};

pub(crate) use line::Format;
pub(crate) use recent::RecentLog;

/// Libraries with overly verbose logs.
const QUIET: [&str; 6] = ["h2", "hyper", "hyper_util", "rustls", "tokio_rustls", "tower"];

/// Handle for changing the log level at run time.
#[derive(Clone)]
pub(crate) struct Verbosity(Handle<Targets, Registry>);

impl Verbosity {
    /// Sets the verbosity as the flag `-v` does: requests are logged from 3 on, as upstream's are.
    pub(crate) fn set(&self, v: i64) {
        if let Err(error) = self.0.reload(filter(v)) {
            tracing::error!(%error, "cannot set log verbosity");
        }
    }
}

/// A running logger.
pub(crate) struct Log {
    pub(crate) verbosity: Verbosity,
    pub(crate) recent: RecentLog,
}

/// Starts logging in a format at a verbosity.
pub(crate) fn start(format: Format, v: i64, clock: Arc<dyn Clock>) -> Log {
    let recent = RecentLog::new(Arc::clone(&clock));
    let (filter, handle) = reload::Layer::new(filter(v));
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(false).event_format(line::Lines {
        format,
        clock,
        process: std::process::id(),
    });
    tracing_subscriber::registry().with(filter).with(lines).with(recent.clone()).init();
    Log { verbosity: Verbosity(handle), recent }
}

fn filter(v: i64) -> Targets {
    let (own_level, library_level) = match v {
        ..=2 => (LevelFilter::INFO, LevelFilter::ERROR),
        3..=5 => (LevelFilter::DEBUG, LevelFilter::WARN),
        6..=8 => (LevelFilter::TRACE, LevelFilter::INFO),
        _ => (LevelFilter::TRACE, LevelFilter::TRACE),
    };
    Targets::new().with_default(own_level).with_targets(QUIET.map(|target| (target, library_level)))
}
