//! The members of the cluster: selection for calls, and detection of failed members.
//!
//! Calls rotate over the members in good standing that are not much slower than the fastest. A member that is
//! unreachable, does not respond or has no leader becomes suspect and is avoided until it answers a probe. If
//! all are suspect, all are tried. A silent member does not fail calls. So when a call has waited for
//! [`SILENT_AFTER`], the member is [examined](Members::examine): it is compared with another one, and becomes
//! suspect if only the other one responds. Calls and watches that wait for a suspect member move elsewhere.
//! So a member that is dead, partitioned or stopped costs each caller a few tenths of a second, once.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};
use storage::Error;
use tokio::time::{Instant, sleep};

use crate::Options;
use crate::call_error::CallError;
use crate::connect::{self, Address};
use crate::cursor::ForeignKeys;
use crate::member::{Member, SuspicionLevel};

/// Time after which a waiting call triggers an examination of the member. A healthy cluster responds in a few
/// milliseconds, one with slow disks in some tens.
pub(crate) const SILENT_AFTER: Duration = Duration::from_millis(50);
/// Additional time for the examined member compared with its rival: at least this duration, and a multiple of
/// the rival's time. On a busy machine or network all responses take longer, and their times vary widely.
const GRACE: Duration = Duration::from_millis(250);
const GRACE_TIMES: u32 = 4;
/// Step of the time counted by [`sleep_while_running`].
const STEP: Duration = Duration::from_millis(10);
/// A member is slow if it takes more than this multiple of the fastest member's time, plus this duration.
const SLOW_TIMES: u32 = 4;
const SLOW_MORE: Duration = Duration::from_millis(5);
/// Every n-th call goes to a slow member anyway: it may have become fast.
const SLOW_MEMBER_PERIOD: usize = 64;
const BACKOFF_MIN: Duration = Duration::from_millis(25);
const BACKOFF_MAX: Duration = Duration::from_secs(1);

/// All members. Shared by the store, its watches and the probes.
pub(crate) struct Members {
    list: Vec<Arc<Member>>,
    call_counter: AtomicUsize,
    pub(crate) hedges: AtomicUsize,
    pub(crate) foreign_keys: ForeignKeys,
    probe_key: String,
    probe_timeout: Duration,
}

impl Members {
    pub(crate) async fn new(options: &Options) -> Result<Arc<Self>, Error> {
        if options.endpoints.is_empty() {
            return Err(Error::Rejected("no etcd endpoint is given".to_owned()));
        }
        if let Some(files) = &options.tls {
            connect::check_tls(files).map_err(|error| Error::Rejected(error.to_string()))?;
        }
        let mut list = Vec::with_capacity(options.endpoints.len());
        for url in &options.endpoints {
            let address = Address::parse(url, options.tls.is_some());
            let address = address.map_err(|error| Error::Rejected(error.to_string()))?;
            list.push(Arc::new(Member::connect(url, &address, options).await?));
        }
        Ok(Arc::new(Self {
            list,
            call_counter: AtomicUsize::new(0),
            hedges: AtomicUsize::new(0),
            foreign_keys: ForeignKeys::new(),
            probe_key: options.health_key.clone(),
            probe_timeout: options.health_timeout,
        }))
    }

    /// The next member in rotation, among those in the best standing.
    pub(crate) fn pick(&self) -> Arc<Member> {
        let turn = self.call_counter.fetch_add(1, Ordering::Relaxed);
        let standings: Vec<_> = self.list.iter().map(|m| (m.suspicion(), m.latency())).collect();
        self.list[choose_member(turn, &standings)].clone()
    }

    /// A member that is neither suspect nor one of `excluded`, with the least doubt.
    pub(crate) fn pick_excluding(&self, excluded: &[Arc<Member>]) -> Option<Arc<Member>> {
        let is_eligible =
            |m: &&Arc<Member>| !m.is_suspect() && !excluded.iter().any(|member| Arc::ptr_eq(member, m));
        self.list.iter().filter(is_eligible).min_by_key(|m| (m.suspicion(), m.latency())).cloned()
    }

    pub(crate) fn count(&self) -> usize {
        self.list.len()
    }

    /// Maximum time to wait for a suspect member.
    pub(crate) fn suspect_wait_max(&self) -> Duration {
        self.probe_timeout
    }

    /// Delay before attempt `attempts + 1`: none until every member was tried.
    pub(crate) fn pause_after(&self, attempts: usize) -> Duration {
        pause(attempts, self.list.len())
    }

    /// Marks a member suspect until it answers a probe.
    pub(crate) fn suspect(self: &Arc<Self>, member: &Arc<Member>, why: &CallError) {
        if member.set_suspect(true) {
            tracing::info!(member = member.url(), ?why, "etcd member is suspect and avoided");
            tokio::spawn(probe(Arc::downgrade(self), member.clone()));
        }
    }

    /// Examines in the background if a member with an overdue response is silent. It is not if the others are
    /// equally late: then the cluster is slow or unavailable.
    pub(crate) fn examine(self: &Arc<Self>, member: &Arc<Member>) {
        if self.list.len() < 2 || member.is_suspect() || member.examined.swap(true, Ordering::Relaxed) {
            return;
        }
        let members = self.clone();
        let member = member.clone();
        tokio::spawn(async move {
            if members.is_silent(&member).await {
                let why = format!("{} is silent, and another member is not", member.url());
                members.suspect(&member, &CallError::unavailable(why));
            }
            member.examined.store(false, Ordering::Relaxed);
        });
    }

