//! The way down: not ready, not accepting, drained.

use tokio_util::sync::CancellationToken;

/// The two points of no return on the way down. Cloning shares them.
#[derive(Debug, Clone, Default)]
pub struct Lifecycle {
    terminating: CancellationToken,
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

    /// From now on no connection is accepted, and open ones are told to finish.
    pub fn drain(&self) {
        self.terminating.cancel();
        self.draining.cancel();
    }

    /// Cancelled by [`terminate`](Self::terminate).
    pub fn terminating(&self) -> &CancellationToken {
        &self.terminating
    }

    /// Cancelled by [`drain`](Self::drain). Streams that would go on for ever end with it.
    pub fn draining(&self) -> &CancellationToken {
        &self.draining
    }
}
