//! The members of the cluster: which one a call goes to, and what happens when it does not answer.
//!
//! Calls go round the members that are in good standing. One that fails a call as a server (not
//! reachable, no answer, no leader) is left out until it answers a probe; when all are out, all are
//! tried. So a dead or cut-off member costs each caller at most one attempt, once.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use etcd_client::{Channel, Client, ConnectOptions, GetOptions, KvClient, LeaseClient, WatchClient};
use storage::Error;
use tokio::time::{Instant, sleep, timeout};
use tower::ServiceExt;
use tower::util::BoxCloneSyncService;

use crate::Options;
use crate::connect::{self, Address};
use crate::failure::Failure;
use crate::traced::Traced;
use crate::version::progress_is_safe;

/// Upstream's limit for answers; without one, tonic would stop at 4 MiB.
const MESSAGE_BYTES_MAX: usize = i32::MAX as usize;
const BACKOFF_MIN: Duration = Duration::from_millis(25);
const BACKOFF_MAX: Duration = Duration::from_secs(1);

/// One etcd server. Watches have a connection of their own, so that a flood of events and a large
/// list do not wait for each other.
pub(crate) struct Member {
    url: String,
    calls: Client,
    watches: Client,
    suspect: AtomicBool,
    /// Whether its progress notifications can be trusted, once known. A member is not replaced by
    /// an older one while it serves us.
    progress_is_safe: OnceLock<bool>,
}

impl Member {
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn kv(&self) -> KvClient {
        self.calls.kv_client().max_decoding_message_size(MESSAGE_BYTES_MAX)
    }

    pub(crate) fn lease(&self) -> LeaseClient {
        self.calls.lease_client()
    }

    pub(crate) fn watch(&self) -> WatchClient {
        self.watches.watch_client().max_decoding_message_size(MESSAGE_BYTES_MAX)
    }

    async fn connect(url: &str, address: &Address, options: &Options) -> Result<Self, Error> {
        let channel = || connect::channel(address, options).map_err(Error::Refused);
        let client = async |channel, require_leader| {
            let options = ConnectOptions::new().with_require_leader(require_leader);
            Client::from_channel(channel, Some(options)).await.map_err(|e| Error::Internal(e.to_string()))
        };
        let calls = match options.traced {
            true => Channel::Custom(BoxCloneSyncService::new(Traced(channel()?).map_err(Into::into))),
            false => Channel::Tonic(channel()?),
        };
        Ok(Self {
            url: url.to_owned(),
            calls: client(calls, false).await?,
            // A watch on a member that lost its leader would be silent, and nobody would know.
            watches: client(Channel::Tonic(channel()?), true).await?,
            suspect: AtomicBool::new(false),
            progress_is_safe: OnceLock::new(),
        })
    }
}

/// How long a call may take: in total, and per attempt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    pub(crate) total: Duration,
    pub(crate) attempt: Duration,
}

impl Budget {
    /// For a call that may be made again: half of the time is kept for another member.
    pub(crate) fn repeatable(total: Duration) -> Self {
        Self { total, attempt: total / 2 }
    }

    /// For a call that is made once.
    pub(crate) fn once(total: Duration) -> Self {
        Self { total, attempt: total }
    }
}

/// All members. Shared by the store, its watches and the probes.
pub(crate) struct Members {
    list: Vec<Arc<Member>>,
    turn: AtomicUsize,
    probe_key: String,
    probe_timeout: Duration,
}

impl Members {
    pub(crate) async fn new(options: &Options) -> Result<Arc<Self>, Error> {
        if options.endpoints.is_empty() {
            return Err(Error::Refused("no etcd endpoint is given".to_owned()));
        }
        if let Some(files) = &options.tls {
            connect::check_tls(files).map_err(Error::Refused)?;
        }
        let mut list = Vec::with_capacity(options.endpoints.len());
        for url in &options.endpoints {
            let address = Address::parse(url, options.tls.is_some()).map_err(Error::Refused)?;
            list.push(Arc::new(Member::connect(url, &address, options).await?));
        }
        Ok(Arc::new(Self {
            list,
            turn: AtomicUsize::new(0),
            probe_key: options.health_key.clone(),
            probe_timeout: options.health_timeout,
        }))
    }

