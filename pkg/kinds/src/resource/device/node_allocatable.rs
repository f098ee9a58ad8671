//! Use of a node's resources by a device (KEP-5517).

use crate::validation::resource_name::is_huge_pages;
use crate::validation::resources::quantity;
use api::tree::{child, is_set, maybe_text};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::quantity::Quantity;
use jsontree::Value;
use schema::object::Object;

/// Validates `nodeAllocatableResources` of a device with these capacities. `path` is that of the map.
pub(super) fn node_allocatable(
    path: &Path<'_>,
    device: &Object,
    capacities: &Object,
    errors: &mut ErrorList,
) {
    let resources = child(device, "nodeAllocatableResources").into_iter().flatten();
    for (name, resource) in resources {
        let path = path.key(name);
        if !matches!(name.as_str(), "cpu" | "memory") && !is_huge_pages(name) {
            let detail = "must be a node allocatable resource name";
            errors.push(Error::invalid(&path, name.as_str(), detail));
        }
        let parts = resource.as_object();
        let mapping_of = parts.and_then(|parts| child(parts, "mapping"));
        let overhead_of = parts.and_then(|parts| child(parts, "overhead"));
        if mapping_of.is_none() && overhead_of.is_none() {
            errors.push(Error::required(&path, "at least one of mapping or overhead must be set"));
        }
        if let Some(part) = mapping_of {
            mapping(&path.child("mapping"), part, capacities, errors);
        }
        if let Some(part) = overhead_of {
            overhead(&path.child("overhead"), part, errors);
        }
    }
}

fn mapping(path: &Path<'_>, mapping: &Object, capacities: &Object, errors: &mut ErrorList) {
    let multiplier = amount(mapping, "capacityMultiplier");
    let key_path = path.child("capacityKey");
    let multiplier_path = path.child("capacityMultiplier");
    match maybe_text(mapping, "capacityKey") {
        Some("") => errors.push(Error::invalid(&key_path, "", "capacityKey must not be an empty string")),
        Some(key) if !capacities.contains_key(key) => errors.push(Error::not_found(&key_path, key)),
        _ => {}
    }
    match (is_set(mapping, "capacityKey"), multiplier) {
        (true, None) => {
            let detail = "capacityMultiplier is required when capacityKey is set";
            errors.push(Error::required(&multiplier_path, detail));
        }
        (true, Some(multiplier)) => positive(&multiplier_path, &multiplier, errors),
        (false, _) => {}
    }
    if let Some(multiplier) = amount(mapping, "deviceMultiplier") {
        positive(&path.child("deviceMultiplier"), &multiplier, errors);
    }
    if is_set(mapping, "capacityMultiplier") && !is_set(mapping, "capacityKey") {
        errors.push(Error::required(&key_path, "capacityKey is required when capacityMultiplier is set"));
    }
}

fn overhead(path: &Path<'_>, overhead: &Object, errors: &mut ErrorList) {
    let amounts = ["perPod", "perContainer"].map(|member| (member, amount(overhead, member)));
    if amounts.iter().all(|(_, amount)| amount.is_none()) {
        errors.push(Error::invalid(path, "", "at least one of perPod or perContainer must be set"));
        return;
    }
    for (member, amount) in amounts {
        if let Some(amount) = amount.filter(|amount| amount.sign().is_lt()) {
            errors.push(Error::invalid(&path.child(member), amount.to_string(), "must be non-negative"));
        }
    }
}

fn positive(path: &Path<'_>, amount: &Quantity, errors: &mut ErrorList) {
    if !amount.sign().is_gt() {
        errors.push(Error::invalid(path, amount.to_string(), "must be positive"));
    }
}

fn amount(owner: &Object, member: &str) -> Option<Quantity> {
    let value: &Value = owner.get(member)?;
    (!value.is_null()).then(|| quantity(Some(value)))
}
