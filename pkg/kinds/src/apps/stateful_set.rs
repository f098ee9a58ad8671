//! StatefulSets.

mod defaults;
mod warnings;

use crate::core::pod::{PodOptions, validate_pod_template_metadata, validate_pod_template_spec};
use crate::kind::{Columns, Kind, OnUpdate, RareProperties, Validation, Version, WarningRules};
use crate::printers::column::{AGE, CONTAINERS, Column, IMAGES, NAME};
use crate::printers::format::ready_replicas as ready;
use crate::strategy::gated::fields::{gated_by, gated_path};
use crate::strategy::gated::shared::{TEMPLATE, TEMPLATE_ANNOTATIONS};
use crate::strategy::hooks::Common;
use crate::validation::NameRule;
use crate::validation::claim_spec::{ClaimOptions, validate_claim_spec};
use crate::validation::go_value::go_value;
use crate::validation::immutable::immutable;
use crate::validation::int_or_percent::{at_most_100_percent, bad_value, int_or_percent, is_zero};
use crate::validation::kinds::workload::{
    EXCEEDS_REPLICAS, collisions_do_not_fall, none_above, none_negative, required_selector,
    requires_restart_always, selector_value, selects_template, strategy_value,
};
use crate::validation::rules::{ContextRules, ValidationContext, metadata, metadata_update};
use crate::validation::value::{dns_label, supported_value};
use crate::warnings::common::generation_changed;
use api::tree::{child, child_mut, children, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::labels::from_label_selector;
use component_base::features::Gate;
use jsontree::{Value, json};
use schema::builtin::{
    IO_K8S_API_APPS_V1_ROLLINGUPDATESTATEFULSETSTRATEGY as ROLLING_UPDATE,
    IO_K8S_API_APPS_V1_STATEFULSETSPEC as STATEFUL_SET_SPEC,
    IO_K8S_API_APPS_V1_STATEFULSETUPDATESTRATEGY as UPDATE_STRATEGY,
};
use schema::object::Object;
use std::collections::BTreeSet;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsLabel,
    qualified_finalizers: true,
    defaults: &[
        Version::with_defaults("apps/v1", defaults::stateful_set),
        Version::with_defaults("apps/v1beta2", defaults::stateful_set),
        Version::with_defaults("apps/v1beta1", defaults::stateful_set_v1beta1),
    ],
    validation: Validation::Settings(RULES),
    warnings: WarningRules {
        create: warnings::create,
        update: OnUpdate::Custom(|new, old, out| warnings::update(new, generation_changed(new, old), out)),
        ..WarningRules::NONE
    },
    columns: Columns::Custom(&[
        NAME,
        Column::text("Ready", |object, _| ready(object).into())
            .with_description("Number of the pod with ready state"),
        AGE,
        CONTAINERS,
        IMAGES,
    ]),
    gated: &[
        TEMPLATE_ANNOTATIONS,
        TEMPLATE,
        gated_path(
            &["spec", "updateStrategy", "rollingUpdate"],
            &[gated_by(Gate::MaxUnavailableStatefulSet, &[&["maxUnavailable"]])],
        ),
    ],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};

pub(crate) const RULES: ContextRules = ContextRules { create, update };

/// Update strategy that replaces all pods at once.
const RECREATE: &str = "Recreate";

/// Immutable members of a spec, in the order of their checks.
const IMMUTABLE: [&str; 4] = ["selector", "volumeClaimTemplates", "serviceName", "podManagementPolicy"];

/// Strictness of the validation of a spec.
#[derive(Clone, Copy, Default)]
struct Options {
    /// True for an update: immutable parts (claims and the service's name) are not validated.
    update: bool,
    /// True if the old spec is invalid: pods are not validated.
    skip_pods: bool,
    pod: PodOptions,
    /// Allows the update strategy `Recreate`.
    recreate: bool,
}

