//! HorizontalPodAutoscalers in their v2 form.

mod columns;
mod defaults;
mod metric;

use crate::defaults::fill::default_struct;
use crate::kind::{Columns, Generation, Kind, RareProperties, Validation, Version, WarningRules};
use crate::strategy::gated::fields::{gated_by, gated_path};
use crate::strategy::hooks::Common;
use crate::validation::NameRule;
use crate::validation::kinds::workload::none_negative;
use crate::validation::resources::{nonnegative_quantity, quantity};
use crate::validation::rules::{ContextRules, ValidationContext, metadata, metadata_update};
use crate::validation::value::{invalid_each, supported_value};
use api::tree::{child, children, integer, list, maybe_integer, maybe_text, text};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::names;
use component_base::features::Gate;
use schema::object::Object;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[
        Version::with_defaults("autoscaling/v1", |autoscaler| {
            default_struct(autoscaler, "spec", defaults::at_least_one)
        }),
        Version::with_defaults("autoscaling/v2", |autoscaler| {
            default_struct(autoscaler, "spec", defaults::spec)
        }),
    ],
    validation: Validation::Settings(RULES),
    warnings: WarningRules::NONE,
    columns: Columns::ByVersion(&[("autoscaling/v1", columns::V1), ("autoscaling/v2", columns::V2)]),
    gated: &[gated_path(
        &["spec", "behavior"],
        &[gated_by(
            Gate::HPAConfigurableTolerance,
            &[&["scaleDown", "tolerance"], &["scaleUp", "tolerance"]],
        )],
    )],
    strategy: &Common,
    rare_properties: RareProperties {
        generation: Generation::Gated(Gate::HPAGeneration),
        ..RareProperties::NONE
    },
};

pub(crate) const RULES: ContextRules = ContextRules { create, update };

/// Limit of a scaling policy's period in seconds.
const PERIOD_MAX: i64 = 1800;
/// Limit of a scaling rule's window in seconds.
const WINDOW_MAX: i64 = 3600;

/// Rule for the `apiVersion` of a reference.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ApiVersion {
    /// Any text, because the old object had the same or another invalid one.
    Any,
    /// A group and a version; the core group is allowed.
    Valid,
    /// A group and a version; the core group is not allowed.
    Grouped,
}

/// Strictness of the validation of a spec.
struct Options {
    /// Lower limit of `minReplicas`.
    min_replicas: i64,
    target: ApiVersion,
    metrics: ApiVersion,
}

fn create(new: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = metadata(new, true, NameRule::DnsSubdomain);
    let empty = Object::new();
    let spec = child(new, "spec").unwrap_or(&empty);
    validate_spec(spec, &Options::new(spec, None, context), &mut errors);
    errors
}

fn update(subresource: &str, new: &Object, old: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = metadata_update(new, old);
    let empty = Object::new();
    if subresource == "status" {
        let status = child(new, "status").unwrap_or(&empty);
        let conditions = Path::root("status.conditions");
        for (index, condition) in children(status, "conditions").enumerate() {
            none_negative(&conditions.index(index), condition, &["observedGeneration"], &mut errors);
        }
        none_negative(&Path::root("status"), status, &["currentReplicas", "desiredReplicas"], &mut errors);
        return errors;
    }
    let [new, old] = [new, old].map(|object| child(object, "spec").unwrap_or(&empty));
    validate_spec(new, &Options::new(new, Some(old), context), &mut errors);
    errors
}

impl Options {
    /// Derives the options for a spec that replaces `old`, if present.
    fn new(new: &Object, old: Option<&Object>, context: &ValidationContext) -> Self {
        let empty = Object::new();
        let target = child(new, "scaleTargetRef").unwrap_or(&empty);
        let same_target = old.is_some_and(|old| {
            let old = child(old, "scaleTargetRef").unwrap_or(&empty);
            ["apiVersion", "kind"].iter().all(|member| text(target, member) == text(old, member))
        });
        let was_bad = old.is_some_and(|old| {
            children(old, "metrics")
                .filter(|metric| text(metric, "type") == "Object")
                .filter_map(|metric| child(metric, "object"))
                .any(|object| {
                    let version = child(object, "describedObject")
                        .map_or("", |reference| text(reference, "apiVersion"));
                    ApiVersion::Valid.problem(version).is_some()
                })
        });
        let was_zero = old.and_then(|old| maybe_integer(old, "minReplicas")) == Some(0);
        let to_zero = was_zero || context.settings.gates.enabled(Gate::HPAScaleToZero);
        Self {
            min_replicas: if to_zero { 0 } else { 1 },
            target: match text(target, "kind") {
                _ if same_target => ApiVersion::Any,
                "ReplicationController" => ApiVersion::Valid,
                _ => ApiVersion::Grouped,
            },
            metrics: if was_bad { ApiVersion::Any } else { ApiVersion::Valid },
        }
    }
}

