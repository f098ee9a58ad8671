//! States of the responders of an eviction: one is active at a time, in the order of priorities.

use super::items::{RESPONDERS_MAX, has_duplicates, names};
use super::times::{SKEW_SECONDS, later, time};
use crate::validation::go_value::{go_value, go_values};
use api::tree::{children, list, maybe_integer, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::go_quote::quote;
use apimachinery::time::UnixTime;
use schema::builtin::IO_K8S_API_LIFECYCLE_V1ALPHA1_TARGETRESPONDER as TARGET_RESPONDER;
use schema::object::Object;
use std::cmp::Ordering;

const TARGETS: &str = "targetResponders";
const ACTIVE: &str = "Active";
const INACTIVE: &str = "Inactive";
/// States in which a responder has ended, sorted.
const ENDED: &[&str] = &["Canceled", "Completed", "Interrupted"];
/// The responder of Kubernetes, and its priority.
const IMPERATIVE: (&str, i64) = ("imperative-eviction.k8s.io/evictor", 100);
/// Lowest priority of responders outside of Kubernetes.
const OTHER_PRIORITY_MIN: i64 = 1000;
/// Time without a report after which a responder counts as interrupted, in seconds.
const HEARTBEAT_SECONDS: i64 = 20 * 60;

#[derive(Clone, Copy)]
pub(super) struct Outcome {
    /// True if the target was evicted or the eviction failed.
    pub(super) is_final: bool,
}

/// Allowed states of a responder, sorted, and the reason.
struct Expected {
    states: Vec<String>,
    reason: &'static str,
}

impl Expected {
    fn new(states: &[&str], reason: &'static str) -> Self {
        Expected { states: states.iter().map(|state| (*state).to_owned()).collect(), reason }
    }
}

/// Validates `targetResponders`. `path` is that of the list.
pub(super) fn targets(
    path: &Path<'_>,
    status: &Object,
    old: &Object,
    outcome: Outcome,
    now: UnixTime,
    errors: &mut ErrorList,
) {
    let count = list(status, TARGETS).len();
    if !list(old, TARGETS).is_empty() {
        let detail = if count != list(old, TARGETS).len() {
            Some("must preserve the same length and the same keys")
        } else {
            let is_subset = names(old, TARGETS).is_subset(&names(status, TARGETS));
            (!is_subset).then_some("must preserve the same keys")
        };
        if let Some(detail) = detail {
            errors.push(Error::invalid(path, go_values(&TARGET_RESPONDER, status.get(TARGETS)), detail));
            return;
        }
    }
    // The declared rules report these.
    if count == 0 || count > RESPONDERS_MAX || has_duplicates(status, TARGETS) {
        return;
    }
    let mut sorted: Vec<(usize, &Object)> = children(status, TARGETS).enumerate().collect();
    sorted.sort_by(|(_, a), (_, b)| compare(a, b));
    let mut before: Vec<&Object> = children(old, TARGETS).collect();
    before.sort_by(|a, b| compare(a, b));
    let states: Vec<&str> = sorted.iter().map(|(_, target)| text(target, "state")).collect();
    let progress = Progress::new(&states, &before, outcome);
    for (position, (index, responder)) in sorted.iter().enumerate() {
        let expected = progress.expected(position);
        target(&path.index(*index), Target { responder, status, outcome }, &expected, now, errors);
    }
}

/// The progress of an eviction through its sorted responders.
struct Progress<'o> {
    /// States before the update.
    before: Vec<&'o str>,
    active: Option<usize>,
    /// True if the active responder changes its state.
    is_changed: bool,
    is_final: bool,
}

