//! The ends of a connection that are not its client's doing.

use std::future::Future;
use std::pin::Pin;

use tokio::time::{Instant, sleep_until};

use super::{GOODBYE_MAX, Peer};
use crate::lifecycle::Lifecycle;

/// Why a connection comes to its end that its client has not ended.
#[derive(Default)]
pub(super) struct Endings {
    /// The server goes down.
    draining: bool,
    /// What is under way is the last.
    leaving: bool,
    /// When it is over, whatever is under way.
    gone_by: Option<Instant>,
}

impl Endings {
    /// Waits until the client is to be told to go, or, and then this is true, until there is no more to wait for.
    pub(super) async fn next(
        &mut self,
        peer: &Peer,
        lifecycle: &Lifecycle,
        expired: Pin<&mut impl Future<Output = ()>>,
        stalled: Pin<&mut impl Future<Output = ()>>,
    ) -> bool {
        let Endings { draining, leaving, gone_by } = self;
        tokio::select! {
            biased;
            () = lifecycle.draining().cancelled(), if !*draining => *draining = true,
            () = peer.retire.cancelled(), if !*leaving => {}
            () = expired, if gone_by.is_none() => *gone_by = Some(Instant::now() + GOODBYE_MAX),
            // Nobody may hold up the end of a server by not reading.
            () = stalled, if *draining => {
                tracing::debug!(remote = %peer.remote, "cut off: it does not read its answers");
                return true;
            }
            () = sleep_until(gone_by.unwrap_or_else(Instant::now)), if gone_by.is_some() => return true,
        }
        *leaving = true;
        false
    }
}
