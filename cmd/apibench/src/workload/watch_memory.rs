//! Server memory per watch, measured with many watches that receive no event.

use std::time::{Duration, Instant};

use async_trait::async_trait;

use super::{Context, Workload, events};
use crate::client::Windows;
use crate::error::Result;
use crate::process::{Meter, rss_kib};
use crate::setup;
use crate::stats::Measured;

/// Settling time of the server after the last watch is opened or closed.
const REST: Duration = Duration::from_secs(1);

pub(super) fn workloads() -> Vec<Box<dyn Workload>> {
    vec![Box::new(Memory)]
}

struct Memory;

#[async_trait]
impl Workload for Memory {
    fn name(&self) -> &'static str {
        "watch-memory"
    }

    fn about(&self) -> &'static str {
        "--watchers idle watches, each of one secret or one namespace; one operation is one watch opened"
    }

    #[allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]
    async fn run(&self, context: &Context) -> Result<Measured> {
        let settings = &context.settings;
        let control = setup::connect(&context.target, settings).await?;
        let from = setup::resource_version(&control, settings).await?;
        drop(control);
        let meter = Meter::start(context.target.pid);
        let client = events::connect(context, settings.watchers, Windows::LARGE).await?;
        let mut streams = Vec::new();
        for i in 0..settings.watchers {
            let started = Instant::now();
            let lane = usize::try_from(i).unwrap_or(0);
            match events::open(&client, lane, watch_path(&settings.namespace, i, &from)).await {
                Ok(stream) => {
                    context.tally.success(started.elapsed(), 0);
                    streams.push(stream);
                }
                Err(error) => context.tally.failure(1, error),
            }
        }
        tokio::time::sleep(REST).await;
        let mut measured = context.tally.measured(meter.stop());
        drop((streams, client));
        tokio::time::sleep(REST).await;
        let grown = measured.rss_after_kib.zip(measured.rss_before_kib);
        if let Some((after, before)) = grown.filter(|_| measured.operations > 0) {
            let each = (after as f64 - before as f64) / measured.operations as f64;
            measured.extra.insert("rss_kib_per_watch", each);
        }
        if let Some(rss) = context.target.pid.and_then(rss_kib) {
            measured.extra.insert("rss_closed_kib", rss as f64);
        }
        measured.extra.insert("connections", settings.watchers.div_ceil(settings.streams) as f64);
        Ok(measured)
    }
}

/// Half of the watches are for one name, like kubelets' watches of secrets. The other half are for one
/// namespace, like tenant controllers' watches. Neither must exist.
fn watch_path(namespace: &str, i: u64, from: &str) -> String {
    let options = format!("watch=true&timeoutSeconds=3600&resourceVersion={from}");
    if i.is_multiple_of(2) {
        format!("/api/v1/namespaces/{namespace}/secrets?{options}&fieldSelector=metadata.name%3Dsecret-{i}")
    } else {
        format!("/api/v1/namespaces/{namespace}-{i}/configmaps?{options}")
    }
}
