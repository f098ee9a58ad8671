//! Converts AppArmor annotations of pods to fields (KEP-24, version skew).

use crate::strategy::hooks::child;
use api::tree;
use jsontree::{Value, json};
use schema::object::{self, Object};

/// Annotation prefix, followed by the container name.
const PREFIX: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Maximum path length of the kernel, without the terminating zero.
const PROFILE_BYTES_MAX: usize = 4095;

/// Sets the profile of containers that have an annotation, no field, and a different profile than the pod's.
pub(super) fn fill_in(pod: &mut Object) {
    let annotations = object::get_object(pod, &["metadata", "annotations"]);
    let profiles: Vec<(String, Value)> = annotations
        .into_iter()
        .flatten()
        .filter_map(|(key, value)| Some((key.strip_prefix(PREFIX)?.to_owned(), profile(value.as_str()?)?)))
        .collect();
    let windows = object::get_str(pod, &["spec", "os", "name"]) == Some("windows");
    if profiles.is_empty() || windows {
        return;
    }
    let of_pod = object::get(pod, &["spec", "securityContext", "appArmorProfile"]).cloned();
    let Some(spec) = tree::child_mut(pod, "spec") else { return };
    for list in ["initContainers", "containers", "ephemeralContainers"] {
        for container in tree::children_mut(spec, list) {
            let name = tree::text(container, "name");
            let Some((_, profile)) = profiles.iter().find(|(of, _)| of == name) else { continue };
            let has_own = object::get_object(container, &["securityContext", "appArmorProfile"]).is_some();
            if has_own || of_pod.as_ref() == Some(profile) {
                continue;
            }
            if let Some(context) = child(container, "securityContext") {
                context.insert("appArmorProfile", profile.clone());
            }
        }
    }
}

fn profile(annotation: &str) -> Option<Value> {
    match annotation {
        "unconfined" => Some(json!({"type": "Unconfined"})),
        "runtime/default" => Some(json!({"type": "RuntimeDefault"})),
        other => {
            let name = other.strip_prefix("localhost/")?;
            let valid = !name.is_empty() && name.trim() == name && name.len() <= PROFILE_BYTES_MAX;
            valid.then(|| json!({"type": "Localhost", "localhostProfile": name}))
        }
    }
}
