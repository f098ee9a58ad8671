//! The members of the cluster: which one a call goes to, and what happens when it does not answer.
//!
//! Calls go round the members that are in good standing and not much slower than the best. One that
//! fails a call as a server (not reachable, no answer, no leader) is left out until it answers a
//! probe; when all are out, all are tried. A member that is merely silent fails nothing: when a call
//! has waited for [`SILENT_AFTER`], the member is [examined](Members::examine), that is compared with
//! another one, and left out if that one answers and it does not. Whoever waits for a member that is
//! left out goes elsewhere, calls and watches alike. So a member that is dead, cut off or stopped
//! costs each caller some tenths of a second, once.

use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};
use storage::Error;
use tokio::time::{Instant, sleep};

use crate::Options;
use crate::connect::{self, Address};
use crate::failure::Failure;
use crate::member::{Member, SuspicionLevel};

/// How long a call waits before the member is examined. A healthy cluster answers in a few
/// milliseconds, one with slow disks in some tens.
pub(crate) const SILENT_AFTER: Duration = Duration::from_millis(50);
/// How much longer than a rival a member may take in an examination: this at least, and so many times what
/// the rival took. Where the machine or the network is busy, all take longer, and some much longer than others.
const GRACE: Duration = Duration::from_millis(250);
const GRACE_TIMES: u32 = 4;
/// In which steps [`listen`] counts.
const STEP: Duration = Duration::from_millis(10);
/// A member is slow when it takes so many times what the fastest takes, and this much more.
const SLOW_TIMES: u32 = 4;
const SLOW_MORE: Duration = Duration::from_millis(5);
/// A slow member has every so manieth turn all the same: it may have become fast.
const SLOW_TURN: usize = 64;
const BACKOFF_MIN: Duration = Duration::from_millis(25);
const BACKOFF_MAX: Duration = Duration::from_secs(1);

/// All members. Shared by the store, its watches and the probes.
pub(crate) struct Members {
    list: Vec<Arc<Member>>,
    turn: AtomicUsize,
    pub(crate) hedges: AtomicUsize,
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
            hedges: AtomicUsize::new(0),
            probe_key: options.health_key.clone(),
            probe_timeout: options.health_timeout,
        }))
    }

    /// The next member of those in the best standing.
    pub(crate) fn pick(&self) -> Arc<Member> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let standings: Vec<_> = self.list.iter().map(|m| (m.doubt(), m.latency())).collect();
        self.list[choose(turn, &standings)].clone()
    }

    /// A member that is not left out and none of `others`, the least doubtful one.
    pub(crate) fn pick_beside(&self, others: &[Arc<Member>]) -> Option<Arc<Member>> {
        let good = |m: &&Arc<Member>| !m.is_suspect() && !others.iter().any(|other| Arc::ptr_eq(other, m));
        self.list.iter().filter(good).min_by_key(|m| (m.doubt(), m.latency())).cloned()
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.list.len()
    }

    /// The longest that who asks a suspect should wait.
    pub(crate) fn patience_with_suspects(&self) -> Duration {
        self.probe_timeout
    }

    /// How long to wait before attempt `attempts + 1`: nothing until every member had its turn.
    pub(crate) fn pause_after(&self, attempts: usize) -> Duration {
        pause(attempts, self.list.len())
    }

    /// Leaves a member out until it answers a probe.
    pub(crate) fn suspect(self: &Arc<Self>, member: &Arc<Member>, why: &Failure) {
        if member.set_suspect(true) {
            tracing::info!(member = member.url(), ?why, "etcd member is left out");
            tokio::spawn(probe(Arc::downgrade(self), member.clone()));
        }
    }

    /// Finds out, in the background, whether a member from which an answer is overdue is silent. One
    /// that answers as late as the others is not: then the cluster is slow, or gone.
    pub(crate) fn examine(self: &Arc<Self>, member: &Arc<Member>) {
        if self.list.len() < 2 || member.is_suspect() || member.examined.swap(true, Ordering::Relaxed) {
            return;
        }
        let (members, member) = (self.clone(), member.clone());
        tokio::spawn(async move {
            if members.is_silent(&member).await {
                let why = format!("{} is silent, and another member is not", member.url());
                members.suspect(&member, &Failure::Unavailable(why));
            }
            member.examined.store(false, Ordering::Relaxed);
        });
    }

    async fn is_silent(&self, member: &Arc<Member>) -> bool {
        let rivals = self.list.iter().filter(|rival| !Arc::ptr_eq(rival, member) && !rival.is_suspect());
        let mut rivals: FuturesUnordered<_> =
            rivals.map(|rival| rival.answers(&self.probe_key, self.probe_timeout)).collect();
        let one_answers = async {
            while let Some(answers) = rivals.next().await {
                if answers {
                    return;
                }
            }
            std::future::pending().await
        };
        let begun = Instant::now();
        let mut own = pin!(member.answers(&self.probe_key, self.probe_timeout));
        tokio::select! {
            _ = &mut own => return false,
            () = one_answers => {}
        }
        let grace = GRACE.max(begun.elapsed() * GRACE_TIMES);
        tokio::select! {
            biased;
            answers = own => !answers,
            () = sleep_while_running(grace) => true,
        }
    }

    /// Whether every member whose version can be learnt keeps its promise about progress; `None`
    /// while no version is known.
    pub(crate) async fn progress_is_safe(self: &Arc<Self>) -> Option<bool> {
        for member in &self.list {
            let asked = member.known_progress_is_safe().is_none() && !member.is_suspect();
            if asked && !member.learn_version(self.probe_timeout).await {
                self.suspect(member, &Failure::Unavailable("no answer about its version".to_owned()));
            }
        }
        self.list.iter().filter_map(|member| member.known_progress_is_safe()).reduce(|a, b| a && b)
    }
}

