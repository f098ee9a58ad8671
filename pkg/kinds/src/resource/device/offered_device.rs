//! Device in a resource slice.

use super::at_most;
use super::capacity::request_policy;
use super::claim::attribute_name;
use super::duplicates::duplicates;
use super::node_allocatable::node_allocatable;
use crate::validation::go_value::go_value;
use crate::validation::node_selector::node_selector;
use crate::validation::semver::Version;
use crate::validation::value::{dns_label, dns_subdomain, invalid_each, qualified_name, required_one_of};
use api::semantic::{equal, equal_members};
use api::tree::{child, children, is_set, list, maybe_flag, maybe_text, text, texts};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names;
use jsontree::Value;
use schema::builtin::{
    IO_K8S_API_RESOURCE_V1_DEVICE as DEVICE, IO_K8S_API_RESOURCE_V1_DEVICEATTRIBUTE as DEVICE_ATTRIBUTE,
    IO_K8S_API_RESOURCE_V1_DEVICETAINT as DEVICE_TAINT,
};
use schema::object::Object;
use std::borrow::Cow;
use std::collections::BTreeSet;

const ATTRIBUTES_AND_CAPACITIES_MAX: usize = 32;
const ATTRIBUTE_VALUES_MAX: usize = 48;
const VALUE_BYTES_MAX: usize = 64;
/// Length limit of the name of an attribute or a capacity: a domain, a slash and an identifier.
const NAME_BYTES_MAX: usize = 63 + 1 + 32;
const ELLIPSIS: &str = "...";
const TAINTS_MAX: usize = 16;
const COUNTERS_MAX: usize = 32;
const CONSUMPTIONS_MAX: usize = 2;
const CONDITIONS_MAX: usize = 4;
/// List types for the value of an attribute.
const LISTS: [&str; 4] = ["bools", "ints", "strings", "versions"];

/// Properties of a slice that the rules of its devices depend on.
#[derive(Clone, Copy)]
pub(super) struct SliceOptions {
    /// True if each device selects its nodes.
    pub(super) per_device_nodes: bool,
    /// True if requests for capacity may be fractions (`DRAFractionalCapacityRange`).
    pub(super) fractional_capacity: bool,
}

/// Validates a device. Its taints may stay as they are in the old one.
pub(super) fn device(
    path: &Path<'_>,
    device: &Object,
    old: Option<&Object>,
    options: SliceOptions,
    errors: &mut ErrorList,
) {
    dns_label(&path.child("name"), text(device, "name"), errors);
    let empty = Object::new();
    let attributes = child(device, "attributes").unwrap_or(&empty);
    let capacity = child(device, "capacity").unwrap_or(&empty);
    let count = attributes.len() + capacity.len();
    if count > ATTRIBUTES_AND_CAPACITIES_MAX {
        let detail = format!(
            "the total number of attributes and capacities must not exceed {ATTRIBUTES_AND_CAPACITIES_MAX}"
        );
        errors.push(Error::invalid(path, count, detail));
    }
    let values = |attribute: &Value| -> usize {
        let attribute = attribute.as_object().unwrap_or(&empty);
        LISTS.iter().map(|member| list(attribute, member).len()).sum::<usize>().max(1)
    };
    let count: usize = attributes.values().map(values).sum();
    if count > ATTRIBUTE_VALUES_MAX {
        let detail = format!("the total number of attribute values must not exceed {ATTRIBUTE_VALUES_MAX}");
        errors.push(Error::invalid(path, count, detail));
    }
    let attributes_path = path.child("attributes");
    for (name, value) in attributes {
        attribute_name(&attributes_path, name, errors);
        attribute(&attributes_path.key(&shortened(name)), value.as_object().unwrap_or(&empty), errors);
    }
    let is_unchanged = |old: &Object| {
        let field = DEVICE.member("capacity");
        field.is_some_and(|field| equal_members(field, device.get("capacity"), old.get("capacity")))
    };
    if !old.is_some_and(is_unchanged) {
        capacities(&path.child("capacity"), device, capacity, options.fractional_capacity, errors);
    }
    taints(&path.child("taints"), device, old, errors);
    consumptions(&path.child("consumesCounters"), device, errors);
    nodes(path, device, options.per_device_nodes, errors);
    binding_conditions(path, device, errors);
    node_allocatable(&path.child("nodeAllocatableResources"), device, capacity, errors);
}

