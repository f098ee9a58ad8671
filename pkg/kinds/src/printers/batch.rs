//! Rows of jobs and cron jobs.

use super::format::{NONE, age, bool_or_unset, containers, label_selector, since, time};
use super::view::View;
use super::{Cell, Cells};
use apimachinery::duration::human_duration;
use apimachinery::time::{GO_ZERO_TIME, UnixTime};

pub(super) fn printer(resource: &str) -> Option<Cells> {
    Some(match resource {
        "cronjobs" => cron_job,
        "jobs" => job,
        _ => return None,
    })
}

fn cron_job(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let spec = object.get("spec");
    let [names, images] = containers(spec.at("jobTemplate.spec.template.spec"));
    let last = object.at("status.lastScheduleTime");
    vec![
        object.name(),
        spec.get("schedule").into(),
        spec.get("timeZone").text_or(NONE).into(),
        bool_or_unset(spec.get("suspend")).into(),
        object.at("status.active").count(),
        if last.exists() { since(last, now) } else { NONE.to_owned() }.into(),
        age(object, now),
        names,
        images,
        label_selector(spec.at("jobTemplate.spec.selector")).into(),
    ]
}

fn job(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let [names, images] = containers(object.at("spec.template.spec"));
    vec![
        object.name(),
        job_status(object).into(),
        completions(object).into(),
        job_duration(object, now).into(),
        age(object, now),
        names,
        images,
        label_selector(object.at("spec.selector")).into(),
    ]
}

fn job_status(job: View<'_>) -> &'static str {
    let conditions = job.at("status.conditions");
    let is_true = |condition_type: &str| {
        conditions.condition(condition_type).is_some_and(|c| c.get("status").text() == "True")
    };
    match () {
        () if is_true("Complete") => "Complete",
        () if is_true("Failed") => "Failed",
        () if job.at("metadata.deletionTimestamp").exists() => "Terminating",
        () if is_true("Suspended") => "Suspended",
        () if is_true("FailureTarget") => "FailureTarget",
        () if is_true("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

fn completions(job: View<'_>) -> String {
    let succeeded = job.at("status.succeeded").int();
    let completions = job.at("spec.completions");
    match job.at("spec.parallelism").int() {
        _ if completions.exists() => format!("{succeeded}/{}", completions.int()),
        parallelism if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        _ => format!("{succeeded}/1"),
    }
}

/// From start to completion, or up to now; empty before the start.
fn job_duration(job: View<'_>, now: UnixTime) -> String {
    let (start, completion) = (job.at("status.startTime"), job.at("status.completionTime"));
    if !start.exists() {
        return String::new();
    }
    let end = if completion.exists() { time(completion).unwrap_or(GO_ZERO_TIME) } else { now };
    human_duration(end.nanos_since(time(start).unwrap_or(GO_ZERO_TIME)))
}
