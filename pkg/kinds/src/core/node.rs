//! Nodes.

mod annotations;
mod columns;
mod config_source;
mod defaults;
mod warnings;

use self::annotations::annotations;
use self::config_source::{config_source, config_status};
use crate::kind::{Columns, Kind, RareProperties, Validation, Version, WarningRules};
use crate::strategy::gated::fields::{GatedPath, always_dropped, gated_by, gated_path};
use crate::strategy::hooks::Common;
use crate::validation::cidr::{Cidr, legacy_cidr};
use crate::validation::go_value::go_value;
use crate::validation::resources::{resource_list, resource_quantity};
use crate::validation::rules::{ContextRules, ValidationContext, metadata, metadata_update};
use crate::validation::value::{NOT_POSITIVE, qualified_name, supported_value};
use crate::validation::{NameRule, Spelling};
use api::tree::{child, children, list, text, texts};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::go_quote::quote;
use apimachinery::names;
use component_base::features::Gate;
use jsontree::Value;
use schema::builtin::{IO_K8S_API_CORE_V1_NODEADDRESS as NODE_ADDRESS, IO_K8S_API_CORE_V1_TAINT as TAINT};
use schema::object::Object;
use std::collections::BTreeSet;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[Version::with_defaults("v1", defaults::node)],
    validation: Validation::Settings(RULES),
    warnings: WarningRules { create: warnings::node, ..WarningRules::NONE },
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[
        // Fields without a gate, which are dropped the same way.
        gated_path(&["spec"], &[always_dropped(&[&["configSource"]])]),
        gated_path(&["status"], &[always_dropped(&[&["config"]])]),
        gated_path(
            &["spec"],
            &[gated_by(Gate::InPlacePodVerticalScalingSchedulerPreemption, &[&["podPreemptionPolicy"]])],
        ),
        GatedPath {
            path: &["status"],
            fields: &[
                gated_by(Gate::SupplementalGroupsPolicy, &[&["features"]]),
                gated_by(Gate::NodeDeclaredFeatures, &[&["declaredFeatures"]]),
            ],
            not_through: Some("status"),
        },
        GatedPath {
            path: &["status"],
            fields: &[gated_by(Gate::KubeletInUserNamespace, &[&["nodeInfo", "runningInUserNamespace"]])],
            not_through: Some(""),
        },
    ],
    strategy: &Common,
    rare_properties: RareProperties { initial_status: true, ..RareProperties::NONE },
};

pub(crate) const RULES: ContextRules = ContextRules { create, update };

/// Taint effects in upstream's order.
const EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];

fn create(node: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = metadata(node, false, NameRule::DnsSubdomain);
    let empty = Object::new();
    let spec = child(node, "spec").unwrap_or(&empty);
    let status = child(node, "status").unwrap_or(&empty);
    annotations(node, &mut errors);
    // The paths of taints and swap are upstream's.
    taints(&Path::root("metadata.taints"), children(spec, "taints"), &mut errors);
    resources(status, &mut errors);
    let swap = child(status, "nodeInfo").and_then(|info| child(info, "swap"));
    if let Some(capacity) = swap.and_then(|swap| swap.get("capacity")).and_then(Value::as_i64)
        && capacity <= 0
    {
        errors.push(Error::invalid(&Path::root("metadata.nodeSwapStatus.capacity"), capacity, NOT_POSITIVE));
    }
    declared_features(status, &mut errors);
    pod_cidrs(spec, context.spelling(), &mut errors);
    errors
}

fn update(subresource: &str, new: &Object, old: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = match subresource {
        "status" => ErrorList::new(),
        _ => create(new, context),
    };
    errors.append(metadata_update(new, old));
    annotations(new, &mut errors);
    let empty = Object::new();
    let spec = child(new, "spec").unwrap_or(&empty);
    let old_spec = child(old, "spec").unwrap_or(&empty);
    let status = child(new, "status").unwrap_or(&empty);
    resources(status, &mut errors);
    declared_features(status, &mut errors);
    addresses(status, &mut errors);
    unchanged_once_set(spec, old_spec, &mut errors);
    if let Some(source) = child(spec, "configSource") {
        config_source(&Path::root("spec.configSource"), source, false, &mut errors);
    }
    if let Some(config) = child(status, "config") {
        config_status(&Path::root("status.config"), config, &mut errors);
    }
    taints(&Path::root("metadata.taints"), children(spec, "taints"), &mut errors);
    if text(spec, "externalID") != text(old_spec, "externalID") {
        errors.push(Error::forbidden(&Path::root("spec.externalID"), "may not be updated"));
    }
    errors
}

