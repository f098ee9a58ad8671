//! Plugin interfaces and the gRPC calls behind them.

pub(crate) mod v1;
pub(crate) mod v2;

use std::time::Duration;

use encryption::Error;
use grpc::{Socket, code_name, worded};
use prost::Message;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tonic::Status;

/// Limit of concurrent decrypt calls per plugin; further ones wait. Encrypt and status calls are not limited,
/// so the write key and health checks never wait for reads.
const OPENING_MAX: usize = 64;

/// Connection to a plugin.
pub(crate) struct PluginConnection {
    socket: Socket,
    timeout: Duration,
    opening: Semaphore,
}

impl PluginConnection {
    /// `timeout` is the limit for each call.
    pub(crate) fn new(socket: Socket, timeout: Duration) -> Self {
        PluginConnection { socket, timeout, opening: Semaphore::new(OPENING_MAX) }
    }

    /// Returns the deadline of a call that starts now.
    pub(crate) fn end(&self) -> Instant {
        Instant::now() + self.timeout
    }

    pub(crate) async fn call<Q, A>(&self, method: &'static str, request: Q, end: Instant) -> Result<A, Status>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        self.socket.call(method, request, end.duration_since(Instant::now())).await
    }

    /// Makes a decrypt call, after waiting for a permit.
    pub(crate) async fn opening<Q, A>(
        &self,
        method: &'static str,
        request: Q,
        end: Instant,
    ) -> Result<A, Status>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        let turn = tokio::time::timeout_at(end, self.opening.acquire()).await;
        let _turn = turn.map_err(|_| Status::deadline_exceeded("context deadline exceeded"))?;
        self.call(method, request, end).await
    }
}

/// Converts a failed encrypt or decrypt call to an error.
fn failed(status: &Status) -> Error {
    Error::grpc(worded(status), code_name(status.code()))
}
