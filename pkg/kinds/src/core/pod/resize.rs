//! Changes through `pods/resize`: cpu and memory of the containers and of the whole pod (upstream's
//! `ValidatePodResize`; KEP-1287, KEP-5419).

use super::annotations::is_mirror_pod;
use super::container_restarts::is_sidecar;
use super::options::PodOptions;
use super::volumes;
use api::tree::{child, child_mut, children, children_mut, list, text};
use api::{qos, semantic};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use jsontree::Value;
use schema::builtin::{
    IO_K8S_API_CORE_V1_CONTAINER as CONTAINER, IO_K8S_API_CORE_V1_PODSPEC as POD_SPEC,
    IO_K8S_API_CORE_V1_RESOURCEREQUIREMENTS as RESOURCES,
};
use schema::object::Object;

const NO_POD_LEVEL: &str = "resize of pods with pod-level resources is forbidden when \
                            InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled";
const ONLY_CPU_AND_MEMORY: &str = "only cpu and memory resources are mutable";

/// Validates a resize of a pod. `errors` already contains those of its metadata and spec.
pub(super) fn validate_pod_resize(
    new: &Object,
    old: &Object,
    options: &PodOptions,
    mut errors: ErrorList,
) -> ErrorList {
    let forbidden = |detail: &str| Error::forbidden(&Path::root(""), detail);
    let empty = Object::new();
    let new_spec = child(new, "spec").unwrap_or(&empty);
    let old_spec = child(old, "spec").unwrap_or(&empty);
    if is_mirror_pod(old) {
        return [forbidden("static pods cannot be resized")].into();
    }
    if child(old_spec, "os").is_some_and(|os| text(os, "name") == "windows") {
        return [forbidden("windows pods cannot be resized")].into();
    }
    let path = Path::root("spec");
    if qos::of(old) != qos::compute(new, options.empty_pod_resources) {
        let class = child(new, "status").map_or("", |status| text(status, "qosClass"));
        let detail = "Pod QOS Class may not change as a result of resizing";
        errors.push(Error::invalid(&path, BadValue::json_text(class), detail));
    }
    if !node_can_resize(old) {
        errors.push(Error::forbidden(&path, "Pod running on node without support for resize"));
    }
    // The new spec, after reverting all changes that are allowed.
    let mut rest = new_spec.clone();
    if has_resources(old_spec) || has_resources(new_spec) {
        if !options.pod_level_resize {
            errors.push(forbidden(NO_POD_LEVEL));
            return errors;
        }
        pod_resources(new_spec, old_spec, &mut rest, &path, &mut errors);
    }
    let before = errors.len();
    same_containers(new_spec, old_spec, &path, &mut errors);
    if errors.len() > before {
        return errors;
    }
    for member in ["initContainers", "containers"] {
        let path = path.child(member);
        let resizable = |container: &Object| {
            member == "containers" || options.init_container_resize || is_sidecar(container)
        };
        let pairs = children(new_spec, member).zip(children(old_spec, member)).enumerate();
        for (index, (new, old)) in pairs.filter(|(_, (_, old))| resizable(old)) {
            nothing_removed(new, old, &path.index(index).child("resources"), &mut errors);
        }
    }
    containers(&mut rest, old_spec, &path, &mut errors);
    init_containers(Change { new: new_spec, old: old_spec }, &mut rest, options, &path, &mut errors);
    volumes::resized(&path.child("volumes"), new_spec, old_spec, options, &mut errors);
    if options.memory_volume_resize {
        restore_volumes(&mut rest, old_spec);
    }
    if errors.is_empty() && !semantic::equal(&POD_SPEC, &rest, old_spec) {
        errors.push(Error::forbidden(&path, ONLY_CPU_AND_MEMORY));
    }
    errors
}

/// True if the pod's node supports resizing, according to the status of the first running container. Without
/// a running container the result is true.
fn node_can_resize(pod: &Object) -> bool {
    let statuses = child(pod, "status").into_iter().flat_map(|status| children(status, "containerStatuses"));
    let runs =
        |status: &&Object| child(status, "state").is_some_and(|state| child(state, "running").is_some());
    statuses.into_iter().find(runs).is_none_or(|status| child(status, "resources").is_some())
}

/// True if a pod has pod-level resources (KEP-2837).
fn has_resources(spec: &Object) -> bool {
    let resources = child(spec, "resources");
    resources.is_some_and(|r| {
        ["requests", "limits"].iter().any(|name| child(r, name).is_some_and(|l| !l.is_empty()))
    })
}

