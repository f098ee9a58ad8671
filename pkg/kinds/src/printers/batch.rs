//! Rows of jobs and cron jobs.

use super::column::{AGE, CONTAINERS, Column, IMAGES, NAME, boolean, integer, text};
use super::format::{NONE, bool_or_unset, container_images, container_names, label_selector, since, time};
use super::view::View;
use apimachinery::duration::human_duration;
use apimachinery::time::{GO_ZERO_TIME, UnixTime};

pub(super) static CRON_JOB: &[Column] = &[
    NAME,
    text("Schedule", |object, _| object.at("spec.schedule").into())
        .described_as("io.k8s.api.batch.v1.CronJobSpec", "schedule"),
    text("Timezone", |object, _| object.at("spec.timeZone").text_or(NONE).into())
        .described_as("io.k8s.api.batch.v1.CronJobSpec", "timeZone"),
    boolean("Suspend", |object, _| bool_or_unset(object.at("spec.suspend")).into())
        .described_as("io.k8s.api.batch.v1.CronJobSpec", "suspend"),
    integer("Active", |object, _| object.at("status.active").count())
        .described_as("io.k8s.api.batch.v1.CronJobStatus", "active"),
    text("Last Schedule", |object, now| last_schedule(object, now).into())
        .described_as("io.k8s.api.batch.v1.CronJobStatus", "lastScheduleTime"),
    AGE,
    CONTAINERS.filled_by(|object, _| container_names(object.at("spec.jobTemplate.spec.template.spec"))),
    IMAGES.filled_by(|object, _| container_images(object.at("spec.jobTemplate.spec.template.spec"))),
    text("Selector", |object, _| label_selector(object.at("spec.jobTemplate.spec.selector")).into())
        .described_as("io.k8s.api.batch.v1.JobSpec", "selector")
        .wide(),
];

pub(super) static JOB: &[Column] = &[
    NAME,
    text("Status", |object, _| job_status(object).into()).described("Status of the job."),
    text("Completions", |object, _| completions(object).into())
        .described_as("io.k8s.api.batch.v1.JobStatus", "succeeded"),
    text("Duration", |object, now| job_duration(object, now).into())
        .described("Time required to complete the job."),
    AGE,
    CONTAINERS,
    IMAGES,
    text("Selector", |object, _| label_selector(object.at("spec.selector")).into())
        .described_as("io.k8s.api.batch.v1.JobSpec", "selector")
        .wide(),
];

fn last_schedule(cron_job: View<'_>, now: UnixTime) -> String {
    let last = cron_job.at("status.lastScheduleTime");
    if last.exists() { since(last, now) } else { NONE.to_owned() }
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

/// Returns the time from start to completion or until now; empty before the start.
fn job_duration(job: View<'_>, now: UnixTime) -> String {
    let (start, completion) = (job.at("status.startTime"), job.at("status.completionTime"));
    if !start.exists() {
        return String::new();
    }
    let end = if completion.exists() { time(completion).unwrap_or(GO_ZERO_TIME) } else { now };
    human_duration(end.nanos_since(time(start).unwrap_or(GO_ZERO_TIME)))
}
