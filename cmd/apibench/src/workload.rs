//! The workloads: what each one does to a server and how its answer is checked.
//!
//! A workload prepares what it needs, checks that the server answers rightly, and only then starts the
//! clock. Most are a [closed loop](closed_loop): so many requests in flight, the next one when one is done.

mod closed_loop;
mod custom_objects;
mod definitions;
mod events;
mod fairness;
mod lists;
mod objects;
mod saturation;
mod slow_readers;
#[cfg(test)]
mod tests;
mod turnover;
mod watch_fanout;
mod watch_memory;
mod watchlist_storm;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::args::Settings;
use crate::error::{Error, Result};
use crate::stats::{Measured, Tally};
use crate::target::Target;

/// What a workload runs against.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    /// The server.
    pub(crate) target: Arc<Target>,
    /// How much to do.
    pub(crate) settings: Arc<Settings>,
    /// What this one measurement counts.
    pub(crate) tally: Arc<Tally>,
}

impl Context {
    /// Limit of one request.
    pub(crate) fn time_limit(&self) -> Duration {
        Duration::from_secs(self.settings.timeout)
    }

    /// Length of the timed part.
    pub(crate) fn duration(&self) -> Duration {
        Duration::from_secs(self.settings.seconds)
    }
}

/// One kind of work.
#[async_trait]
pub(crate) trait Workload: Send + Sync {
    /// How the command line calls it.
    fn name(&self) -> &'static str;

    /// One line that says what is done and measured.
    fn about(&self) -> &'static str;

    /// Does it once. An error says that nothing could be measured; single requests that fail are
    /// counted in the tally instead.
    async fn run(&self, context: &Context) -> Result<Measured>;
}

/// Every workload, in the order of `all`: what an idle watch costs while the server is fresh,
/// then reads of a quiet server, then writes, then watches under load.
pub(crate) fn all() -> Vec<Box<dyn Workload>> {
    let mut all = Vec::new();
    all.extend(watch_memory::workloads());
    all.extend(objects::reads());
    all.extend(lists::lists());
    all.extend(slow_readers::workloads());
    all.extend(turnover::workloads());
    all.extend(objects::writes());
    all.extend(saturation::workloads());
    all.extend(fairness::workloads());
    all.extend(watch_fanout::workloads());
    all.extend(watchlist_storm::workloads());
    all.extend(custom_objects::workloads());
    all.extend(definitions::workloads());
    all
}

/// What names several workloads: those that begin with it and a dash.
const FAMILIES: [&str; 1] = ["custom"];

/// Whether a workload is meant by a name of the command line.
fn is_selected(workload: &str, name: &str) -> bool {
    let of_family = |rest: &str| FAMILIES.contains(&name) && rest.starts_with('-');
    name == "all" || name == workload || workload.strip_prefix(name).is_some_and(of_family)
}

/// The workloads that `names` name, in the order of [`all`].
pub(crate) fn chosen(names: &[String]) -> Result<Vec<Box<dyn Workload>>> {
    let mut found = all();
    if let Some(unknown) = names.iter().find(|name| !found.iter().any(|w| is_selected(w.name(), name))) {
        return Err(Error::Usage(format!("no workload {unknown:?}; `apibench list` prints them")));
    }
    found.retain(|workload| names.iter().any(|name| is_selected(workload.name(), name)));
    Ok(found)
}