    /// Calls `op` on a member; on others, as long as the failure allows and time is left.
    pub(crate) async fn call<T, F>(
        self: &Arc<Self>,
        budget: Budget,
        idempotent: bool,
        op: impl Fn(Arc<Member>) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, etcd_client::Error>>,
    {
        let deadline = Instant::now() + budget.total;
        let mut attempts = 0;
        loop {
            let member = self.pick();
            let left = deadline.saturating_duration_since(Instant::now());
            let failure = match timeout(left.min(budget.attempt), op(member.clone())).await {
                Ok(Ok(value)) => return Ok(value),
                Ok(Err(error)) => Failure::from(error),
                Err(_) => Failure::Unavailable(format!("{} did not answer in time", member.url)),
            };
            if failure.blames_member() {
                self.suspect(&member, &failure);
            }
            attempts += 1;
            let pause = self.pause_after(attempts);
            if !failure.may_retry(idempotent) || Instant::now() + pause >= deadline {
                return Err(failure);
            }
            sleep(pause).await;
        }
    }

    /// The next member in good standing, or the next of all where none is.
    pub(crate) fn pick(&self) -> Arc<Member> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let suspect: Vec<bool> = self.list.iter().map(|m| m.suspect.load(Ordering::Relaxed)).collect();
        self.list[choose(turn, &suspect)].clone()
    }

    /// How long to wait before attempt `attempts + 1`: nothing until every member had its turn.
    pub(crate) fn pause_after(&self, attempts: usize) -> Duration {
        pause(attempts, self.list.len())
    }

    /// Leaves a member out until it answers a probe.
    pub(crate) fn suspect(self: &Arc<Self>, member: &Arc<Member>, why: &Failure) {
        if !member.suspect.swap(true, Ordering::Relaxed) {
            tracing::info!(member = member.url, ?why, "etcd member is left out");
            tokio::spawn(probe(Arc::downgrade(self), member.clone()));
        }
    }

    /// Whether every member whose version can be learnt keeps its promise about progress; `None`
    /// while no version is known.
    pub(crate) async fn progress_is_safe(self: &Arc<Self>) -> Option<bool> {
        for member in &self.list {
            if member.progress_is_safe.get().is_none() && !member.suspect.load(Ordering::Relaxed) {
                match timeout(self.probe_timeout, member.calls.clone().status()).await {
                    Ok(Ok(status)) => drop(member.progress_is_safe.set(progress_is_safe(status.version()))),
                    _ => {
                        self.suspect(member, &Failure::Unavailable("no answer about its version".to_owned()))
                    }
                }
            }
        }
        self.list.iter().filter_map(|member| member.progress_is_safe.get().copied()).reduce(|a, b| a && b)
    }

    /// A linearizable read: only a member that reaches a quorum answers it.
    async fn answers(&self, member: &Member) -> bool {
        let mut kv = member.kv();
        let read = kv.get(self.probe_key.as_str(), Some(GetOptions::new().with_count_only()));
        matches!(timeout(self.probe_timeout, read).await, Ok(Ok(_)))
    }
}

/// Asks a suspect until it answers, or until nobody needs it any more.
async fn probe(members: Weak<Members>, member: Arc<Member>) {
    for attempts in 1.. {
        sleep(pause(attempts, 0)).await;
        let Some(members) = members.upgrade() else { return };
        if members.answers(&member).await {
            member.suspect.store(false, Ordering::Relaxed);
            tracing::info!(member = member.url, "etcd member answers again");
            return;
        }
    }
}

/// The index for this turn: round the members that are not suspect, or round all.
fn choose(turn: usize, suspect: &[bool]) -> usize {
    let good = suspect.iter().filter(|suspect| !**suspect).count();
    if good == 0 {
        return turn % suspect.len().max(1);
    }
    let in_good_standing = suspect.iter().enumerate().filter(|(_, suspect)| !**suspect);
    in_good_standing.map(|(index, _)| index).nth(turn % good).unwrap_or_default()
}

fn pause(attempts: usize, free: usize) -> Duration {
    if attempts < free {
        return Duration::ZERO;
    }
    let doublings = u32::try_from(attempts - free).unwrap_or(u32::MAX).min(16);
    (BACKOFF_MIN * 2u32.pow(doublings)).min(BACKOFF_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_go_round_the_members_in_good_standing() {
        let check = |suspect: &[bool], expected: [usize; 4]| {
            let got = std::array::from_fn(|turn| choose(turn, suspect));
            assert_eq!(got, expected, "{suspect:?}");
        };
        check(&[false], [0, 0, 0, 0]);
        check(&[false, false, false], [0, 1, 2, 0]);
        check(&[false, true, false], [0, 2, 0, 2]);
        check(&[true, true, false], [2, 2, 2, 2]);
        check(&[true, true, true], [0, 1, 2, 0]);
    }

    #[test]
    fn the_other_members_are_tried_at_once_and_then_ever_more_slowly() {
        let millis: Vec<u128> = (1..=10).map(|n| pause(n, 3).as_millis()).collect();
        assert_eq!(millis, [0, 0, 25, 50, 100, 200, 400, 800, 1000, 1000]);
        assert_eq!(pause(usize::MAX, 1), BACKOFF_MAX);
    }
}
