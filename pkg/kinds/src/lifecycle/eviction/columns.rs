//! Table columns of evictions.

use crate::lifecycle::columns::{status, target, target_type};
use crate::printers::column::{AGE, Column, NAME};
use crate::printers::format::{NONE, UNKNOWN, UNSET, list_with_more, since, time};
use api::table::view::View;
use apimachinery::duration::human_duration;
use apimachinery::time::UnixTime;

const SPEC: &str = "io.k8s.api.lifecycle.v1alpha1.EvictionSpec";
const STATUS: &str = "io.k8s.api.lifecycle.v1alpha1.EvictionStatus";
const TARGET_RESPONDER: &str = "io.k8s.api.lifecycle.v1alpha1.TargetResponder";
const RESPONDER: &str = "io.k8s.api.lifecycle.v1alpha1.ResponderStatus";

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("Target", |object, _| target(object).into()).with_description_of(SPEC, "target"),
    Column::text("Target Type", |object, _| target_type(object).into()).with_description_of(SPEC, "target"),
    Column::text("Status", |object, _| status(object).into()).with_description_of(STATUS, "conditions"),
    Column::text("Active Responder", |object, _| active_responder(object).into())
        .with_description_of(TARGET_RESPONDER, "state"),
    Column::text("Responder Status", |object, now| responder_status(object, now).into())
        .with_description_of(RESPONDER, ""),
    Column::text("Responder Expected Finish", |object, now| expected_finish(object, now).into())
        .with_description_of(RESPONDER, "expectedCompletionTime"),
    Column::text("Requesters", |object, _| requesters(object).into())
        .with_description_of(STATUS, "requesters"),
    AGE,
    Column::text("Responder Heartbeat", |object, now| heartbeat(object, now).into())
        .with_description_of(RESPONDER, "heartbeatTime")
        .wide(),
    Column::text("Responder Status Message", |object, _| message(object).into())
        .with_description_of(RESPONDER, "message")
        .wide(),
];

/// Responders of a target that have finished or are active, in order.
fn processed<'a>(object: View<'a>) -> impl Iterator<Item = View<'a>> {
    let responders = object.get_path("status.targetResponders").items();
    responders.filter(|responder| {
        matches!(responder.get("state").text(), "Canceled" | "Interrupted" | "Completed" | "Active")
    })
}

/// Returns the last active responder, or else the last one that has finished.
fn last<'a>(object: View<'a>) -> Option<View<'a>> {
    let active = processed(object).filter(|responder| responder.get("state").text() == "Active").last();
    active.or_else(|| processed(object).last())
}

/// The last responder of a target, with its status.
struct Responder<'a> {
    state: &'a str,
    status: View<'a>,
}

fn last_responder<'a>(object: View<'a>) -> Option<Responder<'a>> {
    let last = last(object)?;
    let name = last.get("name").text();
    let status =
        object.get_path("status.responders").items().find(|status| status.get("name").text() == name)?;
    Some(Responder { state: last.get("state").text(), status })
}

fn active_responder(object: View<'_>) -> String {
    let name = last(object).map_or(UNSET, |responder| responder.get("name").text());
    format!("{name} ({}/{})", processed(object).count(), object.get_path("status.targetResponders").len())
}

fn responder_status(object: View<'_>, now: UnixTime) -> String {
    let Some(Responder { state, status }) = last_responder(object) else { return UNSET.to_owned() };
    let [start, completion] = ["startTime", "completionTime"].map(|name| status.get(name));
    match state {
        "Active" if start.exists() => format!("Started ({} ago)", since(start, now)),
        "Completed" if completion.exists() => format!("{state} ({} ago)", since(completion, now)),
        _ => state.to_owned(),
    }
}

fn expected_finish(object: View<'_>, now: UnixTime) -> String {
    let Some(Responder { state, status }) = last_responder(object) else { return UNKNOWN.to_owned() };
    if state != "Active" {
        return "-".to_owned();
    }
    let expected = status.get("expectedCompletionTime");
    match time(expected).filter(|_| status.get("startTime").exists()) {
        Some(time) if time > now => format!("in {}", human_duration(time.nanos_since(now))),
        Some(_) => format!("{} ago", since(expected, now)),
        None => UNKNOWN.to_owned(),
    }
}

fn requesters(object: View<'_>) -> String {
    let all = object.get_path("status.requesters");
    let names = all.items().filter(|requester| requester.get("intent").text() != "Withdrawn");
    let mut names: Vec<String> = names.map(|requester| requester.get("name").text().to_owned()).collect();
    names.sort();
    if !names.is_empty() {
        let text = list_with_more(&names, 1, ",");
        if text.is_empty() { UNSET.to_owned() } else { text }
    } else if all.is_empty() {
        NONE.to_owned()
    } else {
        "<withdrawn>".to_owned()
    }
}

fn heartbeat(object: View<'_>, now: UnixTime) -> String {
    let time = last_responder(object).map(|responder| responder.status.get("heartbeatTime"));
    time.filter(|time| time.exists()).map_or(UNSET.to_owned(), |time| format!("{} ago", since(time, now)))
}

fn message<'a>(object: View<'a>) -> &'a str {
    let message = last_responder(object).map_or("", |responder| responder.status.get("message").text());
    let message = message.trim();
    if message.is_empty() { UNSET } else { message }
}
