//! Log lines to standard error.

use std::io::IsTerminal;

use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// Libraries that say more than anybody wants to know.
const QUIET: [&str; 6] = ["h2", "hyper", "hyper_util", "rustls", "tokio_rustls", "tower"];

/// Starts logging at a verbosity of upstream's `-v`: requests are logged from 3 on, as there.
pub(crate) fn start(v: i64) {
    let (ours, theirs) = match v {
        ..=2 => (LevelFilter::INFO, LevelFilter::ERROR),
        3..=5 => (LevelFilter::DEBUG, LevelFilter::WARN),
        6..=8 => (LevelFilter::TRACE, LevelFilter::INFO),
        _ => (LevelFilter::TRACE, LevelFilter::TRACE),
    };
    let filter = Targets::new().with_default(ours).with_targets(QUIET.map(|target| (target, theirs)));
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    tracing_subscriber::registry().with(filter).with(lines).init();
}
