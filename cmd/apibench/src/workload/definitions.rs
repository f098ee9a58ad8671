//! Concurrent creation of a large provider's CRDs: time until the last one is established, served and
//! published in OpenAPI, and their memory without objects.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use http::Method;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::{Context, Workload};
use crate::check::MAX_BODY;
use crate::client::{Call, Client, JSON};
use crate::custom::{DEFINITIONS, ProviderCrd, established};
use crate::error::{Error, Result};
use crate::process::{Meter, rss_kib};
use crate::setup;
use crate::stats::Measured;

/// Polling interval of OpenAPI.
const LOOK: Duration = Duration::from_millis(50);

pub(super) fn workloads() -> Vec<Box<dyn Workload>> {
    vec![Box::new(Definitions)]
}

struct Definitions;

#[async_trait]
impl Workload for Definitions {
    fn name(&self) -> &'static str {
        "definitions"
    }

    fn about(&self) -> &'static str {
        "--definitions of 30 KB at once: created, established, listed, in OpenAPI v3, and memory --seconds later; each \
         server needs a store of its own, where they stay until the next round"
    }

    #[allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]
    async fn run(&self, context: &Context) -> Result<Measured> {
        let client = Arc::new(setup::connect(&context.target, &context.settings).await?);
        let total = context.settings.definitions;
        remove_all(context, &client, total).await?;
        let meter = Meter::start(context.target.pid);
        let before = context.target.pid.and_then(rss_kib);
        let start = Instant::now();
        each(context, &client, total, create).await?;
        let created = start.elapsed();
        each(context, &client, total, wait).await?;
        let established = start.elapsed();
        each(context, &client, total, list).await?;
        let served = start.elapsed();
        described(context, &client, total).await?;
        let in_open_api = start.elapsed();
        let measured = context.tally.measured(meter.stop());
        let at_once = context.target.pid.and_then(rss_kib);
        sleep(context.duration()).await;
        let after = context.target.pid.and_then(rss_kib);
        let per_definition = |rss: Option<u64>| Some(rss?.saturating_sub(before?) as f64 / total as f64);
        let mut extra: BTreeMap<_, _> = [
            ("created_s", created.as_secs_f64()),
            ("established_s", established.as_secs_f64()),
            ("served_s", served.as_secs_f64()),
            ("in_open_api_s", in_open_api.as_secs_f64()),
        ]
        .into();
        extra.extend(per_definition(at_once).map(|kib| ("kib_each_at_once", kib)));
        extra.extend(per_definition(after).map(|kib| ("kib_each_later", kib)));
        Ok(context.tally.with_errors(Measured { extra, ..measured }))
    }
}

/// Runs `action` for every CRD, `--concurrency` at a time.
async fn each<F, W>(context: &Context, client: &Arc<Client>, total: u64, action: F) -> Result<()>
where
    F: Fn(Context, Arc<Client>, usize, u64) -> W + Copy + Send + Sync + 'static,
    W: Future<Output = Result<()>> + Send + 'static,
{
    let next = Arc::new(AtomicU64::new(0));
    let mut lanes: JoinSet<Result<()>> = JoinSet::new();
    for lane in 0..usize::try_from(context.settings.concurrency).unwrap_or(1) {
        let context = context.clone();
        let client = Arc::clone(client);
        let next = Arc::clone(&next);
        lanes.spawn(async move {
            loop {
                let i = next.fetch_add(1, Relaxed);
                if i >= total {
                    return Ok(());
                }
                action(context.clone(), Arc::clone(&client), lane, i).await?;
            }
        });
    }
    while let Some(done) = lanes.join_next().await {
        done.map_err(|e| Error::Wrong(e.to_string()))??;
    }
    Ok(())
}

#[allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]
async fn create(context: Context, client: Arc<Client>, lane: usize, i: u64) -> Result<()> {
    let start = Instant::now();
    let call = Call::send(Method::POST, DEFINITIONS, JSON, ProviderCrd::nth(i).definition());
    let response = client.call(lane, call, 0).await?.expect(201)?;
    context.tally.success(start.elapsed(), response.bytes);
    Ok(())
}

async fn wait(_: Context, client: Arc<Client>, lane: usize, i: u64) -> Result<()> {
    established(&client, lane, &ProviderCrd::nth(i).name()).await
}

async fn list(_: Context, client: Arc<Client>, lane: usize, i: u64) -> Result<()> {
    let ProviderCrd { group, plural, .. } = ProviderCrd::nth(i);
    let path = format!("/apis/{group}/v1beta1/{plural}?limit=1");
    // Upstream returns 404 for a moment after a CRD is established.
    loop {
        let response = client.call(lane, Call::get(path.as_str()), 0).await?;
        if response.status != 404 {
            return response.expect(200).map(|_| ());
        }
        sleep(LOOK).await;
    }
}

/// Waits until the OpenAPI documents of all groups contain all kinds.
async fn described(context: &Context, client: &Arc<Client>, total: u64) -> Result<()> {
    let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for ProviderCrd { group, kind, .. } in (0..total).map(ProviderCrd::nth) {
        groups.entry(group).or_default().push(format!(r#""kind":"{kind}""#));
    }
    for (group, kinds) in &groups {
        let path = format!("/openapi/v3/apis/{group}/v1beta1");
        let described = async {
            loop {
                let response = client.call(0, Call::get(path.as_str()), MAX_BODY).await?;
                let has = |kind: &String| memchr::memmem::find(&response.head, kind.as_bytes()).is_some();
                if response.status == 200 && kinds.iter().all(has) {
                    return Ok::<(), Error>(());
                }
                sleep(LOOK).await;
            }
        };
        let late = |_| Error::Wrong(format!("{group} lacks kinds in its document"));
        timeout(context.time_limit(), described).await.map_err(late)??;
    }
    let index = client.call(0, Call::get("/openapi/v3"), MAX_BODY).await?.expect(200)?;
    let missing = |group: &&String| memchr::memmem::find(&index.head, group.as_bytes()).is_none();
    match groups.keys().find(missing) {
        None => Ok(()),
        Some(group) => Err(Error::Wrong(format!("{}: {group} is not in the index", context.target.name))),
    }
}

/// Deletes the CRDs of an earlier round, and waits until they are gone.
async fn remove_all(context: &Context, client: &Arc<Client>, total: u64) -> Result<()> {
    each(context, client, total, remove).await?;
    each(context, client, total, gone).await
}

async fn remove(_: Context, client: Arc<Client>, lane: usize, i: u64) -> Result<()> {
    let path = format!("{DEFINITIONS}/{}", ProviderCrd::nth(i).name());
    let response = client.call(lane, Call::delete(path), 0).await?;
    if response.status == 404 { Ok(()) } else { response.expect(200).map(|_| ()) }
}

async fn gone(_: Context, client: Arc<Client>, lane: usize, i: u64) -> Result<()> {
    let path = format!("{DEFINITIONS}/{}", ProviderCrd::nth(i).name());
    while client.call(lane, Call::get(path.as_str()), 0).await?.status != 404 {
        sleep(LOOK).await;
    }
    Ok(())
}
