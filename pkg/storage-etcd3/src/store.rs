//! [`Etcd`]: implements the contract's calls with etcd requests.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use etcd_client::proto::{PbRangeResponse, PbTxnResponse};
use etcd_client::{GetOptions, Txn};
use storage::{
    DeleteResult, Error, ListOptions, ListStream, Listing, Lookup, PutResult, Revision, Storage,
    WatchOptions, WatchStream,
};
use tokio::sync::{Mutex, watch as signal};
use tokio::time::{Instant, timeout};

use crate::Options;
use crate::call::{Budget, Effect};
use crate::call_error::CallError;
use crate::compacted::Compactions;
use crate::cursor::key_value;
use crate::guarded::{GuardedWrite, Op};
use crate::lease::{LeaseChoice, LeasePool};
use crate::member::Member;
use crate::members::Members;
use crate::range_check::{PageRequest, prefix_end};
use crate::range_stream::{ChunkStream, StreamSupport};
use crate::responses::{one_key, revision_of};
use crate::watch::Watch;

/// An etcd cluster as a [`Storage`].
pub struct Etcd {
    options: Options,
    pub(crate) members: Arc<Members>,
    leases: Mutex<LeasePool>,
    progress: signal::Sender<u64>,
    compactions: Compactions,
    stream_support: StreamSupport,
}

impl Etcd {
    /// A store for a cluster. Connections are opened on first use, so an unreachable cluster is reported by
    /// calls and by [`Storage::healthy`].
    ///
    /// # Errors
    /// [`Error::Invalid`] for an invalid endpoint or TLS file.
    pub async fn new(options: Options) -> Result<Self, Error> {
        let members = Members::new(&options).await?;
        let leases = Mutex::new(LeasePool::new(
            options.lease_reuse,
            options.lease_objects_max,
            options.leases.clone(),
        ));
        let progress = signal::Sender::new(0);
        let compactions = Compactions::new();
        let stream_support = StreamSupport::new(options.range_stream);
        Ok(Self { options, members, leases, progress, compactions, stream_support })
    }

    /// Size of a member's database file in bytes, including free pages: the size that etcd's quota limits.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if no member responds in time.
    pub async fn size_bytes(&self) -> Result<i64, Error> {
        let status = async |member: Arc<Member>| member.status().await.map(|status| status.db_size());
        self.members.call(self.read_budget(), Effect::Read, status).await.map_err(CallError::into_error)
    }

    /// The budget of a read of one key.
    fn read_budget(&self) -> Budget {
        Budget::repeatable(self.options.request_timeout)
    }

    /// Deadline of a call about one key, including all attempts.
    pub(crate) fn request_timeout(&self) -> Duration {
        self.options.request_timeout
    }

    async fn range(
        &self,
        budget: Budget,
        effect: Effect,
        key: &str,
        options: GetOptions,
    ) -> Result<PbRangeResponse, CallError> {
        let range = async |member: Arc<Member>| {
            member.kv().get(key, Some(options.clone())).await.map(|response| response.0)
        };
        self.members.call(budget, effect, range).await
    }

    /// Runs a transaction. `build` is called once per attempt.
    pub(crate) async fn txn(&self, build: impl Fn() -> Txn) -> Result<PbTxnResponse, CallError> {
        let txn = async |member: Arc<Member>| member.kv().txn(build()).await.map(|response| response.0);
        self.members.call(Budget::once(self.options.request_timeout), Effect::Once, txn).await
    }

    /// The lease for a key with this ttl, newly granted or shared. Waiting for another caller's grant is
    /// limited like any call.
    async fn lease(&self, ttl: Duration) -> Result<i64, CallError> {
        let late = || CallError::unavailable("etcd did not grant a lease in time".to_owned());
        timeout(self.options.request_timeout, self.share_lease(ttl)).await.unwrap_or_else(|_| Err(late()))
    }

    async fn share_lease(&self, ttl: Duration) -> Result<i64, CallError> {
        let mut pool = self.leases.lock().await;
        let now = Instant::now();
        let seconds = match pool.acquire(ttl, now) {
            LeaseChoice::Reuse(id) => return Ok(id),
            LeaseChoice::Grant { seconds } => seconds,
        };
        // A grant with a lost response leaves an unused lease, which expires, so it may be repeated.
        let grant = async |member: Arc<Member>| member.lease().grant(seconds, None).await;
        let id = self.members.call(self.read_budget(), Effect::Repeatable, grant).await?.id();
        pool.granted(ttl, id, now);
        Ok(id)
    }