/// Checks the pod-level resources, and reverts in `rest` the changes that are allowed.
fn pod_resources(new: &Object, old: &Object, rest: &mut Object, path: &Path<'_>, errors: &mut ErrorList) {
    let new = child(new, "resources");
    let old = child(old, "resources");
    let path_of_resources = path.child("resources");
    let Some(new) = new else {
        errors.push(Error::forbidden(&path_of_resources, "pod-level resources cannot be removed"));
        return;
    };
    let empty = Object::new();
    for name in ["requests", "limits"] {
        if old.is_some_and(|old| is_removed(new, old, name)) {
            let detail = format!("pod-level resource {name} cannot be removed");
            errors.push(Error::forbidden(&path_of_resources.child(name), detail));
        }
    }
    let mut undone = new.clone();
    undo(&mut undone, old.unwrap_or(&empty));
    let nothing = ["requests", "limits", "claims"].iter().all(|name| match undone.get(*name) {
        Some(Value::Object(list)) => list.is_empty(),
        Some(Value::Array(list)) => list.is_empty(),
        _ => true,
    });
    let equal = match old {
        None => nothing,
        Some(old) => semantic::equal(&RESOURCES, &undone, old),
    };
    if !equal {
        errors.push(Error::forbidden(path, "only cpu and memory resources are mutable at pod-level"));
    }
    match old {
        None if nothing => rest.remove("resources"),
        _ => rest.insert("resources", Value::Object(undone)),
    };
}

/// Checks that the containers are the same, in the same order.
fn same_containers(new: &Object, old: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    for member in ["containers", "initContainers"] {
        let path = path.child(member);
        if list(new, member).len() != list(old, member).len() {
            errors.push(Error::forbidden(&path, format!("{member} may not be added or removed on resize")));
            continue;
        }
        for (index, (new, old)) in children(new, member).zip(children(old, member)).enumerate() {
            if text(new, "name") != text(old, "name") {
                let detail = format!("{member} may not be renamed or reordered on resize");
                errors.push(Error::forbidden(&path.index(index).child("name"), detail));
            }
        }
    }
}

/// Checks that a container still has requests and limits for all earlier resources. `path` is that of its
/// resources.
fn nothing_removed(new: &Object, old: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    let empty = Object::new();
    let resources = |container| child(container, "resources").unwrap_or(&empty);
    for name in ["requests", "limits"] {
        if is_removed(resources(new), resources(old), name) {
            let detail = format!("resource {name} cannot be removed");
            errors.push(Error::forbidden(&path.child(name), detail));
        }
    }
}

/// True if an earlier resource is missing in a list.
fn is_removed(new: &Object, old: &Object, list: &str) -> bool {
    let new = child(new, list);
    let mut names = child(old, list).into_iter().flat_map(Object::keys);
    names.any(|name| !new.is_some_and(|new| new.contains_key(name)))
}

/// Reverts in `rest` the changes that are allowed in containers, and checks that nothing else changed.
fn containers(rest: &mut Object, old: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    for (new, old) in children_mut(rest, "containers").zip(children(old, "containers")) {
        undo_container(new, old);
        if !semantic::equal(&CONTAINER, new, old) {
            errors.push(Error::forbidden(path, ONLY_CPU_AND_MEMORY));
        }
    }
}

/// Specs before and after a resize.
#[derive(Clone, Copy)]
struct Change<'a> {
    new: &'a Object,
    old: &'a Object,
}

/// Does the same for init containers. Those that run once can be resized unless that restarts them.
fn init_containers(
    change: Change<'_>,
    rest: &mut Object,
    options: &PodOptions,
    spec_path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let path = spec_path.child("initContainers");
    let before = children(change.new, "initContainers").zip(children(change.old, "initContainers"));
    for (index, ((new, old), rest)) in before.zip(children_mut(rest, "initContainers")).enumerate() {
        let path = path.index(index);
        if !options.init_container_resize && !is_sidecar(new) {
            if !semantic::equal(&CONTAINER, new, old) {
                let detail = "resources for non-sidecar init containers are immutable";
                errors.push(Error::forbidden(spec_path, detail));
            }
            continue;
        }
        undo_container(rest, old);
        if !semantic::equal(&CONTAINER, rest, old) {
            let detail = "only cpu and memory resources for init or sidecar containers are mutable";
            errors.push(Error::forbidden(&path, detail));
        }
        if is_sidecar(new) || semantic::equal(&CONTAINER, new, old) {
            continue;
        }
        for policy in children(new, "resizePolicy") {
            if text(policy, "restartPolicy") == "RestartContainer" {
                let detail =
                    "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
                errors.push(Error::forbidden(&path, detail));
            }
        }
    }
}

fn restore_volumes(rest: &mut Object, old: &Object) {
    match old.get("volumes") {
        Some(volumes) => rest.insert("volumes", volumes.clone()),
        None => rest.remove("volumes"),
    };
}

/// Restores the old cpu and memory of a container.
fn undo_container(container: &mut Object, old: &Object) {
    let empty = Object::new();
    let mut resources = child(container, "resources").cloned().unwrap_or_default();
    undo(&mut resources, child(old, "resources").unwrap_or(&empty));
    container.insert("resources", Value::Object(resources));
}

/// Restores the old cpu and memory in resources.
fn undo(resources: &mut Object, old: &Object) {
    for name in ["requests", "limits"] {
        let old = child(old, name);
        if old.is_none() && child(resources, name).is_none() {
            continue;
        }
        if child(resources, name).is_none() {
            resources.insert(name, Value::Object(Object::new()));
        }
        let Some(list) = child_mut(resources, name) else { continue };
        for resource in ["cpu", "memory"] {
            match old.and_then(|old| old.get(resource)) {
                Some(quantity) => list.insert(resource.to_owned(), quantity.clone()),
                None => list.remove(resource),
            };
        }
    }
}

#[cfg(test)]
mod tests;
