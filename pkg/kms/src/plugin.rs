//! Plugins: what they are asked, and the calls that ask them.

pub(crate) mod v1;
pub(crate) mod v2;

use std::time::Duration;

use encryption::Error;
use grpc::{Socket, code_name, worded};
use prost::Message;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tonic::Status;

/// How many calls to open keys one plugin gets at a time; further ones wait. The others, which are for the write key
/// and for health, wait for none of them.
const OPENING_MAX: usize = 64;

/// The way to a plugin.
pub(crate) struct PluginConnection {
    socket: Socket,
    timeout: Duration,
    opening: Semaphore,
}

impl PluginConnection {
    /// `timeout` is for each call.
    pub(crate) fn new(socket: Socket, timeout: Duration) -> Self {
        PluginConnection { socket, timeout, opening: Semaphore::new(OPENING_MAX) }
    }

    /// When a call that begins now is given up.
    pub(crate) fn end(&self) -> Instant {
        Instant::now() + self.timeout
    }

    /// Makes a call.
    pub(crate) async fn call<Q, A>(&self, method: &'static str, request: Q, end: Instant) -> Result<A, Status>
    where
        Q: Message + Clone + 'static,
        A: Message + Default + 'static,
    {
        self.socket.call(method, request, end.duration_since(Instant::now())).await
    }

    /// Makes a call that opens a key, when it is its turn.
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

/// What a failed call means to those who wanted a key.
fn failed(status: &Status) -> Error {
    Error::grpc(worded(status), code_name(status.code()))
}
