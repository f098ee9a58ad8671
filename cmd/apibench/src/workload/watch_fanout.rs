//! Many watchers of few objects: cost and latency of event delivery. Also checks that every watcher receives
//! every update once, even if other watchers are idle or do not read.

mod mark;
mod updates;
mod watcher;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::task::JoinSet;

use super::{Context, Workload, events};
use crate::args::Settings;
use crate::client::{Client, Windows};
use crate::error::Result;
use crate::process::Meter;
use crate::stats::Measured;
use crate::{bodies, custom, setup};

/// Time after the last update until an undelivered event counts as missing.
const GRACE: Duration = Duration::from_secs(5);

/// Returns the workload with built-in objects.
pub(super) fn workloads() -> Vec<Box<dyn Workload>> {
    vec![Box::new(Fanout {
        name: "watch-fanout",
        about: "--watchers see --rate updates per second of 20 config maps; one operation is one event delivered",
        path: |settings| setup::path(settings, "configmaps"),
        body: bodies::config_map,
        is_custom: false,
    })]
}

/// Returns the workload with custom objects.
pub(super) fn custom() -> Box<dyn Workload> {
    Box::new(Fanout {
        name: "custom-watch",
        about: "the same of 20 custom objects of 8 KB",
        path: |settings| custom::path(&settings.namespace),
        body: custom::object,
        is_custom: true,
    })
}

/// The watched objects.
struct Fanout {
    name: &'static str,
    about: &'static str,
    path: fn(&Settings) -> String,
    /// Returns an object with a name and a unique value.
    body: fn(&str, &str) -> String,
    is_custom: bool,
}

/// Results of all watchers of a measurement.
#[derive(Debug, Default)]
struct Findings {
    /// First deliveries of events, over all watchers.
    delivered: AtomicU64,
    /// Updates missed because a later update of the same object arrived first.
    gaps: AtomicU64,
    /// Events delivered again, or after a later one of the same object.
    duplicates: AtomicU64,
}

#[async_trait]
impl Workload for Fanout {
    fn name(&self) -> &'static str {
        self.name
    }

    fn about(&self) -> &'static str {
        self.about
    }

    #[allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]
    async fn run(&self, context: &Context) -> Result<Measured> {
        let settings = &context.settings;
        let writer = Arc::new(setup::connect(&context.target, settings).await?);
        if self.is_custom {
            custom::define(&writer).await?;
        }
        let path = (self.path)(settings);
        updates::create_objects(&writer, &path, self.body).await?;
        let from = setup::resource_version(&writer, settings).await?;
        let watch_path = watch_path(&path, &from);
        let epoch = Instant::now();
        let findings = Arc::new(Findings::default());

        let mut watchers = JoinSet::new();
        let healthy = events::connect(context, settings.watchers, Windows::LARGE).await?;
        for lane in 0..usize::try_from(settings.watchers).unwrap_or(0) {
            let body = events::open(&healthy, lane, watch_path.clone()).await?;
            watchers.spawn(watcher::watch(body, context.clone(), Arc::clone(&findings), epoch));
        }
        let _idle = open_idle(context, &watch_path).await?;
        let _slow = open_slow(context, &watch_path).await?;

        let meter = Meter::start(context.target.pid);
        let sent = updates::send(context, &writer, &path, epoch).await?;
        let expected = sent * settings.watchers;
        wait_for(&findings, expected).await;
        let measured = context.tally.measured(meter.stop());
        Ok(judge(context, &findings, expected, sent, measured))
    }
}

fn watch_path(path: &str, from: &str) -> String {
    format!("{path}?watch=true&timeoutSeconds=3600&resourceVersion={from}")
}

/// Streams that stay open until dropped.
struct OpenStreams {
    _client: Client,
    _streams: Vec<hyper::body::Incoming>,
}

/// Opens watches of objects that never change: the server must filter out every event.
async fn open_idle(context: &Context, watch_path: &str) -> Result<OpenStreams> {
    let count = context.settings.idle_watchers;
    let client = events::connect(context, count, Windows::LARGE).await?;
    let mut streams = Vec::new();
    for lane in 0..usize::try_from(count).unwrap_or(0) {
        let selector = format!("{watch_path}&fieldSelector=metadata.name%3Didle-{lane}");
        streams.push(events::open(&client, lane, selector).await?);
    }
    Ok(OpenStreams { _client: client, _streams: streams })
}

/// Opens watches of everything that are never read, with minimal flow control windows.
async fn open_slow(context: &Context, watch_path: &str) -> Result<OpenStreams> {
    let count = context.settings.slow_watchers;
    let client = events::connect(context, count, Windows::SMALL).await?;
    let mut streams = Vec::new();
    for lane in 0..usize::try_from(count).unwrap_or(0) {
        streams.push(events::open(&client, lane, watch_path.to_owned()).await?);
    }
    Ok(OpenStreams { _client: client, _streams: streams })
}

/// Waits until all events have arrived, or the grace period is over.
async fn wait_for(findings: &Findings, expected: u64) {
    let arrived = async {
        while findings.delivered.load(Relaxed) < expected {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    // A timeout is no error here: missing events are counted.
    let _ = tokio::time::timeout(GRACE, arrived).await;
}

fn judge(context: &Context, findings: &Findings, expected: u64, sent: u64, measured: Measured) -> Measured {
    let delivered = findings.delivered.load(Relaxed);
    let gaps = findings.gaps.load(Relaxed);
    let duplicates = findings.duplicates.load(Relaxed);
    let missing = expected.saturating_sub(delivered);
    if missing + duplicates > 0 {
        context.tally.failure(
            missing + duplicates,
            format!("{missing} of {expected} events missing ({gaps} skipped over), {duplicates} duplicates"),
        );
    }
    let extra = [
        ("updates", sent as f64),
        ("updates_planned", (context.settings.rate * context.settings.seconds) as f64),
        ("events_missing", missing as f64),
        ("gaps", gaps as f64),
        ("duplicates", duplicates as f64),
    ];
    context.tally.with_errors(Measured { extra: extra.into_iter().collect(), ..measured })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::serve;

    #[tokio::test]
    async fn missing_and_repeated_events_are_errors() {
        let context = serve(&[], Arc::new(|_| (200, String::new()))).await;
        let check = |delivered, gaps, duplicates, expected_errors, text: Option<&str>| {
            let context = Context { tally: Arc::default(), ..context.clone() };
            let findings = Findings {
                delivered: AtomicU64::new(delivered),
                gaps: AtomicU64::new(gaps),
                duplicates: AtomicU64::new(duplicates),
            };
            let measured = judge(&context, &findings, 100, 10, Measured::default());
            assert_eq!((measured.errors, measured.first_error.as_deref()), (expected_errors, text));
        };
        check(100, 0, 0, 0, None);
        check(97, 2, 0, 3, Some("3 of 100 events missing (2 skipped over), 0 duplicates"));
        check(100, 0, 4, 4, Some("0 of 100 events missing (0 skipped over), 4 duplicates"));
    }
}
