//! Conditions of a namespace whose deletion is in progress (upstream's
//! `namespace/deletion/status_condition_utils.go`). Pure.

use std::collections::BTreeMap;

use api::tree;
use apimachinery::foreign_text::ForeignText;
use jsontree::{Value, json};
use schema::object::Object;

/// Maximum size of a message in bytes, as for the conditions of `meta/v1`. Users choose the names of finalizers, and a namespace
/// that is too large for the store could not be deleted.
const MESSAGE_BYTES_MAX: usize = 32 * 1024;
/// Maximum number of finalizers and of errors in a report. More would not fit into a message.
const ENTRIES_MAX: usize = 1000;

/// Content of a namespace after an attempt to delete it.
#[derive(Debug, Default)]
pub struct ContentReport {
    /// Number of remaining objects by resource.
    pub(super) remaining: BTreeMap<String, usize>,
    /// Number of remaining objects by finalizer.
    pub(super) finalizers: BTreeMap<String, usize>,
    /// Failures to delete.
    pub(super) errors: Vec<String>,
    /// The resources of some API servers are unknown.
    pub(super) discovery_error: Option<String>,
}

impl ContentReport {
    /// Adds the content of another report.
    pub(super) fn merge(&mut self, other: ContentReport) {
        for (resource, count) in other.remaining {
            *self.remaining.entry(resource).or_default() += count;
        }
        for (finalizer, count) in other.finalizers {
            self.add_finalizers(&finalizer, count);
        }
        other.errors.iter().for_each(|error| self.add_error(error));
        self.discovery_error = self.discovery_error.take().or(other.discovery_error);
    }

    /// Counts a remaining object with this finalizer.
    pub(super) fn add_finalizer(&mut self, finalizer: &str) {
        self.add_finalizers(finalizer, 1);
    }

    fn add_finalizers(&mut self, finalizer: &str, count: usize) {
        let finalizer = ForeignText::new(finalizer);
        if self.finalizers.len() < ENTRIES_MAX || self.finalizers.contains_key(finalizer.as_str()) {
            let total = self.finalizers.entry(finalizer.into()).or_default();
            *total = total.saturating_add(count);
        }
    }

    /// Adds a failure to delete.
    pub(super) fn add_error(&mut self, error: &str) {
        if self.errors.len() < ENTRIES_MAX {
            self.errors.push(ForeignText::new(error).into());
        }
    }

    /// True if nothing is left and nothing failed.
    pub(super) fn is_clean(&self) -> bool {
        self.remaining.is_empty() && self.errors.is_empty() && self.discovery_error.is_none()
    }

    /// True if an attempt failed, and a new one does not have to wait for other controllers.
    pub(super) fn has_failed(&self) -> bool {
        !self.errors.is_empty() || self.discovery_error.is_some()
    }

    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        if let Some(error) = &self.discovery_error {
            problems.push(Problem {
                condition: "NamespaceDeletionDiscoveryFailure",
                reason: "DiscoveryFailed",
                message: error.clone(),
            });
        }
        if !self.errors.is_empty() {
            let mut errors = self.errors.clone();
            errors.sort_unstable();
            let message = format!(
                "Failed to delete all resource types, {} remaining: {}",
                errors.len(),
                errors.join(", ")
            );
            let condition = "NamespaceDeletionContentFailure";
            problems.push(Problem { condition, reason: "ContentDeletionFailed", message });
        }
        if !self.remaining.is_empty() {
            let each =
                |(resource, count): (&String, &usize)| format!("{resource} has {count} resource instances");
            let message = format!("Some resources are remaining: {}", joined(&self.remaining, each));
            let condition = "NamespaceContentRemaining";
            problems.push(Problem { condition, reason: "SomeResourcesRemain", message });
        }
        if !self.finalizers.is_empty() {
            let each =
                |(finalizer, count): (&String, &usize)| format!("{finalizer} in {count} resource instances");
            let message = format!(
                "Some content in the namespace has finalizers remaining: {}",
                joined(&self.finalizers, each)
            );
            let condition = "NamespaceFinalizersRemaining";
            problems.push(Problem { condition, reason: "SomeFinalizersRemain", message });
        }
        problems
    }
}

fn joined(counts: &BTreeMap<String, usize>, each: impl Fn((&String, &usize)) -> String) -> String {
    let mut texts: Vec<String> = counts.iter().map(each).collect();
    texts.sort_unstable();
    texts.join(", ")
}

/// A condition that is true.
struct Problem {
    condition: &'static str,
    reason: &'static str,
    message: String,
}

/// A condition with its reason and message while it is false.
struct HealthyCondition {
    condition: &'static str,
    reason: &'static str,
    message: &'static str,
}

/// All conditions in upstream's order.
const CONDITIONS: [HealthyCondition; 5] = [
    HealthyCondition {
        condition: "NamespaceDeletionDiscoveryFailure",
        reason: "ResourcesDiscovered",
        message: "All resources successfully discovered",
    },
    HealthyCondition {
        condition: "NamespaceDeletionGroupVersionParsingFailure",
        reason: "ParsedGroupVersions",
        message: "All legacy kube types successfully parsed",
    },
    HealthyCondition {
        condition: "NamespaceDeletionContentFailure",
        reason: "ContentDeleted",
        message: "All content successfully deleted, may be waiting on finalization",
    },
    HealthyCondition {
        condition: "NamespaceContentRemaining",
        reason: "ContentRemoved",
        message: "All content successfully removed",
    },
    HealthyCondition {
        condition: "NamespaceFinalizersRemaining",
        reason: "ContentHasNoFinalizers",
        message: "All content-preserving finalizers finished",
    },
];

