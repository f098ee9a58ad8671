//! Services: stable addresses for pods.

mod cluster_ips;
mod columns;
mod defaults;
mod strategy;
mod update;
mod warnings;

use self::cluster_ips::{cluster_ips_and_families, is_headless};
use crate::kind::{Columns, Kind, RareProperties, Validation, Version, WarningRules};
use crate::validation::cidr::{legacy_cidr, legacy_ip};
use crate::validation::endpoint_ip::endpoint_ip;
use crate::validation::go_value::go_value;
use crate::validation::rules::{ContextRules, ValidationContext, metadata};
use crate::validation::value::{
    dns_label, dns_subdomain, invalid_each, port_number_or_name, qualified_name, required_one_of,
    supported_value,
};
use crate::validation::{NameRule, Spelling, validate_labels};
use api::tree::{child, children, integer, is_set, list, maybe_flag, maybe_integer, maybe_text, text, texts};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names;
use component_base::features::Gate;
use schema::builtin::IO_K8S_API_CORE_V1_SERVICEPORT as SERVICE_PORT;
use schema::object::Object;
use std::collections::BTreeSet;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsLabel,
    qualified_finalizers: true,
    defaults: &[Version::with_defaults("v1", defaults::service)],
    validation: Validation::Settings(RULES),
    warnings: WarningRules {
        create: warnings::service,
        update_status: crate::warnings::addresses::load_balancer_status,
        ..WarningRules::NONE
    },
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[],
    strategy: &strategy::Services,
    rare_properties: RareProperties::NONE,
};

pub(crate) const RULES: ContextRules = ContextRules { create, update: update::update };

const TYPES: &[&str] = &["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
const SOURCE_RANGES: &str = "service.beta.kubernetes.io/load-balancer-source-ranges";
const TOPOLOGY_HINTS: &str = "service.kubernetes.io/topology-aware-hints";
const TOPOLOGY_MODE: &str = "service.kubernetes.io/topology-mode";
/// Limit of the session affinity timeout in seconds: a day.
const AFFINITY_SECONDS_MAX: i64 = 86_400;
const ONLY_LOAD_BALANCER: &str = "may only be used when `type` is 'LoadBalancer'";

/// Validates the cluster IPs of a service and their IP families. Upstream also does this before it allocates
/// addresses (`ValidateServiceClusterIPsRelatedFields`). Addresses in `old` are always valid.
pub fn validate_cluster_ips(service: &Object, old: Option<&Object>, spelling: Spelling) -> ErrorList {
    let empty = Object::new();
    let spec_of = |service| child(service, "spec").unwrap_or(&empty);
    let mut errors = ErrorList::new();
    cluster_ips_and_families(spec_of(service), old.map_or(&empty, spec_of), spelling, &mut errors);
    errors
}

fn create(new: &Object, context: &ValidationContext) -> ErrorList {
    let relaxed = context.settings.gates.enabled(Gate::RelaxedServiceNameValidation);
    let rule = if relaxed { NameRule::DnsLabel } else { NameRule::Dns1035Label };
    let mut errors = metadata(new, true, rule);
    validate(new, None, context.spelling(), &mut errors);
    errors
}

/// Validates a service without its metadata, new or replacing `old`.
fn validate(service: &Object, old: Option<&Object>, spelling: Spelling, errors: &mut ErrorList) {
    let empty = Object::new();
    let spec = child(service, "spec").unwrap_or(&empty);
    let old_spec = old.and_then(|old| child(old, "spec")).unwrap_or(&empty);
    let path = Path::root("spec");
    topology_annotations(service, errors);
    by_type(&path, spec, errors);
    ports(&path.child("ports"), spec, errors);
    errors.append(validate_labels(spec, "selector", &path.child("selector")));
    affinity(&path, spec, errors);
    cluster_ips_and_families(spec, old_spec, spelling, errors);
    let old_ips: BTreeSet<&str> = texts(old_spec, "externalIPs").collect();
    for (index, ip) in texts(spec, "externalIPs").enumerate() {
        let path = path.child("externalIPs");
        let path = path.index(index);
        let before = errors.len();
        legacy_ip(&path, ip, &old_ips, spelling, errors);
        if errors.len() == before {
            endpoint_ip(&path, ip, errors);
        }
    }
    required_one_of(&path.child("type"), text(spec, "type"), TYPES, errors);
    port_conflicts(&path.child("ports"), spec, errors);
    source_ranges(service, old, spelling, errors);
    load_balancer(&path, spec, errors);
    external_traffic(&path, spec, errors);
    match maybe_text(spec, "internalTrafficPolicy") {
        None if matches!(text(spec, "type"), "NodePort" | "LoadBalancer" | "ClusterIP") => {
            errors.push(Error::required(&path.child("internalTrafficPolicy"), ""));
        }
        None => {}
        Some(policy) => {
            supported_value(&path.child("internalTrafficPolicy"), policy, &["Cluster", "Local"], errors)
        }
    }
    if let Some(distribution) = maybe_text(spec, "trafficDistribution") {
        let supported = ["PreferClose", "PreferSameZone", "PreferSameNode"];
        supported_value(&path.child("trafficDistribution"), distribution, &supported, errors);
    }
}

fn annotation<'o>(service: &'o Object, name: &str) -> Option<&'o str> {
    let annotations = child(service, "metadata").and_then(|meta| child(meta, "annotations"));
    annotations.and_then(|annotations| maybe_text(annotations, name))
}

