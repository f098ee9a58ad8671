//! Topology spread constraints (KEP-895).

use crate::validation::selector::label_selector;
use crate::validation::value::{NOT_POSITIVE, qualified_name, supported_value};
use api::tree::{child, children, integer, maybe_integer, maybe_text, text, texts};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use schema::object::Object;
use std::collections::{BTreeMap, BTreeSet};

use super::PodOptions;
use super::affinity::label_keys;

const DO_NOT_SCHEDULE: &str = "DoNotSchedule";
const ACTIONS: &[&str] = &[DO_NOT_SCHEDULE, "ScheduleAnyway"];
const INCLUSION_POLICIES: &[&str] = &["Honor", "Ignore"];

/// Validates the constraints of a pod spec. `path` is that of the list.
pub(super) fn constraints(path: &Path<'_>, spec: &Object, options: &PodOptions, errors: &mut ErrorList) {
    let last: BTreeMap<(&str, &str), usize> = children(spec, "topologySpreadConstraints")
        .map(kind)
        .enumerate()
        .map(|(index, k)| (k, index))
        .collect();
    for (index, item) in children(spec, "topologySpreadConstraints").enumerate() {
        let twin = last.get(&kind(item)).is_some_and(|last| *last > index);
        constraint(&path.index(index), item, twin, options, errors);
    }
}

/// True if a pod spec has constraints with invalid label selectors.
pub(super) fn has_bad_selectors(spec: &Object) -> bool {
    let mut errors = ErrorList::new();
    for item in children(spec, "topologySpreadConstraints") {
        label_selector(&Path::NIL, child(item, "labelSelector"), false, &mut errors);
    }
    !errors.is_empty()
}

/// True if a pod spec has constraints with label keys that are invalid since 1.34.
pub(super) fn has_bad_label_keys(spec: &Object) -> bool {
    let mut errors = ErrorList::new();
    for item in children(spec, "topologySpreadConstraints") {
        label_keys(&Path::NIL, &without_mismatches(item), &mut errors);
    }
    !errors.is_empty()
}

/// True if label keys break the rule from before they were merged into the selector.
pub(super) fn has_bad_legacy_label_keys(spec: &Object) -> bool {
    let mut errors = ErrorList::new();
    for item in children(spec, "topologySpreadConstraints") {
        legacy_label_keys(&Path::NIL, item, &mut errors);
    }
    !errors.is_empty()
}

/// Returns the unique key of a constraint.
fn kind(item: &Object) -> (&str, &str) {
    (text(item, "topologyKey"), text(item, "whenUnsatisfiable"))
}

fn constraint(path: &Path<'_>, item: &Object, twin: bool, options: &PodOptions, errors: &mut ErrorList) {
    let skew = integer(item, "maxSkew");
    if skew <= 0 {
        errors.push(Error::invalid(&path.child("maxSkew"), skew, NOT_POSITIVE));
    }
    let (key, action) = kind(item);
    if key.is_empty() {
        errors.push(Error::required(&path.child("topologyKey"), "can not be empty"));
    }
    supported_value(&path.child("whenUnsatisfiable"), action, ACTIONS, errors);
    if twin {
        let path = path.child("{topologyKey, whenUnsatisfiable}");
        errors.push(Error::duplicate(&path, format!("{{{key}, {action}}}")));
    }
    min_domains(&path.child("minDomains"), maybe_integer(item, "minDomains"), action, errors);
    for member in ["nodeAffinityPolicy", "nodeTaintsPolicy"] {
        if let Some(policy) = maybe_text(item, member) {
            supported_value(&path.child(member), policy, INCLUSION_POLICIES, errors);
        }
    }
    if options.legacy_spread_keys {
        legacy_label_keys(&path.child("matchLabelKeys"), item, errors)
    } else {
        label_keys(path, &without_mismatches(item), errors)
    }
    if !options.bad_spread_selectors {
        label_selector(&path.child("labelSelector"), child(item, "labelSelector"), false, errors);
    }
}

fn min_domains(path: &Path<'_>, min: Option<i64>, action: &str, errors: &mut ErrorList) {
    let Some(min) = min else { return };
    if min <= 0 {
        errors.push(Error::invalid(path, min, NOT_POSITIVE));
    }
    if action != DO_NOT_SCHEDULE {
        let detail = format!("can only use minDomains if whenUnsatisfiable={DO_NOT_SCHEDULE}, not {action}");
        errors.push(Error::invalid(path, BadValue::from(min), detail));
    }
}

/// Returns the constraint without `mismatchLabelKeys`, which constraints do not have.
fn without_mismatches(item: &Object) -> Object {
    let members = ["matchLabelKeys", "labelSelector"];
    let member = |name: &str| item.get(name).map(|value| (name.to_owned(), value.clone()));
    members.into_iter().filter_map(member).collect()
}

/// Checks the rule from before the keys were merged into the selector: the selector must not contain them.
fn legacy_label_keys(path: &Path<'_>, item: &Object, errors: &mut ErrorList) {
    if texts(item, "matchLabelKeys").next().is_none() {
        return;
    }
    let selector = child(item, "labelSelector");
    if selector.is_none() {
        errors.push(Error::forbidden(path, "must not be specified when labelSelector is not set"));
    }
    let labels = selector.and_then(|selector| child(selector, "matchLabels"));
    let expressions = selector.into_iter().flat_map(|selector| children(selector, "matchExpressions"));
    let selected: BTreeSet<&str> = expressions.map(|expression| text(expression, "key")).collect();
    let selects = |key: &str| selected.contains(key) || labels.is_some_and(|labels| labels.contains_key(key));
    for (index, key) in texts(item, "matchLabelKeys").enumerate() {
        let path = path.index(index);
        qualified_name(&path, key, errors);
        if selects(key) {
            errors.push(Error::invalid(&path, key, "exists in both matchLabelKeys and labelSelector"));
        }
    }
}
