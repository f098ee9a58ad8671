//! Rows of events, which the two groups that serve them name differently.

use super::format::{UNKNOWN, since, time};
use super::view::View;
use super::{Cell, Cells};
use apimachinery::time::UnixTime;

/// Where a version keeps what it renamed.
struct Names {
    object: &'static str,
    message: &'static str,
    source: &'static str,
    first: &'static str,
    last: &'static str,
    count: &'static str,
    controller: &'static str,
}

const CORE: Names = Names {
    object: "involvedObject",
    message: "message",
    source: "source",
    first: "firstTimestamp",
    last: "lastTimestamp",
    count: "count",
    controller: "reportingComponent",
};

const EVENTS: Names = Names {
    object: "regarding",
    message: "note",
    source: "deprecatedSource",
    first: "deprecatedFirstTimestamp",
    last: "deprecatedLastTimestamp",
    count: "deprecatedCount",
    controller: "reportingController",
};

pub(super) fn printer(resource: &str) -> Option<Cells> {
    (resource == "events").then_some(|object, now| event(object, now, &EVENTS))
}

pub(super) fn core_event(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    event(object, now, &CORE)
}

fn event<'a>(object: View<'a>, now: UnixTime, names: &Names) -> Vec<Cell<'a>> {
    let target = object.get(names.object);
    let series = object.get("series");
    let first = [names.first, "eventTime"].map(|name| object.get(name));
    let first = first.into_iter().find(|field| time(*field).is_some());
    let first = first.map_or(UNKNOWN.to_owned(), |field| since(field, now));
    let last = match object.get(names.last) {
        _ if series.exists() => since(series.get("lastObservedTime"), now),
        field if time(field).is_some() => since(field, now),
        _ => first.clone(),
    };
    let count = match object.get(names.count).int() {
        _ if series.exists() => series.get("count").int(),
        0 => 1, // a single event has no count in the newer API
        count => count,
    };
    vec![
        last.into(),
        object.get("type").into(),
        object.get("reason").into(),
        target_name(target).into(),
        target.get("fieldPath").into(),
        source(object, names).into(),
        object.get(names.message).text().trim().into(),
        first.into(),
        count.into(),
        object.name(),
    ]
}

fn target_name(target: View<'_>) -> String {
    let kind = target.get("kind").text().to_lowercase();
    match target.get("name").text() {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

/// Component and host, or the controller and instance that report.
fn source(object: View<'_>, names: &Names) -> String {
    let source = object.get(names.source);
    let component = source.get("component").filled_or(object.get(names.controller).text());
    match source.get("host").filled_or(object.get("reportingInstance").text()) {
        "" => component.to_owned(),
        instance => format!("{component}, {instance}"),
    }
}
