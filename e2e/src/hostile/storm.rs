//! Hostile bodies from several clients at once, whatever they cost.

use std::fmt;

use kube::Client;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::cases::known;
use super::run::{BASE, collection, make_bases, sample, send};

/// What became of the bodies.
#[derive(Debug, Default, Clone, Copy)]
pub struct Sent {
    /// Those that were answered.
    pub answered: usize,
    /// Those whose answer speaks of a panic.
    pub panicked: usize,
    /// Those for which the connection was closed instead.
    pub closed: usize,
}

impl fmt::Display for Sent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sent { answered, panicked, closed } = self;
        write!(f, "{answered} bodies answered, {panicked} of them after a panic, {closed} not answered")
    }
}

/// Sends bodies of about so many bytes until it is time to stop, from so many `senders` at once, each in an order of its
/// own that the seed decides.
///
/// # Panics
/// When a sender does.
pub async fn storm(client: &Client, bytes: usize, senders: u64, seed: u64, until: Instant) -> Sent {
    let bases = make_bases(client).await;
    let mut tasks = JoinSet::new();
    for sender in 0..senders {
        let (client, bases) = (client.clone(), bases.clone());
        tasks.spawn(async move {
            let mut sent = Sent::default();
            for case in known().into_iter().chain(sample(seed.wrapping_add(sender))) {
                if case.form.patches() && !bases.contains(&collection(&case)) {
                    continue;
                }
                let body = case.body(if case.form.patches() { BASE } else { "hostile" }, bytes);
                match timeout_at(until, send(&client, &case, body)).await {
                    Err(_) => break,
                    Ok(Ok((_, _, panicked))) => {
                        sent.answered += 1;
                        sent.panicked += usize::from(panicked);
                    }
                    Ok(Err(_)) => sent.closed += 1,
                }
            }
            sent
        });
    }
    tasks.join_all().await.into_iter().fold(Sent::default(), |all, one| Sent {
        answered: all.answered + one.answered,
        panicked: all.panicked + one.panicked,
        closed: all.closed + one.closed,
    })
}
