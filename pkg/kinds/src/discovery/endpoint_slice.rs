//! Endpoint slices: addresses and ports of a Service's endpoints.

mod columns;
mod defaults;
mod strategy;
mod warnings;

use crate::defaults::fill::each;
use crate::kind::{Columns, Kind, OnUpdate, RareProperties, Validation, Version, WarningRules};
use crate::strategy::gated::fields::{EACH, gated_by, gated_path};
use crate::validation::cidr::legacy_ip;
use crate::validation::endpoint_ip::endpoint_ip;
use crate::validation::immutable::immutable;
use crate::validation::rules::{ContextRules, ValidationContext, metadata};
use crate::validation::value::{
    dns_label, dns_subdomain, invalid_each, qualified_name, required_one_of, supported_value,
};
use crate::validation::{NameRule, Spelling, canonical_ip, is_valid_ip, validate_labels};
use api::semantic::equal_members;
use api::tree::{child, children, list, maybe_text, pairs, text, texts};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::names;
use component_base::features::Gate;
use schema::builtin::IO_K8S_API_DISCOVERY_V1_ENDPOINTSLICE as MESSAGE;
use schema::object::Object;
use std::collections::BTreeSet;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[
        Version::with_defaults("discovery.k8s.io/v1", |slice| each(slice, "ports", defaults::port)),
        Version::with_defaults("discovery.k8s.io/v1beta1", |slice| each(slice, "ports", defaults::port)),
    ],
    validation: Validation::Settings(RULES),
    warnings: WarningRules {
        create: warnings::new_endpoint_slice,
        update: OnUpdate::Custom(|new, _, out| warnings::endpoint_slice(new, out)),
        ..WarningRules::NONE
    },
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[gated_path(
        &[],
        &[gated_by(Gate::PreferSameTrafficDistribution, &[&["endpoints", EACH, "hints", "forNodes"]])],
    )],
    strategy: &strategy::EndpointSlices,
    rare_properties: RareProperties {
        counts_before_strategy: true,
        counted_metadata: Some("labels"),
        ..RareProperties::NONE
    },
};

pub(crate) const RULES: ContextRules =
    ContextRules { create: |new, given| validate(new, None, given.spelling()), update };

const ENDPOINTS_MAX: usize = 1000;
const ADDRESSES_MAX: usize = 100;
const PORTS_MAX: usize = 20_000;
const TOPOLOGY_LABELS_MAX: usize = 16;
/// Limit of zone hints, and of node hints, of an endpoint.
const HINTS_MAX: usize = 8;

fn update(_: &str, new: &Object, old: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = validate(new, Some(old), context.spelling());
    immutable(&Path::root("addressType"), &MESSAGE, "addressType", new, old, &mut errors);
    errors
}

fn validate(slice: &Object, old: Option<&Object>, spelling: Spelling) -> ErrorList {
    let mut errors = metadata(slice, true, NameRule::DnsSubdomain);
    let kind = text(slice, "addressType");
    required_one_of(&Path::root("addressType"), kind, &["FQDN", "IPv4", "IPv6"], &mut errors);
    ports(slice, &mut errors);
    let before = errors.len();
    endpoints(slice, kind, spelling, &mut errors);
    // Unchanged endpoints that old versions accepted stay valid.
    if errors.len() > before && old.is_some_and(|old| same_endpoints(slice, old)) {
        errors.truncate(before);
    }
    errors
}

fn same_endpoints(a: &Object, b: &Object) -> bool {
    let member = MESSAGE.members.iter().find(|member| member.name == "endpoints");
    member.is_some_and(|member| equal_members(member.field, a.get("endpoints"), b.get("endpoints")))
}

fn ports(slice: &Object, errors: &mut ErrorList) {
    let path = Path::root("ports");
    let count = list(slice, "ports").len();
    if count > PORTS_MAX {
        errors.push(Error::too_many(&path, Some(count), Some(PORTS_MAX)));
        return;
    }
    let mut seen = BTreeSet::new();
    for (index, port) in children(slice, "ports").enumerate() {
        let path = path.index(index);
        let name = text(port, "name");
        if !name.is_empty() {
            dns_label(&path.child("name"), name, errors);
        }
        if !seen.insert(name) {
            errors.push(Error::duplicate(&path.child("name"), name));
        }
        let protocol_path = path.child("protocol");
        match maybe_text(port, "protocol") {
            None => errors.push(Error::required(&protocol_path, "")),
            Some(protocol) => supported_value(&protocol_path, protocol, &["SCTP", "TCP", "UDP"], errors),
        }
        if let Some(protocol) = maybe_text(port, "appProtocol") {
            qualified_name(&path.child("appProtocol"), protocol, errors);
        }
    }
}