fn topology_annotations(service: &Object, errors: &mut ErrorList) {
    let hints = annotation(service, TOPOLOGY_HINTS);
    let mode = annotation(service, TOPOLOGY_MODE);
    if let (Some(hints), Some(mode)) = (hints, mode)
        && hints != mode
    {
        let detail = format!("must match annotations[{TOPOLOGY_HINTS}] when both are specified");
        errors.push(Error::invalid(&Path::root("metadata.annotations").key(TOPOLOGY_MODE), mode, detail));
    }
}

/// Validates requirements and restrictions of the service type.
fn by_type(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let kind = text(spec, "type");
    let headless = is_headless(spec);
    if list(spec, "ports").is_empty() && !headless && kind != "ExternalName" {
        errors.push(Error::required(&path.child("ports"), ""));
    }
    if headless && matches!(kind, "LoadBalancer" | "NodePort") {
        let detail = format!("may not be set to 'None' for {kind} services");
        errors.push(Error::invalid(&path.child("clusterIPs").index(0), "None", detail));
    }
    if kind != "ExternalName" {
        return;
    }
    let set = [
        ("clusterIPs", !list(spec, "clusterIPs").is_empty()),
        ("ipFamilies", !list(spec, "ipFamilies").is_empty()),
        ("ipFamilyPolicy", is_set(spec, "ipFamilyPolicy")),
    ];
    for (member, _) in set.into_iter().filter(|(_, set)| *set) {
        errors.push(Error::forbidden(&path.child(member), "may not be set for ExternalName services"));
    }
    let name = text(spec, "externalName");
    match name.strip_suffix('.').unwrap_or(name) {
        "" => errors.push(Error::required(&path.child("externalName"), "")),
        name => dns_subdomain(&path.child("externalName"), name, errors),
    }
}

fn ports(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let several = list(spec, "ports").len() > 1;
    let mut seen = BTreeSet::new();
    for (index, port) in children(spec, "ports").enumerate() {
        let path = path.index(index);
        match text(port, "name") {
            "" if several => errors.push(Error::required(&path.child("name"), "")),
            "" => {}
            name => {
                dns_label(&path.child("name"), name, errors);
                if !seen.insert(name) {
                    errors.push(Error::duplicate(&path.child("name"), name));
                }
            }
        }
        let number = integer(port, "port");
        invalid_each(&path.child("port"), number, names::is_port_number(number), errors);
        required_one_of(&path.child("protocol"), text(port, "protocol"), &["SCTP", "TCP", "UDP"], errors);
        port_number_or_name(&path.child("targetPort"), port.get("targetPort"), errors);
        if let Some(protocol) = maybe_text(port, "appProtocol") {
            qualified_name(&path.child("appProtocol"), protocol, errors);
        }
    }
}

/// Reports unnecessary node ports and duplicate ports.
fn port_conflicts(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let node_port = |port: &Object| integer(port, "nodePort");
    if text(spec, "type") == "ClusterIP" {
        let used = children(spec, "ports").enumerate().filter(|(_, port)| node_port(port) != 0);
        errors.extend(used.map(|(index, _)| {
            let detail = "may not be used when `type` is 'ClusterIP'";
            Error::forbidden(&path.index(index).child("nodePort"), detail)
        }));
    }
    let mut seen = BTreeSet::new();
    for (index, port) in children(spec, "ports").enumerate().filter(|(_, port)| node_port(port) != 0) {
        if !seen.insert((text(port, "protocol"), node_port(port))) {
            errors.push(Error::duplicate(&path.index(index).child("nodePort"), node_port(port)));
        }
    }
    let mut seen = BTreeSet::new();
    for (index, port) in children(spec, "ports").enumerate() {
        if !seen.insert((text(port, "protocol"), integer(port, "port"))) {
            let key = ["protocol", "port"]
                .into_iter()
                .filter_map(|name| port.get(name).map(|value| (name.to_owned(), value.clone())));
            errors.push(Error::duplicate(&path.index(index), go_value(&SERVICE_PORT, &key.collect())));
        }
    }
}

