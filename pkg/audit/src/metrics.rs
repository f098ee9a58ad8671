//! Audit metrics, with upstream's names and help texts.

use std::fmt::Display;

use component_base::metrics::{Counter, CounterVec, Family, MetricsRegistry, Stability};
use component_base::weakened::{WeakenedDecisions, WeakenedKind};

use crate::Level;

const EVENTS: Family<Counter, 0> = Family::counter(
    Stability::Alpha,
    "apiserver_audit_event_total",
    "Counter of audit events generated and sent to the audit backend.",
    [],
);
const REJECTED: Family<Counter, 0> = Family::counter(
    Stability::Alpha,
    "apiserver_audit_requests_rejected_total",
    "Counter of apiserver requests rejected due to an error in audit logging backend.",
    [],
);
const ERRORS: Family<Counter, 1> = Family::counter(
    Stability::Alpha,
    "apiserver_audit_error_total",
    "Counter of audit events that failed to be audited properly. Plugin identifies the plugin affected by the error.",
    ["plugin"],
);
const LEVELS: Family<Counter, 1> = Family::counter(
    Stability::Alpha,
    "apiserver_audit_level_total",
    "Counter of policy levels for audit events (1 per request).",
    ["level"],
);

#[derive(Debug)]
pub struct AuditMetrics {
    events: Counter,
    rejected: Counter,
    /// Requests, in the order of [`Level::ALL`].
    levels: [Counter; 4],
    /// Lost events by plugin.
    errors: CounterVec<1>,
    weakened: WeakenedDecisions,
}

impl AuditMetrics {
    /// Registers the metrics. Lost events are also recorded in `weakened`.
    pub fn new(registry: &MetricsRegistry, weakened: &WeakenedDecisions) -> Self {
        let levels = registry.register_vec(&LEVELS);
        AuditMetrics {
            events: registry.register(&EVENTS),
            rejected: registry.register(&REJECTED),
            levels: Level::ALL.map(|level| levels.with([level.name()])),
            errors: registry.register_vec(&ERRORS),
            weakened: weakened.clone(),
        }
    }

    /// Returns the registry of weakened decisions.
    pub fn weakened(&self) -> &WeakenedDecisions {
        &self.weakened
    }

    pub fn event(&self) {
        self.events.increment();
    }

    /// Counts a request by its audit level.
    pub fn level(&self, level: Level) {
        let at = Level::ALL.iter().position(|one| *one == level);
        at.and_then(|at| self.levels.get(at)).inspect(|count| count.increment());
    }

    /// Counts a request that was rejected because it could not be recorded.
    pub fn rejected(&self) {
        self.rejected.increment();
    }

    /// Counts lost events and logs them, one line each, as upstream does.
    pub fn lost(&self, by: &'static str, error: &dyn Display, lines: impl IntoIterator<Item = String>) {
        let lines: Vec<String> = lines.into_iter().collect();
        let count = u64::try_from(lines.len()).unwrap_or(u64::MAX);
        self.errors.with([by]).add(count);
        self.weakened.record(WeakenedKind::LostAuditEvents, by, error);
        let impacted = lines.join("\n");
        tracing::error!(
            "Error in audit plugin '{by}' affecting {count} audit events: {error}\nImpacted events:\n{impacted}"
        );
    }
}

/// Metrics that are counted but not exported.
impl Default for AuditMetrics {
    fn default() -> Self {
        AuditMetrics::new(&MetricsRegistry::default(), &WeakenedDecisions::default())
    }
}
