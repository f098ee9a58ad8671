//! Persistent volumes: storage that outlives the pods that use it.

mod columns;
mod defaults;
mod source;
mod strategy;
mod update;
mod warnings;

use self::source::source;
use crate::kind::{Columns, Kind, RareProperties, Validation, Version, WarningRules};
use crate::strategy::gated::fields::{gated_by, gated_path};
use crate::validation::NameRule;
use crate::validation::node_selector::{has_bad_values, node_selector};
use crate::validation::resources::{positive_quantity, resource_list};
use crate::validation::rules::{ContextRules, metadata};
use crate::validation::value::{dns_subdomain, supported_value};
use api::tree::{child, is_set, list, maybe_text, text, texts};
use apimachinery::field::{Error, ErrorList, Path};
use component_base::features::Gate;
use jsontree::Value;
use schema::object::Object;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[Version::with_defaults("v1", defaults::persistent_volume)],
    validation: Validation::Settings(RULES),
    warnings: WarningRules { create: warnings::persistent_volume, ..WarningRules::NONE },
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[gated_path(
        &["spec"],
        &[gated_by(Gate::VolumeAttributesClass, &[&["volumeAttributesClassName"]])],
    )],
    strategy: &strategy::PersistentVolumes,
    rare_properties: RareProperties::NONE,
};

pub(crate) const RULES: ContextRules =
    ContextRules { create: |new, _| validate(new, None), update: update::update };

const ACCESS_MODES: &[&str] = &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const MOUNT_OPTIONS: &str = "volume.beta.kubernetes.io/mount-options";
const INLINE: &str = "may not be specified in the context of inline volumes";

/// Volume sources that support mount options.
const MOUNTED_WITH_OPTIONS: &[&str] = &[
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "nfs",
    "rbd",
    "quobyte",
    "iscsi",
    "cinder",
    "cephfs",
    "azureFile",
    "vsphereVolume",
    "azureDisk",
    "photonPersistentDisk",
];

/// Object that contains the spec.
#[derive(Clone, Copy)]
pub(crate) enum Context<'a> {
    Volume {
        name: &'a str,
        /// Allows node affinity values that are not valid label values.
        bad_values: bool,
    },
    /// Attachment of an inline volume of a pod.
    Inline,
}

/// Validates a volume, new or replacing `old`.
fn validate(volume: &Object, old: Option<&Object>) -> ErrorList {
    let mut errors = metadata(volume, false, NameRule::DnsSubdomain);
    volume_spec(volume, old, &mut errors);
    mount_options(volume, &mut errors);
    errors
}

fn volume_spec(volume: &Object, old: Option<&Object>, errors: &mut ErrorList) {
    let empty = Object::new();
    let name = child(volume, "metadata").map_or("", |meta| text(meta, "name"));
    let affinity = old.and_then(|old| child(old, "spec")).and_then(|spec| child(spec, "nodeAffinity"));
    let selector = affinity.and_then(|affinity| child(affinity, "required"));
    let context = Context::Volume { name, bad_values: selector.is_some_and(has_bad_values) };
    let spec = child(volume, "spec").unwrap_or(&empty);
    validate_volume_spec(&Path::root("spec"), spec, context, errors);
}

fn mount_options(volume: &Object, errors: &mut ErrorList) {
    let annotations = child(volume, "metadata").and_then(|meta| child(meta, "annotations"));
    let annotated = annotations.is_some_and(|annotations| annotations.contains_key(MOUNT_OPTIONS));
    let spec = child(volume, "spec");
    let mounted = MOUNTED_WITH_OPTIONS.iter().any(|kind| spec.is_some_and(|spec| is_set(spec, kind)));
    if annotated && !mounted {
        let path = Path::root("metadata.annotations");
        let detail = "may not specify mount options for this volume type";
        errors.push(Error::forbidden(&path.child(MOUNT_OPTIONS), detail));
    }
}

