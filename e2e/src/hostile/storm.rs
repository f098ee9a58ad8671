//! Hostile bodies from several concurrent clients, without cost checks.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use kube::Client;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::bodies::{BASE, collection, sample, send};
use super::cases::known;

/// Additional time for a sender's first response; a run without any response proves nothing.
const FIRST_MAX: Duration = Duration::from_secs(60);

/// Counts of sent bodies.
#[derive(Debug, Default, Clone, Copy)]
pub struct SendCounts {
    /// Bodies with a response.
    pub answered: usize,
    /// Bodies with an internal error as response.
    pub failed: usize,
    /// Bodies for which the connection was closed.
    pub closed: usize,
}

impl fmt::Display for SendCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SendCounts { answered, failed, closed } = self;
        write!(
            f,
            "{answered} bodies answered, {failed} of them with an internal error, {closed} not answered"
        )
    }
}

/// Sends bodies of about this size until the end time, from `senders` concurrent senders. The seed determines
/// each sender's order. `bases` is the result of [`make_bases`](super::make_bases).
///
/// # Panics
/// A sender panics.
pub async fn storm(
    client: &Client,
    bases: &BTreeSet<String>,
    bytes: usize,
    senders: u64,
    seed: u64,
    until: Instant,
) -> SendCounts {
    let mut tasks = JoinSet::new();
    for sender in 0..senders {
        let client = client.clone();
        let bases = bases.clone();
        tasks.spawn(async move {
            let mut sent = SendCounts::default();
            for case in known().into_iter().chain(sample(seed.wrapping_add(sender))) {
                if case.form.patches() && !bases.contains(&collection(&case)) {
                    continue;
                }
                let body = case.body(if case.form.patches() { BASE } else { "hostile" }, bytes);
                let limit = if sent.answered == 0 { until + FIRST_MAX } else { until };
                match timeout_at(limit, send(&client, &case, body)).await {
                    Err(_) => break,
                    Ok(Ok((_, _, failed))) => {
                        sent.answered += 1;
                        sent.failed += usize::from(failed);
                    }
                    Ok(Err(_)) => sent.closed += 1,
                }
            }
            sent
        });
    }
    tasks.join_all().await.into_iter().fold(SendCounts::default(), |total, counts| SendCounts {
        answered: total.answered + counts.answered,
        failed: total.failed + counts.failed,
        closed: total.closed + counts.closed,
    })
}