fn endpoints(slice: &Object, kind: &str, spelling: Spelling, errors: &mut ErrorList) {
    let path = Path::root("endpoints");
    let count = list(slice, "endpoints").len();
    if count > ENDPOINTS_MAX {
        errors.push(Error::too_many(&path, Some(count), Some(ENDPOINTS_MAX)));
        return;
    }
    for (index, endpoint_of) in children(slice, "endpoints").enumerate() {
        endpoint(&path.index(index), endpoint_of, kind, spelling, errors);
    }
}

fn endpoint(path: &Path<'_>, endpoint: &Object, kind: &str, spelling: Spelling, errors: &mut ErrorList) {
    let addresses_path = path.child("addresses");
    match list(endpoint, "addresses").len() {
        0 => errors.push(Error::required(&addresses_path, "must contain at least 1 address")),
        1..=ADDRESSES_MAX => {}
        count => errors.push(Error::too_many(&addresses_path, Some(count), Some(ADDRESSES_MAX))),
    }
    for (index, address_of) in texts(endpoint, "addresses").enumerate() {
        address(&addresses_path, index, address_of, kind, spelling, errors);
    }
    if let Some(node) = maybe_text(endpoint, "nodeName") {
        dns_subdomain(&path.child("nodeName"), node, errors);
    }
    let topology_path = path.child("deprecatedTopology");
    let count = pairs(endpoint, "deprecatedTopology").count();
    if count > TOPOLOGY_LABELS_MAX {
        errors.push(Error::too_many(&topology_path, Some(count), Some(TOPOLOGY_LABELS_MAX)));
    }
    errors.append(validate_labels(endpoint, "deprecatedTopology", &topology_path));
    // The zone has its own field.
    let zone = "topology.kubernetes.io/zone";
    if child(endpoint, "deprecatedTopology").is_some_and(|labels| labels.contains_key(zone)) {
        let detail = "reserved key was not removed in conversion";
        errors.push(Error::internal(&topology_path.key(zone), detail));
    }
    if let Some(host) = maybe_text(endpoint, "hostname") {
        dns_label(&path.child("hostname"), host, errors);
    }
    if let Some(endpoint_hints) = child(endpoint, "hints") {
        hints(&path.child("hints"), endpoint_hints, errors);
    }
}

/// Validates an address of the slice's type. `path` is that of the list.
fn address(
    path: &Path<'_>,
    index: usize,
    address: &str,
    kind: &str,
    spelling: Spelling,
    errors: &mut ErrorList,
) {
    let item_path = path.index(index);
    let before = errors.len();
    match kind {
        "IPv4" => legacy_ip(&item_path, address, &BTreeSet::new(), spelling, errors),
        "IPv6" => invalid_each(&item_path, address, is_valid_ip(address), errors),
        "FQDN" => return full_domain_name(&item_path, address, errors),
        // The unknown type has already been reported.
        _ => return,
    }
    if errors.len() > before {
        return;
    }
    if canonical_ip(address).is_some_and(|ip| ip.to_canonical().is_ipv4() != (kind == "IPv4")) {
        errors.push(Error::invalid(path, address, format!("must be an {kind} address")));
    }
    endpoint_ip(&item_path, address, errors);
}

