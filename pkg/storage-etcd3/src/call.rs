//! Calls on members: how long each is waited for, and who is asked next.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};
use tokio::time::{Instant, sleep};

use crate::failure::Failure;
use crate::member::{Member, Standing};
use crate::members::{Members, SILENT_AFTER, sleep_while_running};

/// How many such doubled reads there are at once: a cluster that is slow as a whole must not get twice
/// the work.
const HEDGES_MAX: usize = 16;
/// How long a write that is made once goes on waiting for a member that is left out meanwhile, and does not come
/// back.
pub(crate) const WRITE_GRACE: Duration = Duration::from_millis(500);
/// The same for a call whose repetition costs something: a member that was merely slow is back by then.
const REPEATABLE_GRACE: Duration = Duration::from_millis(100);
/// How long a call goes on while no member can even be connected to: a restart of the whole cluster
/// takes longer, and who asks had better know.
const UNREACHABLE_MAX: Duration = Duration::from_secs(1);
/// Between looks for a better member than one that is left out.
const LEAVE_CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Between examinations of a member that one call waits for.
const EXAMINE_INTERVAL: Duration = Duration::from_secs(1);

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

    /// For a call whose answer may take all the time there is.
    pub(crate) fn once(total: Duration) -> Self {
        Self { total, attempt: total }
    }
}

/// What happens when a call is made more than once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing, and it is small: it is made on another member as well when the first one is examined.
    Read,
    /// Nothing, but each time costs something: one member after the other.
    Repeatable,
    /// It may happen twice: it is made again only when it is certain that it never left.
    Once,
}

impl Effect {
    /// How long a member is still waited for that was left out meanwhile, and does not come back.
    fn grace(self) -> Duration {
        match self {
            Effect::Read => Duration::ZERO,
            Effect::Repeatable => REPEATABLE_GRACE,
            Effect::Once => WRITE_GRACE,
        }
    }
}

