//! Computes the quota usage of objects by kind (upstream's `pkg/quota/v1/evaluator/core`). Implicit extended
//! resources of device classes are not counted for device claims (KEP-5004).

use std::collections::BTreeMap;

use api::resources::Resource;
use api::tree::{child, children, integer, list, maybe_flag, text};
use apimachinery::quantity::{Format, Quantity};
use schema::object::Object;

use super::scope::{self, Requirement, has_claim, has_pod, is_terminating, is_unlimited};
use super::spec_text;
use crate::default_storage_class::class_of;
use crate::error::RejectionReason;
use crate::extended_resource_toleration::is_extended;
use crate::resource_list::{CountOptions, ResourceList, ResourceSide, of_pod};
use crate::{Attributes, Operation};

/// Resource names of pods, besides huge pages and extended resources.
const POD_RESOURCES: [&str; 11] = [
    "count/pods",
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
];
/// Resources that each container must set if a quota limits them.
const REQUIRED_RESOURCES: [&str; 6] =
    ["cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"];
const SERVICE_RESOURCES: [&str; 4] =
    ["count/services", "services", "services.nodeports", "services.loadbalancers"];
/// Separator between a storage class and a resource name.
const OF_STORAGE_CLASS: &str = ".storageclass.storage.k8s.io/";
/// Suffix after a device class.
const OF_DEVICE_CLASS: &str = ".deviceclass.resource.k8s.io/devices";
const DEVICE_CLASS_PREFIX: &str = "deviceclass.resource.kubernetes.io/";
/// Maximum number of devices for a request with allocation mode `All`.
const ALL_DEVICES: i64 = 32;

/// Usage evaluator for a kind.
pub(super) enum Evaluator<'a> {
    Pods,
    Services,
    VolumeClaims,
    DeviceClaims,
    /// Counts objects only.
    Objects(&'a Resource<'a>),
}

impl<'a> Evaluator<'a> {
    /// Returns the evaluator for a write; `None` if such writes are never counted.
    pub(super) fn of(a: &Attributes<'a>) -> Option<Self> {
        let group = a.resource.group;
        let plural = a.resource.plural;
        match (group, plural, a.subresource()) {
            ("", "pods", "") => a.writes().then_some(Evaluator::Pods),
            ("", "pods", "resize") => (a.operation == Operation::Update).then_some(Evaluator::Pods),
            ("", "services", "") => a.writes().then_some(Evaluator::Services),
            ("", "persistentvolumeclaims", "" | "status") => a.writes().then_some(Evaluator::VolumeClaims),
            ("resource.k8s.io", "resourceclaims", "") => a.writes().then_some(Evaluator::DeviceClaims),
            ("" | "events.k8s.io", "events", _) => None,
            (_, _, "") => {
                (a.creates() && a.resource.storage.is_some()).then_some(Evaluator::Objects(a.resource))
            }
            _ => None,
        }
    }

    /// True if this write is counted.
    pub(super) fn handles(&self, a: &Attributes<'_>, object: &Object) -> bool {
        match (self, a.old) {
            (Evaluator::Pods, Some(old)) if a.subresource().is_empty() => {
                is_terminating(old) != is_terminating(object)
            }
            _ => true,
        }
    }

    /// True if a quota applies to an object.
    pub(super) fn matches(&self, quota: &Object, object: &Object) -> bool {
        let hard = child(quota, "status").and_then(|status| child(status, "hard"));
        hard.is_some_and(|hard| hard.keys().any(|name| self.counts(name)))
            && match self {
                Evaluator::Pods => has_pod(quota, object),
                Evaluator::VolumeClaims => has_claim(quota, object),
                _ => is_unlimited(quota),
            }
    }

