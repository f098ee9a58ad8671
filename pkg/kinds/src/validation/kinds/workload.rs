//! Shared rules of kinds with a pod template: selectors that match the template, the template's restart
//! policy, and status counters.

use crate::validation::go_value::go_value;
use crate::validation::selector::label_selector;
use crate::validation::value::nonnegative;
use api::tree::{child, integer, is_set, list, maybe_integer, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::labels::Selector;
use schema::builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_LABELSELECTOR as LABEL_SELECTOR;
use schema::object::Object;
use schema::table::Message;

/// Error text for a counter that exceeds the number of replicas.
pub(crate) const EXCEEDS_REPLICAS: &str = "cannot be greater than status.replicas";

/// Returns a selector for an error.
pub(crate) fn selector_value(selector: Option<&Object>) -> BadValue {
    match selector {
        Some(selector) => go_value(&LABEL_SELECTOR, selector),
        None => BadValue::Plain("null".to_owned()),
    }
}

/// True if a selector selects everything.
pub(crate) fn is_empty_selector(selector: &Object) -> bool {
    child(selector, "matchLabels").is_none_or(Object::is_empty)
        && list(selector, "matchExpressions").is_empty()
}

/// Validates the `selector` of a spec, which must be present and not empty. `path` is that of the spec,
/// `kind` the name of the kind in messages.
pub(crate) fn required_selector(path: &Path<'_>, spec: &Object, kind: &str, errors: &mut ErrorList) {
    let path = path.child("selector");
    let Some(selector) = child(spec, "selector") else {
        errors.push(Error::required(&path, ""));
        return;
    };
    label_selector(&path, Some(selector), false, errors);
    if is_empty_selector(selector) {
        let detail = format!("empty selector is invalid for {kind}");
        errors.push(Error::invalid(&path, selector_value(Some(selector)), detail));
    }
}

/// Checks that a selector selects the pods of a template. `path` is that of the template.
pub(crate) fn selects_template(
    path: &Path<'_>,
    template: &Object,
    selector: &Selector,
    errors: &mut ErrorList,
) {
    let meta = child(template, "metadata");
    let labels = meta.and_then(|meta| child(meta, "labels"));
    if !selector.matches(|key| labels?.get(key)?.as_str()) {
        let value = labels_value(meta);
        let path = path.child("metadata");
        let detail = "`selector` does not match template `labels`";
        errors.push(Error::invalid(&path.child("labels"), value, detail));
    }
}

/// Returns the labels of metadata for an error.
pub(crate) fn labels_value(meta: Option<&Object>) -> BadValue {
    match meta.and_then(|meta| meta.get("labels")) {
        Some(labels) => BadValue::from(labels),
        None => BadValue::Plain("null".to_owned()),
    }
}

/// Checks that the pods of a template always restart. `path` is that of the template, `kind` the name of the
/// kind in messages.
pub(crate) fn requires_restart_always(
    path: &Path<'_>,
    template: &Object,
    kind: &str,
    errors: &mut ErrorList,
) {
    let empty = Object::new();
    let spec = child(template, "spec").unwrap_or(&empty);
    let path = path.child("spec");
    let policy = text(spec, "restartPolicy");
    if policy != "Always" {
        let path = path.child("restartPolicy");
        errors.push(Error::not_supported(&path, BadValue::json_text(policy), &["Always"]));
    }
    if is_set(spec, "activeDeadlineSeconds") {
        let detail = format!("activeDeadlineSeconds in {kind} is not Supported");
        errors.push(Error::forbidden(&path.child("activeDeadlineSeconds"), detail));
    }
}

/// Returns an update strategy of an unsuitable type for an error. In its Go struct for rolling updates these
/// numbers are not pointers, and no default has been set.
pub(crate) fn strategy_value(message: &'static Message, strategy: &Object, numbers: &[&str]) -> BadValue {
    let mut strategy = strategy.clone();
    if let Some(rolling) = api::tree::child_mut(&mut strategy, "rollingUpdate") {
        for number in numbers {
            rolling.entry(*number).or_insert_with(|| 0.into());
        }
    }
    go_value(message, &strategy)
}

/// Checks that none of these members is negative. `path` is that of the struct.
pub(crate) fn none_negative(path: &Path<'_>, object: &Object, members: &[&str], errors: &mut ErrorList) {
    for member in members {
        nonnegative(&path.child(member), integer(object, member), errors);
    }
}

/// Checks, for pairs of status counters, that the first does not exceed the second. Each pair has its error
/// text. `path` is that of the status.
pub(crate) fn none_above(
    path: &Path<'_>,
    status: &Object,
    pairs: &[(&str, &str, &str)],
    errors: &mut ErrorList,
) {
    for (counter, bound, detail) in pairs {
        let count = integer(status, counter);
        if count > integer(status, bound) {
            errors.push(Error::invalid(&path.child(counter), count, *detail));
        }
    }
}

/// Checks that the hash collision count in a status does not decrease. `path` is that of the status.
pub(crate) fn collisions_do_not_fall(path: &Path<'_>, new: &Object, old: &Object, errors: &mut ErrorList) {
    let Some(before) = maybe_integer(old, "collisionCount") else { return };
    if maybe_integer(new, "collisionCount").is_none_or(|count| count < before) {
        let path = path.child("collisionCount");
        errors.push(Error::invalid(&path, integer(new, "collisionCount"), "cannot be decremented"));
    }
}