fn create(new: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = metadata(new, true, NameRule::DnsLabel);
    let empty = Object::new();
    let spec = child(new, "spec").unwrap_or(&empty);
    let recreate = context.settings.gates.enabled(Gate::StatefulSetRecreateStrategy);
    let options = Options { pod: PodOptions::new(false, None, context), recreate, ..Options::default() };
    validate_spec(&Path::root("spec"), spec, options, &mut errors);
    errors
}

fn update(subresource: &str, new: &Object, old: &Object, context: &ValidationContext) -> ErrorList {
    let empty = Object::new();
    if subresource == "status" {
        let [new_status, old_status] = [new, old].map(|object| child(object, "status").unwrap_or(&empty));
        let mut errors = ErrorList::new();
        let path = Path::root("status");
        status(&path, new_status, &mut errors);
        errors.append(metadata_update(new, old));
        collisions_do_not_fall(&path, new_status, old_status, &mut errors);
        return errors;
    }
    let mut errors = metadata_update(new, old);
    let [new, old] = [new, old].map(|object| child(object, "spec").unwrap_or(&empty));
    let pod = PodOptions::new(false, child(old, "template"), context);
    let recreated = child(old, "updateStrategy").is_some_and(|strategy| text(strategy, "type") == RECREATE);
    let recreate = recreated || context.settings.gates.enabled(Gate::StatefulSetRecreateStrategy);
    let mut options = Options { update: true, skip_pods: false, pod, recreate };
    let mut before = ErrorList::new();
    validate_spec(&Path::NIL, old, options, &mut before);
    options.skip_pods = !before.is_empty();
    let path = Path::root("spec");
    validate_spec(&path, new, options, &mut errors);
    for member in IMMUTABLE {
        immutable(&path.child(member), &STATEFUL_SET_SPEC, member, new, old, &mut errors);
    }
    errors
}

fn validate_spec(path: &Path<'_>, spec: &Object, options: Options, errors: &mut ErrorList) {
    let empty = Object::new();
    let management = path.child("podManagementPolicy");
    match text(spec, "podManagementPolicy") {
        "" => errors.push(Error::required(&management, "")),
        "OrderedReady" | "Parallel" => {}
        policy => {
            let value = BadValue::json_text(policy);
            errors.push(Error::invalid(&management, value, "must be 'OrderedReady' or 'Parallel'"));
        }
    }
    let strategy = child(spec, "updateStrategy").unwrap_or(&empty);
    update_strategy(&path.child("updateStrategy"), strategy, options.recreate, errors);
    if let Some(policy) = child(spec, "persistentVolumeClaimRetentionPolicy") {
        let path = path.child("persistentVolumeClaimRetentionPolicy");
        for member in ["whenDeleted", "whenScaled"] {
            supported_value(&path.child(member), text(policy, member), &["Retain", "Delete"], errors);
        }
    }
    if !options.update {
        let path = path.child("volumeClaimTemplates");
        for (index, claim) in children(spec, "volumeClaimTemplates").enumerate() {
            let spec = child(claim, "spec").unwrap_or(&empty);
            validate_claim_spec(&path.index(index).child("spec"), spec, ClaimOptions::default(), errors);
        }
    }
    none_negative(path, spec, &["replicas", "minReadySeconds"], errors);
    if let Some(ordinals) = child(spec, "ordinals") {
        none_negative(&path.child("ordinals"), ordinals, &["start"], errors);
    }
    let service = text(spec, "serviceName");
    if !options.update && !service.is_empty() {
        dns_label(&path.child("serviceName"), service, errors);
    }
    required_selector(path, spec, "statefulset", errors);
    template(path, spec, options, errors);
}