/// Returns a name as paths show it: without the middle if it is longer than any valid name.
fn shortened(name: &str) -> Cow<'_, str> {
    if name.len() <= NAME_BYTES_MAX {
        return Cow::Borrowed(name);
    }
    let kept = NAME_BYTES_MAX - ELLIPSIS.len();
    let tail = name.len() - kept / 2;
    let parts = name.as_bytes().get(..kept.div_ceil(2)).zip(name.as_bytes().get(tail..));
    let text = parts
        .map(|(head, tail)| [String::from_utf8_lossy(head), String::from_utf8_lossy(tail)].join(ELLIPSIS));
    text.map_or(Cow::Borrowed(name), Cow::Owned)
}

/// Validates the capacities of a device. `path` is that of the map.
fn capacities(
    path: &Path<'_>,
    device: &Object,
    capacity: &Object,
    is_fractional: bool,
    errors: &mut ErrorList,
) {
    let shared = maybe_flag(device, "allowMultipleAllocations") == Some(true);
    let capacity_path = path;
    for (name, value) in capacity {
        attribute_name(capacity_path, name, errors);
        if let Some(policy) = value.as_object().and_then(|value| child(value, "requestPolicy")) {
            let name = shortened(name);
            let path = capacity_path.key(&name);
            let path = path.child("requestPolicy");
            if shared {
                request_policy(&path, value.get("value"), policy, is_fractional, errors)
            } else {
                errors.push(Error::forbidden(&path, "allowMultipleAllocations must be true"))
            }
        }
    }
}

fn attribute(path: &Path<'_>, attribute: &Object, errors: &mut ErrorList) {
    if let Some(value) = maybe_text(attribute, "string") {
        value_length(&path.child("string"), value, errors);
    }
    if let Some(value) = maybe_text(attribute, "version") {
        version(&path.child("version"), value, errors);
    }
    for member in LISTS.iter().filter(|member| is_set(attribute, member)) {
        let path = path.child(member);
        if list(attribute, member).is_empty() {
            let value = attribute.get(*member).unwrap_or(&Value::Null);
            errors.push(Error::invalid(&path, value, "must not be empty if specified"));
        }
        for (index, value) in texts(attribute, member).enumerate() {
            match *member {
                "versions" => version(&path.index(index), value, errors),
                _ => value_length(&path.index(index), value, errors),
            }
        }
    }
    let single = ["bool", "int", "string", "version"];
    let value = match single.iter().chain(&LISTS).filter(|member| is_set(attribute, member)).count() {
        0 => "".into(),
        1 => return,
        _ => go_value(&DEVICE_ATTRIBUTE, attribute),
    };
    errors.push(Error::invalid(path, value, "exactly one value must be specified"));
}

fn value_length(path: &Path<'_>, value: &str, errors: &mut ErrorList) {
    if value.len() > VALUE_BYTES_MAX {
        errors.push(Error::too_long(path, Some(VALUE_BYTES_MAX)));
    }
}

fn version(path: &Path<'_>, value: &str, errors: &mut ErrorList) {
    if Version::parse(value).is_none() {
        let detail = "must be a string compatible with semver.org spec 2.0.0";
        errors.push(Error::invalid(path, value, detail));
    }
    value_length(path, value, errors);
}

fn taints(path: &Path<'_>, device: &Object, old: Option<&Object>, errors: &mut ErrorList) {
    let is_unchanged = |old: &Object| {
        let new: Vec<_> = children(device, "taints").collect();
        let old: Vec<_> = children(old, "taints").collect();
        new.len() == old.len() && new.iter().zip(old).all(|(new, old)| equal(&DEVICE_TAINT, new, old))
    };
    if old.is_some_and(is_unchanged) || !at_most(path, list(device, "taints").len(), TAINTS_MAX, errors) {
        return;
    }
    for (index, item) in children(device, "taints").enumerate() {
        taint(&path.index(index), item, None, errors);
    }
}

/// Validates a taint; its effect may stay as it is in the old one.
pub(super) fn taint(path: &Path<'_>, taint: &Object, old: Option<&Object>, errors: &mut ErrorList) {
    let value = text(taint, "value");
    let effect = text(taint, "effect");
    qualified_name(&path.child("key"), text(taint, "key"), errors);
    invalid_each(&path.child("value"), value, names::is_label_value(value), errors);
    if old.is_none_or(|old| text(old, "effect") != effect) {
        let effects = ["NoExecute", "NoSchedule", "None"];
        required_one_of(&path.child("effect"), effect, &effects, errors);
    }
}

