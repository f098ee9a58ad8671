//! An etcd server: its connections, and its standing.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use etcd_client::{
    Channel, Client, ConnectOptions, GetOptions, KvClient, LeaseClient, StatusResponse, WatchClient,
};
use storage::Error;
use tokio::sync::watch;
use tokio::time::timeout;
use tower::ServiceExt;
use tower::util::BoxCloneSyncService;

use crate::Options;
use crate::connect::{self, Address};
use crate::traced::TracedChannel;
use crate::version::progress_is_safe;

/// Upstream's limit for responses; tonic's default is 4 MiB.
const MESSAGE_BYTES_MAX: usize = i32::MAX as usize;
/// Weight of a new sample in the moving average of a member's latency: 1/8.
const LATENCY_PARTS: u64 = 8;

/// An etcd server. Watches have a separate connection, so that a burst of events and a large list do not
/// delay each other.
pub(crate) struct Member {
    url: String,
    calls: Client,
    watches: Client,
    suspect: watch::Sender<bool>,
    /// True while a call examines whether it is silent.
    pub(crate) examined: AtomicBool,
    /// Average latency of small responses in microseconds; 0 before the first one.
    latency: AtomicU64,
    /// True if its progress notifications are reliable; unset until its version is known. Members are assumed
    /// not to be downgraded while in use.
    progress_is_safe: OnceLock<bool>,
}

impl Member {
    pub(crate) async fn connect(url: &str, address: &Address, options: &Options) -> Result<Self, Error> {
        let channel =
            || connect::channel(address, options).map_err(|error| Error::Rejected(error.to_string()));
        let client = async |channel, require_leader| {
            let options = ConnectOptions::new().with_require_leader(require_leader);
            Client::from_channel(channel, Some(options)).await.map_err(|e| Error::Internal(e.to_string()))
        };
        let calls = if options.traced {
            Channel::Custom(BoxCloneSyncService::new(TracedChannel(channel()?).map_err(Into::into)))
        } else {
            Channel::Tonic(channel()?)
        };
        Ok(Self {
            url: url.to_owned(),
            calls: client(calls, false).await?,
            // Without this, a watch on a member that lost its leader would be silent without an error.
            watches: client(Channel::Tonic(channel()?), true).await?,
            suspect: watch::Sender::new(false),
            examined: AtomicBool::new(false),
            latency: AtomicU64::new(0),
            progress_is_safe: OnceLock::new(),
        })
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn kv(&self) -> KvClient {
        self.calls.kv_client().max_decoding_message_size(MESSAGE_BYTES_MAX)
    }

    pub(crate) async fn status(&self) -> Result<StatusResponse, etcd_client::Error> {
        self.calls.clone().status().await
    }

    pub(crate) fn lease(&self) -> LeaseClient {
        self.calls.lease_client()
    }

    pub(crate) fn watch(&self) -> WatchClient {
        self.watches.watch_client().max_decoding_message_size(MESSAGE_BYTES_MAX)
    }

    /// True if it is avoided until it answers a probe.
    pub(crate) fn is_suspect(&self) -> bool {
        *self.suspect.borrow()
    }

    /// The degree of doubt about the member; others are preferred accordingly.
    pub(crate) fn suspicion(&self) -> SuspicionLevel {
        match (self.is_suspect(), self.examined.load(Ordering::Relaxed)) {
            (true, _) => SuspicionLevel::Suspect,
            (false, true) => SuspicionLevel::Examined,
            (false, false) => SuspicionLevel::Trusted,
        }
    }

    /// Changes its standing; returns true if it changed.
    pub(crate) fn set_suspect(&self, suspect: bool) -> bool {
        self.suspect.send_if_modified(|was| std::mem::replace(was, suspect) != suspect)
    }

    /// Observes its standing from now on.
    pub(crate) fn observe_standing(&self) -> StandingObserver {
        let receiver = self.suspect.subscribe();
        let trusted = !*receiver.borrow();
        StandingObserver { receiver, trusted }
    }

    /// Records the latency of a small response.
    pub(crate) fn record_latency(&self, took: Duration) {
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1);
        // Concurrent updates may lose a sample, which is harmless.
        let before = self.latency.load(Ordering::Relaxed);
        let now = match before {
            0 => took,
            before => before - before / LATENCY_PARTS + took / LATENCY_PARTS,
        };
        self.latency.store(now.max(1), Ordering::Relaxed);
    }

    /// The average latency of small responses, if known.
    pub(crate) fn latency(&self) -> Duration {
        Duration::from_micros(self.latency.load(Ordering::Relaxed))
    }

    /// True if its progress notifications are reliable; `None` while its version is unknown.
    pub(crate) fn progress_is_safe(&self) -> Option<bool> {
        self.progress_is_safe.get().copied()
    }

    /// Requests its version; returns true if it responded within `limit`.
    pub(crate) async fn learn_version(&self, limit: Duration) -> bool {
        match timeout(limit, self.status()).await {
            Ok(Ok(status)) => {
                // A concurrent call has set the same value.
                let _ = self.progress_is_safe.set(progress_is_safe(status.version()));
                true
            }
            _ => false,
        }
    }

    /// Sends a linearizable read: it succeeds only on a member that reaches a quorum.
    pub(crate) async fn probe(&self, key: &str, limit: Duration) -> bool {
        let mut kv = self.kv();
        let read = kv.get(key, Some(GetOptions::new().with_count_only()));
        matches!(timeout(limit, read).await, Ok(Ok(_)))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SuspicionLevel {
    Trusted,
    /// A response is overdue.
    Examined,
    /// It is avoided until it responds.
    Suspect,
}

/// Observes when a member becomes suspect.
pub(crate) struct StandingObserver {
    receiver: watch::Receiver<bool>,
    /// True if the member was in good standing since the start: becoming suspect is then a change.
    trusted: bool,
}

impl StandingObserver {
    /// Waits until the member becomes suspect. A member that was suspect from the start must recover first.
    pub(crate) async fn wait_until_suspect(&mut self) {
        loop {
            match *self.receiver.borrow_and_update() {
                true if self.trusted => return,
                suspect => self.trusted |= !suspect,
            }
            if self.receiver.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn becoming_suspect_is_observed() {
        let suspect = watch::Sender::new(true);
        let mut standing = StandingObserver { receiver: suspect.subscribe(), trusted: false };
        let mut check = |now: bool, expected: bool| {
            suspect.send_replace(now);
            for _ in 0..2 {
                assert_eq!(standing.wait_until_suspect().now_or_never().is_some(), expected, "{now}");
            }
        };
        check(true, false);
        check(false, false);
        check(true, true);
        check(false, false);
    }
}
