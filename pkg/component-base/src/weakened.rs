//! Registry of weakened decisions: a check was skipped, or was made with old or incomplete data, and the server
//! continued. Each one is logged with its cause, counted, and kept for the console.

mod text;

use std::fmt::{self, Display};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use apimachinery::time::UnixTime;

use crate::clock::{Clock, TestClock};
use crate::line_limit::LineLimit;
use crate::metrics::{Counter, Family, MetricsRegistry, Page, Stability};

/// Maximum age in seconds of a decision in [`WeakenedDecisions::recent`].
pub const RECENT_SECONDS: i64 = 600;
/// Maximum number of names per kind. A new name replaces the one that was recorded least recently.
const NAMES_MAX: usize = 32;
/// Maximum length of a name in bytes.
const NAME_BYTES_MAX: usize = 512;
/// Maximum length of a cause in bytes. A cause can contain text from other programs.
const CAUSE_BYTES_MAX: usize = 2_048;
/// Minimum time in seconds between two log lines with the same kind, name and cause.
const SAME_CAUSE_SECONDS: i64 = 60;

const TOTAL: Family<Counter, 1> = Family::counter(
    Stability::Internal,
    "mainstay_weakened_decisions_total",
    "Decisions that were made without a check that is configured, or with old or incomplete data, by kind.",
    ["kind"],
);

/// Kind of a weakened decision. Every kind has an alert.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WeakenedKind {
    /// The call of an admission webhook failed and the request continued (`failurePolicy: Ignore`, or
    /// `defaultAllow` of the image policy webhook).
    WebhookFailOpen,
    /// A match condition of a webhook or policy could not be evaluated, so the webhook or policy was skipped.
    MatchConditionFailOpen,
    /// An admission policy could not be evaluated and the request continued (`failurePolicy: Ignore`).
    PolicyFailOpen,
    /// A changed configuration file is unusable, so the previous configuration remains active.
    StaleConfiguration,
    /// A certificate that the server presents has expired or expires soon.
    CertificateExpiry,
    /// A stored object cannot be decrypted or decoded.
    UnreadableElement,
    /// A configured setting has no effect.
    IgnoredSetting,
    /// An authorization webhook could not decide and the next authorizer decides (`failurePolicy: NoOpinion`).
    UnreachableAuthorizer,
    /// Audit events were not delivered and the requests continued.
    LostAuditEvents,
    /// The memory use of the process cannot be read, so the memory limit is checked against an old value.
    UnknownMemoryUse,
}

impl WeakenedKind {
    /// All kinds, in the order of their declaration.
    pub const ALL: [WeakenedKind; 10] = [
        WeakenedKind::WebhookFailOpen,
        WeakenedKind::MatchConditionFailOpen,
        WeakenedKind::PolicyFailOpen,
        WeakenedKind::StaleConfiguration,
        WeakenedKind::CertificateExpiry,
        WeakenedKind::UnreadableElement,
        WeakenedKind::IgnoredSetting,
        WeakenedKind::UnreachableAuthorizer,
        WeakenedKind::LostAuditEvents,
        WeakenedKind::UnknownMemoryUse,
    ];

    /// Returns the value of the label `kind`.
    pub fn name(self) -> &'static str {
        match self {
            WeakenedKind::WebhookFailOpen => "webhook_fail_open",
            WeakenedKind::MatchConditionFailOpen => "match_condition_fail_open",
            WeakenedKind::PolicyFailOpen => "policy_fail_open",
            WeakenedKind::StaleConfiguration => "stale_configuration",
            WeakenedKind::CertificateExpiry => "certificate_expiry",
            WeakenedKind::UnreadableElement => "unreadable_element",
            WeakenedKind::IgnoredSetting => "ignored_setting",
            WeakenedKind::UnreachableAuthorizer => "unreachable_authorizer",
            WeakenedKind::LostAuditEvents => "lost_audit_events",
            WeakenedKind::UnknownMemoryUse => "unknown_memory_use",
        }
    }

    /// Returns the message of log lines.
    pub fn message(self) -> &'static str {
        match self {
            WeakenedKind::WebhookFailOpen => "failed calling webhook, failing open",
            WeakenedKind::MatchConditionFailOpen => "failed evaluating match conditions, failing open",
            WeakenedKind::PolicyFailOpen => "failed evaluating admission policy, failing open",
            WeakenedKind::StaleConfiguration => "failed to reload configuration, the previous one remains",
            WeakenedKind::CertificateExpiry => "certificate expires",
            WeakenedKind::UnreadableElement => "stored object cannot be read",
            WeakenedKind::IgnoredSetting => "setting has no effect",
            WeakenedKind::UnreachableAuthorizer => {
                "authorization webhook failed, the next authorizer decides"
            }
            WeakenedKind::LostAuditEvents => "audit events were lost",
            WeakenedKind::UnknownMemoryUse => {
                "memory use is unknown, the limit is checked against an old value"
            }
        }
    }
}