    async fn put_once(
        &self,
        key: &str,
        value: &Bytes,
        expected: Revision,
        ttl: Option<Duration>,
    ) -> Result<PutResult, CallError> {
        let lease = match ttl {
            Some(ttl) => self.lease(ttl).await?,
            None => 0,
        };
        let result = self.write(GuardedWrite { key, expected, op: Op::Put { value, lease } }).await;
        if result == Err(CallError::LeaseNotFound) {
            self.leases.lock().await.lost(lease);
        }
        result
    }

    /// A linearizable read of only the revision: it reads one key that need not exist, so that etcd does no
    /// work.
    async fn revision(&self) -> Result<Revision, CallError> {
        let options = GetOptions::new().with_count_only();
        let response =
            self.range(self.read_budget(), Effect::Read, &self.options.health_key, options).await?;
        revision_of(response.header)
    }

    /// The contract's error for a failure of a call at `requested`.
    async fn error_at(&self, failure: CallError, requested: Revision) -> Error {
        match failure {
            CallError::FutureRevision => match self.revision().await {
                Ok(current) => Error::FutureRevision { requested, current },
                Err(failure) => failure.into_error(),
            },
            other => other.into_error(),
        }
    }
}

/// Checks that a list of a prefix can start at a key.
fn check_start(prefix: &str, start: &str) -> Result<(), Error> {
    if start.starts_with(prefix) {
        return Ok(());
    }
    Err(Error::Rejected(format!("list of {prefix} cannot start at {start}")))
}

#[async_trait]
impl Storage for Etcd {
    async fn get(&self, key: &str) -> Result<Lookup, Error> {
        one_key(self.range(self.read_budget(), Effect::Read, key, GetOptions::new()).await)
    }

    async fn list(&self, prefix: &str, options: ListOptions) -> Result<Listing, Error> {
        let start = options.start.as_deref().unwrap_or(prefix);
        check_start(prefix, start)?;
        let limit = i64::try_from(options.limit).unwrap_or(i64::MAX);
        let range = GetOptions::new()
            .with_range(prefix_end(prefix))
            .with_limit(limit)
            .with_revision(options.revision);
        // A long list is no reason to abandon a member, so an attempt may use the whole time.
        let list = async |member: Arc<Member>| {
            let response = member.kv().get(start, Some(range.clone())).await?;
            Ok((member, response.0))
        };
        let budget = Budget::once(self.options.list_timeout);
        let (member, response) = match self.members.call(budget, Effect::Repeatable, list).await {
            Ok(listed) => listed,
            Err(failure) => return Err(self.error_at(failure, options.revision).await),
        };
        let revision = revision_of(response.header).map_err(CallError::into_error)?;
        PageRequest { prefix, start, revision: options.revision, limit: options.limit }
            .check(&response, revision)
            .map_err(|error| {
                let failure = CallError::Malformed(error);
                self.members.suspect(&member, &failure);
                failure.into_error()
            })?;
        let read_count = response.kvs.len();
        let visible = response.kvs.into_iter().filter(|kv| !self.members.foreign_keys.contain(kv));
        let kvs = visible.map(key_value).collect::<Result<Vec<_>, _>>()?;
        let count = response.count.unsigned_abs().saturating_sub((read_count - kvs.len()) as u64);
        if kvs.is_empty() && count > 0 {
            return Err(Error::Internal(format!("{read_count} keys below {prefix} in etcd are not UTF-8")));
        }
        Ok(Listing { kvs, count, revision })
    }

    async fn list_stream(
        &self,
        prefix: &str,
        start: &str,
        revision: Revision,
    ) -> Result<Option<ListStream>, Error> {
        check_start(prefix, start)?;
        if !self.stream_support.is_assumed(Instant::now()) {
            return Ok(None);
        }
        // etcd reports the revision of a list with its last chunk. A pinned revision allows to continue after an error.
        let revision = match revision {
            0 => self.current_revision().await?,
            revision => revision,
        };
        let budget = Budget { total: self.options.list_timeout, attempt: self.options.request_timeout };
        match ChunkStream::open(&self.members, budget, prefix, start, revision).await {
            Ok(stream) => Ok(Some(ListStream { revision, chunks: stream.chunks() })),
            Err(CallError::Unimplemented(_)) => {
                tracing::debug!("etcd has no RangeStream; lists are read in pages");
                self.stream_support.record_unimplemented(Instant::now());
                Ok(None)
            }
            Err(failure) => Err(self.error_at(failure, revision).await),
        }
    }