/// Waits for `time` in which this process can hear an answer. One that was stopped, or that others keep from the
/// processor, hears none meanwhile, and that is not the member's fault: so steps are counted, however long each
/// of them took.
pub(crate) async fn sleep_while_running(time: Duration) {
    for _ in 0..time.as_millis().div_ceil(STEP.as_millis()) {
        sleep(STEP).await;
    }
}

/// Asks a suspect until it answers, or until nobody needs it any more.
async fn probe(members: Weak<Members>, member: Arc<Member>) {
    for attempts in 1.. {
        sleep(pause(attempts, 0)).await;
        let Some(members) = members.upgrade() else { return };
        if member.answers(&members.probe_key, members.probe_timeout).await {
            member.set_suspect(false);
            tracing::info!(member = member.url(), "etcd member answers again");
            return;
        }
    }
}

/// The index for this turn, of members by their standing and what they take to answer: round those in the
/// best standing that are not slow.
fn choose(turn: usize, standings: &[(SuspicionLevel, Duration)]) -> usize {
    let Some(best) = standings.iter().map(|(doubt, _)| *doubt).min() else { return 0 };
    let good = || standings.iter().enumerate().filter(|(_, (doubt, _))| *doubt == best);
    let fastest = good().map(|(_, (_, latency))| *latency).min().unwrap_or_default();
    // Of suspects nobody knows what they take now.
    let all = turn % SLOW_TURN == SLOW_TURN - 1 || best == SuspicionLevel::Suspect;
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
    async fn time_in_which_this_process_did_not_run_is_none_to_hear_an_answer_in() {
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
    fn calls_go_round_the_members_in_good_standing() {
        use SuspicionLevel::{Examined, No, Suspect};
        let check = |doubts: &[SuspicionLevel], expected: [usize; 4]| {
            let standings: Vec<_> = doubts.iter().map(|doubt| (*doubt, MS)).collect();
            let got = std::array::from_fn(|turn| choose(turn, &standings));
            assert_eq!(got, expected, "{doubts:?}");
        };
        check(&[No], [0, 0, 0, 0]);
        check(&[No, No, No], [0, 1, 2, 0]);
        check(&[No, Suspect, No], [0, 2, 0, 2]);
        check(&[Suspect, Examined, No], [2, 2, 2, 2]);
        check(&[Suspect, Examined, Examined], [1, 2, 1, 2]);
        check(&[Suspect, Suspect, Suspect], [0, 1, 2, 0]);
    }

    #[test]
    fn a_slow_member_has_a_turn_now_and_then() {
        let check = |latencies: [Duration; 3], expected: usize| {
            let standings = latencies.map(|latency| (SuspicionLevel::No, latency));
            let turns = (0..SLOW_TURN * 6).filter(|turn| choose(*turn, &standings) == 2).count();
            assert_eq!(turns, expected, "{latencies:?}");
        };
        check([MS, MS, MS * 9], 128);
        check([MS, MS, MS * 10], 2);
        // What has not been asked yet is not slow.
        check([MS, MS, Duration::ZERO], 128);
    }

    #[test]
    fn the_other_members_are_tried_at_once_and_then_ever_more_slowly() {
        let millis: Vec<u128> = (1..=10).map(|n| pause(n, 3).as_millis()).collect();
        assert_eq!(millis, [0, 0, 25, 50, 100, 200, 400, 800, 1000, 1000]);
        assert_eq!(pause(usize::MAX, 1), BACKOFF_MAX);
    }
}