impl<'o> Progress<'o> {
    fn new(states: &[&str], before: &[&'o Object], outcome: Outcome) -> Self {
        let before: Vec<&str> = before.iter().map(|target| text(target, "state")).collect();
        let active = before.iter().position(|state| *state == ACTIVE);
        let is_changed = active.is_some_and(|active| states.get(active) != Some(&ACTIVE));
        Progress { before, active, is_changed, is_final: outcome.is_final }
    }

    /// Returns the allowed states of the responder at a position.
    fn expected(&self, position: usize) -> Expected {
        let has_ended = |state: &&str| ENDED.contains(state);
        let all_processed = self.is_final || self.before.last().is_some_and(has_ended);
        let is_processed = match self.active {
            Some(active) => position < active,
            None => !self.before.is_empty() && all_processed,
        };
        let is_first = position == 0 && self.before.is_empty();
        let is_next = self.active.is_some_and(|active| position == active + 1) && self.is_changed;
        if is_processed {
            let state = self.before.get(position).copied().unwrap_or_default();
            Expected::new(&[state], "final state is immutable")
        } else if self.active == Some(position) && self.is_changed {
            Expected::new(ENDED, "this responder must reach a final state")
        } else if self.active == Some(position) && self.is_final {
            Expected::new(ENDED, FINISHED)
        } else if self.active == Some(position) {
            Expected::new(&[ACTIVE], "the eviction request stays active")
        } else if (is_first || is_next) && self.is_final {
            Expected::new(&[INACTIVE], FINISHED)
        } else if is_first || is_next {
            Expected::new(&[ACTIVE], "this responder is next in line")
        } else {
            Expected::new(&[INACTIVE], "the previously active has not finished processing")
        }
    }
}

const FINISHED: &str = "the eviction request has finished processing";

#[derive(Clone, Copy)]
struct Target<'o> {
    responder: &'o Object,
    /// Status of the eviction.
    status: &'o Object,
    outcome: Outcome,
}

fn target(path: &Path<'_>, target: Target<'_>, expected: &Expected, now: UnixTime, errors: &mut ErrorList) {
    let name = text(target.responder, "name");
    let Some(reported) =
        children(target.status, "responders").filter(|item| text(item, "name") == name).last()
    else {
        let detail = format!("{} has to be tracked in status.responders first", quote(name));
        errors.push(Error::invalid(path, go_value(&TARGET_RESPONDER, target.responder), detail));
        return;
    };
    priority(&path.child("priority"), target.responder, errors);
    let state = text(target.responder, "state");
    let path = path.child("state");
    if !expected.states.iter().any(|expected| expected == state) {
        let detail = format!("must be one of: {}, because {}", expected.states.join(", "), expected.reason);
        errors.push(Error::invalid(&path, BadValue::json_text(state), detail));
        return;
    }
    let is_completed = time(reported, "completionTime").is_some();
    let last_report = time(reported, "heartbeatTime").or_else(|| time(reported, "startTime"));
    let started = time(reported, "startTime").is_some();
    let is_awaited = state != ACTIVE && started && !is_completed && !target.outcome.is_final;
    let deadline = last_report.map(|report| later(report, HEARTBEAT_SECONDS - SKEW_SECONDS));
    if is_awaited && deadline.is_some_and(|deadline| now < deadline) {
        let detail = "must stay Active because the responder is in progress and it should report \
                      status.responders.heartbeatTime or status.responders.completionTime";
        errors.push(Error::forbidden(&path, detail));
    }
    if state == "Completed" && !is_completed {
        let detail =
            "cannot become Completed because the responder didn't report status.responders.completionTime";
        errors.push(Error::invalid(&path, BadValue::json_text(state), detail));
    }
}

fn priority(path: &Path<'_>, responder: &Object, errors: &mut ErrorList) {
    let Some(priority) = maybe_integer(responder, "priority").filter(|priority| *priority >= 0) else {
        return;
    };
    let (imperative, expected) = IMPERATIVE;
    if text(responder, "name") == imperative {
        if priority != expected {
            let detail = format!("core k8s responder is expected to have priority: {expected}");
            errors.push(Error::invalid(path, priority, detail));
        }
    } else if priority < OTHER_PRIORITY_MIN {
        let detail = "priorities 0-999 are reserved for responders with *.k8s.io suffix";
        errors.push(Error::invalid(path, priority, detail));
    }
}

/// Orders responders: the highest priority first, then by domain from the top label down, then by key.
fn compare(a: &Object, b: &Object) -> Ordering {
    let priority = |responder| maybe_integer(responder, "priority");
    let by_priority = match (priority(a), priority(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (None, Some(_)) => Ordering::Greater,
        (Some(_), None) => Ordering::Less,
        (None, None) => Ordering::Equal,
    };
    by_priority.then_with(|| {
        let parts = |responder| {
            let name: &str = text(responder, "name");
            name.split_once('/').unwrap_or((name, ""))
        };
        let (a_domain, a_key) = parts(a);
        let (b_domain, b_key) = parts(b);
        let domains = a_domain.rsplit('.').cmp(b_domain.rsplit('.'));
        domains.then_with(|| a_key.cmp(b_key))
    })
}