fn affinity(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let affinity = text(spec, "sessionAffinity");
    required_one_of(&path.child("sessionAffinity"), affinity, &["ClientIP", "None"], errors);
    let path = path.child("sessionAffinityConfig");
    let config = child(spec, "sessionAffinityConfig");
    match (affinity, config) {
        ("ClientIP", config) => {
            let detail = "when session affinity type is ClientIP";
            let client = config.and_then(|config| child(config, "clientIP"));
            let ip_path = path.child("clientIP");
            let seconds_path = ip_path.child("timeoutSeconds");
            match (config, client, client.and_then(|client| maybe_integer(client, "timeoutSeconds"))) {
                (None, ..) => errors.push(Error::required(&path, detail)),
                (_, None, _) => errors.push(Error::required(&ip_path, detail)),
                (.., None) => errors.push(Error::required(&seconds_path, detail)),
                (.., Some(1..=AFFINITY_SECONDS_MAX)) => {}
                (.., Some(seconds)) => {
                    let detail = format!("must be greater than 0 and less than {AFFINITY_SECONDS_MAX}");
                    errors.push(Error::invalid(&seconds_path, seconds, detail));
                }
            }
        }
        ("None", Some(_)) => {
            errors.push(Error::forbidden(&path, "must not be set when session affinity is None"));
        }
        _ => {}
    }
}

/// Validates the allowed client ranges of a load balancer, in the field or in the older annotation. Ranges
/// may have surrounding spaces. Ranges of the old service are always valid.
fn source_ranges(service: &Object, old: Option<&Object>, spelling: Spelling, errors: &mut ErrorList) {
    let empty = Object::new();
    let spec = child(service, "spec").unwrap_or(&empty);
    let old_spec = old.and_then(|old| child(old, "spec")).unwrap_or(&empty);
    let balanced = text(spec, "type") == "LoadBalancer";
    if !list(spec, "loadBalancerSourceRanges").is_empty() {
        // The upper case is upstream's.
        let path = Path::root("spec.LoadBalancerSourceRanges");
        if !balanced {
            errors.push(Error::forbidden(&path, ONLY_LOAD_BALANCER));
        }
        let old: BTreeSet<&str> = texts(old_spec, "loadBalancerSourceRanges").map(str::trim).collect();
        for (index, range) in texts(spec, "loadBalancerSourceRanges").enumerate() {
            legacy_cidr(&path.index(index), range.trim(), &old, spelling, errors);
        }
    } else if let Some(ranges) = annotation(service, SOURCE_RANGES) {
        let path = Path::root("metadata.annotations");
        let path = path.key(SOURCE_RANGES);
        if !balanced {
            errors.push(Error::forbidden(&path, ONLY_LOAD_BALANCER));
        }
        let changed = old.is_none_or(|old| annotation(old, SOURCE_RANGES).unwrap_or_default() != ranges);
        if changed && !ranges.trim().is_empty() {
            for range in ranges.trim().split(',') {
                legacy_cidr(&path, range.trim(), &BTreeSet::new(), spelling, errors);
            }
        }
    }
}

fn load_balancer(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let balanced = text(spec, "type") == "LoadBalancer";
    match (balanced, maybe_flag(spec, "allocateLoadBalancerNodePorts")) {
        (false, Some(_)) => {
            let path = path.child("allocateLoadBalancerNodePorts");
            errors.push(Error::forbidden(&path, ONLY_LOAD_BALANCER));
        }
        // The path is upstream's.
        (true, None) => errors.push(Error::required(&Path::root("allocateLoadBalancerNodePorts"), "")),
        _ => {}
    }
    load_balancer_class(path, spec, errors);
}

fn load_balancer_class(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let Some(class) = maybe_text(spec, "loadBalancerClass") else { return };
    let path = path.child("loadBalancerClass");
    match text(spec, "type") {
        "LoadBalancer" => qualified_name(&path, class, errors),
        _ => errors.push(Error::forbidden(&path, ONLY_LOAD_BALANCER)),
    }
}

fn external_traffic(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let accessible = match text(spec, "type") {
        "LoadBalancer" | "NodePort" => true,
        "ClusterIP" => !list(spec, "externalIPs").is_empty(),
        _ => false,
    };
    let policy = text(spec, "externalTrafficPolicy");
    let policy_path = path.child("externalTrafficPolicy");
    if accessible {
        required_one_of(&policy_path, policy, &["Cluster", "Local"], errors);
    } else if !policy.is_empty() {
        let detail = "may only be set for externally-accessible services";
        errors.push(Error::invalid(&policy_path, BadValue::json_text(policy), detail));
    }
    let port = integer(spec, "healthCheckNodePort");
    let path = path.child("healthCheckNodePort");
    match (needs_health_check(spec), port) {
        (true, 0) => errors.push(Error::required(&path, "")),
        (true, port) => invalid_each(&path, port, names::is_port_number(port), errors),
        (false, 0) => {}
        (false, port) => {
            let detail =
                "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
            errors.push(Error::invalid(&path, port, detail));
        }
    }
}

/// True if a load balancer needs health checks to find the nodes with endpoints.
fn needs_health_check(spec: &Object) -> bool {
    text(spec, "type") == "LoadBalancer" && text(spec, "externalTrafficPolicy") == "Local"
}

#[cfg(test)]
#[path = "service/tests.rs"]
mod tests;