    async fn is_silent(&self, member: &Arc<Member>) -> bool {
        let rivals = self.list.iter().filter(|rival| !Arc::ptr_eq(rival, member) && !rival.is_suspect());
        let mut rivals: FuturesUnordered<_> =
            rivals.map(|rival| rival.probe(&self.probe_key, self.probe_timeout)).collect();
        let rival_response = async {
            while let Some(responded) = rivals.next().await {
                if responded {
                    return;
                }
            }
            std::future::pending().await
        };
        let start = Instant::now();
        let mut own_probe = pin!(member.probe(&self.probe_key, self.probe_timeout));
        tokio::select! {
            _ = &mut own_probe => return false,
            () = rival_response => {}
        }
        let grace = GRACE.max(start.elapsed() * GRACE_TIMES);
        tokio::select! {
            biased;
            responded = own_probe => !responded,
            () = sleep_while_running(grace) => true,
        }
    }

    /// True if every member with a known version has reliable progress notifications; `None` while no version
    /// is known.
    pub(crate) async fn progress_is_safe(self: &Arc<Self>) -> Option<bool> {
        for member in &self.list {
            let needs_version = member.progress_is_safe().is_none() && !member.is_suspect();
            if needs_version && !member.learn_version(self.probe_timeout).await {
                self.suspect(member, &CallError::unavailable("no answer about its version".to_owned()));
            }
        }
        self.list.iter().filter_map(|member| member.progress_is_safe()).reduce(|a, b| a && b)
    }
}

/// Waits for `time` during which this process can receive responses. A process that is stopped or starved of
/// CPU receives none, which is not the member's fault. So steps are counted regardless of their actual
/// duration.
pub(crate) async fn sleep_while_running(time: Duration) {
    for _ in 0..time.as_millis().div_ceil(STEP.as_millis()) {
        sleep(STEP).await;
    }
}

/// Probes a suspect member until it responds or is no longer used.
async fn probe(members: Weak<Members>, member: Arc<Member>) {
    for attempts in 1.. {
        sleep(pause(attempts, 0)).await;
        let Some(members) = members.upgrade() else { return };
        if member.probe(&members.probe_key, members.probe_timeout).await {
            member.set_suspect(false);
            tracing::info!(member = member.url(), "etcd member responds again");
            return;
        }
    }
}

/// The member's index for this turn, by standing and latency: rotates over those in the best standing that
/// are not slow.
fn choose_member(turn: usize, standings: &[(SuspicionLevel, Duration)]) -> usize {
    let Some(best) = standings.iter().map(|(doubt, _)| *doubt).min() else { return 0 };
    let good = || standings.iter().enumerate().filter(|(_, (doubt, _))| *doubt == best);
    let fastest = good().map(|(_, (_, latency))| *latency).min().unwrap_or_default();
    // The current latency of suspect members is unknown.
    let all = turn % SLOW_MEMBER_PERIOD == SLOW_MEMBER_PERIOD - 1 || best == SuspicionLevel::Suspect;
    let slow = fastest * SLOW_TIMES + SLOW_MORE;
    let fit = || good().filter(|(_, (_, latency))| all || *latency <= slow).map(|(index, _)| index);
    fit().nth(turn % fit().count().max(1)).unwrap_or_default()
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
    use std::task::{Context, Waker};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn stopped_process_time_is_not_counted() {
        let mut listening = pin!(sleep_while_running(GRACE));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(listening.as_mut().poll(&mut cx).is_pending());
        tokio::time::advance(GRACE * 10).await;
        assert!(listening.as_mut().poll(&mut cx).is_pending());
        let begun = Instant::now();
        listening.await;
        assert!(begun.elapsed() >= GRACE - STEP * 2);
    }

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn calls_rotate_over_healthy_members() {
        use SuspicionLevel::{Examined, Suspect, Trusted};
        let check = |doubts: &[SuspicionLevel], expected: [usize; 4]| {
            let standings: Vec<_> = doubts.iter().map(|doubt| (*doubt, MS)).collect();
            let got = std::array::from_fn(|turn| choose_member(turn, &standings));
            assert_eq!(got, expected, "{doubts:?}");
        };
        check(&[Trusted], [0, 0, 0, 0]);
        check(&[Trusted, Trusted, Trusted], [0, 1, 2, 0]);
        check(&[Trusted, Suspect, Trusted], [0, 2, 0, 2]);
        check(&[Suspect, Examined, Trusted], [2, 2, 2, 2]);
        check(&[Suspect, Examined, Examined], [1, 2, 1, 2]);
        check(&[Suspect, Suspect, Suspect], [0, 1, 2, 0]);
    }

    #[test]
    fn slow_members_are_called_occasionally() {
        let check = |latencies: [Duration; 3], expected: usize| {
            let standings = latencies.map(|latency| (SuspicionLevel::Trusted, latency));
            let turns =
                (0..SLOW_MEMBER_PERIOD * 6).filter(|turn| choose_member(*turn, &standings) == 2).count();
            assert_eq!(turns, expected, "{latencies:?}");
        };
        check([MS, MS, MS * 9], 128);
        check([MS, MS, MS * 10], 2);
        // A member that was not yet called is not slow.
        check([MS, MS, Duration::ZERO], 128);
    }

    #[test]
    fn retries_back_off_after_all_members() {
        let millis: Vec<u128> = (1..=10).map(|n| pause(n, 3).as_millis()).collect();
        assert_eq!(millis, [0, 0, 25, 50, 100, 200, 400, 800, 1000, 1000]);
        assert_eq!(pause(usize::MAX, 1), BACKOFF_MAX);
    }
}
