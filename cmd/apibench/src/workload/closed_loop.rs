//! Closed-loop load: a fixed number of lanes for a fixed time. Each lane sends its next request when the
//! previous one completes. The measured rate is the server's capacity.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use async_trait::async_trait;
use tokio::task::JoinSet;

use super::{Context, Workload};
use crate::args::Settings;
use crate::client::Client;
use crate::error::{Error, Result};
use crate::process::Meter;
use crate::setup;
use crate::stats::Measured;

/// Consecutive failures after which a lane stops, so that a dead server does not cause busy looping.
const MAX_FAILURES: u32 = 20;

/// Operation that a closed loop repeats.
#[async_trait]
pub(crate) trait Operation: Send + Sync + 'static {
    /// Returns the workload's name on the command line.
    fn name(&self) -> &'static str;

    /// Returns a one-line description.
    fn about(&self) -> &'static str;

    fn lanes(&self, settings: &Settings) -> u64 {
        settings.concurrency
    }

    /// Prepares the server for the loop. Not timed.
    async fn prepare(&self, _context: &Context, _client: &Arc<Client>) -> Result<()> {
        Ok(())
    }

    /// Checks the content of a response before the timed part. Returns the minimum number of bytes that a
    /// valid operation of the timed part must receive.
    async fn verify(&self, context: &Context, client: &Client) -> Result<u64>;

    /// Runs operation number `i`. Checks the status and returns the received bytes; `None` if there is
    /// nothing left to do.
    async fn run(&self, context: &Context, client: &Client, lane: usize, i: u64) -> Result<Option<u64>>;

    /// Checks again after the timed part, in which `attempts` operations were started. A failure counts as an
    /// error of the run.
    async fn verify_after(&self, context: &Context, client: &Client, _attempts: u64) -> Result<()> {
        self.verify(context, client).await.map(|_| ())
    }
}

/// A workload that repeats an operation.
pub(crate) struct ClosedLoop<O>(Arc<O>);

impl<O: Operation> ClosedLoop<O> {
    pub(crate) fn of(operation: O) -> Box<dyn Workload> {
        Box::new(Self(Arc::new(operation)))
    }
}

#[async_trait]
impl<O: Operation> Workload for ClosedLoop<O> {
    fn name(&self) -> &'static str {
        self.0.name()
    }

    fn about(&self) -> &'static str {
        self.0.about()
    }

    async fn run(&self, context: &Context) -> Result<Measured> {
        let client = Arc::new(setup::connect(&context.target, &context.settings).await?);
        self.0.prepare(context, &client).await?;
        let least = self.0.verify(context, &client).await?;
        let meter = Meter::start(context.target.pid);
        let attempts = drive(&self.0, context, &client, least).await?;
        let measured = context.tally.measured(meter.stop());
        if let Err(error) = self.0.verify_after(context, &client, attempts).await {
            context.tally.failure(1, &error);
        }
        Ok(context.tally.with_errors(measured))
    }
}

#[allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]
async fn drive<O: Operation>(
    operation: &Arc<O>,
    context: &Context,
    client: &Arc<Client>,
    least: u64,
) -> Result<u64> {
    let end = Instant::now() + context.duration();
    let next = Arc::new(AtomicU64::new(0));
    let mut lanes = JoinSet::new();
    for lane in 0..usize::try_from(operation.lanes(&context.settings)).unwrap_or(1) {
        let operation = Arc::clone(operation);
        let context = context.clone();
        let client = Arc::clone(client);
        let next = Arc::clone(&next);
        lanes.spawn(async move {
            let mut failures = 0;
            while failures < MAX_FAILURES {
                let started = Instant::now();
                if started >= end {
                    break;
                }
                let i = next.fetch_add(1, Ordering::Relaxed);
                match operation.run(&context, &client, lane, i).await {
                    Ok(None) => break,
                    Ok(Some(bytes)) if bytes >= least => {
                        context.tally.success(started.elapsed(), bytes);
                        failures = 0;
                    }
                    Ok(Some(bytes)) => {
                        context.tally.failure(1, format!("{bytes} bytes, at least {least} expected"));
                        failures += 1;
                    }
                    Err(error) => {
                        context.tally.failure(1, error);
                        failures += 1;
                    }
                }
            }
        });
    }
    while let Some(done) = lanes.join_next().await {
        done.map_err(|e| Error::Wrong(e.to_string()))?;
    }
    Ok(next.load(Ordering::Relaxed))
}
