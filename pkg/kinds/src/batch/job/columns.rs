//! Table columns of jobs.

use crate::printers::column::{AGE, CONTAINERS, Column, IMAGES, NAME};
use crate::printers::format::{label_selector, time};
use api::table::view::View;
use apimachinery::duration::human_duration;
use apimachinery::time::{GO_ZERO_TIME, UnixTime};

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("Status", |object, _| job_status(object).into()).with_description("Status of the job."),
    Column::text("Completions", |object, _| completions(object).into())
        .with_description_of("io.k8s.api.batch.v1.JobStatus", "succeeded"),
    Column::text("Duration", |object, now| job_duration(object, now).into())
        .with_description("Time required to complete the job."),
    AGE,
    CONTAINERS,
    IMAGES,
    Column::text("Selector", |object, _| label_selector(object.get_path("spec.selector")).into())
        .with_description_of("io.k8s.api.batch.v1.JobSpec", "selector")
        .wide(),
];

fn job_status(job: View<'_>) -> &'static str {
    let conditions = job.get_path("status.conditions");
    let is_true = |condition_type: &str| {
        conditions.condition(condition_type).is_some_and(|c| c.get("status").text() == "True")
    };
    match () {
        () if is_true("Complete") => "Complete",
        () if is_true("Failed") => "Failed",
        () if job.get_path("metadata.deletionTimestamp").exists() => "Terminating",
        () if is_true("Suspended") => "Suspended",
        () if is_true("FailureTarget") => "FailureTarget",
        () if is_true("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

fn completions(job: View<'_>) -> String {
    let succeeded = job.get_path("status.succeeded").int();
    let completions = job.get_path("spec.completions");
    match job.get_path("spec.parallelism").int() {
        _ if completions.exists() => format!("{succeeded}/{}", completions.int()),
        parallelism if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        _ => format!("{succeeded}/1"),
    }
}

/// Returns the time from start to completion or until now; empty before the start.
fn job_duration(job: View<'_>, now: UnixTime) -> String {
    let start = job.get_path("status.startTime");
    let completion = job.get_path("status.completionTime");
    if !start.exists() {
        return String::new();
    }
    let end = if completion.exists() { time(completion).unwrap_or(GO_ZERO_TIME) } else { now };
    human_duration(end.nanos_since(time(start).unwrap_or(GO_ZERO_TIME)))
}
