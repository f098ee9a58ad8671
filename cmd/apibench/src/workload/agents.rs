//! Sandboxes for AI agents: claims that take a prepared sandbox from a warm pool, with the requests of all programs that
//! take part, in the order of the controllers of kubernetes-sigs/agent-sandbox.

mod life;
mod objects;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use hyper::body::Incoming;
use tokio::task::JoinSet;

use super::{Context, Workload, events};
use crate::client::{Client, Windows};
use crate::error::{Error, Result};
use crate::process::Meter;
use crate::setup;
use crate::stats::{Histogram, Measured};
use life::Lane;

/// Concurrent claims during the burst, as a multiple of the measured load.
const BURST: u64 = 3;
/// Duration of one measurement after the burst.
const LOOK: Duration = Duration::from_secs(1);
/// Maximum recovery time.
const RECOVERY_MAX: Duration = Duration::from_secs(120);
/// The load has recovered if its p99 is at most this multiple of the initial one.
const RECOVERED_FACTOR: f64 = 2.0;
/// Consecutive failures after which a lane stops, so that a dead server does not cause busy looping.
const MAX_FAILURES: u32 = 20;

/// Returns the workload.
pub(super) fn workloads() -> Vec<Box<dyn Workload>> {
    vec![Box::new(Agents)]
}

struct Agents;

#[async_trait]
impl Workload for Agents {
    fn name(&self) -> &'static str {
        "agents"
    }

    fn about(&self) -> &'static str {
        "sandbox claims from a warm pool, from claim to ready; then a burst of three times the load"
    }

    async fn run(&self, context: &Context) -> Result<Measured> {
        let settings = &context.settings;
        let client = Arc::new(setup::connect(&context.target, settings).await?);
        objects::prepare(&client, &settings.namespace).await?;
        let informers = Informers::start(context).await?;
        let lanes = prepare_lanes(context, &client).await?;
        let meter = Meter::start(context.target.pid);
        let load = Load { context: context.clone(), count: settings.concurrency, is_measured: true };
        let done = load.run(lanes, context.duration()).await?;
        let measured = context.tally.measured(meter.stop());
        let before = done.p99_ms.ok_or_else(|| Error::Wrong("no claim became ready".to_owned()))?;
        let extra = burst(context, done.lanes, before).await?;
        drop(informers);
        objects::remove(&client, &settings.namespace).await?;
        Ok(context.tally.with_errors(Measured { extra, ..measured }))
    }
}

/// Creates the lanes of the burst, each with a warm sandbox.
async fn prepare_lanes(context: &Context, client: &Arc<Client>) -> Result<Vec<Lane>> {
    let mut lanes = JoinSet::new();
    for number in 0..context.settings.concurrency * BURST {
        lanes.spawn(Lane::start(Arc::clone(client), Arc::clone(&context.settings), number));
    }
    let mut prepared = Vec::new();
    while let Some(lane) = lanes.join_next().await {
        prepared.push(lane.map_err(|e| Error::Wrong(e.to_string()))??);
    }
    Ok(prepared)
}

/// A closed loop of claims.
struct Load {
    context: Context,
    /// Number of lanes in use.
    count: u64,
    /// True if the claims belong to the result.
    is_measured: bool,
}

/// Result of a load.
struct LoadResult {
    /// All lanes, for the next load.
    lanes: Vec<Lane>,
    /// p99 from claim to ready; `None` without claims.
    p99_ms: Option<f64>,
}

impl Load {
    /// Runs the first lanes for a time.
    #[allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]
    async fn run(&self, mut lanes: Vec<Lane>, time: Duration) -> Result<LoadResult> {
        let count = usize::try_from(self.count).unwrap_or(lanes.len()).min(lanes.len());
        let mut finished = lanes.split_off(count);
        let latency = Arc::new(Histogram::default());
        let end = Instant::now() + time;
        let mut running = JoinSet::new();
        for mut lane in lanes {
            let latency = Arc::clone(&latency);
            let tally = self.is_measured.then(|| Arc::clone(&self.context.tally));
            let errors = Arc::clone(&self.context.tally);
            running.spawn(async move {
                let mut failures = 0;
                while failures < MAX_FAILURES && Instant::now() < end {
                    match lane.next().await {
                        Ok(ready) => {
                            failures = 0;
                            latency.add(ready.latency);
                            tally.iter().for_each(|tally| tally.success(ready.latency, ready.bytes));
                        }
                        Err(error) => {
                            failures += 1;
                            errors.failure(1, error);
                        }
                    }
                }
                lane
            });
        }
        while let Some(lane) = running.join_next().await {
            finished.push(lane.map_err(|e| Error::Wrong(e.to_string()))?);
        }
        Ok(LoadResult { lanes: finished, p99_ms: latency.latency().map(|latency| latency.p99) })
    }
}

/// Runs the burst, then the initial load until its p99 has recovered.
#[allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]
async fn burst(context: &Context, lanes: Vec<Lane>, before: f64) -> Result<BTreeMap<&'static str, f64>> {
    let settings = &context.settings;
    let load = |count| Load { context: context.clone(), count, is_measured: false };
    let mut done = load(settings.concurrency * BURST).run(lanes, context.duration()).await?;
    let mut extra = BTreeMap::from([("p99_before_ms", before)]);
    extra.extend(done.p99_ms.map(|p99| ("p99_burst_ms", p99)));
    let start = Instant::now();
    loop {
        let passed = start.elapsed();
        done = load(settings.concurrency).run(done.lanes, LOOK).await?;
        let has_recovered = done.p99_ms.is_some_and(|p99| p99 <= before * RECOVERED_FACTOR);
        if has_recovered {
            extra.insert("recovery_s", passed.as_secs_f64());
        } else if passed <= RECOVERY_MAX {
            continue;
        } else {
            context.tally.failure(1, format!("the p99 has not recovered {RECOVERY_MAX:?} after the burst"));
        }
        extra.extend(done.p99_ms.map(|p99| ("p99_after_ms", p99)));
        return Ok(extra);
    }
}

/// Open watches of the controllers, the scheduler and the kubelets. Their events are read and discarded.
struct Informers {
    _readers: JoinSet<()>,
}

impl Informers {
    async fn start(context: &Context) -> Result<Self> {
        let paths = objects::watched(&context.settings.namespace);
        let client = events::connect(context, paths.len() as u64, Windows::LARGE).await?;
        let client = Arc::new(client);
        let mut readers = JoinSet::new();
        for (lane, path) in paths.into_iter().enumerate() {
            let stream = events::open(&client, lane, path).await?;
            readers.spawn(discard(Arc::clone(&client), stream, context.clone()));
        }
        Ok(Informers { _readers: readers })
    }
}

/// Reads a watch. Its end is an error of the run. `_client` keeps the connection open.
async fn discard(_client: Arc<Client>, mut stream: Incoming, context: Context) {
    loop {
        if let Err(error) = events::next_data(&mut stream).await {
            context.tally.failure(1, error);
            return;
        }
    }
}
