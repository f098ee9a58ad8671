//! Defaults of cron jobs.

use crate::batch::job::defaults::job_template_spec;
use crate::defaults::fill::{default_struct, if_nil, if_zero};
use crate::defaults::object::Object;

pub(super) fn cron_job(job: &mut Object) {
    default_struct(job, "spec", |spec| {
        if_zero(spec, "concurrencyPolicy", "Allow");
        if_nil(spec, "suspend", false);
        if_nil(spec, "successfulJobsHistoryLimit", 3);
        if_nil(spec, "failedJobsHistoryLimit", 1);
        default_struct(spec, "jobTemplate", |template| default_struct(template, "spec", job_template_spec));
    });
}