/// Checks for a domain name of two or more labels, with an optional final dot (`IsFullyQualifiedDomainName`).
fn full_domain_name(path: &Path<'_>, name: &str, errors: &mut ErrorList) {
    if name.is_empty() {
        errors.push(Error::required(path, ""));
        return;
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    let messages = names::is_dns1123_subdomain(name);
    if !messages.is_empty() {
        errors.push(Error::invalid(path, name, messages.join(",")));
    } else if !name.contains('.') {
        let detail = "should be a domain with at least two segments separated by dots";
        errors.push(Error::invalid(path, name, detail));
    } else {
        let labels = name.split('.').map(|label| (label, names::is_dns1123_label(label)));
        let bad = labels.into_iter().find(|(_, messages)| !messages.is_empty());
        errors.extend(bad.map(|(label, messages)| Error::invalid(path, label, messages.join(","))));
    }
}

/// Validates the zone and node hints of an endpoint. With too many zones it stops.
fn hints(path: &Path<'_>, hints: &Object, errors: &mut ErrorList) {
    for member in ["forZones", "forNodes"] {
        let path = path.child(member);
        let count = list(hints, member).len();
        if count > HINTS_MAX {
            errors.push(Error::too_many(&path, Some(count), Some(HINTS_MAX)));
            return;
        }
        let mut seen = BTreeSet::new();
        for (index, hint) in children(hints, member).enumerate() {
            let path = path.index(index);
            let path = path.child("name");
            let name = text(hint, "name");
            if !seen.insert(name) {
                errors.push(Error::duplicate(&path, name));
            }
            match member {
                "forZones" => invalid_each(&path, name, names::is_label_value(name), errors),
                _ => dns_subdomain(&path, name, errors),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn slice(rest: Value) -> Object {
        let mut object = json!({"metadata": {"name": "s", "namespace": "n", "resourceVersion": "1"},
            "addressType": "IPv4"});
        if let (Some(object), Value::Object(rest)) = (object.as_object_mut(), rest) {
            object.extend(rest);
        }
        object.as_object().cloned().unwrap_or_default()
    }

    fn check(rest: Value, expected: &[&str]) {
        let errors = validate(&slice(rest.clone()), None, Spelling::Strict);
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected, "{rest}");
    }

    fn of(kind: &str, addresses: &[&str]) -> Value {
        json!({"addressType": kind, "endpoints": [{"addresses": addresses}]})
    }

    #[test]
    fn addresses_are_of_the_type() {
        check(of("IPv4", &["10.0.0.1"]), &[]);
        check(of("IPv6", &["2001:db8::1"]), &[]);
        check(of("FQDN", &["a.b."]), &[]);
        check(of("", &["x"]), &["addressType"]);
        let list = "endpoints[0].addresses";
        let first = "endpoints[0].addresses[0]";
        check(of("IPv4", &[]), &[list]);
        check(of("IPv4", &["2001:db8::1"]), &[list]);
        check(of("IPv4", &["127.0.0.1"]), &[first]);
        check(of("IPv6", &["2001:DB8::1"]), &[first]);
        check(of("FQDN", &["a"]), &[first]);
        check(of("FQDN", &["1.2.3"]), &[]);
    }

    #[test]
    fn hints_name_each_place_once() {
        let hints = |hints: Value| json!({"endpoints": [{"addresses": ["10.0.0.1"], "hints": hints}]});
        check(hints(json!({"forZones": [{"name": "a"}], "forNodes": [{"name": "a"}]})), &[]);
        check(
            hints(json!({"forZones": [{"name": "a"}, {"name": "a"}]})),
            &["endpoints[0].hints.forZones[1].name"],
        );
        check(hints(json!({"forNodes": [{"name": "A"}]})), &["endpoints[0].hints.forNodes[0].name"]);
        let nine: Vec<Value> = (0..9).map(|i| json!({"name": i.to_string()})).collect();
        check(
            hints(json!({"forZones": nine, "forNodes": [{"name": "A"}]})),
            &["endpoints[0].hints.forZones"],
        );
    }

    #[test]
    fn ports_have_different_names() {
        check(json!({"ports": [{"name": "", "protocol": "TCP"}, {"name": "a", "protocol": "UDP"}]}), &[]);
        check(
            json!({"ports": [{"name": "", "protocol": "TCP"}, {"name": ""}]}),
            &["ports[1].name", "ports[1].protocol"],
        );
    }

    #[test]
    fn unchanged_endpoints_stay_valid_but_type_is_fixed() {
        let bad = slice(of("IPv4", &["010.0.0.1"]));
        let other = slice(of("IPv6", &["2001:db8::1"]));
        assert_eq!(update("", &bad, &bad, &ValidationContext::default()), ErrorList::new());
        let errors = update("", &other, &bad, &ValidationContext::default());
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), ["addressType"]);
    }
}