    /// Returns the scope requirements that an object satisfies. Kinds without scopes satisfy none. `None` if
    /// a requirement is invalid.
    pub(super) fn matching_scopes<'r>(
        &self,
        requirements: impl Iterator<Item = Requirement<'r>>,
        object: &Object,
    ) -> Option<Vec<Requirement<'r>>> {
        let (classes, meets): (_, fn(&Requirement<'r>, &Object) -> bool) = match self {
            Evaluator::Pods => ("PriorityClass", scope::meets_pod),
            Evaluator::VolumeClaims => ("VolumeAttributesClass", scope::meets_claim),
            _ => return Some(Vec::new()),
        };
        let mut matching = Vec::new();
        for requirement in requirements {
            if requirement.scope == classes && !requirement.is_sound() {
                return None;
            }
            if meets(&requirement, object) {
                matching.push(requirement);
            }
        }
        Some(matching)
    }

    /// True if objects of the kind count towards a resource name.
    pub(super) fn counts(&self, name: &str) -> bool {
        match self {
            Evaluator::Pods => {
                POD_RESOURCES.contains(&name)
                    || name.starts_with("hugepages-")
                    || name.strip_prefix("requests.").is_some_and(|requested| {
                        let native = !requested.contains('/') || requested.contains("kubernetes.io/");
                        !native
                            || requested.starts_with("hugepages-")
                            || requested.starts_with(DEVICE_CLASS_PREFIX)
                    })
            }
            Evaluator::Services => SERVICE_RESOURCES.contains(&name),
            Evaluator::VolumeClaims => {
                let is_claim_usage =
                    |name: &str| matches!(name, "persistentvolumeclaims" | "requests.storage");
                name == "count/persistentvolumeclaims"
                    || is_claim_usage(name)
                    || name.split_once(OF_STORAGE_CLASS).is_some_and(|(_, name)| is_claim_usage(name))
            }
            Evaluator::DeviceClaims => {
                name == "count/resourceclaims.resource.k8s.io" || name.ends_with(OF_DEVICE_CLASS)
            }
            Evaluator::Objects(row) => match name.strip_prefix("count/") {
                Some(resource) => {
                    resource.split_once('.').unwrap_or((resource, "")) == (row.plural, row.group)
                }
                None => legacy_name(row) == Some(name),
            },
        }
    }

    /// Checks that a pod's containers set the resources that a quota limits.
    pub(super) fn constraints(&self, limited: &[&String], object: &Object) -> Result<(), RejectionReason> {
        let Some(spec) = child(object, "spec").filter(|_| matches!(self, Evaluator::Pods)) else {
            return Ok(());
        };
        if child(spec, "resources").is_some_and(has_pod_level_resources) {
            return Ok(());
        }
        let mut missing: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for container in ["containers", "initContainers"].iter().flat_map(|list| children(spec, list)) {
            let container_resources = child(container, "resources").map(|resources| {
                let list = |side| ResourceList::of(resources, side);
                of_resources(&list("requests"), &list("limits"))
            });
            let container_resources = container_resources.unwrap_or_default();
            let needed = limited.iter().filter(|name| REQUIRED_RESOURCES.contains(&name.as_str()));
            for name in needed.filter(|name| !container_resources.contains_key(name.as_str())) {
                missing.entry(name.as_str()).or_default().push(text(container, "name"));
            }
        }
        let texts: Vec<String> = missing
            .into_iter()
            .map(|(name, mut containers)| {
                containers.sort_unstable();
                containers.dedup();
                format!("{name} for: {}", containers.join(","))
            })
            .collect();
        if texts.is_empty() {
            return Ok(());
        }
        Err(RejectionReason(format!("must specify {}", texts.join("; "))))
    }

    pub(super) fn usage(&self, object: &Object) -> ResourceList {
        match self {
            Evaluator::Pods => pod_usage(object),
            Evaluator::Services => of_service(object),
            Evaluator::VolumeClaims => of_volume_claim(object),
            Evaluator::DeviceClaims => of_device_claim(object),
            Evaluator::Objects(row) => {
                let dot = if row.group.is_empty() { "" } else { "." };
                let count = format!("count/{}{dot}{}", row.plural, row.group);
                let names = std::iter::once(count).chain(legacy_name(row).map(str::to_owned));
                names.map(|name| (name, number(1))).collect()
            }
        }
    }
}

/// Returns the legacy resource name of a kind.
fn legacy_name<'r>(row: &Resource<'r>) -> Option<&'r str> {
    let aliased = ["configmaps", "resourcequotas", "replicationcontrollers", "secrets"];
    aliased.contains(&row.plural).then_some(row.plural).filter(|_| row.group.is_empty())
}

fn number(value: i64) -> Quantity {
    Quantity::new(value, Format::DecimalSi)
}

