//! The way down: not ready, sending clients away, turning requests away, not accepting, drained.

use tokio_util::sync::CancellationToken;

/// The points of no return on the way down. Cloning shares them.
#[derive(Debug, Clone, Default)]
pub struct Lifecycle {
    terminating: CancellationToken,
    leaving: CancellationToken,
    refusing: CancellationToken,
    draining: CancellationToken,
}

impl Lifecycle {
    /// A server that is going up.
    pub fn new() -> Self {
        Lifecycle::default()
    }

    /// From now on `/readyz` fails, so that load balancers turn away; everything else goes on.
    pub fn terminate(&self) {
        self.terminating.cancel();
    }

    /// From now on answers tell their clients to connect anew, which balancers that have seen that this
    /// server is not ready lead elsewhere. A client that is gone when connections are closed cannot be sending
    /// into one that closes, which is a request of which nobody knows what became.
    pub fn leave(&self) {
        self.terminate();
        self.leaving.cancel();
    }

    /// From now on new requests are told to come again, to another server
    /// (`--shutdown-send-retry-after`); those under way go on, and so does the listening.
    pub fn refuse(&self) {
        self.terminate();
        self.refusing.cancel();
    }

    /// From now on no connection is accepted, and open ones are told to finish.
    pub fn drain(&self) {
        self.terminate();
        self.draining.cancel();
    }

    /// Cancelled by [`terminate`](Self::terminate).
    pub fn terminating(&self) -> &CancellationToken {
        &self.terminating
    }

    /// Cancelled by [`leave`](Self::leave).
    pub fn leaving(&self) -> &CancellationToken {
        &self.leaving
    }

    /// Cancelled by [`refuse`](Self::refuse).
    pub fn refusing(&self) -> &CancellationToken {
        &self.refusing
    }

    /// Cancelled by [`drain`](Self::drain). Streams that would go on for ever end with it.
    pub fn draining(&self) -> &CancellationToken {
        &self.draining
    }
}
