//! Calls to members: timeouts, retries and hedged reads.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt};
use tokio::time::{Instant, sleep};

use crate::call_error::CallError;
use crate::member::{Member, StandingObserver};
use crate::members::{Members, SILENT_AFTER, sleep_while_running};

/// Maximum number of concurrent hedged reads: a cluster that is slow as a whole must not get twice the load.
const HEDGES_MAX: usize = 16;
/// Grace period in which a non-repeatable write still waits for a member that was marked suspect.
pub(crate) const WRITE_GRACE: Duration = Duration::from_millis(500);
/// Grace period for a repeatable call with a cost: a member that was merely slow responds within it.
pub(crate) const REPEATABLE_GRACE: Duration = Duration::from_millis(100);
/// Maximum duration of a call while no member accepts connections. A restart of the whole cluster takes
/// longer, and the caller should get an error.
const UNREACHABLE_MAX: Duration = Duration::from_secs(1);
/// Interval of checks for a better member than a suspect one.
const LEAVE_CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Interval of examinations of a member that a call waits for.
const EXAMINE_INTERVAL: Duration = Duration::from_secs(1);

/// Timeouts of a call: in total, and per attempt.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Budget {
    pub(crate) total: Duration,
    pub(crate) attempt: Duration,
}

impl Budget {
    /// For a repeatable call: half of the time is reserved for another member.
    pub(crate) fn repeatable(total: Duration) -> Self {
        Self { total, attempt: total / 2 }
    }

    /// For a call whose single attempt may use all of the time.
    pub(crate) fn once(total: Duration) -> Self {
        Self { total, attempt: total }
    }
}

/// Effect of repeating a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// No effect, and cheap: it is hedged on another member while the first one is examined.
    Read,
    /// No effect, but expensive: members are tried one after the other.
    Repeatable,
    /// It may happen twice: it is repeated only if it certainly was not sent.
    Once,
}

impl Effect {
    /// Grace period for a suspect member.
    fn grace(self) -> Duration {
        match self {
            Effect::Read => Duration::ZERO,
            Effect::Repeatable => REPEATABLE_GRACE,
            Effect::Once => WRITE_GRACE,
        }
    }
}

impl Members {
    /// Calls `op` on a member; retries on others as long as the effect, the failure and the time allow.
    pub(crate) async fn call<T, F>(
        self: &Arc<Self>,
        budget: Budget,
        effect: Effect,
        op: impl Fn(Arc<Member>) -> F,
    ) -> Result<T, CallError>
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

    /// A guarded write on one member; the caller must determine its outcome. Waits for `grace` for a suspect
    /// member.
    pub(crate) async fn guarded<T, F>(
        self: &Arc<Self>,
        limit: Duration,
        grace: Duration,
        op: impl Fn(Arc<Member>) -> F,
    ) -> Result<T, CallError>
    where
        F: Future<Output = Result<T, etcd_client::Error>>,
    {
        self.attempt(&self.pick(), limit, grace, true, &op).await
    }

    /// Calls one member, then hedges on others, and returns the first response.
    async fn hedged<T, F>(
        self: &Arc<Self>,
        limit: Duration,
        op: &impl Fn(Arc<Member>) -> F,
    ) -> Result<T, CallError>
    where
        F: Future<Output = Result<T, etcd_client::Error>>,
    {
        let attempt =
            |member: Arc<Member>| async move { self.attempt(&member, limit, Duration::ZERO, true, op).await };
        let mut used = vec![self.pick()];
        let mut attempts: FuturesUnordered<_> = used.iter().cloned().map(&attempt).collect();
        let mut hedges = Hedges { members: self, acquired: 0 };
        loop {
            tokio::select! {
                biased;
                result = attempts.next() => match result {
                    Some(Err(failure)) if failure.may_retry(true) && !attempts.is_empty() => {}
                    Some(result) => return result,
                    None => return Err(CallError::unavailable("no etcd member was asked".to_owned())),
                },
                () = sleep(SILENT_AFTER) => {
                    let hedge = self.pick_excluding(&used).filter(|_| hedges.acquire());
                    if let Some(hedge) = hedge {
                        used.push(hedge.clone());
                        attempts.push(attempt(hedge));
                    }
                }
            }
        }
    }

