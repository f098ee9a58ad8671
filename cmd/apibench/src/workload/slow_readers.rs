//! Slow readers of full lists: server memory while the responses are pending.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::task::JoinSet;

use super::{Context, Workload, events, lists};
use crate::client::{Client, Windows};
use crate::error::{Error, Result};
use crate::process::Meter;
use crate::setup;
use crate::stats::Measured;

/// Number of concurrent clients, each with its own connection.
const READERS: u64 = 10;

/// Read rate of each client in bytes per second.
const BYTES_PER_SECOND: f64 = 10_000.0;

pub(super) fn workloads() -> Vec<Box<dyn Workload>> {
    vec![Box::new(SlowReaders)]
}

struct SlowReaders;

#[async_trait]
impl Workload for SlowReaders {
    fn name(&self) -> &'static str {
        "list-slow-readers"
    }

    fn about(&self) -> &'static str {
        "10 lists of all pods, each read at 10 KB/s: memory in the meantime; one operation is one list"
    }

    async fn run(&self, context: &Context) -> Result<Measured> {
        let client = Arc::new(setup::connect(&context.target, &context.settings).await?);
        let length = lists::verify_whole(context, &client).await?;
        drop(client);
        let slow = Client::connect(&context.target, READERS, Windows::SMALL, context.time_limit()).await?;
        let slow = Arc::new(slow);
        let meter = Meter::start(context.target.pid);
        let mut readers = JoinSet::new();
        for lane in 0..usize::try_from(READERS).unwrap_or(1) {
            readers.spawn(read(context.clone(), Arc::clone(&slow), lane, length));
        }
        while let Some(done) = readers.join_next().await {
            match done.map_err(|e| Error::Wrong(e.to_string()))? {
                Ok(()) => {}
                Err(error) => context.tally.failure(1, error),
            }
        }
        let mut measured = context.tally.measured(meter.stop());
        if let Some(growth) = measured.growth_kib() {
            measured.extra.insert("rss_growth_kib", growth);
            measured.extra.insert("rss_growth_kib_per_list", growth / READERS as f64);
        }
        measured.extra.insert("list_bytes", length as f64);
        Ok(measured)
    }
}

/// Reads during the timed part. The measured latency is that of the first byte.
#[allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]
async fn read(context: Context, client: Arc<Client>, lane: usize, length: u64) -> Result<()> {
    let started = Instant::now();
    let response = client.start(lane, lists::whole(&context)).await?;
    if response.status().as_u16() != 200 {
        return Err(Error::Wrong(format!("list: wanted 200, got {}", response.status())));
    }
    let mut body = response.into_body();
    let mut bytes = 0;
    let mut first_byte = None;
    while started.elapsed() < context.duration() && bytes < length {
        let data = events::next_data(&mut body).await?;
        first_byte.get_or_insert_with(|| started.elapsed());
        bytes += data.len() as u64;
        tokio::time::sleep(Duration::from_secs_f64(data.len() as f64 / BYTES_PER_SECOND)).await;
    }
    let first_byte = first_byte.ok_or_else(|| Error::Wrong("no byte came".to_owned()))?;
    context.tally.success(first_byte, bytes);
    Ok(())
}
