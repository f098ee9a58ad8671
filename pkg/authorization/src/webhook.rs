//! Authorization webhook: an external service decides about matching requests (upstream's
//! `plugin/pkg/authorizer/webhook`). Responses are cached for a limited time.

mod conditions;
mod response_cache;
mod review;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use apimachinery::time::UnixTime;
use apimachinery::user_info::UserInfo;
use async_trait::async_trait;
use component_base::clock::Clock;
use component_base::weakened::WeakenedKind;
use jsontree::Value;

use crate::metrics::{CallResult, Series};
use crate::{Attributes, Authorizer, AuthorizerError, Decision, Error, Rules};

pub use conditions::Conditions;
use response_cache::ResponseCache;
use review::ReviewStatus;
pub use review::Version;

/// A failed attempt of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    pub duration: Duration,
    /// True if there was no response before the timeout.
    pub timed_out: bool,
}

impl Attempt {
    fn failed(self) -> CallResult {
        if self.timed_out { CallResult::Timeout } else { CallResult::Error }
    }
}

/// Response of the service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResponse {
    pub body: Vec<u8>,
    /// Duration of the successful attempt.
    pub duration: Duration,
}

/// Client of the service.
#[async_trait]
pub trait Caller: Send + Sync + 'static {
    /// Posts a review and returns the response. Retries retryable failures by itself, within a limited time.
    /// Calls `failed` for each failed attempt.
    ///
    /// # Errors
    /// The message of the last attempt.
    async fn post_review(
        &self,
        review: Vec<u8>,
        failed: &(dyn Fn(Attempt) + Send + Sync),
    ) -> Result<CallResponse, Error>;
}

/// Options of a webhook authorizer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Version of `SubjectAccessReview`.
    pub version: Version,
    /// Cache lifetime of an approval; zero disables caching.
    pub authorized_ttl: Duration,
    /// Cache lifetime of a denial; zero disables caching.
    pub unauthorized_ttl: Duration,
    /// True if a failure of the service denies the request.
    pub deny_on_error: bool,
    /// Match conditions.
    pub conditions: Conditions,
}

pub struct Webhook {
    caller: Arc<dyn Caller>,
    options: Options,
    clock: Arc<dyn Clock>,
    series: Arc<Series>,
    cache: Mutex<ResponseCache>,
}

impl Webhook {
    /// Sends reviews through `caller`; `clock` expires cached responses, and `series` records metrics.
    pub fn new(
        caller: Arc<dyn Caller>,
        options: Options,
        clock: Arc<dyn Clock>,
        series: Arc<Series>,
    ) -> Self {
        Webhook { caller, options, clock, series, cache: Mutex::default() }
    }

    /// True if the match conditions select a request.
    fn matches_conditions(&self, attributes: &Attributes<'_>) -> Result<bool, Error> {
        if self.options.conditions.is_empty() {
            return Ok(true);
        }
        let start = self.clock.now();
        let result = self.options.conditions.evaluate(&review::for_conditions(attributes));
        self.series.record_match_conditions(since(self.clock.as_ref(), start));
        match &result.errors {
            0 => {}
            _ => self.series.conditions_failed(),
        }
        if result.outcome == Ok(false) {
            self.series.excluded();
        }
        result.outcome
    }

    /// Returns the service's response, from the cache if possible.
    async fn verdict(&self, attributes: &Attributes<'_>) -> Result<ReviewStatus, Error> {
        let spec = review::spec(attributes, self.options.version);
        let key = spec.to_string();
        let remembered = || self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(verdict) = remembered().get(&key, self.clock.now()) {
            return Ok(verdict);
        }
        let verdict = self.post_review(spec).await?;
        let ttl = if verdict.allowed { self.options.authorized_ttl } else { self.options.unauthorized_ttl };
        if review::is_cacheable(attributes) {
            remembered().put(key, verdict.clone(), self.clock.now(), ttl);
        }
        Ok(verdict)
    }

    async fn post_review(&self, spec: Value) -> Result<ReviewStatus, Error> {
        let version = self.options.version;
        let last = Mutex::new(CallResult::Error);
        let mut pending = PendingCall {
            series: &self.series,
            clock: self.clock.as_ref(),
            finished: false,
            started_at: self.clock.now(),
        };
        let failed = |attempt: Attempt| {
            *last.lock().unwrap_or_else(PoisonError::into_inner) = attempt.failed();
            self.series.called(attempt.failed(), attempt.duration);
        };
        let result = self.caller.post_review(version.build_review(spec), &failed).await;
        pending.finished = true;
        let verdict = result.and_then(|response| {
            let verdict = version.verdict(&response.body);
            let call_result = if verdict.is_ok() { CallResult::Success } else { CallResult::Error };
            self.series.called(call_result, response.duration);
            verdict
        });
        if verdict.is_err() && !self.options.deny_on_error {
            self.series.failed_open(*last.lock().unwrap_or_else(PoisonError::into_inner));
        }
        verdict
    }

    /// Decides a request after an error. `kind` is recorded if the next authorizer decides instead.
    fn failure(&self, kind: WeakenedKind, error: &Error) -> Decision {
        if !self.options.deny_on_error {
            self.series.weakened(kind, error);
        }
        let error = error.to_string();
        Decision::Failed(AuthorizerError { denied: self.options.deny_on_error, reason: String::new(), error })
    }
}

/// Returns the time since `start`.
fn since(clock: &dyn Clock, start: UnixTime) -> Duration {
    Duration::from_nanos(u64::try_from(clock.now().nanos_since(start)).unwrap_or(0))
}

/// A call in progress. Counts as canceled if its caller is dropped.
struct PendingCall<'w> {
    series: &'w Series,
    clock: &'w dyn Clock,
    started_at: UnixTime,
    finished: bool,
}

impl Drop for PendingCall<'_> {
    fn drop(&mut self) {
        if !self.finished {
            self.series.called(CallResult::Canceled, since(self.clock, self.started_at));
        }
    }
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhook").field("options", &self.options).finish_non_exhaustive()
    }
}

#[async_trait]
impl Authorizer for Webhook {
    async fn decide(&self, attributes: Attributes<'_>) -> Decision {
        match self.matches_conditions(&attributes) {
            Ok(true) => {}
            Ok(false) => return Decision::NoOpinion(String::new()),
            Err(error) => return self.failure(WeakenedKind::MatchConditionFailOpen, &error),
        }
        match self.verdict(&attributes).await {
            Err(error) => self.failure(WeakenedKind::UnreachableAuthorizer, &error),
            Ok(ReviewStatus { denied: true, allowed: true, reason }) => Decision::Failed(AuthorizerError {
                denied: true,
                reason: reason.to_string(),
                error: "webhook subject access review returned both allow and deny response".to_owned(),
            }),
            Ok(ReviewStatus { denied: true, reason, .. }) => Decision::Deny(reason.to_string()),
            Ok(ReviewStatus { allowed: true, reason, .. }) => Decision::Allow(reason),
            Ok(ReviewStatus { reason, .. }) => Decision::NoOpinion(reason.to_string()),
        }
    }

    async fn rules(&self, _: &UserInfo, _: &str) -> Rules {
        Rules {
            error: "webhook authorizer does not support user rule resolution".to_owned(),
            ..Rules::unknown()
        }
    }
}

#[cfg(test)]
mod tests;
