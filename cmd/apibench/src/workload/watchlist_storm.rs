//! All nodes reconnect at once: each requests its pods and a watch in one request (KEP-3157). An informer is
//! in sync when the bookmark arrives that ends the initial events.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use hyper::body::Incoming;
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use super::events::{self, Lines};
use super::{Context, Workload};
use crate::client::{Client, Windows};
use crate::error::{Error, Result};
use crate::process::Meter;
use crate::stats::Measured;

/// Annotation of the bookmark that ends the initial events.
const END: &[u8] = b"\"k8s.io/initial-events-end\":\"true\"";
const ADDED: &[u8] = b"{\"type\":\"ADDED\"";

pub(super) fn workloads() -> Vec<Box<dyn Workload>> {
    vec![Box::new(Storm)]
}

struct Storm;

#[async_trait]
impl Workload for Storm {
    fn name(&self) -> &'static str {
        "watchlist-storm"
    }

    fn about(&self) -> &'static str {
        "--watchers informers, one per node, start at once; one operation is one informer in sync"
    }

    #[allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]
    async fn run(&self, context: &Context) -> Result<Measured> {
        let informers = usize::try_from(context.settings.watchers).unwrap_or(0);
        let client = events::connect(context, context.settings.watchers, Windows::LARGE).await?;
        let client = Arc::new(client);
        let gate = Arc::new(Barrier::new(informers + 1));
        let mut tasks = JoinSet::new();
        for lane in 0..informers {
            tasks.spawn(inform(context.clone(), Arc::clone(&client), lane, Arc::clone(&gate)));
        }
        let meter = Meter::start(context.target.pid);
        gate.wait().await;
        let started = Instant::now();
        let mut open = Vec::new();
        let mut first = None;
        while let Some(done) = tasks.join_next().await {
            match done.map_err(|e| Error::Wrong(e.to_string()))? {
                Ok(stream) => {
                    first.get_or_insert_with(|| started.elapsed());
                    open.push(stream);
                }
                Err(error) => context.tally.failure(1, error),
            }
        }
        let last = started.elapsed();
        let mut measured = context.tally.measured(meter.stop());
        measured.extra.insert("first_in_sync_ms", first.unwrap_or(last).as_secs_f64() * 1e3);
        measured.extra.insert("last_in_sync_ms", last.as_secs_f64() * 1e3);
        Ok(measured)
    }
}

/// Starts together with the other informers, ends with the bookmark, and returns the stream so that it stays
/// open.
#[allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]
async fn inform(context: Context, client: Arc<Client>, lane: usize, gate: Arc<Barrier>) -> Result<Incoming> {
    let node = lane as u64 % context.settings.nodes();
    gate.wait().await;
    let started = Instant::now();
    let synced = sync(&client, lane, node);
    let limit = context.time_limit();
    let (stream, items, bytes) =
        tokio::time::timeout(limit, synced).await.map_err(|_| Error::Timeout(limit))??;
    let expected = context.settings.pods_on(node);
    if items != expected {
        return Err(Error::Wrong(format!("node-{node}: {items} pods, expected {expected}")));
    }
    context.tally.success(started.elapsed(), bytes);
    Ok(stream)
}

async fn sync(client: &Client, lane: usize, node: u64) -> Result<(Incoming, u64, u64)> {
    let path = format!(
        "/api/v1/pods?watch=true&sendInitialEvents=true&allowWatchBookmarks=true&timeoutSeconds=3600\
         &resourceVersionMatch=NotOlderThan&fieldSelector=spec.nodeName%3Dnode-{node}"
    );
    let mut stream = events::open(client, lane, path).await?;
    let mut lines = Lines::default();
    let mut items = 0;
    let mut bytes = 0;
    let mut ended = false;
    while !ended {
        let data = events::next_data(&mut stream).await?;
        bytes += data.len() as u64;
        lines.feed(&data, |event| {
            items += u64::from(!ended && event.starts_with(ADDED));
            ended |= memchr::memmem::find(event, END).is_some();
        })?;
    }
    Ok((stream, items, bytes))
}