fn update_strategy(path: &Path<'_>, strategy: &Object, recreate: bool, errors: &mut ErrorList) {
    let rolling_path = path.child("rollingUpdate");
    match (text(strategy, "type"), child(strategy, "rollingUpdate")) {
        ("", _) => errors.push(Error::required(path, "")),
        ("OnDelete" | "RollingUpdate", None) => {}
        (RECREATE, None) if recreate => {}
        (kind, Some(rolling)) if kind == "OnDelete" || (kind == RECREATE && recreate) => {
            let mut rolling = rolling.clone();
            rolling.entry("partition").or_insert_with(|| 0.into());
            let detail = "only allowed for updateStrategy 'RollingUpdate'";
            errors.push(Error::invalid(&rolling_path, go_value(&ROLLING_UPDATE, &rolling), detail));
        }
        ("RollingUpdate", Some(rolling)) => {
            none_negative(&rolling_path, rolling, &["partition"], errors);
            let Some(unavailable) = rolling.get("maxUnavailable") else { return };
            let path = rolling_path.child("maxUnavailable");
            int_or_percent(&path, Some(unavailable), errors);
            if is_zero(Some(unavailable)) {
                errors.push(Error::invalid(&path, bad_value(Some(unavailable)), "cannot be 0"));
            }
            at_most_100_percent(&path, Some(unavailable), errors);
        }
        _ => {
            let value = strategy_value(&UPDATE_STRATEGY, strategy, &["partition"]);
            let detail = if recreate {
                "must be 'RollingUpdate', 'OnDelete', or 'Recreate'"
            } else {
                "must be 'RollingUpdate' or 'OnDelete'"
            };
            errors.push(Error::invalid(path, value, detail));
        }
    }
}

/// Validates the pod template. `path` is that of the spec.
fn template(path: &Path<'_>, spec: &Object, options: Options, errors: &mut ErrorList) {
    let empty = Object::new();
    let selector = child(spec, "selector");
    let template_path = path.child("template");
    match from_label_selector(selector) {
        Err(_) => errors.push(Error::invalid(&path.child("selector"), selector_value(selector), "")),
        Ok(selects) => {
            let template = template_of_pods(spec);
            selects_template(&template_path, &template, &selects, errors);
            if !options.skip_pods {
                errors.append(validate_pod_template_spec(&template, &template_path, &options.pod));
            }
            // Upstream validates the metadata twice.
            errors.append(validate_pod_template_metadata(&template, &template_path, &options.pod));
        }
    }
    let template = child(spec, "template").unwrap_or(&empty);
    requires_restart_always(&template_path, template, "StatefulSet", errors);
}

/// Returns the template as the controller completes it: with the pod's host name, and with the volumes of its
/// claims.
fn template_of_pods(spec: &Object) -> Object {
    let mut template = child(spec, "template").cloned().unwrap_or_default();
    let claims: BTreeSet<&str> = children(spec, "volumeClaimTemplates")
        .map(|claim| child(claim, "metadata").map_or("", |meta| text(meta, "name")))
        .collect();
    let Some(pod) = child_mut(&mut template, "spec") else { return template };
    pod.remove("subdomain");
    pod.remove("hostname");
    if !claims.is_empty() {
        let of_claim = |name: &&str| json!({"name": name, "persistentVolumeClaim": {"claimName": name}});
        let pod_volumes = children(pod, "volumes").filter(|volume| !claims.contains(text(volume, "name")));
        let pod_volumes = pod_volumes.cloned().map(Value::Object);
        let volumes: Vec<Value> = claims.iter().map(of_claim).chain(pod_volumes).collect();
        pod.insert("volumes", volumes.into());
    }
    template
}

fn status(path: &Path<'_>, status: &Object, errors: &mut ErrorList) {
    let counters = [
        "replicas",
        "readyReplicas",
        "currentReplicas",
        "updatedReplicas",
        "availableReplicas",
        "observedGeneration",
        "collisionCount",
    ];
    none_negative(path, status, &counters, errors);
    let pairs = [
        ("readyReplicas", "replicas", EXCEEDS_REPLICAS),
        ("currentReplicas", "replicas", EXCEEDS_REPLICAS),
        ("updatedReplicas", "replicas", EXCEEDS_REPLICAS),
        ("availableReplicas", "replicas", EXCEEDS_REPLICAS),
        ("availableReplicas", "readyReplicas", "cannot be greater than status.readyReplicas"),
    ];
    none_above(path, status, &pairs, errors);
}

#[cfg(test)]
mod tests;
