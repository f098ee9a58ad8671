//! Jobs, and job templates of CronJobs.

mod columns;
pub(crate) mod defaults;
mod failure_policy;
mod indexes;
mod scheduling;
mod spec;
mod status;
mod strategy;
mod success_policy;
mod update;
pub(crate) mod warnings;

use crate::core::pod::PodOptions;
use crate::kind::{Columns, Kind, OnUpdate, RareProperties, Validation, Version, WarningRules};
use crate::strategy::gated::fields::{GatedFields, gated_by, gated_path};
use crate::strategy::gated::shared::{TEMPLATE, TEMPLATE_ANNOTATIONS};
use crate::validation::NameRule;
use crate::validation::kinds::workload::{labels_value, selector_value, selects_template};
use crate::validation::rules::{ContextRules, ValidationContext, metadata, metadata_update};
use crate::validation::selector::{has_bad_values, label_selector};
use api::tree::{child, flag, maybe_integer, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::labels::from_label_selector;
use apimachinery::names;
use component_base::features::Gate;
use schema::object::Object;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[Version::with_defaults("batch/v1", defaults::job)],
    validation: Validation::Settings(RULES),
    warnings: WarningRules {
        create: warnings::create,
        update: OnUpdate::Custom(warnings::update),
        delete: warnings::orphaned_pods,
        ..WarningRules::NONE
    },
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[TEMPLATE_ANNOTATIONS, TEMPLATE, gated_path(&["spec"], SPEC)],
    strategy: &strategy::Jobs,
    rare_properties: RareProperties { shares_labels: Some("batch/v1"), ..RareProperties::NONE },
};

/// Fields of a job's spec behind feature gates.
pub(super) const SPEC: &[GatedFields] = &[gated_by(Gate::WorkloadWithJob, &[&["scheduling"]])];

pub(crate) const RULES: ContextRules = ContextRules { create, update };

/// Labels of a job's pods: UID and name, each with the key from before 1.27 and the current one.
const LABELS: [(&str, &str); 4] = [
    ("controller-uid", "uid"),
    ("job-name", "name"),
    ("batch.kubernetes.io/controller-uid", "uid"),
    ("batch.kubernetes.io/job-name", "name"),
];

fn create(new: &Object, context: &ValidationContext) -> ErrorList {
    validate_job(new, &PodOptions::new(false, None, context))
}

fn update(subresource: &str, new: &Object, old: &Object, context: &ValidationContext) -> ErrorList {
    if subresource == "status" {
        let mut errors = metadata_update(new, old);
        let managed_by = context.settings.gates.enabled(Gate::JobManagedBy);
        status::validate_status_update(new, old, managed_by, &mut errors);
        return errors;
    }
    let empty = Object::new();
    let [new_spec, old_spec] = [new, old].map(|object| child(object, "spec").unwrap_or(&empty));
    let mut options = PodOptions::new(false, child(old_spec, "template"), context);
    options.bad_affinity_selectors |= child(old_spec, "selector").is_some_and(has_bad_values);
    let mut errors = metadata_update(new, old);
    let path = Path::root("spec");
    validate_spec(&path, new_spec, &options, &mut errors);
    update::unchanged(
        &path,
        new_spec,
        old_spec,
        update::MutableFields::of(old, &context.settings.gates),
        &mut errors,
    );
    scheduling::policy_unchanged(&path.child("scheduling"), new_spec, old_spec, &mut errors);
    host_names(new, &mut errors);
    errors
}

fn validate_job(job: &Object, options: &PodOptions) -> ErrorList {
    let mut errors = metadata(job, true, NameRule::DnsSubdomain);
    let empty = Object::new();
    let spec = child(job, "spec").unwrap_or(&empty);
    let meta = child(job, "metadata").unwrap_or(&empty);
    generated_selector(spec, meta, &mut errors);
    validate_spec(&Path::root("spec"), spec, options, &mut errors);
    host_names(job, &mut errors);
    errors
}

/// Checks that the name of an Indexed job can be extended to the host names of its pods.
fn host_names(job: &Object, errors: &mut ErrorList) {
    let empty = Object::new();
    let [meta, spec] = ["metadata", "spec"].map(|member| child(job, member).unwrap_or(&empty));
    let completions = maybe_integer(spec, "completions").filter(|completions| *completions > 0);
    if let Some(completions) = completions.filter(|_| text(spec, "completionMode") == "Indexed") {
        let name = text(meta, "name");
        let host = format!("{name}-{}", completions - 1);
        if !names::is_dns1123_label(&host).is_empty() {
            let detail = format!("will not able to create pod with invalid DNS label: {host}");
            errors.push(Error::invalid(&Path::root("metadata.name"), name, detail));
        }
    }
}

/// Checks that the job's selector and its pods' labels are those that the registry generates, unless
/// `manualSelector` is set.
fn generated_selector(spec: &Object, meta: &Object, errors: &mut ErrorList) {
    let Some(selector) = child(spec, "selector").filter(|_| !flag(spec, "manualSelector")) else { return };
    if text(meta, "uid").is_empty() {
        errors.push(Error::required(&Path::root("metadata.uid"), ""));
    }
    let of_pods = child(spec, "template").and_then(|template| child(template, "metadata"));
    let path = Path::root("spec.template.metadata.labels");
    for (label, member) in &LABELS {
        let path = path.key(label);
        let value = text(meta, member);
        let detail = format!("must be '{value}'");
        match of_pods.and_then(|meta| child(meta, "labels")).and_then(|labels| labels.get(*label)) {
            None => errors.push(Error::required(&path, detail)),
            Some(actual) if actual != value => {
                errors.push(Error::invalid(&path, labels_value(of_pods), detail))
            }
            Some(_) => {}
        }
    }
    let Ok(selects) = from_label_selector(Some(selector)) else { return };
    let labels = LABELS.iter().map(|(label, member)| (*label, text(meta, member)));
    if !selects.matches_pairs(labels) {
        let detail = "`selector` not auto-generated";
        errors.push(Error::invalid(&Path::root("spec.selector"), selector_value(Some(selector)), detail));
    }
}

fn validate_spec(path: &Path<'_>, spec: &Object, options: &PodOptions, errors: &mut ErrorList) {
    spec::validate_spec_without_selector(path, spec, options, errors);
    let selector = child(spec, "selector");
    let selector_path = path.child("selector");
    if selector.is_none() {
        errors.push(Error::required(&selector_path, ""));
    }
    label_selector(&selector_path, selector, options.bad_affinity_selectors, errors);
    if let Ok(selects) = from_label_selector(selector) {
        let empty = Object::new();
        let template = child(spec, "template").unwrap_or(&empty);
        selects_template(&path.child("template"), template, &selects, errors);
    }
}

/// Validates a job template, whose selector the registry generates. `path` is that of the template.
pub(crate) fn validate_job_template(
    path: &Path<'_>,
    template: &Object,
    options: &PodOptions,
    errors: &mut ErrorList,
) {
    let empty = Object::new();
    let spec = child(template, "spec").unwrap_or(&empty);
    let path = path.child("spec");
    spec::validate_spec_without_selector(&path, spec, options, errors);
    if let Some(selector) = child(spec, "selector") {
        let value = selector_value(Some(selector));
        errors.push(Error::invalid(&path.child("selector"), value, "`selector` will be auto-generated"));
    }
    if flag(spec, "manualSelector") {
        let value = BadValue::from(true);
        errors.push(Error::not_supported(&path.child("manualSelector"), value, &["nil", "false"]));
    }
}

#[cfg(test)]
mod tests;
