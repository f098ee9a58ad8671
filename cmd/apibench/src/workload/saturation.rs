//! Saturation and recovery: many writers over many pods, then a very low load until its latency is back to
//! normal.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use http::Method;
use tokio::task::JoinSet;

use super::objects::pod_path;
use super::{Context, Workload};
use crate::check::MAX_BODY;
use crate::client::{Answer, Call, Client};
use crate::error::{Error, Result};
use crate::process::{Meter, rss_kib};
use crate::setup;
use crate::stats::{Histogram, Measured, Window};

/// Length of a window of the metrics over time.
const WINDOW: Duration = Duration::from_secs(5);
/// Low load in requests per second.
const CALM_RATE: u32 = 50;
/// Duration of the low load before saturation.
const LOW_LOAD_TIME: Duration = Duration::from_secs(5);
/// Duration of one measurement of the low load afterwards.
const LOOK: Duration = Duration::from_secs(1);
/// Maximum recovery time.
const RECOVERY_MAX: Duration = Duration::from_secs(120);
/// Recovery criterion: the p99 is at most this factor above the initial one, or this many milliseconds above
/// it.
const RECOVERED: (f64, f64) = (2.0, 5.0);
/// Consecutive failures after which a writer stops, so that a dead server does not cause busy looping.
const MAX_FAILURES: u32 = 20;

pub(super) fn workloads() -> Vec<Box<dyn Workload>> {
    vec![Box::new(Saturation)]
}

struct Saturation;

#[async_trait]
impl Workload for Saturation {
    fn name(&self) -> &'static str {
        "saturation"
    }

    fn about(&self) -> &'static str {
        "--writers patch pods for --saturation-seconds as fast as they can; then the time until p99 is back"
    }

    async fn run(&self, context: &Context) -> Result<Measured> {
        let client = setup::connect(&context.target, &context.settings).await?;
        let patches = Patches { context: context.clone(), client, next: AtomicU64::new(0) };
        let patches = Arc::new(patches);
        patches.verify().await?;
        let before = patches.run_low_load(LOW_LOAD_TIME).await;
        let before = before.ok_or_else(|| Error::Wrong("no request was answered".to_owned()))?;
        let meter = Meter::start(context.target.pid);
        let windows = saturate(&patches).await?;
        let measured = context.tally.measured(meter.stop());
        let extra = recover(&patches, before).await;
        Ok(context.tally.with_errors(Measured { windows, extra, ..measured }))
    }
}

/// Patches of pod labels, each with a unique value so that it causes a write.
struct Patches {
    context: Context,
    client: Client,
    next: AtomicU64,
}

impl Patches {
    /// Sends patch number `i` and stores `keep` bytes of the response.
    async fn send(&self, lane: usize, i: u64, keep: usize) -> Result<Answer> {
        let body = format!(r#"{{"metadata":{{"labels":{{"seq":"x{i}"}}}}}}"#);
        let path = pod_path(&self.context.settings, i);
        let call = Call::send(Method::PATCH, path, "application/merge-patch+json", body);
        self.client.call(lane, call, keep).await?.expect(200)
    }

    async fn verify(&self) -> Result<()> {
        let response = self.send(0, u64::from(u32::MAX), MAX_BODY).await?;
        match memchr::memmem::find(&response.head, format!(r#""seq":"x{}""#, u32::MAX).as_bytes()) {
            Some(_) => Ok(()),
            None => Err(response.wrong("the label is missing")),
        }
    }

    /// Sends the next patch. Counts a failure.
    async fn one(&self, lane: usize) -> Option<u64> {
        match self.send(lane, self.next.fetch_add(1, Relaxed), 0).await {
            Ok(response) => Some(response.bytes),
            Err(error) => {
                self.context.tally.failure(1, error);
                None
            }
        }
    }

    /// Runs a low open-loop load. Returns the p99 in milliseconds, measured from each request's due time;
    /// `None` without successful requests.
    #[allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]
    async fn run_low_load(self: &Arc<Self>, time: Duration) -> Option<f64> {
        let period = Duration::from_secs(1) / CALM_RATE;
        let latency = Arc::new(Histogram::default());
        let start = Instant::now();
        let mut requests = JoinSet::new();
        for n in 0..u32::try_from(time.as_secs()).unwrap_or(u32::MAX).saturating_mul(CALM_RATE) {
            let due = start + period * n;
            tokio::time::sleep_until(due.into()).await;
            let patches = Arc::clone(self);
            let latency = Arc::clone(&latency);
            requests.spawn(async move {
                if patches.one(n as usize).await.is_some() {
                    latency.add(due.elapsed());
                }
            });
        }
        requests.join_all().await;
        latency.latency().map(|latency| latency.p99)
    }
}

/// Sends as many requests as the server accepts. Returns the metrics over time.
#[allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]
async fn saturate(patches: &Arc<Patches>) -> Result<Vec<Window>> {
    let settings = &patches.context.settings;
    let pid = patches.context.target.pid;
    let time = Duration::from_secs(settings.saturation_seconds);
    let window_count = settings.saturation_seconds.div_ceil(WINDOW.as_secs());
    let histograms: Arc<Vec<Histogram>> = Arc::new((0..window_count).map(|_| Histogram::default()).collect());
    let start = Instant::now();
    let mut writers = JoinSet::new();
    for lane in 0..usize::try_from(settings.writers).unwrap_or(1) {
        let patches = Arc::clone(patches);
        let histograms = Arc::clone(&histograms);
        writers.spawn(async move {
            let mut failures = 0;
            while failures < MAX_FAILURES && start.elapsed() < time {
                let sent = Instant::now();
                let Some(bytes) = patches.one(lane).await else {
                    failures += 1;
                    continue;
                };
                failures = 0;
                patches.context.tally.success(sent.elapsed(), bytes);
                // Responses after the end belong to no window.
                let part = (start.elapsed().as_secs() / WINDOW.as_secs()) as usize;
                if let Some(histogram) = histograms.get(part).filter(|_| start.elapsed() < time) {
                    histogram.add(sent.elapsed());
                }
            }
        });
    }
    let mut windows = Vec::new();
    for (part, histogram) in (0..).zip(histograms.iter()) {
        let end = time.min(WINDOW * (part + 1));
        tokio::time::sleep_until((start + end).into()).await;
        let rss_kib = pid.and_then(rss_kib);
        windows.push(Window::new(WINDOW * part, end, histogram, rss_kib));
    }
    writers.join_all().await;
    Ok(windows)
}

/// Keeps the load low until the p99 has recovered. Returns the recovery time in seconds and the p99. A
/// timeout is an error of the run.
#[allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]
async fn recover(patches: &Arc<Patches>, before: f64) -> BTreeMap<&'static str, f64> {
    let start = Instant::now();
    let bound = (before * RECOVERED.0).max(before + RECOVERED.1);
    let mut extra = BTreeMap::from([("p99_before_ms", before)]);
    loop {
        let passed = start.elapsed();
        let p99_after = patches.run_low_load(LOOK).await;
        if p99_after.is_none_or(|p99| p99 > bound) && passed <= RECOVERY_MAX {
            continue;
        }
        extra.extend(p99_after.map(|p99| ("p99_after_ms", p99)));
        if p99_after.is_some_and(|p99| p99 <= bound) {
            extra.insert("recovery_s", passed.as_secs_f64());
        } else {
            let why = format!("the p99 is not below {bound:.1} ms again {RECOVERY_MAX:?} after the load");
            patches.context.tally.failure(1, why);
        }
        return extra;
    }
}
