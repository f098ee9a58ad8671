//! Table columns of events. The two groups have different field names.

use crate::printers::column::{Column, NAME};
use crate::printers::format::{UNKNOWN, since, time};
use api::table::view::View;
use apimachinery::time::UnixTime;

/// Field names of a version.
trait Names {
    const OBJECT: &'static str;
    const MESSAGE: &'static str;
    const SOURCE: &'static str;
    const FIRST: &'static str;
    const LAST: &'static str;
    const COUNT: &'static str;
    const CONTROLLER: &'static str;
}

struct CoreNames;

impl Names for CoreNames {
    const OBJECT: &'static str = "involvedObject";
    const MESSAGE: &'static str = "message";
    const SOURCE: &'static str = "source";
    const FIRST: &'static str = "firstTimestamp";
    const LAST: &'static str = "lastTimestamp";
    const COUNT: &'static str = "count";
    const CONTROLLER: &'static str = "reportingComponent";
}

struct EventsNames;

impl Names for EventsNames {
    const OBJECT: &'static str = "regarding";
    const MESSAGE: &'static str = "note";
    const SOURCE: &'static str = "deprecatedSource";
    const FIRST: &'static str = "deprecatedFirstTimestamp";
    const LAST: &'static str = "deprecatedLastTimestamp";
    const COUNT: &'static str = "deprecatedCount";
    const CONTROLLER: &'static str = "reportingController";
}

const EVENT: &str = "io.k8s.api.core.v1.Event";

pub(crate) static CORE: &[Column] = &columns::<CoreNames>();

pub(crate) static EVENTS: &[Column] = &columns::<EventsNames>();

const fn columns<N: Names>() -> [Column; 10] {
    [
        Column::text("Last Seen", |object, now| last_seen::<N>(object, now).into())
            .with_description_of(EVENT, "lastTimestamp"),
        Column::text("Type", |object, _| object.get("type").into()).with_description_of(EVENT, "type"),
        Column::text("Reason", |object, _| object.get("reason").into()).with_description_of(EVENT, "reason"),
        Column::text("Object", |object, _| target_name(object.get(N::OBJECT)).into())
            .with_description_of(EVENT, "involvedObject"),
        Column::text("Subobject", |object, _| object.get(N::OBJECT).get("fieldPath").into())
            .with_description_of("io.k8s.api.core.v1.ObjectReference", "fieldPath")
            .wide(),
        Column::text("Source", |object, _| source::<N>(object).into())
            .with_description_of(EVENT, "source")
            .wide(),
        Column::text("Message", |object, _| object.get(N::MESSAGE).text().trim().into())
            .with_description_of(EVENT, "message"),
        Column::text("First Seen", |object, now| first_seen::<N>(object, now).into())
            .with_description_of(EVENT, "firstTimestamp")
            .wide(),
        Column::text("Count", |object, _| count::<N>(object).into())
            .with_description_of(EVENT, "count")
            .wide(),
        NAME.wide(),
    ]
}

fn first_seen<N: Names>(event: View<'_>, now: UnixTime) -> String {
    let first = [N::FIRST, "eventTime"].map(|name| event.get(name));
    let first = first.into_iter().find(|field| time(*field).is_some());
    first.map_or(UNKNOWN.to_owned(), |field| since(field, now))
}

fn last_seen<N: Names>(event: View<'_>, now: UnixTime) -> String {
    let series = event.get("series");
    match event.get(N::LAST) {
        _ if series.exists() => since(series.get("lastObservedTime"), now),
        field if time(field).is_some() => since(field, now),
        _ => first_seen::<N>(event, now),
    }
}

fn count<N: Names>(event: View<'_>) -> i64 {
    let series = event.get("series");
    match event.get(N::COUNT).int() {
        _ if series.exists() => series.get("count").int(),
        0 => 1, // a single event has no count in the newer API
        count => count,
    }
}

fn target_name(target: View<'_>) -> String {
    let kind = target.get("kind").text().to_lowercase();
    match target.get("name").text() {
        "" => kind,
        name => format!("{kind}/{name}"),
    }
}

/// Returns component and host, or the reporting controller and instance.
fn source<N: Names>(object: View<'_>) -> String {
    let source = object.get(N::SOURCE);
    let component = source.get("component").non_empty_or(object.get(N::CONTROLLER).text());
    match source.get("host").non_empty_or(object.get("reportingInstance").text()) {
        "" => component.to_owned(),
        instance => format!("{component}, {instance}"),
    }
}