impl ApiVersion {
    /// Returns the error of an `apiVersion`.
    fn problem(self, version: &str) -> Option<String> {
        let slashes = version.matches('/').count();
        let group = version.split_once('/').map_or("", |(group, _)| group);
        match self {
            Self::Any => None,
            _ if slashes > 1 => Some(format!("unexpected GroupVersion string: {version}")),
            Self::Grouped if group.is_empty() => Some("apiVersion must specify API group".to_owned()),
            _ => None,
        }
    }
}

fn validate_spec(spec: &Object, options: &Options, errors: &mut ErrorList) {
    let empty = Object::new();
    let path = Path::root("spec");
    let min = maybe_integer(spec, "minReplicas");
    let max = integer(spec, "maxReplicas");
    if let Some(min) = min.filter(|min| *min < options.min_replicas) {
        let detail = format!("must be greater than or equal to {}", options.min_replicas);
        errors.push(Error::invalid(&path.child("minReplicas"), min, detail));
    }
    let max_path = path.child("maxReplicas");
    if max == 0 {
        errors.push(Error::required(&max_path, "must be set and greater than 0"));
    } else if max < 0 {
        errors.push(Error::invalid(&max_path, max, "must be greater than or equal to 1"));
    }
    if min.is_some_and(|min| max < min) {
        errors.push(Error::invalid(&max_path, max, "must be greater than or equal to `minReplicas`"));
    }
    let target = child(spec, "scaleTargetRef").unwrap_or(&empty);
    reference(&path.child("scaleTargetRef"), target, options.target, errors);
    let metrics = path.child("metrics");
    for (index, spec) in children(spec, "metrics").enumerate() {
        metric::metric(&metrics.index(index), spec, options.metrics, errors);
    }
    let external = children(spec, "metrics").any(|m| matches!(text(m, "type"), "Object" | "External"));
    if min == Some(0) && !external {
        let detail =
            "must specify at least one Object or External metric to support scaling to zero replicas";
        errors.push(Error::forbidden(&metrics, detail));
    }
    let path = path.child("behavior");
    for direction in ["scaleUp", "scaleDown"] {
        let rules = child(spec, "behavior").and_then(|behavior| child(behavior, direction));
        if let Some(rules) = rules {
            scaling_rules(&path.child(direction), rules, errors);
        }
    }
}

/// Validates a reference to an object of any kind.
fn reference(path: &Path<'_>, reference: &Object, version: ApiVersion, errors: &mut ErrorList) {
    for member in ["kind", "name"] {
        segment(&path.child(member), text(reference, member), "", errors);
    }
    let api_version = text(reference, "apiVersion");
    if let Some(problem) = version.problem(api_version) {
        errors.push(Error::invalid(&path.child("apiVersion"), api_version, problem));
    }
}

/// Checks that a name is present and fits into a path; `missing` is the error text for an empty one.
fn segment(path: &Path<'_>, name: &str, missing: &str, errors: &mut ErrorList) {
    match name {
        "" => errors.push(Error::required(path, missing)),
        _ => invalid_each(path, name, names::is_path_segment_name(name), errors),
    }
}

fn scaling_rules(path: &Path<'_>, rules: &Object, errors: &mut ErrorList) {
    if let Some(window) = maybe_integer(rules, "stabilizationWindowSeconds") {
        let path = path.child("stabilizationWindowSeconds");
        if window < 0 {
            errors.push(Error::invalid(&path, window, "must be greater than or equal to zero"));
        }
        at_most(&path, window, WINDOW_MAX, errors);
    }
    if let Some(policy) = maybe_text(rules, "selectPolicy") {
        supported_value(&path.child("selectPolicy"), policy, &["Disabled", "Max", "Min"], errors);
    }
    let policies = path.child("policies");
    if list(rules, "policies").is_empty() {
        errors.push(Error::required(&policies, "must specify at least one Policy"));
    }
    for (index, policy) in children(rules, "policies").enumerate() {
        let path = policies.index(index);
        supported_value(&path.child("type"), text(policy, "type"), &["Percent", "Pods"], errors);
        for member in ["value", "periodSeconds"] {
            let number = integer(policy, member);
            if number <= 0 {
                errors.push(Error::invalid(&path.child(member), number, "must be greater than zero"));
            }
        }
        at_most(&path.child("periodSeconds"), integer(policy, "periodSeconds"), PERIOD_MAX, errors);
    }
    if let Some(tolerance) = rules.get("tolerance") {
        nonnegative_quantity(&path.child("tolerance"), &quantity(Some(tolerance)), errors);
    }
}

fn at_most(path: &Path<'_>, value: i64, max: i64, errors: &mut ErrorList) {
    if value > max {
        errors.push(Error::invalid(path, value, format!("must be less than or equal to {max}")));
    }
}

#[cfg(test)]
mod tests;
