//! Events in the core version, in which they are stored. Events from `events.k8s.io` are validated strictly,
//! those from the core group with the old rules.

use crate::validation::NameRule;
use crate::validation::go_value::go_value;
use crate::validation::rules::{Rules, metadata, metadata_update};
use crate::validation::value::{invalid_each, qualified_name};
use api::semantic::equal_members;
use api::tree::{child, integer, is_set, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names;
use jsontree::Value;
use schema::builtin::{
    IO_K8S_API_CORE_V1_EVENT as EVENT, IO_K8S_API_CORE_V1_EVENTSOURCE as EVENT_SOURCE,
    IO_K8S_API_CORE_V1_OBJECTREFERENCE as OBJECT_REFERENCE,
};
use schema::object::Object;

pub(crate) const CORE: Rules = Rules {
    create: |new| legacy(new, "reportingComponent"),
    update: |_, new, _| legacy(new, "reportingComponent"),
};
/// The rules of events of `events.k8s.io`.
pub(crate) const EVENTS: Rules = Rules { create, update };

/// Length limit of `reportingInstance`, `action` and `reason` in bytes.
const WORD_BYTES_MAX: usize = 128;
/// Length limit of `message` (`note`) in bytes.
const MESSAGE_BYTES_MAX: usize = 1024;

/// Immutable members, with their v1 name and their name in errors, in the order of the checks.
const FIXED: &[(&str, &str)] = &[
    ("involvedObject", "involvedObject"),
    ("reason", "reason"),
    ("message", "message"),
    ("source", "source"),
    ("firstTimestamp", "firstTimestamp"),
    ("lastTimestamp", "lastTimestamp"),
    ("count", "count"),
    ("reason", "reason"),
    ("type", "type"),
    ("eventTime", "eventTime"),
    ("action", "action"),
    ("related", "related"),
    ("reportingComponent", "reportingController"),
    ("reportingInstance", "reportingInstance"),
];

fn create(new: &Object) -> ErrorList {
    let mut errors = legacy(new, "reportingController");
    errors.append(metadata(new, true, NameRule::DnsSubdomain));
    series(new, &mut errors);
    if !is_set(new, "eventTime") {
        errors.push(Error::required(&Path::root("eventTime"), ""));
    }
    let kind = text(new, "type");
    if !matches!(kind, "Normal" | "Warning") {
        errors.push(Error::invalid(&Path::root("type"), "", format!("has invalid value: {kind}")));
    }
    let source = child(new, "source");
    let old_members = [
        ("firstTimestamp", is_set(new, "firstTimestamp")),
        ("lastTimestamp", is_set(new, "lastTimestamp")),
        ("count", integer(new, "count") != 0),
        ("source", source.is_some_and(|s| !text(s, "component").is_empty() || !text(s, "host").is_empty())),
    ];
    let set = old_members.into_iter().filter(|(_, set)| *set);
    errors.extend(set.map(|(member, _)| Error::invalid(&Path::root(member), "", "needs to be unset")));
    errors
}

fn update(_: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = legacy(new, "reportingController");
    errors.append(metadata_update(new, old));
    let differs = |member: &str| {
        let event_member = EVENT.members.iter().find(|candidate| candidate.name == member);
        event_member
            .is_some_and(|event_member| !equal_members(event_member.field, new.get(member), old.get(member)))
    };
    if differs("series") {
        series(new, &mut errors);
    }
    for (member, name) in FIXED.iter().filter(|(member, _)| differs(member)) {
        errors.push(Error::invalid(&Path::root(name), value_of(new, member), "field is immutable"));
    }
    errors
}

/// Returns a member for an error message.
fn value_of(event: &Object, member: &str) -> BadValue {
    let empty = Object::new();
    match (member, event.get(member)) {
        ("involvedObject" | "related", Some(Value::Object(reference))) => {
            go_value(&OBJECT_REFERENCE, reference)
        }
        ("involvedObject", _) => go_value(&OBJECT_REFERENCE, &empty),
        ("source", source) => go_value(&EVENT_SOURCE, source.and_then(Value::as_object).unwrap_or(&empty)),
        ("count", count) => count.and_then(Value::as_i64).unwrap_or_default().into(),
        ("related" | "firstTimestamp" | "lastTimestamp" | "eventTime", None) => BadValue::from(&Value::Null),
        (_, None) => "".into(),
        (_, Some(value)) => value.into(),
    }
}

fn series(event: &Object, errors: &mut ErrorList) {
    let Some(series) = child(event, "series") else { return };
    if integer(series, "count") < 2 {
        errors.push(Error::invalid(&Path::root("series.count"), "", "should be at least 2"));
    }
    if !is_set(series, "lastObservedTime") {
        errors.push(Error::required(&Path::root("series.lastObservedTime"), ""));
    }
}

/// Validates any event. `reporter` is the name of the reporting controller's field in the request's version.
fn legacy(event: &Object, reporter: &str) -> ErrorList {
    let mut errors = ErrorList::new();
    let namespace = child(event, "metadata").map_or("", |meta| text(meta, "namespace"));
    let involved = child(event, "involvedObject").map_or("", |involved| text(involved, "namespace"));
    // Since 1.8, controllers write events with a separate time.
    let is_new = is_set(event, "eventTime");
    let agrees = match involved {
        "" if is_new => matches!(namespace, "default" | "kube-system"),
        "" => matches!(namespace, "" | "default"),
        involved => is_new || involved == namespace,
    };
    if !agrees {
        let detail = "does not match event.namespace";
        errors.push(Error::invalid(&Path::root("involvedObject.namespace"), involved, detail));
    }
    if is_new {
        report(event, reporter, &mut errors);
    }
    let messages = names::is_dns1123_subdomain(namespace);
    invalid_each(&Path::root("namespace"), namespace, messages, &mut errors);
    errors
}

/// Validates the report: all of its fields are required and limited in length.
fn report(event: &Object, reporter: &str, errors: &mut ErrorList) {
    let controller = text(event, "reportingComponent");
    if controller.is_empty() {
        errors.push(Error::required(&Path::root(reporter), ""));
    }
    qualified_name(&Path::root(reporter), controller, errors);
    let words = ["reportingInstance", "action", "reason"].map(|member| (member, WORD_BYTES_MAX, true));
    for (member, max, required) in words.into_iter().chain([("message", MESSAGE_BYTES_MAX, false)]) {
        let path = Path::root(member);
        let value = text(event, member);
        if required && value.is_empty() {
            errors.push(Error::required(&path, ""));
        }
        if value.len() > max {
            errors.push(Error::invalid(&path, "", format!("can have at most {max} characters")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use apimachinery::field::ErrorType::{self, *};
    use jsontree::json;

    fn event(more: Value) -> Object {
        let mut event = json!({
            "metadata": {"name": "n", "namespace": "ns", "resourceVersion": "1"},
            "involvedObject": {"namespace": "ns"},
            "eventTime": "2026-01-02T03:04:05.000000Z",
            "type": "Normal",
            "reportingComponent": "example.com/c",
            "reportingInstance": "i",
            "action": "a",
            "reason": "r",
        });
        if let (Some(event), Value::Object(more)) = (event.as_object_mut(), more) {
            event.extend(more);
        }
        event.as_object().cloned().unwrap_or_default()
    }

    fn check(errors: ErrorList, expected: &[(ErrorType, &str)]) {
        let actual: Vec<(ErrorType, &str)> =
            errors.iter().map(|error| (error.kind(), error.field())).collect();
        assert_eq!(actual, expected);
    }

    #[test]
    fn events_are_in_namespace_of_involved_object() {
        let old =
            |namespace: &str| event(json!({"eventTime": null, "involvedObject": {"namespace": namespace}}));
        check((CORE.create)(&old("ns")), &[]);
        check((CORE.create)(&old("other")), &[(Invalid, "involvedObject.namespace")]);
        check((CORE.create)(&old("")), &[(Invalid, "involvedObject.namespace")]);
        check((CORE.create)(&event(json!({"involvedObject": {}}))), &[(Invalid, "involvedObject.namespace")]);
    }

    #[test]
    fn new_events_need_reporter_action_and_reason() {
        check((CORE.create)(&event(json!({}))), &[]);
        let missing =
            event(json!({"reportingComponent": "", "reportingInstance": "", "action": "", "reason": ""}));
        let rest = [(Required, "reportingInstance"), (Required, "action"), (Required, "reason")];
        let name = "reportingComponent";
        check(
            (CORE.create)(&missing),
            &[&[(Required, name), (Invalid, name), (Invalid, name)], &rest[..]].concat(),
        );
        let name = "reportingController";
        check(create(&missing), &[&[(Required, name), (Invalid, name), (Invalid, name)], &rest[..]].concat());
        check((CORE.create)(&event(json!({"message": "x".repeat(1025)}))), &[(Invalid, "message")]);
    }

    #[test]
    fn the_new_version_has_no_old_members() {
        check(create(&event(json!({}))), &[]);
        let old = event(json!({
            "type": "x",
            "firstTimestamp": "2026-01-02T03:04:05Z",
            "lastTimestamp": "2026-01-02T03:04:05Z",
            "count": 1,
            "source": {"component": "c"},
            "series": {"count": 1},
        }));
        check(
            create(&old),
            &[
                (Invalid, "series.count"),
                (Required, "series.lastObservedTime"),
                (Invalid, "type"),
                (Invalid, "firstTimestamp"),
                (Invalid, "lastTimestamp"),
                (Invalid, "count"),
                (Invalid, "source"),
            ],
        );
        check((CORE.create)(&old), &[]);
    }

    #[test]
    fn only_the_series_changes() {
        let series = json!({"count": 2, "lastObservedTime": "2026-01-02T03:04:05.000000Z"});
        check(update("", &event(json!({"series": series})), &event(json!({}))), &[]);
        let errors = update("", &event(json!({"reason": "x", "count": 3})), &event(json!({})));
        let texts: Vec<String> = errors.iter().map(Error::to_string).collect();
        let reason = "reason: Invalid value: \"x\": field is immutable";
        assert_eq!(texts, [reason, "count: Invalid value: 3: field is immutable", reason]);
        let errors = update("", &event(json!({"related": {"name": "x"}})), &event(json!({})));
        let expected = "related: Invalid value: {\"Kind\":\"\",\"Namespace\":\"\",\"Name\":\"x\",\"UID\":\"\",\
            \"APIVersion\":\"\",\"ResourceVersion\":\"\",\"FieldPath\":\"\"}: field is immutable";
        assert_eq!(errors.iter().map(Error::to_string).collect::<Vec<_>>(), [expected]);
    }
}