/// Sets the conditions of a namespace. Returns true if one has changed. `now` is in RFC 3339.
pub(super) fn set_conditions(namespace: &mut Object, report: &ContentReport, now: &str) -> bool {
    let problems = report.problems();
    let status = namespace.entry("status").or_insert_with(|| json!({}));
    let Some(status) = status.as_object_mut() else { return false };
    let conditions = status.entry("conditions").or_insert_with(|| json!([]));
    let Some(conditions) = conditions.as_array_mut() else { return false };
    let mut changed = false;
    for HealthyCondition { condition, reason, message } in &CONDITIONS {
        let problem = problems.iter().find(|problem| problem.condition == *condition);
        let desired = Desired {
            condition,
            status: if problem.is_some() { "True" } else { "False" },
            reason: problem.map_or(reason, |problem| problem.reason),
            message: problem.map_or(message, |problem| truncated(&problem.message)),
        };
        changed |= desired.set(conditions, now);
    }
    changed
}

/// Truncates a message to [`MESSAGE_BYTES_MAX`].
fn truncated(message: &str) -> &str {
    message.get(..message.floor_char_boundary(MESSAGE_BYTES_MAX)).unwrap_or_default()
}

struct Desired<'a> {
    condition: &'a str,
    status: &'a str,
    reason: &'a str,
    message: &'a str,
}

impl Desired<'_> {
    fn set(&self, conditions: &mut Vec<Value>, now: &str) -> bool {
        let Desired { condition, status, reason, message } = *self;
        let is_same = |current: &&mut Object| tree::text(current, "type") == condition;
        let Some(current) = conditions.iter_mut().filter_map(Value::as_object_mut).find(is_same) else {
            conditions.push(json!({
                "type": condition, "status": status, "lastTransitionTime": now,
                "reason": reason, "message": message,
            }));
            return true;
        };
        let expected = [status, reason, message];
        if ["status", "reason", "message"].map(|member| tree::text(current, member)) == expected {
            return false;
        }
        if tree::text(current, "status") != status {
            current.insert("lastTransitionTime", now.into());
        }
        current.insert("status", status.into());
        current.insert("reason", reason.into());
        current.insert("message", message.into());
        true
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::desired_state::object;

    fn true_conditions(namespace: &Object) -> Vec<(String, String)> {
        let conditions = tree::children(tree::child(namespace, "status").unwrap(), "conditions");
        let of = |c: &Object| (tree::text(c, "type").to_owned(), tree::text(c, "message").to_owned());
        conditions.filter(|c| tree::text(c, "status") == "True").map(of).collect()
    }

    fn counts(entries: &[(&str, usize)]) -> BTreeMap<String, usize> {
        entries.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    #[test]
    fn problems_become_conditions() {
        let mut namespace = object(json!({"metadata": {"name": "n"}}));
        let report = ContentReport {
            remaining: counts(&[("pods.", 2), ("widgets.example.com", 1)]),
            finalizers: counts(&[("example.com/f", 3)]),
            errors: vec!["second".to_owned(), "first".to_owned()],
            discovery_error: Some("stale".to_owned()),
        };
        assert!(set_conditions(&mut namespace, &report, "t1"));
        let expected = [
            ("NamespaceDeletionDiscoveryFailure", "stale"),
            (
                "NamespaceDeletionContentFailure",
                "Failed to delete all resource types, 2 remaining: first, second",
            ),
            (
                "NamespaceContentRemaining",
                "Some resources are remaining: pods. has 2 resource instances, \
                 widgets.example.com has 1 resource instances",
            ),
            (
                "NamespaceFinalizersRemaining",
                "Some content in the namespace has finalizers remaining: example.com/f in 3 resource instances",
            ),
        ];
        assert_eq!(true_conditions(&namespace), expected.map(|(c, m)| (c.to_owned(), m.to_owned())));
    }

    #[test]
    fn messages_have_a_maximum_size() {
        let mut report = ContentReport::default();
        for number in 0..5000 {
            report.add_finalizer(&format!("example.com/{number}-{}", "f".repeat(300)));
            report.add_error(&"e".repeat(5000));
        }
        let mut merged = ContentReport::default();
        merged.add_finalizer("example.com/other");
        merged.merge(report);
        assert_eq!(merged.finalizers.len(), ENTRIES_MAX);
        let mut namespace = object(json!({"metadata": {"name": "n"}}));
        assert!(set_conditions(&mut namespace, &merged, "t1"));
        let sizes: Vec<_> = true_conditions(&namespace).iter().map(|(_, message)| message.len()).collect();
        assert_eq!(sizes, [MESSAGE_BYTES_MAX, MESSAGE_BYTES_MAX]);
    }

    #[test]
    fn conditions_change_once() {
        let mut namespace = object(json!({"metadata": {"name": "n"}}));
        assert!(set_conditions(&mut namespace, &ContentReport::default(), "t1"));
        assert!(!set_conditions(&mut namespace, &ContentReport::default(), "t2"));
        let conditions = tree::list(tree::child(&namespace, "status").unwrap(), "conditions");
        assert_eq!(conditions.len(), 5);
        assert!(conditions.iter().all(|c| c["lastTransitionTime"] == "t1" && c["status"] == "False"));
    }
}