/// Weakened decisions with the same kind and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WeakenedDecision {
    /// The kind.
    pub kind: WeakenedKind,
    /// The webhook, policy, file, flag, or other subject. At most 512 bytes.
    pub name: String,
    /// The latest cause. At most 2,048 bytes.
    pub cause: String,
    /// Time of the latest one.
    pub last: UnixTime,
    /// Number of decisions since the name was recorded for the first time.
    pub count: u64,
}

/// Weakened decisions of a server. Clones share them. The default is for tests: its clock is fixed and its
/// counters are on no page.
///
/// Memory is bounded: 32 names per kind, each with one cause.
#[derive(Clone)]
pub struct WeakenedDecisions(Arc<Shared>);

struct Shared {
    clock: Arc<dyn Clock>,
    /// In the order of [`WeakenedKind::ALL`].
    kinds: [OfKind; WeakenedKind::ALL.len()],
}

#[derive(Default)]
struct OfKind {
    count: AtomicU64,
    retained: Mutex<RetainedSubjects>,
    lines: LineLimit,
}

#[derive(Default)]
struct RetainedSubjects {
    subjects: Vec<Subject>,
    /// Number of decisions without a log line of names that were replaced.
    unlogged: u64,
}

/// A name with its latest decision and its latest log line, if any.
struct Subject {
    decision: WeakenedDecision,
    logged: Option<Logged>,
    /// Number of decisions without a log line since then.
    unlogged: u64,
}

/// A log line.
struct Logged {
    time: UnixTime,
    cause: String,
}

/// Numbers of decisions without a log line since the preceding line.
struct Unlogged {
    /// Decisions of the same name.
    of_name: u64,
    /// Decisions of names that were replaced.
    of_replaced_names: u64,
}

