//! Defaults of jobs.

use crate::defaults::fill::{default_struct, each, if_nil, if_present, if_zero, is_nil};
use crate::defaults::object::Object;
use crate::defaults::pod_spec;
use crate::defaults::workload::labels_from_template;

pub(super) fn job(job: &mut Object) {
    labels_from_template(job);
    default_struct(job, "spec", |spec| {
        // Without completions alone, the job is a work queue. Without completions and parallelism, it is a
        // job of one pod.
        if is_nil(spec, "parallelism") {
            if_nil(spec, "completions", 1);
            if_nil(spec, "parallelism", 1);
        }
        // With a limit for each index (KEP-3850), there is none for the whole job.
        let retries = if is_nil(spec, "backoffLimitPerIndex") { 6 } else { i32::MAX };
        if_nil(spec, "backoffLimit", retries);
        if_nil(spec, "completionMode", "NonIndexed");
        if_nil(spec, "suspend", false);
        // A failure policy evaluates finished pods (KEP-3939).
        let replaced = if is_nil(spec, "podFailurePolicy") { "TerminatingOrFailed" } else { "Failed" };
        if_nil(spec, "podReplacementPolicy", replaced);
        if_nil(spec, "manualSelector", false);
        job_template_spec(spec);
    });
}

/// Sets the defaults of every job spec. The job spec in a cron job has no others.
pub(crate) fn job_template_spec(spec: &mut Object) {
    if_present(spec, "podFailurePolicy", |policy| {
        each(policy, "rules", |rule| {
            each(rule, "onPodConditions", |pattern| if_zero(pattern, "status", "True"))
        });
    });
    default_struct(spec, "template", pod_spec::template);
}
