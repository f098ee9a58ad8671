//! The `resize` subresource changes only resources (KEP-1287, KEP-5419).

use crate::strategy::hooks::{restore, restore_metadata};
use api::tree;
use component_base::features::{Gate, Gates};
use jsontree::Value;
use schema::object::{self, Object};

/// Takes everything from `old` except the resources of the pod, the resources and resize policies of its
/// containers and, with a gate, its volumes. If containers were added or removed, `new` is unchanged and validation rejects it.
pub(super) fn keep_resources(new: &mut Object, old: &Object, gates: &Gates) {
    let spec = |name| ["spec", name];
    let same_number =
        |name| object::get_list(new, &spec(name)).len() == object::get_list(old, &spec(name)).len();
    if !same_number("containers") || !same_number("initContainers") {
        return;
    }
    let old_containers = ["containers", "initContainers"].map(|name| {
        let new = object::get_list(new, &spec(name));
        let old = object::get_list(old, &spec(name));
        (name, resized(new, old))
    });
    let resources = object::remove(new, &["spec", "resources"]);
    let volumes = object::remove(new, &["spec", "volumes"]);
    restore(new, Some(old), ".spec");
    restore(new, Some(old), ".status");
    restore_metadata(new, old);
    let Some(spec) = tree::child_mut(new, "spec") else { return };
    match resources {
        _ if !gates.enabled(Gate::InPlacePodLevelResourcesVerticalScaling) => None,
        Some(resources) => spec.insert("resources", resources),
        None => spec.remove("resources"),
    };
    match volumes {
        _ if !gates.enabled(Gate::InPlacePodVerticalScalingMemoryBackedVolumes) => None,
        Some(volumes) => spec.insert("volumes", volumes),
        None => spec.remove("volumes"),
    };
    for (name, containers) in old_containers.into_iter().filter(|(_, containers)| !containers.is_empty()) {
        spec.insert(name, Value::Array(containers));
    }
}

/// Returns the old containers with the new resources, or the new containers if their names differ.
fn resized(new: &[Value], old: &[Value]) -> Vec<Value> {
    let same_name = |(new, old): (&Value, &Value)| new.get("name") == old.get("name");
    if !new.iter().zip(old).all(same_name) {
        return new.to_vec();
    }
    new.iter().zip(old).map(|(new, old)| with_resources_of(new, old)).collect()
}

fn with_resources_of(new: &Value, old: &Value) -> Value {
    let mut container = old.clone();
    if let Some(container) = container.as_object_mut() {
        for name in ["resources", "resizePolicy"] {
            match new.get(name) {
                Some(value) => container.insert(name, value.clone()),
                None => container.remove(name),
            };
        }
    }
    container
}
