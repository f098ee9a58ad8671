//! Shared state of a run, and the rules for valid errors.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cacher::cache::Limits;
use cacher::{Delegator, Error, Freshness, Resource};
use storage::Revision;
use tokio::time::{Instant, timeout};

use super::history::{Change, History};
use super::journal::Journal;
use super::kinds::Kind;
use super::link::Link;
use super::sabotage::Bug;

/// Maximum time a read waits in the cache.
const WAIT_MAX: Duration = Duration::from_secs(3);
/// Maximum time of any read, regardless of faults.
const HANGS_AFTER: Duration = Duration::from_secs(60);
/// Upper bound of an object's memory size in the simulation.
const OBJECT_BYTES_MAX: usize = 512;

#[derive(Debug)]
pub struct Violation(pub String);

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub fn violation<T>(problem: impl Into<String>) -> Result<T, Violation> {
    Err(Violation(problem.into()))
}

/// The system and its environment.
pub struct World {
    pub delegator: Delegator,
    pub link: Arc<Link>,
    pub journal: Arc<Journal>,
    pub limits: Limits,
    pub bug: Option<Bug>,
    /// The highest revision that a client has seen.
    pub observed: AtomicI64,
    /// True while the clients run.
    pub storm: AtomicBool,
    /// Start of the phase without obstacles to delivery.
    pub calm_since: OnceLock<Instant>,
    /// Watches end when they have delivered everything up to this revision; 0 while undecided.
    pub finish: AtomicI64,
}

/// The circumstances at the time of a request.
pub struct RequestState {
    at: Instant,
    failures: u64,
    pub gaps: u64,
    /// Number of installs and retirements.
    turnover: u64,
    /// The highest revision seen by a client.
    pub observed: Revision,
    pub revision: Revision,
}

impl World {
    /// The resource of a kind; `None` while retired.
    pub fn resource(&self, kind: &Kind) -> Option<Arc<Resource>> {
        self.delegator.resource(kind.prefix)
    }

    /// Installs or replaces the resource of a kind.
    pub fn install(&self, kind: &'static Kind) {
        let replaces = self.resource(kind).is_some();
        let event = if replaces { "resource replaced" } else { "resource installed" };
        self.journal.count(event);
        self.journal.note("installer", &format!("{event}: {}", kind.prefix));
        self.link.turn_over(kind.prefix);
        self.delegator.install(kind.config());
    }

    pub fn retire(&self, kind: &'static Kind) {
        let listed = kind.cached && self.link.may_be_unready(kind);
        let event = if listed { "resource retired while it was listed" } else { "resource retired" };
        self.journal.count(event);
        self.journal.note("installer", &format!("{event}: {}", kind.prefix));
        self.link.turn_over(kind.prefix);
        self.delegator.retire(kind.prefix);
    }

    /// True if a resource of this kind may have been retired since the request.
    pub fn may_be_retired_since(&self, request_state: &RequestState, kind: &Kind) -> bool {
        kind.comes_and_goes && self.link.turnover() > request_state.turnover
    }

    pub fn history<T>(&self, look: impl FnOnce(&History) -> T) -> T {
        self.link.ledger.history(look)
    }

    /// True while clients run.
    pub fn is_stormy(&self) -> bool {
        self.storm.load(Relaxed)
    }

    /// Records that a client has seen this revision.
    pub fn observe(&self, revision: Revision) {
        self.observed.fetch_max(revision, Relaxed);
    }

    /// The revision of the cache, without waiting.
    pub async fn cached_to(&self, kind: &Kind) -> Revision {
        let Some(resource) = self.resource(kind).filter(|_| kind.cached) else { return 0 };
        let response = self.delegator.get(&resource, "", Freshness::NotOlderThan(0));
        response.await.map_or(0, |response| response.revision)
    }