fn consumptions(path: &Path<'_>, device: &Object, errors: &mut ErrorList) {
    if !at_most(path, list(device, "consumesCounters").len(), CONSUMPTIONS_MAX, errors) {
        return;
    }
    for (index, consumption) in children(device, "consumesCounters").enumerate() {
        let path = path.index(index);
        match text(consumption, "counterSet") {
            "" => errors.push(Error::required(&path.child("counterSet"), "")),
            name => dns_label(&path.child("counterSet"), name, errors),
        }
        counters(&path.child("counters"), consumption, errors);
    }
    duplicates(path, children(device, "consumesCounters").map(|entry| text(entry, "counterSet")), errors);
}

/// Validates the counters of a set. `path` is that of `counters`.
pub(super) fn counters(path: &Path<'_>, owner: &Object, errors: &mut ErrorList) {
    let counters = child(owner, "counters");
    let count = counters.map_or(0, Object::len);
    if count == 0 {
        errors.push(Error::required(path, ""));
    } else if at_most(path, count, COUNTERS_MAX, errors) {
        for name in counters.into_iter().flat_map(Object::keys) {
            dns_label(path, name, errors);
        }
    }
}

fn nodes(path: &Path<'_>, device: &Object, per_device: bool, errors: &mut ErrorList) {
    if !per_device {
        if ["nodeName", "nodeSelector", "allNodes"].iter().any(|member| is_set(device, member)) {
            let detail = "`nodeName`, `nodeSelector` and `allNodes` can only be set if `perDeviceNodeSelection` is \
                set to true in the ResourceSlice spec";
            errors.push(Error::invalid(path, BadValue::Plain("null".to_owned()), detail));
        }
        return;
    }
    let mut ways = Vec::new();
    match maybe_text(device, "nodeName") {
        None => {}
        Some("") => errors.push(Error::invalid(&path.child("nodeName"), "", "must not be empty")),
        Some(name) => {
            ways.push("`nodeName`");
            dns_subdomain(&path.child("nodeName"), name, errors);
        }
    }
    if let Some(selector) = child(device, "nodeSelector") {
        ways.push("`nodeSelector`");
        node_selector(&path.child("nodeSelector"), selector, false, errors);
    }
    match maybe_flag(device, "allNodes") {
        None => {}
        Some(true) => ways.push("`allNodes`"),
        Some(false) => {
            errors.push(Error::invalid(
                &path.child("allNodes"),
                false,
                "must be either unset or set to true",
            ));
        }
    }
    let detail = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when \
        `perDeviceNodeSelection` is set to true in the ResourceSlice spec";
    match ways.len() {
        0 => errors.push(Error::required(path, detail)),
        1 => {}
        _ => errors.push(Error::invalid(path, format!("{{{}}}", ways.join(", ")), detail)),
    }
}

/// Validates the conditions for binding a pod (KEP-5007), and those for giving up.
pub(super) fn binding_conditions(path: &Path<'_>, device: &Object, errors: &mut ErrorList) {
    let [good, bad] = ["bindingConditions", "bindingFailureConditions"];
    for member in [good, bad] {
        let path = path.child(member);
        if at_most(&path, list(device, member).len(), CONDITIONS_MAX, errors) {
            for (index, name) in texts(device, member).enumerate() {
                qualified_name(&path.index(index), name, errors);
            }
        }
    }
    duplicates(&path.child(good), texts(device, good), errors);
    let awaited: BTreeSet<&str> = texts(device, good).collect();
    let mut seen = BTreeSet::new();
    for (index, name) in texts(device, bad).enumerate() {
        if !seen.insert(name) {
            errors.push(Error::duplicate(&path.child(bad).index(index), name));
        }
        if awaited.contains(name) {
            let detail = "bindingFailureConditions must not overlap with bindingConditions";
            errors.push(Error::invalid(&path.child(bad).index(index), name, detail));
        }
    }
    for (member, other) in [(good, bad), (bad, good)] {
        if list(device, member).is_empty() && !list(device, other).is_empty() {
            let value = device.get(member).unwrap_or(&Value::Null);
            let detail = format!("{member} are required to use {other}");
            errors.push(Error::invalid(&path.child(member), value, detail));
        }
    }
}
