//! Table columns of cron jobs.

use crate::printers::column::{AGE, CONTAINERS, Column, IMAGES, NAME};
use crate::printers::format::{
    NONE, bool_or_unset, container_images, container_names, label_selector, since,
};
use api::table::view::View;
use apimachinery::time::UnixTime;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("Schedule", |object, _| object.get_path("spec.schedule").into())
        .with_description_of("io.k8s.api.batch.v1.CronJobSpec", "schedule"),
    Column::text("Timezone", |object, _| object.get_path("spec.timeZone").text_or(NONE).into())
        .with_description_of("io.k8s.api.batch.v1.CronJobSpec", "timeZone"),
    Column::boolean("Suspend", |object, _| bool_or_unset(object.get_path("spec.suspend")).into())
        .with_description_of("io.k8s.api.batch.v1.CronJobSpec", "suspend"),
    Column::integer("Active", |object, _| object.get_path("status.active").count())
        .with_description_of("io.k8s.api.batch.v1.CronJobStatus", "active"),
    Column::text("Last Schedule", |object, now| last_schedule(object, now).into())
        .with_description_of("io.k8s.api.batch.v1.CronJobStatus", "lastScheduleTime"),
    AGE,
    CONTAINERS.filled_by(|object, _| container_names(object.get_path("spec.jobTemplate.spec.template.spec"))),
    IMAGES.filled_by(|object, _| container_images(object.get_path("spec.jobTemplate.spec.template.spec"))),
    Column::text("Selector", |object, _| {
        label_selector(object.get_path("spec.jobTemplate.spec.selector")).into()
    })
    .with_description_of("io.k8s.api.batch.v1.JobSpec", "selector")
    .wide(),
];

fn last_schedule(cron_job: View<'_>, now: UnixTime) -> String {
    let last = cron_job.get_path("status.lastScheduleTime");
    if last.exists() { since(last, now) } else { NONE.to_owned() }
}
