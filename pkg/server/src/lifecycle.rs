//! Stages of a graceful shutdown: not ready, disconnecting clients, rejecting requests, no longer accepting,
//! drained.

use tokio_util::sync::CancellationToken;

/// Irreversible stages of a shutdown. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Lifecycle {
    terminating: CancellationToken,
    disconnecting: CancellationToken,
    rejecting: CancellationToken,
    draining: CancellationToken,
}

impl Lifecycle {
    /// Creates the stages of a running server.
    pub fn new() -> Self {
        Lifecycle::default()
    }

    /// Makes `/readyz` fail from now on, so that load balancers stop using the server. Everything else
    /// continues.
    pub fn terminate(&self) {
        self.terminating.cancel();
    }

    /// From now on responses make their clients reconnect. Load balancers that have seen the failing
    /// `/readyz` route them to other servers.
    ///
    /// A client that has left before connections are closed cannot send a request into a closing connection,
    /// whose outcome would be unknown.
    pub fn disconnect_clients(&self) {
        self.terminate();
        self.disconnecting.cancel();
    }

    /// Rejects new requests with a retry from now on, so that they go to another server
    /// (`--shutdown-send-retry-after`). Active requests continue, and connections are still accepted.
    pub fn reject_requests(&self) {
        self.terminate();
        self.rejecting.cancel();
    }

    /// Stops accepting connections; open ones close after their active requests.
    pub fn drain(&self) {
        self.terminate();
        self.draining.cancel();
    }

    /// Cancelled by [`terminate`](Self::terminate).
    pub fn terminating(&self) -> &CancellationToken {
        &self.terminating
    }

    /// Cancelled by [`disconnect_clients`](Self::disconnect_clients).
    pub fn disconnecting(&self) -> &CancellationToken {
        &self.disconnecting
    }

    /// Cancelled by [`reject_requests`](Self::reject_requests).
    pub fn rejecting(&self) -> &CancellationToken {
        &self.rejecting
    }

    /// Cancelled by [`drain`](Self::drain). Endless streams stop then.
    pub fn draining(&self) -> &CancellationToken {
        &self.draining
    }
}
