//! Default requests and limits of containers, recorded in an annotation of the pod.

use api::tree::{child, child_mut, children_mut, text};
use schema::object::{self, Object};

use super::limits;
use crate::meta::set_pair;

/// The annotation with the list of defaulted fields.
const NOTE: &str = "kubernetes.io/limit-ranger";

/// Applies the defaults of a limit range. A second range overwrites the annotation of the first, as in
/// upstream.
pub(super) fn apply(range: &Object, pod: &mut Object) {
    let mut requests = Object::new();
    let mut most = Object::new();
    for limit in limits(range).filter(|limit| text(limit, "type") == "Container") {
        let defaults = |name| child(limit, name).cloned().unwrap_or_default();
        requests.extend(defaults("defaultRequest"));
        most.extend(defaults("default"));
    }
    let Some(spec) = child_mut(pod, "spec") else { return };
    let mut notes = Vec::new();
    for (list, word) in [("containers", "container"), ("initContainers", "init container")] {
        for container in children_mut(spec, list) {
            let limited = fill(container, "limits", &most);
            let requested = fill(container, "requests", &requests);
            for (names, noun) in [(requested, "request"), (limited, "limit")] {
                if !names.is_empty() {
                    notes.push(format!("{} {noun} for {word} {}", names.join(", "), text(container, "name")));
                }
            }
        }
    }
    if !notes.is_empty() {
        set_pair(pod, "annotations", NOTE, &format!("LimitRanger plugin set: {}", notes.join("; ")));
    }
}

/// Adds missing entries to one list of a container. Returns the names of the added entries, sorted.
fn fill<'d>(container: &mut Object, member: &str, defaults: &'d Object) -> Vec<&'d str> {
    let resources = child(container, "resources");
    let is_set =
        |name: &str| resources.and_then(|r| child(r, member)).is_some_and(|list| list.contains_key(name));
    let missing: Vec<&str> =
        defaults.keys().map(jsontree::Key::as_str).filter(|name| !is_set(name)).collect();
    for name in &missing {
        if let Some(quantity) = defaults.get(*name) {
            object::set(container, &["resources", member, name], quantity.clone());
        }
    }
    missing
}