/// True if pod-level resources replace those of the containers.
fn has_pod_level_resources(resources: &Object) -> bool {
    let lists = ["requests", "limits"].into_iter().filter_map(|list| child(resources, list));
    let mut names = lists.flat_map(Object::keys);
    names.any(|name| matches!(name.as_str(), "cpu" | "memory") || name.starts_with("hugepages-"))
}

fn pod_usage(pod: &Object) -> ResourceList {
    let mut usage: ResourceList = [("count/pods".to_owned(), number(1))].into_iter().collect();
    if matches!(spec_text(pod, "status", "phase"), "Failed" | "Succeeded") {
        return usage;
    }
    let counting = CountOptions { all_of_pod: true, use_status_resources: true };
    let of = |side| of_pod(pod, side, counting);
    usage.insert("pods".into(), number(1));
    usage.add(&of_resources(&of(ResourceSide::Requests), &of(ResourceSide::Limits)));
    usage
}

/// Maps requests and limits to their quota resource names.
fn of_resources(requests: &ResourceList, limits: &ResourceList) -> ResourceList {
    let mut usage = ResourceList::default();
    for (name, quantity) in requests.iter() {
        let plain =
            matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-");
        if plain {
            usage.insert(name.clone(), quantity.clone());
        }
        if plain || is_extended(name) || name.starts_with(DEVICE_CLASS_PREFIX) {
            usage.insert(format!("requests.{name}"), quantity.clone());
        }
    }
    for (name, quantity) in
        limits.iter().filter(|(name, _)| matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage"))
    {
        usage.insert(format!("limits.{name}"), quantity.clone());
    }
    usage
}

fn of_service(service: &Object) -> ResourceList {
    let empty = Object::new();
    let spec = child(service, "spec").unwrap_or(&empty);
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let ports = count(list(spec, "ports").len());
    let with_node_ports = children(spec, "ports").filter(|port| integer(port, "nodePort") != 0).count();
    let (node_ports, load_balancers) = match text(spec, "type") {
        "NodePort" => (ports, 0),
        "LoadBalancer" if maybe_flag(spec, "allocateLoadBalancerNodePorts") == Some(false) => {
            (count(with_node_ports), 1)
        }
        "LoadBalancer" => (ports, 1),
        _ => (0, 0),
    };
    SERVICE_RESOURCES
        .into_iter()
        .zip([1, 1, node_ports, load_balancers])
        .map(|(name, value)| (name.to_owned(), number(value)))
        .collect()
}

fn of_volume_claim(claim: &Object) -> ResourceList {
    let mut usage = ResourceList::default();
    let mut count = |name: &str, quantity: &Quantity| {
        usage.insert(name.to_owned(), quantity.clone());
        if let Some(class) = class_of(claim).filter(|class| !class.is_empty()) {
            usage.insert(format!("{class}{OF_STORAGE_CLASS}{name}"), quantity.clone());
        }
    };
    count("persistentvolumeclaims", &number(1));
    let resources = child(claim, "spec").and_then(|spec| child(spec, "resources"));
    let requested = resources.and_then(|r| ResourceList::of(r, "requests").get("storage").cloned());
    if let Some(mut storage) = requested {
        let allocated = child(claim, "status").map(|status| ResourceList::of(status, "allocatedResources"));
        if let Some(allocated) = allocated.and_then(|list| list.get("storage").cloned()) {
            storage = storage.max(allocated);
        }
        storage.round_up(0);
        count("requests.storage", &storage);
    }
    usage.insert("count/persistentvolumeclaims".into(), number(1));
    usage
}

fn of_device_claim(claim: &Object) -> ResourceList {
    let mut usage: ResourceList =
        [("count/resourceclaims.resource.k8s.io".to_owned(), number(1))].into_iter().collect();
    let devices = child(claim, "spec").and_then(|spec| child(spec, "devices"));
    for request in devices.into_iter().flat_map(|devices| children(devices, "requests")) {
        let mut needs = ResourceList::default();
        let alternatives = children(request, "firstAvailable").chain(child(request, "exactly"));
        for alternative in alternatives {
            let devices = match text(alternative, "allocationMode") {
                "ExactCount" => integer(alternative, "count"),
                "All" => ALL_DEVICES,
                _ => 0,
            };
            let name = format!("{}{OF_DEVICE_CLASS}", text(alternative, "deviceClassName"));
            needs.max_with(&[(name, number(devices))].into_iter().collect());
        }
        usage.add(&needs);
    }
    usage
}