    /// A single call to a member, which is marked suspect for failures that it caused.
    async fn attempt<T, F>(
        self: &Arc<Self>,
        member: &Arc<Member>,
        limit: Duration,
        grace: Duration,
        small: bool,
        op: &impl Fn(Arc<Member>) -> F,
    ) -> Result<T, CallError>
    where
        F: Future<Output = Result<T, etcd_client::Error>>,
    {
        let start = Instant::now();
        let result = self.wait_for(member, limit, grace, op(member.clone())).await;
        match result.and_then(|result| result.map_err(CallError::from)) {
            Ok(value) => {
                if small {
                    member.record_latency(start.elapsed());
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

    /// Waits for a member's operation up to `limit`, or until the member has been suspect for `grace` while
    /// there is a better one.
    pub(crate) async fn wait_for<T>(
        self: &Arc<Self>,
        member: &Arc<Member>,
        limit: Duration,
        grace: Duration,
        response: impl Future<Output = T>,
    ) -> Result<T, CallError> {
        let mut standing = member.observe_standing();
        let limit = if member.is_suspect() { limit.min(self.suspect_wait_max()) } else { limit };
        let overdue = async {
            sleep(SILENT_AFTER).await;
            loop {
                self.examine(member);
                sleep(EXAMINE_INTERVAL).await;
            }
        };
        tokio::select! {
            biased;
            response = response => Ok(response),
            () = self.wait_until_still_suspect(member, &mut standing, grace) => {
                Err(CallError::unavailable(format!("{} was left out before it answered", member.url())))
            }
            () = async { sleep(limit).await; sleep_while_running(SILENT_AFTER).await } => Err(CallError::unavailable(format!("{} did not answer in time", member.url()))),
            () = overdue => Err(CallError::internal("an examination ended".to_owned())),
        }
    }

    /// Waits until a member is suspect and another one is in good standing.
    pub(crate) async fn wait_until_suspect(&self, member: &Arc<Member>, standing: &mut StandingObserver) {
        loop {
            standing.wait_until_suspect().await;
            if self.pick_excluding(std::slice::from_ref(member)).is_some() {
                return;
            }
            sleep(LEAVE_CHECK_INTERVAL).await;
        }
    }

    /// Waits until a member is suspect, and still is after `grace`.
    async fn wait_until_still_suspect(
        &self,
        member: &Arc<Member>,
        standing: &mut StandingObserver,
        grace: Duration,
    ) {
        loop {
            self.wait_until_suspect(member, standing).await;
            sleep(grace).await;
            if member.is_suspect() {
                return;
            }
        }
    }

    /// True if no member has accepted a connection since `begun`, so that the call should fail.
    pub(crate) fn is_unreachable(&self, failure: &CallError, attempts: usize, begun: Instant) -> bool {
        let all_tried = attempts >= self.count() && begun.elapsed() >= UNREACHABLE_MAX;
        matches!(failure, CallError::NotSent(_)) && all_tried
    }
}

/// The hedged reads of a call, released at its end.
struct Hedges<'a> {
    members: &'a Members,
    acquired: usize,
}

impl Hedges<'_> {
    /// Acquires a hedge; returns false at the limit.
    fn acquire(&mut self) -> bool {
        if self.members.hedges.fetch_add(1, Ordering::Relaxed) >= HEDGES_MAX {
            self.members.hedges.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        self.acquired += 1;
        true
    }
}

impl Drop for Hedges<'_> {
    fn drop(&mut self) {
        self.members.hedges.fetch_sub(self.acquired, Ordering::Relaxed);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Options;

    /// The outcome of a write with a response after one second, when the member is suspect at once for the
    /// time `out`.
    async fn write_while_left_out(out: Duration) -> Result<(), CallError> {
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
    async fn writes_wait_only_for_recovering_members() {
        assert_eq!(write_while_left_out(WRITE_GRACE / 2).await, Ok(()));
        let lost = write_while_left_out(WRITE_GRACE * 2).await;
        assert!(matches!(lost, Err(CallError::Unavailable(_))), "{lost:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn responses_during_a_process_stop_are_received() {
        let members = Members::new(&Options::new(["http://127.0.0.1:1"])).await.unwrap();
        let member = members.pick();
        let limit = Duration::from_secs(5);
        let stopped = Duration::from_secs(60);
        let (answer, heard) = tokio::sync::oneshot::channel();
        let waiting = members.wait_for(&member, limit, Duration::ZERO, heard);
        let stop = async {
            tokio::time::advance(stopped).await;
            // The connection's task only runs now.
            sleep(Duration::from_millis(1)).await;
            answer.send(()).unwrap();
        };
        let (heard, ()) = futures::join!(waiting, stop);
        assert_eq!(heard, Ok(Ok(())));
    }
}