    async fn count(&self, prefix: &str) -> Result<u64, Error> {
        let range = GetOptions::new().with_range(prefix_end(prefix)).with_count_only();
        let response = self
            .range(self.read_budget(), Effect::Repeatable, prefix, range)
            .await
            .map_err(CallError::into_error)?;
        Ok(response.count.unsigned_abs())
    }

    async fn put(
        &self,
        key: &str,
        value: Bytes,
        expected: Revision,
        ttl: Option<Duration>,
    ) -> Result<PutResult, Error> {
        match self.put_once(key, &value, expected, ttl).await {
            // The shared lease no longer exists (revoked, or the clocks differ): a new one is valid.
            Err(CallError::LeaseNotFound) => self.put_once(key, &value, expected, ttl).await,
            result => result,
        }
        .map_err(CallError::into_error)
    }

    async fn delete(&self, key: &str, expected: Revision) -> Result<DeleteResult, Error> {
        self.write(GuardedWrite { key, expected, op: Op::Delete }).await.map_err(CallError::into_error)
    }

    async fn watch(&self, prefix: &str, options: WatchOptions) -> Result<WatchStream, Error> {
        let start = match options.start {
            // Resolved to a revision immediately: etcd's own "now" is that of one member, which may lag.
            0 => self.revision().await.map_err(CallError::into_error)? + 1,
            start => start,
        };
        let watch = Watch::new(
            self.members.clone(),
            prefix,
            start,
            options,
            self.read_budget().attempt,
            self.progress.subscribe(),
        );
        timeout(self.options.request_timeout, watch.open())
            .await
            .unwrap_or_else(|_| Err(Error::Unavailable("no etcd member took the watch in time".to_owned())))
    }

    async fn request_progress(&self) -> Result<(), Error> {
        match self.members.progress_is_safe().await {
            Some(true) => {
                self.progress.send_modify(|tick| *tick = tick.wrapping_add(1));
                Ok(())
            }
            Some(false) => Err(Error::Rejected(
                "an etcd member is too old to be trusted about watch progress".to_owned(),
            )),
            None => Err(Error::Unavailable("no etcd member told its version".to_owned())),
        }
    }

    async fn current_revision(&self) -> Result<Revision, Error> {
        self.revision().await.map_err(CallError::into_error)
    }

    async fn compact(&self, revision: Revision) -> Result<(), Error> {
        let compact = async |member: Arc<Member>| member.kv().compact(revision, None).await;
        // Compacting again is harmless, so the call may be repeated.
        match self.members.call(self.read_budget(), Effect::Repeatable, compact).await {
            Ok(_) | Err(CallError::Compacted) => {
                self.compactions.note(revision);
                Ok(())
            }
            Err(failure) => Err(self.error_at(failure, revision).await),
        }
    }

    fn compacted(&self) -> signal::Receiver<Revision> {
        self.compactions.observe(&self.members, self.read_budget())
    }

    async fn healthy(&self) -> Result<(), Error> {
        let budget = Budget::repeatable(self.options.health_timeout);
        self.range(budget, Effect::Read, &self.options.health_key, GetOptions::new().with_count_only())
            .await
            .map(|_| ())
            .map_err(CallError::into_error)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn lease_wait_is_bounded_on_a_silent_cluster() {
        let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let options = Options::new([format!("http://{}", silent.local_addr().unwrap())]);
        let store = Etcd::new(options.clone()).await.unwrap();
        let limit = options.request_timeout;
        let begun = Instant::now();
        let puts = (0..5).map(|n| {
            let store = &store;
            let key = format!("/k{n}");
            async move { store.put(&key, Bytes::new(), 0, Some(Duration::from_secs(15))).await }
        });
        let written = futures::future::join_all(puts).await;
        assert!(written.iter().all(|written| matches!(written, Err(Error::Unavailable(_)))), "{written:?}");
        assert!(begun.elapsed() <= limit + Duration::from_secs(1), "{:?}", begun.elapsed());
    }

    #[test]
    fn a_prefix_ends_before_its_successor() {
        assert_eq!(prefix_end("/registry/pods/"), b"/registry/pods0");
        assert_eq!(prefix_end("a"), b"b");
        assert_eq!(prefix_end(""), b"\0");
    }
}
