//! Warnings about cron jobs.

use crate::batch::job::warnings::job_spec_at;
use crate::warnings::collector::Warnings;
use crate::warnings::template::pod_name_prefix;
use apimachinery::field::Path;
use schema::object::{Object, get_object, get_str};

/// Warns about a created `CronJob`.
pub(super) fn create(object: &Object, out: &mut Warnings) {
    pod_name_prefix(object, out);
    cron_job_spec(object, out);
}

/// Warns about a replaced `CronJob`; `changed` is true if its spec has changed. Validation rejects new time
/// zones in schedules, so old ones only occur here.
pub(super) fn update(object: &Object, changed: bool, out: &mut Warnings) {
    if changed {
        cron_job_spec(object, out);
    }
    if get_str(object, &["spec", "schedule"]).is_some_and(|schedule| schedule.contains("TZ")) {
        out.add(format_args!(
            "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see \
             https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
        ));
    }
}

fn cron_job_spec(object: &Object, out: &mut Warnings) {
    let spec = get_object(object, &["spec", "jobTemplate", "spec"]);
    job_spec_at(&Path::root("spec.jobTemplate.spec"), spec, out);
}
