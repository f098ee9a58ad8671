//! Reasons for the server to end a connection.

use std::future::Future;
use std::pin::Pin;

use tokio::time::{Instant, sleep_until};

use super::GOODBYE_MAX;
use super::peer::Peer;
use crate::lifecycle::Lifecycle;

/// State of the end of a connection.
#[derive(Default)]
pub(super) struct Endings {
    /// The server shuts down.
    draining: bool,
    /// The active requests are the last ones.
    leaving: bool,
    /// Deadline of the connection, even with active requests.
    gone_by: Option<Instant>,
}

impl Endings {
    /// Waits until the client must disconnect. Returns true when the connection must end without further
    /// waiting.
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
            // A client that does not read must not delay the shutdown.
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
