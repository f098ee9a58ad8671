//! Deployments.

mod columns;
mod defaults;

use super::replica_set::template;
use crate::kind::{Columns, Kind, OnUpdate, RareProperties, Validation, Version, WarningRules};
use crate::strategy::gated::shared::{TEMPLATE, TEMPLATE_ANNOTATIONS, TERMINATING};
use crate::strategy::hooks::Common;
use crate::validation::NameRule;
use crate::validation::immutable::immutable;
use crate::validation::int_or_percent::{at_most_100_percent, bad_value, int_or_percent, is_zero};
use crate::validation::kinds::workload::{
    EXCEEDS_REPLICAS, collisions_do_not_fall, none_above, none_negative, required_selector, strategy_value,
};
use crate::validation::rules::{ContextRules, ValidationContext, metadata, metadata_update};
use crate::validation::value::nonnegative;
use api::tree::{child, integer, maybe_integer, text};
use apimachinery::field::{Error, ErrorList, Path};
use schema::builtin::{
    IO_K8S_API_APPS_V1_DEPLOYMENTSPEC as DEPLOYMENT_SPEC,
    IO_K8S_API_APPS_V1_DEPLOYMENTSTRATEGY as DEPLOYMENT_STRATEGY,
};
use schema::object::Object;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[
        Version::with_defaults("apps/v1", defaults::deployment),
        Version::with_defaults("apps/v1beta2", defaults::deployment),
        Version::with_defaults("apps/v1beta1", defaults::deployment_v1beta1),
        Version::with_defaults("extensions/v1beta1", defaults::deployment_of_extensions),
    ],
    validation: Validation::Settings(RULES),
    warnings: WarningRules {
        create: crate::warnings::template::named_template,
        update: OnUpdate::Custom(crate::warnings::template::template_update),
        ..WarningRules::NONE
    },
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[TEMPLATE_ANNOTATIONS, TEMPLATE, TERMINATING],
    strategy: &Common,
    rare_properties: RareProperties { counted_metadata: Some("annotations"), ..RareProperties::NONE },
};

pub(crate) const RULES: ContextRules = ContextRules { create, update };

fn create(new: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = metadata(new, true, NameRule::DnsSubdomain);
    spec(new, None, context, &mut errors);
    errors
}

fn update(subresource: &str, new: &Object, old: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = metadata_update(new, old);
    let empty = Object::new();
    if subresource == "status" {
        let [new, old] = [new, old].map(|object| child(object, "status").unwrap_or(&empty));
        status(new, old, &mut errors);
        return errors;
    }
    spec(new, Some(old), context, &mut errors);
    let [new, old] = [new, old].map(|object| child(object, "spec").unwrap_or(&empty));
    immutable(&Path::root("spec.selector"), &DEPLOYMENT_SPEC, "selector", new, old, &mut errors);
    errors
}

fn spec(new: &Object, old: Option<&Object>, context: &ValidationContext, errors: &mut ErrorList) {
    let empty = Object::new();
    let spec = child(new, "spec").unwrap_or(&empty);
    let path = Path::root("spec");
    none_negative(&path, spec, &["replicas"], errors);
    required_selector(&path, spec, "deployment", errors);
    template(&path, spec, old.and_then(|old| child(old, "spec")), context, errors);
    strategy(&path.child("strategy"), child(spec, "strategy").unwrap_or(&empty), errors);
    none_negative(&path, spec, &["minReadySeconds", "revisionHistoryLimit"], errors);
    if let Some(deadline) = maybe_integer(spec, "progressDeadlineSeconds") {
        let path = path.child("progressDeadlineSeconds");
        nonnegative(&path, deadline, errors);
        if deadline <= integer(spec, "minReadySeconds") {
            errors.push(Error::invalid(&path, deadline, "must be greater than minReadySeconds"));
        }
    }
}

fn strategy(path: &Path<'_>, strategy: &Object, errors: &mut ErrorList) {
    let rolling_path = path.child("rollingUpdate");
    match (text(strategy, "type"), child(strategy, "rollingUpdate")) {
        ("Recreate", None) => {}
        ("Recreate", Some(_)) => {
            let detail = "may not be specified when strategy `type` is 'Recreate'";
            errors.push(Error::forbidden(&rolling_path, detail));
        }
        ("RollingUpdate", None) => {
            errors.push(Error::required(&rolling_path, "this should be defaulted and never be nil"));
        }
        ("RollingUpdate", Some(rolling)) => rolling_update(&rolling_path, rolling, errors),
        _ => {
            let value = strategy_value(&DEPLOYMENT_STRATEGY, strategy, &["maxUnavailable", "maxSurge"]);
            errors.push(Error::not_supported(path, value, &["Recreate", "RollingUpdate"]));
        }
    }
}

fn rolling_update(path: &Path<'_>, rolling: &Object, errors: &mut ErrorList) {
    let unavailable = rolling.get("maxUnavailable");
    let surge = rolling.get("maxSurge");
    let unavailable_path = path.child("maxUnavailable");
    int_or_percent(&unavailable_path, unavailable, errors);
    int_or_percent(&path.child("maxSurge"), surge, errors);
    if is_zero(unavailable) && is_zero(surge) {
        let detail = "may not be 0 when `maxSurge` is 0";
        errors.push(Error::invalid(&unavailable_path, bad_value(unavailable), detail));
    }
    at_most_100_percent(&unavailable_path, unavailable, errors);
}

fn status(new: &Object, old: &Object, errors: &mut ErrorList) {
    let path = Path::root("status");
    let counters = [
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    ];
    none_negative(&path, new, &counters, errors);
    let pairs = [
        ("updatedReplicas", "replicas", EXCEEDS_REPLICAS),
        ("readyReplicas", "replicas", EXCEEDS_REPLICAS),
        ("availableReplicas", "replicas", EXCEEDS_REPLICAS),
        ("availableReplicas", "readyReplicas", "cannot be greater than readyReplicas"),
    ];
    none_above(&path, new, &pairs, errors);
    collisions_do_not_fall(&path, new, old, errors);
}

#[cfg(test)]
mod tests;
