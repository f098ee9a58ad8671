//! Audit metrics, with upstream's names and help texts.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use crate::Level;

#[derive(Debug, Default)]
pub struct Figures {
    events: AtomicU64,
    rejected: AtomicU64,
    /// Requests by level.
    levels: [AtomicU64; 4],
    /// Lost events by plugin.
    errors: Mutex<BTreeMap<&'static str, u64>>,
}

impl Figures {
    pub fn event(&self) {
        self.events.fetch_add(1, Relaxed);
    }

    /// Counts a request by its audit level.
    pub fn level(&self, level: Level) {
        let at = Level::ALL.iter().position(|one| *one == level);
        at.and_then(|at| self.levels.get(at)).inspect(|count| _ = count.fetch_add(1, Relaxed));
    }

    /// Counts a request that was rejected because it could not be recorded.
    pub fn rejected(&self) {
        self.rejected.fetch_add(1, Relaxed);
    }

    /// Counts lost events and logs them, one line each, as upstream does.
    pub fn lost(&self, by: &'static str, why: &dyn Display, lines: impl IntoIterator<Item = String>) {
        let lines: Vec<String> = lines.into_iter().collect();
        let count = u64::try_from(lines.len()).unwrap_or(u64::MAX);
        *self.errors.lock().unwrap_or_else(PoisonError::into_inner).entry(by).or_default() += count;
        let impacted = lines.join("\n");
        tracing::error!(
            "Error in audit plugin '{by}' affecting {count} audit events: {why}\nImpacted events:\n{impacted}"
        );
    }

    pub fn write(&self, out: &mut String) {
        let simple = [
            (
                "apiserver_audit_event_total",
                "Counter of audit events generated and sent to the audit backend.",
                &self.events,
            ),
            (
                "apiserver_audit_requests_rejected_total",
                "Counter of apiserver requests rejected due to an error in audit logging backend.",
                &self.rejected,
            ),
        ];
        for (name, help, counter) in simple {
            let count = counter.load(Relaxed);
            let _ = writeln!(out, "# HELP {name} [ALPHA] {help}\n# TYPE {name} counter\n{name} {count}");
        }
        let levels: Vec<_> = Level::ALL
            .iter()
            .zip(&self.levels)
            .map(|(level, count)| (level.name(), count.load(Relaxed)))
            .collect();
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let errors: Vec<_> = errors.iter().map(|(plugin, count)| (*plugin, *count)).collect();
        for (name, help, label, counts) in [
            (
                "apiserver_audit_error_total",
                "Counter of audit events that failed to be audited properly. Plugin identifies the plugin affected by \
                 the error.",
                "plugin",
                errors,
            ),
            (
                "apiserver_audit_level_total",
                "Counter of policy levels for audit events (1 per request).",
                "level",
                levels,
            ),
        ] {
            if counts.iter().all(|(_, count)| *count == 0) {
                continue;
            }
            let _ = writeln!(out, "# HELP {name} [ALPHA] {help}\n# TYPE {name} counter");
            for (value, count) in counts.iter().filter(|(_, count)| *count > 0) {
                let _ = writeln!(out, "{name}{{{label}=\"{value}\"}} {count}");
            }
        }
    }
}
