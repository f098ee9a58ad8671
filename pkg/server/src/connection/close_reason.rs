//! Reasons for the server to end a connection.

use std::future::Future;
use std::pin::Pin;

use tokio::time::{Instant, sleep_until};

use super::SHUTDOWN_TIMEOUT;
use super::peer::Peer;
use crate::lifecycle::Lifecycle;

/// State of the end of a connection.
#[derive(Default)]
pub(super) struct CloseState {
    /// The server shuts down.
    draining: bool,
    /// The active requests are the last ones.
    disconnecting: bool,
    /// Deadline of the connection, even with active requests.
    close_deadline: Option<Instant>,
}

impl CloseState {
    /// Waits until the client must disconnect. Returns true when the connection must end without further
    /// waiting.
    pub(super) async fn next(
        &mut self,
        peer: &Peer,
        lifecycle: &Lifecycle,
        expired: Pin<&mut impl Future<Output = ()>>,
        stalled: Pin<&mut impl Future<Output = ()>>,
    ) -> bool {
        let CloseState { draining, disconnecting, close_deadline } = self;
        tokio::select! {
            biased;
            () = peer.wait_for_eviction() => {
                tracing::debug!(remote = %peer.remote, "cut off: incomplete request heads hold too much memory");
                return true;
            }
            () = lifecycle.draining().cancelled(), if !*draining => *draining = true,
            () = peer.retire.cancelled(), if !*disconnecting => {}
            () = expired, if close_deadline.is_none() => *close_deadline = Some(Instant::now() + SHUTDOWN_TIMEOUT),
            // A client that does not read must not delay the shutdown.
            () = stalled, if *draining => {
                tracing::debug!(remote = %peer.remote, "cut off: it does not read its answers");
                return true;
            }
            () = sleep_until(close_deadline.unwrap_or_else(Instant::now)), if close_deadline.is_some() => return true,
        }
        *disconnecting = true;
        false
    }
}
