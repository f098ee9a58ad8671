//! Sends the updates: sequentially per object, with all objects together at the configured rate.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::Method;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval_at};

use super::super::Context;
use super::mark::Mark;
use crate::bodies;
use crate::client::{Call, Client, JSON};
use crate::error::{Error, Result};

/// Number of objects updated in turn, so that an update need not wait for the previous one.
pub(super) const OBJECTS: usize = 20;

/// One of the objects.
struct Watched {
    number: usize,
    path: String,
}

fn name(object: usize) -> String {
    format!("watched-{object}")
}

/// Creates missing objects.
pub(super) async fn create_objects(
    client: &Client,
    path: &str,
    body: fn(&str, &str) -> String,
) -> Result<()> {
    for object in 0..OBJECTS {
        let body = body(&name(object), "new");
        let response = client.call(0, Call::send(Method::POST, path, JSON, body), 0).await?;
        if response.status != 409 {
            response.expect(201)?;
        }
    }
    Ok(())
}

/// Sends updates during the timed part. Returns the number of successes; failures are in the tally.
pub(super) async fn send(context: &Context, client: &Arc<Client>, path: &str, epoch: Instant) -> Result<u64> {
    let gap = Duration::from_secs(1).div_f64(context.settings.rate as f64);
    let begin = tokio::time::Instant::now();
    let mut lanes = JoinSet::new();
    for object in 0..OBJECTS {
        let context = context.clone();
        let client = Arc::clone(client);
        let first = begin + gap.mul_f64(object as f64);
        let object = Watched { number: object, path: format!("{path}/{}", name(object)) };
        lanes.spawn(update(context, client, epoch, object, first, gap.mul_f64(OBJECTS as f64)));
    }
    let mut sent = 0;
    while let Some(done) = lanes.join_next().await {
        sent += done.map_err(|e| Error::Wrong(e.to_string()))?;
    }
    Ok(sent)
}

/// Updates one object every `gap`. An update whose time passes during the previous one is skipped, so the
/// other updates keep the configured rate.
async fn update(
    context: Context,
    client: Arc<Client>,
    epoch: Instant,
    object: Watched,
    first: tokio::time::Instant,
    gap: Duration,
) -> u64 {
    let mut ticks = interval_at(first, gap);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let end = first + context.duration();
    let filler = bodies::filler();
    let mut done = 0;
    while ticks.tick().await < end {
        let mark = Mark { object: object.number, number: done + 1, sent: epoch.elapsed() };
        let body = format!(r#"{{"data":{{"mark":"{mark}","filler":"{filler}"}}}}"#);
        let call = Call::send(Method::PATCH, object.path.as_str(), "application/merge-patch+json", body);
        match client.call(object.number, call, 0).await.and_then(|response| response.expect(200)) {
            Ok(_) => done += 1,
            Err(error) => context.tally.failure(1, error),
        }
    }
    done
}
