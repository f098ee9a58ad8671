//! Warnings about jobs (`pkg/api/job/warnings.go`).

use crate::warnings::collector::Warnings;
use crate::warnings::common::generation_changed;
use crate::warnings::pod;
use crate::warnings::template::pod_name_prefix;
use api::options::DeleteOptions;
use api::tree::{child, integer, text};
use apimachinery::field::Path;
use schema::object::Object;

/// Limit of completions of an indexed job that can be tracked reliably, unless the parallelism is low.
const COMPLETIONS_MAX: i64 = 100_000;

/// Limit of parallelism with which any number of completions can be tracked.
const PARALLELISM_MAX: i64 = 10_000;

/// Warns about a created `Job`.
pub(super) fn create(object: &Object, out: &mut Warnings) {
    pod_name_prefix(object, out);
    job_spec(object, out);
}

pub(super) fn update(new: &Object, old: &Object, out: &mut Warnings) {
    if generation_changed(new, old) {
        job_spec(new, out);
    }
}

pub(crate) fn job_spec(object: &Object, out: &mut Warnings) {
    job_spec_at(&Path::root("spec"), child(object, "spec"), out);
}

pub(crate) fn job_spec_at(path: &Path<'_>, spec: Option<&Object>, out: &mut Warnings) {
    let Some(spec) = spec else { return };
    let beyond_tracking =
        integer(spec, "completions") > COMPLETIONS_MAX && integer(spec, "parallelism") > PARALLELISM_MAX;
    if text(spec, "completionMode") == "Indexed" && beyond_tracking {
        out.add(format_args!(
            "{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher \
             than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes \
             fail"
        ));
    }
    if let Some(template) = child(spec, "template") {
        pod::template(&path.child("template"), template, out);
    }
}

/// By default, jobs are deleted without their pods for compatibility. Few users expect that.
const ORPHANED_PODS: &str = "child pods are preserved by default when jobs are deleted; set \
                             propagationPolicy=Background to remove them or set propagationPolicy=Orphan to \
                             suppress this warning";

pub(super) fn orphaned_pods(options: &DeleteOptions) -> Option<String> {
    let is_explicit = options.propagation_policy.is_some() || options.orphan_dependents.is_some();
    (!is_explicit).then(|| ORPHANED_PODS.to_owned())
}
