//! DaemonSets.
//!
//! The template generation is not validated: the registry sets it, so it cannot be wrong.

mod defaults;
mod strategy;
mod warnings;

use crate::core::pod::{PodOptions, validate_pod_template_spec};
use crate::kind::{Columns, Kind, OnUpdate, RareProperties, Validation, Version, WarningRules};
use crate::printers::column::{AGE, CONTAINERS, Column, IMAGES, NAME};
use crate::printers::format::{self, labels};
use crate::strategy::gated::shared::{TEMPLATE, TEMPLATE_ANNOTATIONS};
use crate::validation::NameRule;
use crate::validation::immutable::immutable;
use crate::validation::int_or_percent::{at_most_100_percent, bad_value, int_or_percent, is_zero};
use crate::validation::kinds::workload::{
    collisions_do_not_fall, is_empty_selector, none_negative, requires_restart_always, selector_value,
    selects_template, strategy_value,
};
use crate::validation::rules::{ContextRules, ValidationContext, metadata, metadata_update};
use crate::validation::selector::{has_bad_values, label_selector};
use api::tree::{child, text};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::labels::from_label_selector;
use schema::builtin::{
    IO_K8S_API_APPS_V1_DAEMONSETSPEC as DAEMON_SET_SPEC,
    IO_K8S_API_APPS_V1_DAEMONSETUPDATESTRATEGY as UPDATE_STRATEGY,
};
use schema::object::Object;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[
        Version::with_defaults("apps/v1", defaults::daemon_set),
        Version::with_defaults("apps/v1beta2", defaults::daemon_set),
        Version::with_defaults("extensions/v1beta1", defaults::daemon_set_of_extensions),
    ],
    validation: Validation::Settings(RULES),
    warnings: WarningRules {
        create: crate::warnings::template::template,
        update: OnUpdate::Custom(warnings::update),
        ..WarningRules::NONE
    },
    columns: Columns::Custom(&[
        NAME,
        Column::integer("Desired", |object, _| object.get_path("status.desiredNumberScheduled").int().into())
            .with_description_of("io.k8s.api.apps.v1.DaemonSetStatus", "desiredNumberScheduled"),
        Column::integer("Current", |object, _| object.get_path("status.currentNumberScheduled").int().into())
            .with_description_of("io.k8s.api.apps.v1.DaemonSetStatus", "currentNumberScheduled"),
        Column::integer("Ready", |object, _| object.get_path("status.numberReady").int().into())
            .with_description_of("io.k8s.api.apps.v1.DaemonSetStatus", "numberReady"),
        Column::integer("Up-to-date", |object, _| {
            object.get_path("status.updatedNumberScheduled").int().into()
        })
        .with_description_of("io.k8s.api.apps.v1.DaemonSetStatus", "updatedNumberScheduled"),
        Column::integer("Available", |object, _| object.get_path("status.numberAvailable").int().into())
            .with_description_of("io.k8s.api.apps.v1.DaemonSetStatus", "numberAvailable"),
        Column::text("Node Selector", |object, _| {
            labels(object.get_path("spec.template.spec.nodeSelector")).into()
        })
        .with_description_of("io.k8s.api.core.v1.PodSpec", "nodeSelector"),
        AGE,
        CONTAINERS,
        IMAGES,
        Column::text("Selector", |object, _| format::label_selector(object.get_path("spec.selector")).into())
            .with_description_of("io.k8s.api.apps.v1.DaemonSetSpec", "selector")
            .wide(),
    ]),
    gated: &[TEMPLATE_ANNOTATIONS, TEMPLATE],
    strategy: &strategy::DaemonSets,
    rare_properties: RareProperties::NONE,
};

pub(crate) const RULES: ContextRules = ContextRules { create, update };

const COUNTERS: &[&str] = &[
    "currentNumberScheduled",
    "numberMisscheduled",
    "desiredNumberScheduled",
    "numberReady",
    "observedGeneration",
    "updatedNumberScheduled",
    "numberAvailable",
    "numberUnavailable",
    "collisionCount",
];

