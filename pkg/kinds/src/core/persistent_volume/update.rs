//! Mutable fields of a persistent volume.

use super::{metadata, validate, volume_spec};
use crate::validation::NameRule;
use crate::validation::go_value::{go_lines, go_value};
use crate::validation::immutable::immutable;
use crate::validation::rules::{ValidationContext, metadata_update};
use crate::validation::unified_diff::unified_diff;
use api::semantic::equal;
use api::tree::{child, child_mut, children, children_mut, is_set, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use component_base::features::Gate;
use schema::builtin::{
    IO_K8S_API_CORE_V1_PERSISTENTVOLUMESOURCE as SOURCE, IO_K8S_API_CORE_V1_PERSISTENTVOLUMESPEC as SPEC,
    IO_K8S_API_CORE_V1_VOLUMENODEAFFINITY as AFFINITY,
};
use schema::object::Object;

/// Formerly beta labels, with their current names.
const RENAMED_LABELS: &[(&str, &str)] = &[
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
    ("beta.kubernetes.io/os", "kubernetes.io/os"),
    ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
    ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
];

pub(super) fn update(
    subresource: &str,
    new: &Object,
    old: &Object,
    context: &ValidationContext,
) -> ErrorList {
    if subresource == "status" {
        let mut errors = metadata_update(new, old);
        if child(new, "metadata").is_none_or(|meta| text(meta, "resourceVersion").is_empty()) {
            errors.push(Error::required(&Path::root("resourceVersion"), ""));
        }
        return errors;
    }
    // Upstream validates the volume twice.
    let mut errors = validate(new, Some(old));
    errors.append(metadata(new, false, NameRule::DnsSubdomain));
    volume_spec(new, Some(old), &mut errors);
    let empty = Object::new();
    let spec = child(new, "spec").unwrap_or(&empty);
    let old_spec = child(old, "spec").unwrap_or(&empty);
    source(spec, old_spec, &mut errors);
    immutable(&Path::root("volumeMode"), &SPEC, "volumeMode", spec, old_spec, &mut errors);
    if !context.settings.gates.enabled(Gate::MutablePVNodeAffinity) {
        affinity(spec, old_spec, &mut errors);
    }
    let class = "volumeAttributesClassName";
    if is_set(old_spec, class) && !is_set(spec, class) {
        let detail = "update from non-nil value to nil is forbidden";
        errors.push(Error::forbidden(&Path::root("spec").child(class), detail));
    }
    errors
}

/// Checks that the source is unchanged, except that a secret for expansion by a CSI driver may be added.
fn source(spec: &Object, old: &Object, errors: &mut ErrorList) {
    let secret = "controllerExpandSecretRef";
    let mut spec = spec.clone();
    if child(old, "csi").is_some_and(|csi| !is_set(csi, secret))
        && let Some(csi) = child_mut(&mut spec, "csi")
    {
        csi.remove(secret);
    }
    if !equal(&SOURCE, &spec, old) {
        let diff = unified_diff(&go_lines(&SOURCE, old), &go_lines(&SOURCE, &spec));
        let detail = format!("spec.persistentvolumesource is immutable after creation\n{diff}");
        errors.push(Error::forbidden(&Path::root("spec.persistentvolumesource"), detail));
    }
}

/// Checks that a node affinity, once set, is unchanged, except for new label names.
fn affinity(spec: &Object, old: &Object, errors: &mut ErrorList) {
    let Some(old) = child(old, "nodeAffinity") else { return };
    let new = child(spec, "nodeAffinity");
    if !new.is_some_and(|new| equal(&AFFINITY, new, &renamed(old, new))) {
        let value = new.map_or(BadValue::Plain("null".to_owned()), |new| go_value(&AFFINITY, new));
        let detail = "field is immutable, except for updating from beta label to GA";
        errors.push(Error::invalid(&Path::root("nodeAffinity"), value, detail));
    }
}

/// Returns the old affinity with the new label names where the new affinity has them.
fn renamed(old: &Object, new: &Object) -> Object {
    let mut old = old.clone();
    let (Some(old_selector), Some(selector)) = (child_mut(&mut old, "required"), child(new, "required"))
    else {
        return old;
    };
    let terms = children_mut(old_selector, "nodeSelectorTerms").zip(children(selector, "nodeSelectorTerms"));
    for (old_term, term) in terms {
        for member in ["matchExpressions", "matchFields"] {
            for (old, new) in children_mut(old_term, member).zip(children(term, member)) {
                let old_key = text(old, "key");
                let key = text(new, "key");
                // In upstream, other keys count as beta names of the empty one.
                let renamed_label = RENAMED_LABELS.iter().find(|(beta, _)| *beta == old_key);
                if renamed_label.map_or("", |(_, stable)| *stable) == key {
                    old.insert("key", key.into());
                }
            }
        }
    }
    old
}
