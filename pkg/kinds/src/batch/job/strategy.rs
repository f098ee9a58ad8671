//! Jobs: the server generates the pod selector, unless the user sets it manually (upstream's
//! `registry/batch/job/strategy.go`).

use crate::strategy::hooks::{Context, Strategy, child};
use api::meta;
use component_base::features::Gate;
use schema::object::{self, Object};

/// Prefixed labels, each with its older name without prefix.
const NAME_LABELS: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];

const UID_LABELS: [&str; 2] = ["controller-uid", CONTROLLER_UID];

const CONTROLLER_UID: &str = "batch.kubernetes.io/controller-uid";

const OWN_LABELS: [&str; 2] = ["metadata", "labels"];

const POD_LABELS: [&str; 4] = ["spec", "template", "metadata", "labels"];

pub(crate) struct Jobs;

impl Strategy for Jobs {
    fn prepare_for_create(&self, job: &mut Object, context: &Context<'_>) {
        if object::get_bool(job, &["spec", "manualSelector"]) != Some(true) {
            generate_selector(job, context.shares_labels);
        }
        if !context.gates().enabled(Gate::JobManagedBy)
            && let Some(spec) = child(job, "spec")
        {
            spec.remove("managedBy");
        }
    }
}

/// Adds the job's name and uid as labels of its pods, and selects by the uid. Existing labels are kept;
/// validation checks them.
///
/// A job without labels defaults to those of its pods. In upstream both share one map instead of a copy, so
/// the generated labels are added to both.
fn generate_selector(job: &mut Object, shares_labels: bool) {
    let name = meta::text(job, "name").to_owned();
    let uid = meta::text(job, "uid").to_owned();
    let Some(spec) = child(job, "spec") else { return };
    let pods = child(spec, "template").and_then(|template| child(template, "metadata"));
    if let Some(labels) = pods.and_then(|metadata| child(metadata, "labels")) {
        let named = NAME_LABELS.into_iter().map(|label| (label, &name));
        for (label, value) in named.chain(UID_LABELS.into_iter().map(|label| (label, &uid))) {
            labels.entry(label).or_insert_with(|| value.as_str().into());
        }
    }
    let selector = child(spec, "selector").and_then(|selector| child(selector, "matchLabels"));
    if let Some(selector) = selector {
        selector.entry(CONTROLLER_UID).or_insert_with(|| uid.into());
    }
    if shares_labels && let Some(labels) = object::get_object(job, &POD_LABELS).cloned() {
        object::set(job, &OWN_LABELS, labels);
    }
}
