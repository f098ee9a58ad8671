//! Keeps fields of a pod's status that old kubelets omit.

use crate::strategy::hooks::child;
use api::tree;
use jsontree::Value;
use schema::object::Object;
use std::collections::{HashMap, VecDeque};

const OBSERVED: &str = "observedGeneration";
const CLAIMS: [&str; 3] =
    ["resourceClaimStatuses", "extendedResourceClaimStatus", "nodeAllocatableResourceClaimStatuses"];

/// Keeps the QoS class and the observed generations (KEP-5067) that `new` omits.
pub(super) fn preserve(new: &mut Object, old: &Object) {
    let (Some(new), Some(old)) = (child(new, "status"), tree::child(old, "status")) else { return };
    if tree::text(new, "qosClass").is_empty()
        && let Some(class) = old.get("qosClass")
    {
        new.insert("qosClass", class.clone());
    }
    preserve_claims(new, old);
    preserve_observed(new, old);
    // Validation allows several conditions of a type; they are paired in order.
    let mut unmatched: HashMap<&str, VecDeque<&Object>> = HashMap::new();
    for condition in tree::children(old, "conditions") {
        unmatched.entry(tree::text(condition, "type")).or_default().push_back(condition);
    }
    for condition in tree::children_mut(new, "conditions") {
        let ty = tree::text(condition, "type");
        if let Some(old) = unmatched.get_mut(ty).and_then(VecDeque::pop_front) {
            preserve_observed(condition, old);
        }
    }
}

/// Keeps the statuses of claims, which kubelets without dynamic resource allocation omit. An empty list removes them.
fn preserve_claims(new: &mut Object, old: &Object) {
    for name in CLAIMS {
        let is_nil = new.get(name).is_none_or(Value::is_null);
        if let Some(value) = old.get(name).filter(|value| is_nil && !value.is_null()) {
            new.insert(name.to_owned(), value.clone());
        }
    }
}

fn preserve_observed(new: &mut Object, old: &Object) {
    if tree::integer(new, OBSERVED) == 0 && tree::integer(old, OBSERVED) != 0 {
        new.insert(OBSERVED.to_owned(), Value::from(tree::integer(old, OBSERVED)));
    }
}