/// Validates taints. `path` is that of the list.
fn taints<'o>(path: &Path<'_>, taints: impl Iterator<Item = &'o Object>, errors: &mut ErrorList) {
    let mut seen = BTreeSet::new();
    for (index, taint) in taints.enumerate() {
        let path = path.index(index);
        let key = text(taint, "key");
        let value = text(taint, "value");
        let effect = text(taint, "effect");
        qualified_name(&path.child("key"), key, errors);
        let messages = names::is_label_value(value);
        if !messages.is_empty() {
            errors.push(Error::invalid(&path.child("value"), value, messages.join(";")));
        }
        match effect {
            "" => errors.push(Error::required(&path.child("effect"), "")),
            _ => supported_value(&path.child("effect"), effect, EFFECTS, errors),
        }
        if !seen.insert((effect, key)) {
            let duplicate = Error::duplicate(&path, go_value(&TAINT, taint));
            errors.push(duplicate.with_detail_prefix("taints must be unique by key and effect pair"));
        }
    }
}

fn resources(status: &Object, errors: &mut ErrorList) {
    for member in ["capacity", "allocatable"] {
        let path = Path::root("status");
        let path = path.child(member);
        for (name, quantity) in resource_list(status, member) {
            resource_quantity(&path.child(name), name, &quantity, errors);
        }
    }
}

/// Validates the features that the node's kubelet declares (KEP-5328): sorted and without duplicates.
fn declared_features(status: &Object, errors: &mut ErrorList) {
    let path = Path::root("status.declaredFeatures");
    let features: Vec<&str> = texts(status, "declaredFeatures").collect();
    for (index, feature) in features.iter().enumerate() {
        if let Some(wrong) = bad_feature(feature) {
            let detail = format!("invalid feature name {}: {wrong}", quote(feature));
            errors.push(Error::invalid(&path.index(index), *feature, detail));
        }
        let Some(next) = features.get(index + 1) else { continue };
        let path = path.index(index + 1);
        if next == feature {
            errors.push(Error::duplicate(&path, *next));
        } else if next < feature {
            errors.push(Error::invalid(&path, *next, "list must be sorted alphabetically"));
        }
    }
}

/// Returns the error of a feature's name.
fn bad_feature(name: &str) -> Option<String> {
    let max = names::DNS1123_SUBDOMAIN_BYTES_MAX;
    if name.len() > max {
        return Some(names::max_len_error(max));
    }
    let word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_alphabetic()) && word.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    let valid = name.starts_with(|c: char| c.is_ascii_uppercase()) && name.split('/').all(word);
    let detail = "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., \
        MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes";
    (!valid).then(|| detail.to_owned())
}

fn pod_cidrs(spec: &Object, spelling: Spelling, errors: &mut ErrorList) {
    let path = Path::root("spec.podCIDRs");
    let ranges: Vec<&str> = texts(spec, "podCIDRs").collect();
    for (index, range) in ranges.iter().enumerate() {
        legacy_cidr(&path.index(index), range, &BTreeSet::new(), spelling, errors);
    }
    if ranges.len() < 2 {
        return;
    }
    let bad = ranges.iter().enumerate().find(|(_, range)| Cidr::parse(range).is_none());
    if let Some((index, bad)) = bad {
        let detail = format!(
            "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[{index}]: <nil> (invalid CIDR \
             address: {bad})"
        );
        errors.push(Error::internal(&path, detail));
    }
    let families: BTreeSet<bool> =
        ranges.iter().filter_map(|range| Cidr::parse(range)).map(|range| range.network.is_ipv4()).collect();
    if bad.is_some() || families.len() != 2 || ranges.len() > 2 {
        let detail = "may specify no more than one CIDR for each IP family";
        errors.push(Error::invalid(&path, listed(spec, "podCIDRs"), detail));
    }
}

fn listed(spec: &Object, member: &str) -> BadValue {
    spec.get(member).unwrap_or(&Value::Null).into()
}

fn addresses(status: &Object, errors: &mut ErrorList) {
    let path = Path::root("status.addresses");
    let mut seen = BTreeSet::new();
    for (index, address) in children(status, "addresses").enumerate() {
        if !seen.insert((text(address, "type"), text(address, "address"))) {
            errors.push(Error::duplicate(&path.index(index), go_value(&NODE_ADDRESS, address)));
        }
    }
}

/// Checks fields that can only be set once, usually by controllers.
fn unchanged_once_set(spec: &Object, old: &Object, errors: &mut ErrorList) {
    let changed = match (list(spec, "podCIDRs"), list(old, "podCIDRs")) {
        (_, []) => 0,
        (new, old) if new.len() != old.len() => 1,
        (new, old) => new.iter().zip(old).filter(|(new, old)| new != old).count(),
    };
    errors.extend((0..changed).map(|_| {
        let detail = "node updates may not change podCIDR except from \"\" to valid";
        Error::forbidden(&Path::root("spec.podCIDRs"), detail)
    }));
    let old_id = text(old, "providerID");
    let new_id = text(spec, "providerID");
    if !old_id.is_empty() && old_id != new_id {
        let detail = if new_id.is_empty() {
            "field cannot be cleared once set"
        } else {
            "field cannot be modified once set"
        };
        let value = BadValue::Plain("null".to_owned());
        errors.push(Error::invalid(&Path::root("spec.providerID"), value, detail));
    }
}

#[cfg(test)]
#[path = "node/tests.rs"]
mod tests;
