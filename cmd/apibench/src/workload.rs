//! The workloads: requests to a server and checks of the responses.
//!
//! A workload prepares its objects, verifies that the server responds correctly, and only then starts the
//! clock. Most workloads are a [closed loop](closed_loop): a fixed number of requests in flight, where each
//! completed request is followed by the next.

mod agents;
mod closed_loop;
mod custom_objects;
mod definitions;
mod events;
mod fairness;
mod large;
mod lists;
mod node_status;
mod objects;
mod pod_updates;
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

/// Parameters of a workload run.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    pub(crate) target: Arc<Target>,
    pub(crate) settings: Arc<Settings>,
    /// Counters of this measurement.
    pub(crate) tally: Arc<Tally>,
}

impl Context {
    /// Returns the request timeout.
    pub(crate) fn time_limit(&self) -> Duration {
        Duration::from_secs(self.settings.timeout)
    }

    /// Returns the duration of the timed part.
    pub(crate) fn duration(&self) -> Duration {
        Duration::from_secs(self.settings.seconds)
    }
}

#[async_trait]
pub(crate) trait Workload: Send + Sync {
    /// Returns the name on the command line.
    fn name(&self) -> &'static str;

    /// Returns a one-line description.
    fn about(&self) -> &'static str;

    /// Runs once. An error means that nothing could be measured; failed single requests are counted in the
    /// tally instead.
    async fn run(&self, context: &Context) -> Result<Measured>;
}

/// Returns all workloads in the order of `all`: idle watches on a fresh server, reads from a quiet server,
/// writes, and watches under load.
pub(crate) fn all() -> Vec<Box<dyn Workload>> {
    let mut all = Vec::new();
    all.extend(watch_memory::workloads());
    all.extend(objects::reads());
    all.extend(lists::lists());
    all.extend(slow_readers::workloads());
    all.extend(turnover::workloads());
    all.extend(objects::writes());
    all.extend(objects::pod_patches());
    all.extend(pod_updates::workloads());
    all.extend(node_status::workloads());
    all.extend(saturation::workloads());
    all.extend(fairness::workloads());
    all.extend(watch_fanout::workloads());
    all.extend(watchlist_storm::workloads());
    all.extend(custom_objects::workloads());
    all.extend(definitions::workloads());
    all.extend(agents::workloads());
    all.extend(large::workloads());
    all
}

/// Names of workload families: the workloads whose names start with it and a dash.
const FAMILIES: [&str; 2] = ["custom", LARGE];

/// Family with a table of its own, which takes longer than all other workloads together. `all` does not select
/// it. A size (`large-put-50k`) selects a part of it.
pub(crate) const LARGE: &str = "large";

/// Description of the family `large`.
pub(crate) const LARGE_ABOUT: &str = "patches and PUTs of 4 to 250 KB by 1 to 256 writers; not in `all`";

/// Returns true if a name on the command line selects a workload.
fn is_selected(workload: &str, name: &str) -> bool {
    let is_family = FAMILIES.contains(&name) || is_large(name);
    let of_family = |rest: &str| is_family && rest.starts_with('-');
    let in_all = name == "all" && !is_large(workload);
    in_all || name == workload || workload.strip_prefix(name).is_some_and(of_family)
}

/// True for a workload or a part of the family `large`.
pub(crate) fn is_large(name: &str) -> bool {
    name.strip_prefix(LARGE).is_some_and(|rest| rest.starts_with('-'))
}

/// Returns the workloads that `names` select, in the order of [`all`].
pub(crate) fn chosen(names: &[String]) -> Result<Vec<Box<dyn Workload>>> {
    let mut workloads = all();
    if let Some(unknown) = names.iter().find(|name| !workloads.iter().any(|w| is_selected(w.name(), name))) {
        return Err(Error::Usage(format!("no workload {unknown:?}; `apibench list` prints them")));
    }
    workloads.retain(|workload| names.iter().any(|name| is_selected(workload.name(), name)));
    Ok(workloads)
}
