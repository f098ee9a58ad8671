//! The spec of a job, except its selector.

use super::failure_policy::failure_policy;
use super::scheduling::scheduling;
use super::success_policy::success_policy;
use crate::core::pod::{PodOptions, validate_pod_template_spec};
use crate::validation::go_value::go_value;
use crate::validation::kinds::workload::none_negative;
use crate::validation::value::{dns_subdomain, supported_value};
use api::tree::{child, is_set, maybe_integer, maybe_text, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names;
use schema::builtin::IO_K8S_API_BATCH_V1_SUCCESSPOLICY as SUCCESS_POLICY;
use schema::object::Object;

/// Parallelism limit of an Indexed job.
const PARALLELISM_MAX: i64 = 100_000;
/// Limit of failed indexes in an Indexed job.
const FAILED_INDEXES_MAX: i64 = 100_000;
/// With more completions and a limit per index, lower limits apply to parallelism and failed indexes
/// (KEP-3850).
const COMPLETIONS_SOFT_MAX: i64 = 100_000;
/// The lower limit.
const HIGH_COMPLETIONS_MAX: i64 = 10_000;
/// Length limit of `managedBy` in bytes.
const MANAGED_BY_BYTES_MAX: usize = 63;

const NEEDS_INDEXED: &str = "requires indexed completion mode";

/// Validates a spec without its selector. `path` is that of the spec.
pub(super) fn validate_spec_without_selector(
    path: &Path<'_>,
    spec: &Object,
    options: &PodOptions,
    errors: &mut ErrorList,
) {
    let numbers = [
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    ];
    none_negative(path, spec, &numbers, errors);
    if is_set(spec, "maxFailedIndexes") && !is_set(spec, "backoffLimitPerIndex") {
        let detail = "when maxFailedIndexes is specified";
        errors.push(Error::required(&path.child("backoffLimitPerIndex"), detail));
    }
    if let Some(manager) = maybe_text(spec, "managedBy") {
        managed_by(&path.child("managedBy"), manager, errors);
    }
    let mode = maybe_text(spec, "completionMode");
    if let Some(mode) = mode {
        supported_value(&path.child("completionMode"), mode, &["NonIndexed", "Indexed"], errors);
    }
    match mode {
        Some("Indexed") => indexed(path, spec, errors),
        None | Some("NonIndexed") => {
            for member in ["backoffLimitPerIndex", "maxFailedIndexes"] {
                if let Some(number) = maybe_integer(spec, member) {
                    errors.push(Error::invalid(&path.child(member), number, NEEDS_INDEXED));
                }
            }
        }
        Some(_) => {}
    }
    if let Some(policy) = child(spec, "podFailurePolicy") {
        failure_policy(&path.child("podFailurePolicy"), policy, spec, errors);
    }
    if let Some(policy) = child(spec, "successPolicy") {
        let path = path.child("successPolicy");
        match mode {
            Some("Indexed") => success_policy(&path, policy, maybe_integer(spec, "completions"), errors),
            _ => errors.push(Error::invalid(&path, go_value(&SUCCESS_POLICY, policy), NEEDS_INDEXED)),
        }
    }
    if let Some(policy) = maybe_text(spec, "podReplacementPolicy") {
        let supported: &[&str] =
            if is_set(spec, "podFailurePolicy") { &["Failed"] } else { &["Failed", "TerminatingOrFailed"] };
        supported_value(&path.child("podReplacementPolicy"), policy, supported, errors);
    }
    scheduling(&path.child("scheduling"), spec, errors);
    template(path, spec, options, errors);
}

/// Validates the fields of Indexed jobs.
fn indexed(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let [parallelism, completions, failed] =
        ["parallelism", "completions", "maxFailedIndexes"].map(|member| maybe_integer(spec, member));
    let parallelism_path = path.child("parallelism");
    let failed_path = path.child("maxFailedIndexes");
    if completions.is_none() {
        errors.push(Error::required(&path.child("completions"), "when completion mode is Indexed"));
    }
    if let Some(parallelism) = parallelism.filter(|p| *p > PARALLELISM_MAX) {
        let detail =
            format!("must be less than or equal to {PARALLELISM_MAX} when completion mode is Indexed");
        errors.push(Error::invalid(&parallelism_path, parallelism, detail));
    }
    if let Some(failed) = failed {
        if completions.is_some_and(|completions| failed > completions) {
            let detail = "must be less than or equal to completions";
            errors.push(Error::invalid(&failed_path, failed, detail));
        }
        if failed > FAILED_INDEXES_MAX {
            let detail = format!("must be less than or equal to {FAILED_INDEXES_MAX}");
            errors.push(Error::invalid(&failed_path, failed, detail));
        }
    }
    let high = completions.is_some_and(|completions| completions > COMPLETIONS_SOFT_MAX);
    if !high || !is_set(spec, "backoffLimitPerIndex") {
        return;
    }
    if failed.is_none() {
        let detail = format!("must be specified when completions is above {COMPLETIONS_SOFT_MAX}");
        errors.push(Error::required(&failed_path, detail));
    }
    for (path, number) in [(parallelism_path, parallelism), (failed_path, failed)] {
        if let Some(number) = number.filter(|number| *number > HIGH_COMPLETIONS_MAX) {
            let detail = format!(
                "must be less than or equal to {HIGH_COMPLETIONS_MAX} when completions are above \
                 {COMPLETIONS_SOFT_MAX} and used with backoff limit per index"
            );
            errors.push(Error::invalid(&path, number, detail));
        }
    }
}

/// Checks for the controller of a job: a path under a domain.
fn managed_by(path: &Path<'_>, manager: &str, errors: &mut ErrorList) {
    domain_prefixed_path(path, manager, errors);
    if manager.len() > MANAGED_BY_BYTES_MAX {
        errors.push(Error::too_long(path, Some(MANAGED_BY_BYTES_MAX)));
    }
}

fn domain_prefixed_path(path: &Path<'_>, value: &str, errors: &mut ErrorList) {
    if value.is_empty() {
        errors.push(Error::required(path, ""));
        return;
    }
    let parts = value.split_once('/').filter(|(host, rest)| !host.is_empty() && !rest.is_empty());
    let Some((host, rest)) = parts else {
        let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
        errors.push(Error::invalid(path, value, detail));
        return;
    };
    dns_subdomain(path, host, errors);
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || br"/-._~%!$&'()*+,;=:".contains(&byte);
    if !rest.bytes().all(valid) {
        let detail = names::regex_error("Invalid path", r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+", &[]);
        errors.push(Error::invalid(path, rest, detail));
    }
}

/// Validates the pod template of a job, whose pods must terminate. `path` is that of the spec.
fn template(path: &Path<'_>, spec: &Object, options: &PodOptions, errors: &mut ErrorList) {
    let empty = Object::new();
    let template = child(spec, "template").unwrap_or(&empty);
    let path = path.child("template");
    errors.append(validate_pod_template_spec(template, &path, options));
    let policy = child(template, "spec").map_or("", |pod| text(pod, "restartPolicy"));
    let path = path.child("spec.restartPolicy");
    match policy {
        "" | "Always" => errors.push(Error::required(&path, "valid values: \"OnFailure\", \"Never\"")),
        "OnFailure" if is_set(spec, "podFailurePolicy") => {
            let detail = "only \"Never\" is supported when podFailurePolicy is specified";
            errors.push(Error::invalid(&path, BadValue::json_text(policy), detail));
        }
        _ => supported_value(&path, policy, &["OnFailure", "Never"], errors),
    }
}