impl OfKind {
    fn lock_retained(&self) -> MutexGuard<'_, RetainedSubjects> {
        self.retained.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl WeakenedDecisions {
    /// Creates an empty registry. Its counters start at zero on the page of `registry`.
    pub fn new(registry: &MetricsRegistry, clock: Arc<dyn Clock>) -> Self {
        let this = WeakenedDecisions(Arc::new(Shared { clock, kinds: Default::default() }));
        let read = this.clone();
        registry.collect(&[&TOTAL], move |page| read.write(page));
        this
    }

    /// Records a decision: counts it, keeps it for [`recent`](Self::recent), and logs it with its cause. Lines
    /// with the same name and cause have a distance of at least a minute; the next one contains the number of
    /// decisions in between (`unlogged`). All names of a kind have at most 32 lines in a burst, then one per
    /// second; the next one contains the number of unlogged decisions of names that are no longer kept
    /// (`unlogged_others`). `name` and `cause` are truncated.
    pub fn record(&self, kind: WeakenedKind, name: &str, cause: &dyn Display) {
        let name = text::truncated(&name, NAME_BYTES_MAX);
        let cause = text::truncated(cause, CAUSE_BYTES_MAX);
        let Some(of_kind) = self.of(kind) else { return };
        of_kind.count.fetch_add(1, Relaxed);
        let unlogged = of_kind.remember(kind, &name, &cause, self.0.clock.now());
        if let Some(Unlogged { of_name: unlogged, of_replaced_names: unlogged_others }) = unlogged {
            tracing::warn!(kind = kind.name(), name, cause, unlogged, unlogged_others, "{}", kind.message());
        }
    }

    /// Returns the decisions of the last ten minutes, the latest first.
    pub fn recent(&self) -> Vec<WeakenedDecision> {
        let now = self.0.clock.now();
        let is_recent =
            |subject: &&Subject| now.seconds.saturating_sub(subject.decision.last.seconds) < RECENT_SECONDS;
        let mut recent: Vec<WeakenedDecision> = Vec::new();
        for kind in &self.0.kinds {
            recent.extend(
                kind.lock_retained()
                    .subjects
                    .iter()
                    .filter(is_recent)
                    .map(|subject| subject.decision.clone()),
            );
        }
        recent.sort_by_key(|decision| std::cmp::Reverse((decision.last.seconds, decision.last.nanos)));
        recent
    }

    /// Returns the number of decisions of a kind since the start.
    pub fn count(&self, kind: WeakenedKind) -> u64 {
        self.of(kind).map_or(0, |of_kind| of_kind.count.load(Relaxed))
    }

    fn of(&self, kind: WeakenedKind) -> Option<&OfKind> {
        let place = WeakenedKind::ALL.iter().position(|entry| *entry == kind)?;
        self.0.kinds.get(place)
    }

    /// Writes all series, also those at zero: an alert on the increase needs the value before the first decision.
    fn write(&self, page: &mut Page<'_>) {
        let mut samples = page.family(&TOTAL);
        for kind in WeakenedKind::ALL {
            samples.add([kind.name()], self.count(kind));
        }
    }
}

impl OfKind {
    /// Keeps a decision. Returns the numbers of preceding ones without a log line; `None` if this one gets no
    /// line either.
    fn remember(&self, kind: WeakenedKind, name: &str, cause: &str, now: UnixTime) -> Option<Unlogged> {
        let mut retained = self.lock_retained();
        let RetainedSubjects { subjects, unlogged } = &mut *retained;
        let place = subjects.iter().position(|subject| subject.decision.name == name);
        let place = place.unwrap_or_else(|| {
            if subjects.len() >= NAMES_MAX {
                *unlogged = unlogged.saturating_add(remove_oldest(subjects));
            }
            let name = name.to_owned();
            let decision = WeakenedDecision { kind, name, cause: String::new(), last: now, count: 0 };
            subjects.push(Subject { decision, logged: None, unlogged: 0 });
            subjects.len().saturating_sub(1)
        });
        let subject = subjects.get_mut(place)?;
        let decision = &mut subject.decision;
        decision.last = now;
        decision.count = decision.count.saturating_add(1);
        cause.clone_into(&mut decision.cause);
        if !subject.needs_line(now) || self.lines.admit(now.seconds).is_none() {
            subject.unlogged = subject.unlogged.saturating_add(1);
            return None;
        }
        subject.logged = Some(Logged { time: now, cause: cause.to_owned() });
        Some(Unlogged {
            of_name: std::mem::take(&mut subject.unlogged),
            of_replaced_names: std::mem::take(unlogged),
        })
    }
}

impl Subject {
    /// True if the latest decision is not similar to the logged one.
    fn needs_line(&self, now: UnixTime) -> bool {
        let Some(logged) = &self.logged else { return true };
        let passed = now.seconds.saturating_sub(logged.time.seconds);
        passed >= SAME_CAUSE_SECONDS || logged.cause != self.decision.cause && passed > 0
    }
}

/// Removes the subject that was recorded least recently. Returns the number of its decisions without a log line.
fn remove_oldest(subjects: &mut Vec<Subject>) -> u64 {
    let age = |subject: &(usize, &Subject)| {
        let last = subject.1.decision.last;
        (last.seconds, last.nanos)
    };
    let oldest = subjects.iter().enumerate().min_by_key(age).map(|(place, _)| place);
    oldest.map_or(0, |place| subjects.remove(place).unlogged)
}

impl Default for WeakenedDecisions {
    fn default() -> Self {
        WeakenedDecisions::new(&MetricsRegistry::default(), Arc::<TestClock>::default())
    }
}

impl fmt::Debug for WeakenedDecisions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.recent()).finish()
    }
}

#[cfg(test)]
mod tests;