/// Validates the spec of a volume. `path` is that of the spec.
pub(crate) fn validate_volume_spec(
    path: &Path<'_>,
    spec: &Object,
    context: Context<'_>,
    errors: &mut ErrorList,
) {
    let inline = matches!(context, Context::Inline);
    if inline {
        for member in ["claimRef", "capacity"].into_iter().filter(|member| is_set(spec, member)) {
            errors.push(Error::forbidden(&path.child(member), INLINE));
        }
        if !is_set(spec, "csi") {
            let detail = "has to be specified in the context of inline volumes";
            errors.push(Error::required(&path.child("csi"), detail));
        }
    }
    access_modes(&path.child("accessModes"), spec, errors);
    if !inline {
        capacity(&path.child("capacity"), spec, errors);
    }
    reclaim_policy(&path.child("persistentVolumeReclaimPolicy"), spec, inline, errors);
    node_affinity(&path.child("nodeAffinity"), spec, context, errors);
    source(path, spec, context, errors);
    classes(path, spec, inline, errors);
}

fn access_modes(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    if list(spec, "accessModes").is_empty() {
        errors.push(Error::required(path, ""));
    }
    let mut alone = false;
    let mut others = false;
    for mode in texts(spec, "accessModes") {
        supported_value(path, mode, ACCESS_MODES, errors);
        alone |= mode == "ReadWriteOncePod";
        others |= mode != "ReadWriteOncePod" && ACCESS_MODES.contains(&mode);
    }
    if alone && others {
        errors.push(Error::forbidden(path, "may not use ReadWriteOncePod with other access modes"));
    }
}

/// Checks that the capacity consists of storage only.
fn capacity(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let capacity = child(spec, "capacity");
    if capacity.is_none_or(Object::is_empty) {
        errors.push(Error::required(path, ""));
    }
    if capacity.is_none_or(|capacity| !capacity.contains_key("storage") || capacity.len() > 1) {
        let value = spec.get("capacity").unwrap_or(&Value::Null);
        errors.push(Error::not_supported(path, value, &["storage"]));
    }
    for (name, quantity) in resource_list(spec, "capacity") {
        let path = path.key(name);
        if quantity.value() < 0 {
            errors.push(Error::invalid(&path, quantity.value(), "must be a valid resource quantity"));
        }
        positive_quantity(&path, &quantity, errors);
    }
}

fn reclaim_policy(path: &Path<'_>, spec: &Object, inline: bool, errors: &mut ErrorList) {
    match text(spec, "persistentVolumeReclaimPolicy") {
        "" => {}
        "Retain" if inline => {}
        _ if inline => {
            errors.push(Error::forbidden(path, "may only be Retain in the context of inline volumes"));
        }
        policy => supported_value(path, policy, &["Delete", "Recycle", "Retain"], errors),
    }
}

fn node_affinity(path: &Path<'_>, spec: &Object, context: Context<'_>, errors: &mut ErrorList) {
    let Some(affinity) = child(spec, "nodeAffinity") else { return };
    let Context::Volume { bad_values, .. } = context else {
        errors.push(Error::forbidden(path, INLINE));
        return;
    };
    let path = path.child("required");
    match child(affinity, "required") {
        Some(selector) => node_selector(&path, selector, bad_values, errors),
        None => errors.push(Error::required(&path, "must specify required node constraints")),
    }
}

fn classes(path: &Path<'_>, spec: &Object, inline: bool, errors: &mut ErrorList) {
    let class_path = path.child("storageClassName");
    match text(spec, "storageClassName") {
        "" => {}
        _ if inline => errors.push(Error::forbidden(&class_path, INLINE)),
        class => dns_subdomain(&class_path, class, errors),
    }
    let mode_path = path.child("volumeMode");
    match maybe_text(spec, "volumeMode") {
        None => {}
        Some("Filesystem") if inline => {}
        Some(_) if inline => {
            let detail = "may not specify volumeMode other than Filesystem in the context of inline volumes";
            errors.push(Error::forbidden(&mode_path, detail));
        }
        Some(mode) => supported_value(&mode_path, mode, &["Block", "Filesystem"], errors),
    }
    // Upstream ignores it for an inline volume.
    let Some(class) = maybe_text(spec, "volumeAttributesClassName").filter(|_| !inline) else { return };
    let class_path = path.child("volumeAttributesClassName");
    match class {
        "" => errors.push(Error::required(&class_path, "an empty string is disallowed")),
        class => dns_subdomain(&class_path, class, errors),
    }
    if !is_set(spec, "csi") {
        let detail = "has to be specified when using volumeAttributesClassName";
        errors.push(Error::required(&path.child("csi"), detail));
    }
}

#[cfg(test)]
#[path = "persistent_volume/tests.rs"]
mod tests;
