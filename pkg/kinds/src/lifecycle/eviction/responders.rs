//! Reports of the responders of an eviction. Only the active responder may change its own.

use super::items::{RESPONDERS_MAX, has_duplicates, names};
use super::times::{SKEW_SECONDS, later, time};
use crate::validation::go_value::{go_value, go_values};
use crate::validation::immutable::IMMUTABLE;
use api::semantic;
use api::tree::{children, list, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::time::UnixTime;
use schema::builtin::IO_K8S_API_LIFECYCLE_V1ALPHA1_RESPONDERSTATUS as RESPONDER_STATUS;
use schema::object::Object;

const RESPONDERS: &str = "responders";
/// Limit of the expected duration in seconds: ten years.
const DURATION_SECONDS_MAX: i64 = 10 * 365 * 24 * 3600;
const PRESENT: &str = "must be set to the present time";

/// Validates `responders`. `path` is that of the list.
pub(super) fn responders(
    path: &Path<'_>,
    status: &Object,
    old: &Object,
    now: UnixTime,
    errors: &mut ErrorList,
) {
    let count = list(status, RESPONDERS).len();
    let detail = if count != list(status, "targetResponders").len() {
        Some("must be the same length as status.targetResponders and contain the same keys")
    } else {
        let is_subset = names(status, "targetResponders").is_subset(&names(status, RESPONDERS));
        (!is_subset).then_some("must contain the same keys as status.targetResponders")
    };
    if let Some(detail) = detail {
        errors.push(Error::invalid(path, go_values(&RESPONDER_STATUS, status.get(RESPONDERS)), detail));
        return;
    }
    // The declared rules report these.
    if count > RESPONDERS_MAX || has_duplicates(status, RESPONDERS) {
        return;
    }
    let empty = Object::new();
    for (index, new) in children(status, RESPONDERS).enumerate() {
        let is_same = |item: &&Object| text(item, "name") == text(new, "name");
        let state =
            children(status, "targetResponders").find(is_same).map_or("", |target| text(target, "state"));
        let before = children(old, RESPONDERS).filter(is_same).last();
        let path = path.index(index);
        let is_active = state == "Active";
        if !is_active && before.is_some_and(|old| !semantic::equal(&RESPONDER_STATUS, new, old)) {
            errors.push(Error::invalid(&path, go_value(&RESPONDER_STATUS, new), IMMUTABLE));
            continue;
        }
        let report = Report { new, old: before.unwrap_or(&empty), now };
        report.start(&path, is_active, errors);
        report.heartbeat(&path, errors);
        report.expected_completion(&path, errors);
        report.completion(&path, errors);
    }
}

struct Report<'o> {
    new: &'o Object,
    old: &'o Object,
    now: UnixTime,
}

impl Report<'_> {
    fn start(&self, path: &Path<'_>, is_active: bool, errors: &mut ErrorList) {
        let path = path.child("startTime");
        let new = time(self.new, "startTime");
        let is_changed = new != time(self.old, "startTime");
        // The declared rules report changes.
        if time(self.old, "startTime").is_some() && is_changed {
            return;
        }
        match new {
            None if is_active => errors.push(Error::required(&path, "is required for an active responder")),
            Some(new) if is_changed && !self.is_present(new) => {
                errors.push(Error::invalid(&path, self.value("startTime"), PRESENT));
            }
            _ => {}
        }
    }

    fn heartbeat(&self, path: &Path<'_>, errors: &mut ErrorList) {
        let member = "heartbeatTime";
        let old = time(self.old, member);
        let heartbeat_path = path.child(member);
        let Some(new) = time(self.new, member) else {
            if old.is_some() {
                errors.push(Error::required(&heartbeat_path, "is required once set"));
            }
            return;
        };
        if old == Some(new) {
            return;
        }
        let detail = match time(self.new, "startTime") {
            None => Some(unstarted(path)),
            Some(_) if old.is_some_and(|old| new < old) => Some("cannot be decreased".to_owned()),
            Some(start) if new < start => Some(too_early(path)),
            Some(_) if !self.is_present(new) => Some(PRESENT.to_owned()),
            Some(_) => None,
        };
        errors.extend(detail.map(|detail| Error::invalid(&heartbeat_path, self.value(member), detail)));
    }

    fn expected_completion(&self, path: &Path<'_>, errors: &mut ErrorList) {
        let member = "expectedCompletionTime";
        let Some(new) = time(self.new, member).filter(|new| time(self.old, member) != Some(*new)) else {
            return;
        };
        let detail = match time(self.new, "startTime") {
            None => Some(unstarted(path)),
            Some(start) if new < start => Some(too_early(path)),
            Some(_) if new < later(self.now, -SKEW_SECONDS) => {
                Some("cannot be set to the past time".to_owned())
            }
            Some(_) if new > later(self.now, DURATION_SECONDS_MAX) => {
                Some("must complete within 10 years".to_owned())
            }
            Some(_) => None,
        };
        errors.extend(detail.map(|detail| Error::invalid(&path.child(member), self.value(member), detail)));
    }

    fn completion(&self, path: &Path<'_>, errors: &mut ErrorList) {
        let member = "completionTime";
        let old = time(self.old, member);
        let Some(new) = time(self.new, member) else { return };
        let is_changed = old != Some(new);
        // The declared rules report changes.
        if old.is_some() && is_changed {
            return;
        }
        let detail = match time(self.new, "startTime") {
            None => Some(unstarted(path)),
            Some(start) if new < start => Some(too_early(path)),
            Some(_) if is_changed && !self.is_present(new) => Some(PRESENT.to_owned()),
            Some(_) => None,
        };
        errors.extend(detail.map(|detail| Error::invalid(&path.child(member), self.value(member), detail)));
    }

    fn is_present(&self, time: UnixTime) -> bool {
        time > later(self.now, -SKEW_SECONDS) && time < later(self.now, SKEW_SECONDS)
    }

    fn value(&self, member: &str) -> BadValue {
        BadValue::json_text(text(self.new, member))
    }
}

fn unstarted(path: &Path<'_>) -> String {
    format!("cannot be set before {} is set", path.child("startTime"))
}

fn too_early(path: &Path<'_>) -> String {
    format!("must occur after {}", path.child("startTime"))
}