impl Members {
    /// Calls `op` on a member; on others, as long as the effect and the failure allow and time is left.
    pub(crate) async fn call<T, F>(
        self: &Arc<Self>,
        budget: Budget,
        effect: Effect,
        op: impl Fn(Arc<Member>) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, etcd_client::Error>>,
    {
        let begun = Instant::now();
        let deadline = begun + budget.total;
        let mut attempts = 0;
        loop {
            let limit = deadline.saturating_duration_since(Instant::now()).min(budget.attempt);
            let result = match effect {
                Effect::Read => self.hedged(limit, &op).await,
                _ => self.attempt(&self.pick(), limit, effect.grace(), false, &op).await,
            };
            let failure = match result {
                Ok(value) => return Ok(value),
                Err(failure) => failure,
            };
            attempts += 1;
            let pause = self.pause_after(attempts);
            let unreachable = self.is_unreachable(&failure, attempts, begun);
            let again = failure.may_retry(effect != Effect::Once) && !unreachable;
            if !again || Instant::now() + pause >= deadline {
                return Err(failure);
            }
            sleep(pause).await;
        }
    }

    /// A write under a guard, on one member: what it did is for the caller to find out. It waits for
    /// `grace` for a member that is left out.
    pub(crate) async fn guarded<T, F>(
        self: &Arc<Self>,
        limit: Duration,
        grace: Duration,
        op: impl Fn(Arc<Member>) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, etcd_client::Error>>,
    {
        self.attempt(&self.pick(), limit, grace, true, &op).await
    }

    /// Asks one member, then others beside it, and takes the first answer.
    async fn hedged<T, F>(
        self: &Arc<Self>,
        limit: Duration,
        op: &impl Fn(Arc<Member>) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, etcd_client::Error>>,
    {
        let ask =
            |member: Arc<Member>| async move { self.attempt(&member, limit, Duration::ZERO, true, op).await };
        let mut asked = vec![self.pick()];
        let mut attempts: FuturesUnordered<_> = asked.iter().cloned().map(&ask).collect();
        let mut hedges = Hedges { members: self, held: 0 };
        loop {
            tokio::select! {
                biased;
                result = attempts.next() => match result {
                    Some(Err(failure)) if failure.may_retry(true) && !attempts.is_empty() => {}
                    Some(result) => return result,
                    None => return Err(Failure::Unavailable("no etcd member was asked".to_owned())),
                },
                () = sleep(SILENT_AFTER) => {
                    let other = self.pick_beside(&asked).filter(|_| hedges.take());
                    if let Some(other) = other {
                        asked.push(other.clone());
                        attempts.push(ask(other));
                    }
                }
            }
        }
    }

    /// One call on one member, which is blamed for what it is to blame for.
    async fn attempt<T, F>(
        self: &Arc<Self>,
        member: &Arc<Member>,
        limit: Duration,
        grace: Duration,
        small: bool,
        op: &impl Fn(Arc<Member>) -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, etcd_client::Error>>,
    {
        let begun = Instant::now();
        let answer = self.wait_for(member, limit, grace, op(member.clone())).await;
        match answer.and_then(|answer| answer.map_err(Failure::from)) {
            Ok(value) => {
                if small {
                    member.answered(begun.elapsed());
                }
                Ok(value)
            }
            Err(failure) => {
                if failure.blames_member() {
                    self.suspect(member, &failure);
                }
                Err(failure)
            }
        }
    }

    /// Waits for what a member is doing: up to `limit`, or until the member is left out for `grace` while there
    /// is a better one.
    pub(crate) async fn wait_for<T>(
        self: &Arc<Self>,
        member: &Arc<Member>,
        limit: Duration,
        grace: Duration,
        answer: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        let mut standing = member.standing();
        let limit = if member.is_suspect() { limit.min(self.patience_with_suspects()) } else { limit };
        let overdue = async {
            sleep(SILENT_AFTER).await;
            loop {
                self.examine(member);
                sleep(EXAMINE_INTERVAL).await;
            }
        };
        tokio::select! {
            biased;
            answer = answer => Ok(answer),
            () = self.wait_until_still_suspect(member, &mut standing, grace) => {
                Err(Failure::Unavailable(format!("{} was left out before it answered", member.url())))
            }
            () = async { sleep(limit).await; sleep_while_running(SILENT_AFTER).await } => Err(Failure::Unavailable(format!("{} did not answer in time", member.url()))),
            () = overdue => Err(Failure::Internal("an examination ended".to_owned())),
        }
    }

    /// Waits until a member is left out, and there is one in good standing to go to.
    pub(crate) async fn left_out(&self, member: &Arc<Member>, standing: &mut Standing) {
        loop {
            standing.left_out().await;
            if self.pick_beside(std::slice::from_ref(member)).is_some() {
                return;
            }
            sleep(LEAVE_CHECK_INTERVAL).await;
        }
    }

    /// Waits until a member is left out, and still is after `grace`.
    async fn wait_until_still_suspect(&self, member: &Arc<Member>, standing: &mut Standing, grace: Duration) {
        loop {
            self.left_out(member, standing).await;
            sleep(grace).await;
            if member.is_suspect() {
                return;
            }
        }
    }

    /// Whether to give up on a cluster of which no member could be connected to since `begun`.
    pub(crate) fn is_unreachable(&self, failure: &Failure, attempts: usize, begun: Instant) -> bool {
        let all_tried = attempts >= self.count() && begun.elapsed() >= UNREACHABLE_MAX;
        matches!(failure, Failure::NotSent(_)) && all_tried
    }
}

/// The doubled reads of one call, given back when it is over.
struct Hedges<'a> {
    members: &'a Members,
    held: usize,
}

impl Hedges<'_> {
    /// Whether there may be one more.
    fn take(&mut self) -> bool {
        if self.members.hedges.fetch_add(1, Ordering::Relaxed) >= HEDGES_MAX {
            self.members.hedges.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        self.held += 1;
        true
    }
}

impl Drop for Hedges<'_> {
    fn drop(&mut self) {
        self.members.hedges.fetch_sub(self.held, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Options;

    /// What becomes of a write that a member answers after a second, when the member is left out at once and for
    /// `out`.
    async fn write_while_left_out(out: Duration) -> Result<(), Failure> {
        let members =
            Members::new(&Options::new(["http://127.0.0.1:1", "http://127.0.0.1:2"])).await.unwrap();
        let member = members.pick();
        let leave = async {
            sleep(Duration::from_millis(1)).await;
            member.set_suspect(true);
            sleep(out).await;
            member.set_suspect(false);
            std::future::pending::<()>().await;
        };
        let write = sleep(Duration::from_secs(1));
        tokio::select! {
            () = leave => unreachable!("it waits for ever"),
            answer = members.wait_for(&member, Duration::from_secs(10), WRITE_GRACE, write) => answer,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_write_waits_for_a_member_that_comes_back_and_not_for_one_that_stays_out() {
        assert_eq!(write_while_left_out(WRITE_GRACE / 2).await, Ok(()));
        let lost = write_while_left_out(WRITE_GRACE * 2).await;
        assert!(matches!(lost, Err(Failure::Unavailable(_))), "{lost:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn what_came_while_this_process_was_stopped_is_heard() {
        let members = Members::new(&Options::new(["http://127.0.0.1:1"])).await.unwrap();
        let member = members.pick();
        let (limit, stopped) = (Duration::from_secs(5), Duration::from_secs(60));
        let (answer, heard) = tokio::sync::oneshot::channel();
        let waiting = members.wait_for(&member, limit, Duration::ZERO, heard);
        let stop = async {
            tokio::time::advance(stopped).await;
            // The connection's task gets its turn only now.
            sleep(Duration::from_millis(1)).await;
            answer.send(()).unwrap();
        };
        let (heard, ()) = futures::join!(waiting, stop);
        assert_eq!(heard, Ok(Ok(())));
    }
}