fn create(new: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = metadata(new, true, NameRule::DnsSubdomain);
    let empty = Object::new();
    validate_spec(child(new, "spec").unwrap_or(&empty), &PodOptions::new(false, None, context), &mut errors);
    errors
}

fn update(subresource: &str, new: &Object, old: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = metadata_update(new, old);
    let empty = Object::new();
    if subresource == "status" {
        let [new, old] = [new, old].map(|object| child(object, "status").unwrap_or(&empty));
        let path = Path::root("status");
        none_negative(&path, new, COUNTERS, &mut errors);
        collisions_do_not_fall(&path, new, old, &mut errors);
        return errors;
    }
    let [new, old] = [new, old].map(|object| child(object, "spec").unwrap_or(&empty));
    immutable(&Path::root("spec.selector"), &DAEMON_SET_SPEC, "selector", new, old, &mut errors);
    let mut options = PodOptions::new(false, child(old, "template"), context);
    options.bad_affinity_selectors |= child(old, "selector").is_some_and(has_bad_values);
    validate_spec(new, &options, &mut errors);
    errors
}

fn validate_spec(spec: &Object, options: &PodOptions, errors: &mut ErrorList) {
    let empty = Object::new();
    let path = Path::root("spec");
    let selector = child(spec, "selector");
    let selector_path = path.child("selector");
    let template = child(spec, "template").unwrap_or(&empty);
    let template_path = path.child("template");
    label_selector(&selector_path, selector, options.bad_affinity_selectors, errors);
    if let Ok(selects) = from_label_selector(selector) {
        selects_template(&template_path, template, &selects, errors);
    }
    if selector.is_some_and(is_empty_selector) {
        let detail = "empty selector is invalid for daemonset";
        errors.push(Error::invalid(&selector_path, selector_value(selector), detail));
    }
    errors.append(validate_pod_template_spec(template, &template_path, options));
    requires_restart_always(&template_path, template, "DaemonSet", errors);
    none_negative(&path, spec, &["minReadySeconds"], errors);
    update_strategy(&path.child("updateStrategy"), child(spec, "updateStrategy").unwrap_or(&empty), errors);
    none_negative(&path, spec, &["revisionHistoryLimit"], errors);
}

fn update_strategy(path: &Path<'_>, strategy: &Object, errors: &mut ErrorList) {
    let rolling_path = path.child("rollingUpdate");
    match (text(strategy, "type"), child(strategy, "rollingUpdate")) {
        ("OnDelete", _) => {}
        ("RollingUpdate", None) => errors.push(Error::required(&rolling_path, "")),
        ("RollingUpdate", Some(rolling)) => rolling_update(&rolling_path, rolling, errors),
        _ => {
            let value = strategy_value(&UPDATE_STRATEGY, strategy, &["maxUnavailable", "maxSurge"]);
            errors.push(Error::not_supported(path, value, &["RollingUpdate", "OnDelete"]));
        }
    }
}

fn rolling_update(path: &Path<'_>, rolling: &Object, errors: &mut ErrorList) {
    let unavailable = rolling.get("maxUnavailable");
    let surge = rolling.get("maxSurge");
    let unavailable_path = path.child("maxUnavailable");
    let surge_path = path.child("maxSurge");
    int_or_percent(&unavailable_path, unavailable, errors);
    int_or_percent(&surge_path, surge, errors);
    at_most_100_percent(&unavailable_path, unavailable, errors);
    at_most_100_percent(&surge_path, surge, errors);
    match (is_zero(unavailable), is_zero(surge)) {
        (false, false) => {
            let detail = "may not be set when maxUnavailable is non-zero";
            errors.push(Error::invalid(&surge_path, bad_value(surge), detail));
        }
        (true, true) => errors.push(Error::required(&unavailable_path, "cannot be 0 when maxSurge is 0")),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