    /// Records the circumstances before a request.
    pub fn request_state(&self) -> RequestState {
        RequestState {
            at: Instant::now(),
            failures: self.link.failures(),
            gaps: self.link.gaps(),
            turnover: self.link.turnover(),
            observed: self.observed.load(Relaxed),
            revision: self.history(History::revision),
        }
    }

    /// The result of a request; fails if it hangs.
    pub async fn within_deadline<T>(
        &self,
        label: &str,
        request: impl Future<Output = T>,
    ) -> Result<T, Violation> {
        timeout(HANGS_AFTER, request).await.or_else(|_| violation(format!("{label} hangs")))
    }

    /// Checks the revision of a read's result.
    pub fn check_revision(
        &self,
        request_state: &RequestState,
        freshness: Freshness,
        revision: Revision,
    ) -> Result<(), Violation> {
        let (low, high) = match freshness {
            Freshness::Consistent => (request_state.observed, self.history(History::revision)),
            Freshness::NotOlderThan(requested) => (requested, self.history(History::revision)),
            Freshness::Exact(requested) => (requested, requested),
        };
        if (low..=high).contains(&revision) {
            return Ok(());
        }
        violation(format!("{freshness:?} was answered at {revision}, which is not in {low}..={high}"))
    }

    /// Checks that the circumstances excuse an error. `needed` is the oldest revision that had to be read.
    pub fn excuse(
        &self,
        request_state: &RequestState,
        kind: &Kind,
        needed: Revision,
        error: &Error,
    ) -> Result<(), Violation> {
        let waited = request_state.at.elapsed() >= WAIT_MAX;
        let (name, excused) = match error {
            Error::Storage(storage::Error::Unavailable(_)) => {
                ("unavailable", waited || self.link.failures() > request_state.failures)
            }
            Error::Storage(storage::Error::Compacted { .. }) => {
                ("compacted", needed < self.link.ledger.compacted_to())
            }
            Error::FutureRevision { requested, retry_after_seconds: 0, .. } => {
                ("future revision, from storage", *requested > request_state.revision)
            }
            Error::FutureRevision { .. } => ("future revision, from the cache", waited && kind.cached),
            Error::NotReady { .. } => {
                let retired = self.may_be_retired_since(request_state, kind);
                ("not ready", kind.cached && (retired || self.link.may_be_unready(kind)))
            }
            Error::TooOld { requested, oldest } => {
                let named = *requested == needed && requested < oldest;
                ("too old", named && self.may_begin_after(kind, *oldest))
            }
            _ => ("no error that a request may have", false),
        };
        self.journal.count(name);
        if excused { Ok(()) } else { violation(format!("there is no excuse for {error:?}")) }
    }

    /// True if a watch may have to start after a revision: it is that of the fill, or the cache may have
    /// dropped the last change up to it. If several changes have its revision, the first is sufficient.
    fn may_begin_after(&self, kind: &Kind, oldest: Revision) -> bool {
        let filled = self.link.filled_at(kind.prefix);
        oldest == filled
            || self.history(|history| {
                let changes = history.changes().iter().enumerate();
                let before = changes.take(history.after(oldest)).skip(history.after(filled));
                let mut of_kind = before.filter(|(_, change)| change.key.starts_with(kind.prefix)).rev();
                let last = of_kind.next();
                let revision = last.map(|(_, change)| change.revision);
                let with_last = of_kind.take_while(|(_, change)| Some(change.revision) == revision);
                let first = with_last.last().or(last);
                first.is_some_and(|(at, change)| self.may_be_forgotten(kind, history, at, change))
            })
    }

    /// True if the cache may have dropped a change.
    pub fn may_be_forgotten(&self, kind: &Kind, history: &History, at: usize, change: &Change) -> bool {
        let later = history.changes().iter().skip(at + 1);
        let later = later.filter(|change| change.key.starts_with(kind.prefix)).count();
        let limits = &self.limits;
        later >= limits.events_max
            || (later + 1) * OBJECT_BYTES_MAX >= limits.bytes_max
            || (later >= limits.events_min && change.at.elapsed() > limits.age_max)
    }
}
