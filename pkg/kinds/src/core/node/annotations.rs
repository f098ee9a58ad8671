//! Node annotations with JSON, from before there were fields.

use super::taints;
use api::tree::{child, children, flag, maybe_text};
use apimachinery::field::{Error, ErrorList, Path};
use jsontree::Value;
use schema::json;
use schema::object::Object;

const TAINTS: &str = "scheduler.alpha.kubernetes.io/taints";
const AVOID_PODS: &str = "scheduler.alpha.kubernetes.io/preferAvoidPods";

/// Validates the annotations with properties of the node. Values in the errors are upstream's.
pub(super) fn annotations(node: &Object, errors: &mut ErrorList) {
    let annotations = child(node, "metadata").and_then(|meta| child(meta, "annotations"));
    let get = |name| annotations.and_then(|annotations| maybe_text(annotations, name)).unwrap_or_default();
    let path = Path::root("metadata.annotations");
    if !get(TAINTS).is_empty() {
        match json::decode_untyped(get(TAINTS).as_bytes()) {
            Ok(decoded) => {
                let list: Vec<Object> = items(&decoded.value).map(with_small_keys).collect();
                taints(&path.child(TAINTS), list.iter(), errors);
            }
            Err(error) => errors.push(Error::invalid(&path, TAINTS, error.to_string())),
        }
    }
    if get(AVOID_PODS).is_empty() {
        return;
    }
    match json::decode_untyped(get(AVOID_PODS).as_bytes()) {
        Ok(decoded) => avoid_pods(&path.child(AVOID_PODS), &decoded.value, errors),
        Err(error) => errors.push(Error::invalid(&path.child("AvoidPods"), AVOID_PODS, error.to_string())),
    }
}

fn items(value: &Value) -> impl Iterator<Item = &Object> {
    value.as_array().into_iter().flatten().filter_map(Value::as_object)
}

/// The internal type has no JSON names; Go then ignores case.
fn with_small_keys(object: &Object) -> Object {
    object.iter().map(|(key, value)| (key.to_lowercase(), value.clone())).collect()
}

fn avoid_pods(path: &Path<'_>, avoid: &Value, errors: &mut ErrorList) {
    let empty = Object::new();
    let avoid = avoid.as_object().unwrap_or(&empty);
    for (index, entry) in children(avoid, "preferAvoidPods").enumerate() {
        let path = path.index(index);
        let path = path.child("PodSignature");
        match child(entry, "podSignature").and_then(|signature| child(signature, "podController")) {
            None => errors.push(Error::required(&path, "")),
            Some(controller) if !flag(controller, "controller") => {
                let path = path.child("PodController.Controller");
                errors.push(Error::invalid(&path, false, "must point to a controller"));
            }
            Some(_) => {}
        }
    }
}
