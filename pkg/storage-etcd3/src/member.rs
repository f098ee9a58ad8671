//! One etcd server: its connections, and what is known about its standing.

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

/// Upstream's limit for answers; without one, tonic would stop at 4 MiB.
const MESSAGE_BYTES_MAX: usize = i32::MAX as usize;
/// A new answer's time has this part of what a member is thought to take.
const LATENCY_PARTS: u64 = 8;

/// One etcd server. Watches have a connection of their own, so that a flood of events and a large
/// list do not wait for each other.
pub(crate) struct Member {
    url: String,
    calls: Client,
    watches: Client,
    suspect: watch::Sender<bool>,
    /// Somebody is finding out whether it is silent.
    pub(crate) examined: AtomicBool,
    /// What it takes for a small answer, in microseconds; 0 until it gave one.
    latency: AtomicU64,
    /// Whether its progress notifications can be trusted, once known. A member is not replaced by
    /// an older one while it serves us.
    progress_is_safe: OnceLock<bool>,
}

impl Member {
    pub(crate) async fn connect(url: &str, address: &Address, options: &Options) -> Result<Self, Error> {
        let channel = || connect::channel(address, options).map_err(Error::Refused);
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
            // A watch on a member that lost its leader would be silent, and nobody would know.
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

    /// Whether it is left out until it answers a probe.
    pub(crate) fn is_suspect(&self) -> bool {
        *self.suspect.borrow()
    }

    /// How much others are to be preferred.
    pub(crate) fn doubt(&self) -> SuspicionLevel {
        match (self.is_suspect(), self.examined.load(Ordering::Relaxed)) {
            (true, _) => SuspicionLevel::Suspect,
            (false, true) => SuspicionLevel::Examined,
            (false, false) => SuspicionLevel::No,
        }
    }

    /// Changes its standing; says whether that is news.
    pub(crate) fn set_suspect(&self, suspect: bool) -> bool {
        self.suspect.send_if_modified(|was| std::mem::replace(was, suspect) != suspect)
    }

    /// Its standing from now on.
    pub(crate) fn standing(&self) -> Standing {
        let receiver = self.suspect.subscribe();
        let trusted = !*receiver.borrow();
        Standing { receiver, trusted }
    }

    /// It gave a small answer after `took`.
    pub(crate) fn answered(&self, took: Duration) {
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1);
        // Two answers at once may count as one; nothing depends on it.
        let before = self.latency.load(Ordering::Relaxed);
        let now = match before {
            0 => took,
            before => before - before / LATENCY_PARTS + took / LATENCY_PARTS,
        };
        self.latency.store(now.max(1), Ordering::Relaxed);
    }

    /// What it takes for a small answer, as far as is known.
    pub(crate) fn latency(&self) -> Duration {
        Duration::from_micros(self.latency.load(Ordering::Relaxed))
    }

    /// Whether its word on progress can be trusted, if it has told its version.
    pub(crate) fn known_progress_is_safe(&self) -> Option<bool> {
        self.progress_is_safe.get().copied()
    }

    /// Asks for its version; says whether it told within `limit`.
    pub(crate) async fn learn_version(&self, limit: Duration) -> bool {
        match timeout(limit, self.status()).await {
            Ok(Ok(status)) => {
                // Who was faster learnt the same.
                let _ = self.progress_is_safe.set(progress_is_safe(status.version()));
                true
            }
            _ => false,
        }
    }

    /// A linearizable read: only a member that reaches a quorum answers it.
    pub(crate) async fn answers(&self, key: &str, limit: Duration) -> bool {
        let mut kv = self.kv();
        let read = kv.get(key, Some(GetOptions::new().with_count_only()));
        matches!(timeout(limit, read).await, Ok(Ok(_)))
    }
}

/// What speaks against asking a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SuspicionLevel {
    /// Nothing.
    No,
    /// An answer of it is overdue.
    Examined,
    /// It is left out until it answers.
    Suspect,
}

/// Sees a member being left out.
pub(crate) struct Standing {
    receiver: watch::Receiver<bool>,
    /// It was in good standing once since this began: being left out is news.
    trusted: bool,
}

impl Standing {
    /// Waits until the member is left out; one that was from the beginning has to come back first.
    pub(crate) async fn left_out(&mut self) {
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
    fn being_left_out_is_seen_once_it_is_news_and_as_long_as_it_lasts() {
        let suspect = watch::Sender::new(true);
        let mut standing = Standing { receiver: suspect.subscribe(), trusted: false };
        let mut check = |now: bool, expected: bool| {
            suspect.send_replace(now);
            for _ in 0..2 {
                assert_eq!(standing.left_out().now_or_never().is_some(), expected, "{now}");
            }
        };
        check(true, false);
        check(false, false);
        check(true, true);
        check(false, false);
    }
}
