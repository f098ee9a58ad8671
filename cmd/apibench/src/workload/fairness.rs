//! One client that asks for little, while many of another user ask for as much as they can: how long the first one
//! waits, before and meanwhile.

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use tokio::runtime::Builder;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval, sleep};

use super::objects::pod_path;
use super::{Context, Workload};
use crate::client::{Call, Client};
use crate::error::{Error, Result};
use crate::process::Meter;
use crate::setup;
use crate::stats::{Histogram, Latency, Measured};

/// Between two requests of the quiet client.
const PERIOD: Duration = Duration::from_millis(20);
/// How long a greedy client waits when it was turned away. It does not do as it is told.
const AGAIN: Duration = Duration::from_millis(100);
/// How long the storm lasts before it counts.
const WARM_UP: Duration = Duration::from_secs(2);

/// The one workload of this kind.
pub(super) fn workloads() -> Vec<Box<dyn Workload>> {
    vec![Box::new(Fairness)]
}

struct Fairness;

#[async_trait]
impl Workload for Fairness {
    fn name(&self) -> &'static str {
        "fairness"
    }

    fn about(&self) -> &'static str {
        "--greedy clients of one service account list pods by 100; one of another gets a pod: its p99 before and meanwhile"
    }

    async fn run(&self, context: &Context) -> Result<Measured> {
        let idle = quiet(context).await?;
        let meter = Meter::start(context.target.pid);
        let client = Arc::new(setup::connect(&context.target, &context.settings).await?);
        let mut storm = JoinSet::new();
        for lane in 0..usize::try_from(context.settings.greedy).unwrap_or(1) {
            storm.spawn(greedy(context.clone(), Arc::clone(&client), lane));
        }
        sleep(WARM_UP).await;
        let stormy = quiet(context).await;
        storm.shutdown().await;
        let mut measured = context.tally.measured(meter.stop());
        let stormy = stormy?;
        measured.extra.extend([
            ("quiet_p50_idle_ms", idle.p50),
            ("quiet_p99_idle_ms", idle.p99),
            ("quiet_p50_storm_ms", stormy.p50),
            ("quiet_p99_storm_ms", stormy.p99),
        ]);
        Ok(measured)
    }
}

/// What the quiet client finds. It runs on a thread of its own: on one with the greedy ones it would wait until they have read
/// what they asked for, and the server would be blamed for it.
async fn quiet(context: &Context) -> Result<Latency> {
    let context = context.clone();
    let measured = spawn_blocking(move || {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|why| Error::Io { what: "a runtime".to_owned(), why })?;
        runtime.block_on(async {
            let client = setup::connect(&context.target, &context.settings).await?;
            // What is made at the first request is not its subject.
            one(&context, &client, 0).await?;
            trickle(&context, &client).await
        })
    });
    measured.await.unwrap_or_else(|error| Err(Error::Wrong(error.to_string())))
}

/// A service account of one of the two namespaces.
fn of_account(context: &Context, call: Call, suffix: &str) -> Call {
    let user = format!("system:serviceaccount:{}{suffix}:default", context.settings.namespace);
    call.impersonating(user, &["system:serviceaccounts", "system:authenticated"])
}

/// A request of the quiet client.
async fn one(context: &Context, client: &Client, i: u64) -> Result<()> {
    let call = of_account(context, Call::get(pod_path(&context.settings, i)), "-churn");
    client.call(0, call, 0).await?.expect(200).map(drop)
}

/// The quiet client for the length of the timed part. A request that fails ends the measurement: whoever waits his turn is
/// to be served.
#[allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]
async fn trickle(context: &Context, client: &Client) -> Result<Latency> {
    let (begun, latency) = (Instant::now(), Histogram::default());
    let mut ticks = interval(PERIOD);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for i in 0.. {
        let due = ticks.tick().await;
        if begun.elapsed() > context.duration() {
            break;
        }
        one(context, client, i).await?;
        latency.add(due.elapsed());
    }
    latency.latency().ok_or_else(|| Error::Wrong("no request was answered".to_owned()))
}

/// A client that asks again as soon as it is answered. Being turned away is no failure.
#[allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]
async fn greedy(context: Context, client: Arc<Client>, lane: usize) {
    loop {
        let path = format!("{}?limit=100", setup::path(&context.settings, "pods"));
        let sent = Instant::now();
        match client.call(lane, of_account(&context, Call::get(path), ""), 0).await {
            Ok(answer) if answer.status == 200 => context.tally.success(sent.elapsed(), answer.bytes),
            Ok(answer) if answer.status == 429 => sleep(AGAIN).await,
            Ok(answer) => context.tally.failure(1, answer.wrong("wanted 200 or 429")),
            Err(error) => {
                context.tally.failure(1, error);
                sleep(AGAIN).await;
            }
        }
    }
}
