//! Resource slices: the devices of a driver and their nodes.

use super::at_most;
use super::duplicates::duplicates;
use super::offered_device::{SliceOptions, counters, device};
use super::partition_type::partition_type;
use super::skipped_operations::skipped_operations;
use super::status::pool;
use crate::validation::NameRule;
use crate::validation::go_value::go_values;
use crate::validation::immutable::immutable;
use crate::validation::node_selector::node_selector;
use crate::validation::rules::{ContextRules, ValidationContext, metadata, metadata_update};
use crate::validation::value::{NOT_POSITIVE, dns_label, dns_subdomain};
use crate::validation::volume_source::csi_driver;
use api::tree::{child, children, integer, is_set, list, maybe_flag, maybe_text, text};
use apimachinery::field::{Error, ErrorList, Path};
use component_base::features::Gate;
use schema::builtin::{
    IO_K8S_API_CORE_V1_NODESELECTORTERM as NODE_SELECTOR_TERM, IO_K8S_API_RESOURCE_V1_RESOURCEPOOL as POOL,
    IO_K8S_API_RESOURCE_V1_RESOURCESLICESPEC as SPEC,
};
use schema::object::Object;

pub(crate) const RULES: ContextRules = ContextRules { create, update };

const DEVICES_MAX: usize = 128;
/// Device limit if any device has taints, counters or lists.
const ADVANCED_DEVICES_MAX: usize = 64;
const COUNTER_SETS_MAX: usize = 8;

fn create(new: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = metadata(new, false, NameRule::DnsSubdomain);
    spec(new, None, context, &mut errors);
    errors
}

fn update(_: &str, new: &Object, old: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = metadata_update(new, old);
    spec(new, child(old, "spec"), context, &mut errors);
    errors
}

fn spec(slice: &Object, old: Option<&Object>, context: &ValidationContext, errors: &mut ErrorList) {
    let empty = Object::new();
    let path = Path::root("spec");
    let spec = child(slice, "spec").unwrap_or(&empty);
    csi_driver(&path.child("driver"), text(spec, "driver"), errors);
    let pool_path = path.child("pool");
    let pool_of = child(spec, "pool").unwrap_or(&empty);
    pool(&pool_path.child("name"), text(pool_of, "name"), errors);
    let count = integer(pool_of, "resourceSliceCount");
    if count <= 0 {
        errors.push(Error::invalid(&pool_path.child("resourceSliceCount"), count, NOT_POSITIVE));
    }
    let generation = integer(pool_of, "generation");
    if generation < 0 {
        let detail = "must be greater than or equal to zero";
        errors.push(Error::invalid(&pool_path.child("generation"), generation, detail));
    }
    if let Some(old) = old {
        let old_pool = child(old, "pool").unwrap_or(&empty);
        immutable(&pool_path.child("name"), &POOL, "name", pool_of, old_pool, errors);
        for member in ["driver", "nodeName"] {
            immutable(&path.child(member), &SPEC, member, spec, old, errors);
        }
    }
    nodes(&path, spec, errors);
    if is_set(spec, "sharedCounters") && is_set(spec, "devices") {
        errors.push(Error::invalid(&path, "", "only one of `sharedCounters` or `devices` is allowed"));
    }
    let options = SliceOptions {
        per_device_nodes: maybe_flag(spec, "perDeviceNodeSelection") == Some(true),
        fractional_capacity: context.settings.gates.enabled(Gate::DRAFractionalCapacityRange),
    };
    devices(&path.child("devices"), spec, old, options, errors);
    counter_sets(&path.child("sharedCounters"), spec, errors);
    partition_type(&path, spec, errors);
    skipped_operations(&path, spec, errors);
}

/// Validates the node selection of the devices; exactly one way must be used.
fn nodes(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let mut ways = Vec::new();
    match maybe_text(spec, "nodeName") {
        None => {}
        Some("") => {
            let detail = "must be either unset or set to a non-empty string";
            errors.push(Error::invalid(&path.child("nodeName"), "", detail));
        }
        Some(name) => {
            ways.push("`nodeName`");
            dns_subdomain(&path.child("nodeName"), name, errors);
        }
    }
    if let Some(selector) = child(spec, "nodeSelector") {
        ways.push("`nodeSelector`");
        let path = path.child("nodeSelector");
        node_selector(&path, selector, false, errors);
        if list(selector, "nodeSelectorTerms").len() != 1 {
            let value = go_values(&NODE_SELECTOR_TERM, selector.get("nodeSelectorTerms"));
            let detail = "must have exactly one node selector term";
            errors.push(Error::invalid(&path.child("nodeSelectorTerms"), value, detail));
        }
    }
    for (member, way) in [("allNodes", "`allNodes`"), ("perDeviceNodeSelection", "`perDeviceNodeSelection`")]
    {
        match maybe_flag(spec, member) {
            None => {}
            Some(true) => ways.push(way),
            Some(false) => {
                let detail = "must be either unset or set to true";
                errors.push(Error::invalid(&path.child(member), false, detail));
            }
        }
    }
    let detail =
        "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required";
    match ways.len() {
        0 => errors.push(Error::required(path, detail)),
        1 => {}
        _ => {
            let detail = format!("{detail}, but multiple fields are set");
            errors.push(Error::invalid(path, format!("{{{}}}", ways.join(", ")), detail));
        }
    }
}

fn devices(
    path: &Path<'_>,
    spec: &Object,
    old: Option<&Object>,
    options: SliceOptions,
    errors: &mut ErrorList,
) {
    let advanced = |device| {
        let attributes = child(device, "attributes").into_iter().flat_map(Object::values);
        let lists = ["bools", "ints", "strings", "versions"];
        let listed = |attribute: &Object| lists.iter().any(|member| is_set(attribute, member));
        let owned = ["taints", "consumesCounters"].iter().any(|member| !list(device, member).is_empty());
        owned || attributes.filter_map(|attribute| attribute.as_object()).any(listed)
    };
    let max = if children(spec, "devices").any(advanced) { ADVANCED_DEVICES_MAX } else { DEVICES_MAX };
    if !at_most(path, list(spec, "devices").len(), max, errors) {
        return;
    }
    for (index, item) in children(spec, "devices").enumerate() {
        let name = text(item, "name");
        let old = old.and_then(|old| children(old, "devices").find(|old| text(old, "name") == name));
        device(&path.index(index), item, old, options, errors);
    }
    duplicates(path, children(spec, "devices").map(|device| text(device, "name")), errors);
}

fn counter_sets(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    if !at_most(path, list(spec, "sharedCounters").len(), COUNTER_SETS_MAX, errors) {
        return;
    }
    for (index, set) in children(spec, "sharedCounters").enumerate() {
        let path = path.index(index);
        match text(set, "name") {
            "" => errors.push(Error::required(&path.child("name"), "")),
            name => dns_label(&path.child("name"), name, errors),
        }
        counters(&path.child("counters"), set, errors);
    }
    duplicates(path, children(spec, "sharedCounters").map(|set| text(set, "name")), errors);
}
