//! Resource claims in the status of a pod.

use crate::validation::resource_name::is_huge_pages;
use crate::validation::resources::quantity;
use crate::validation::value::{dns_label, dns_subdomain};
use api::tree::{child, children, is_set, list, maybe_text, text};
use apimachinery::field::{Error, ErrorList, Path};
use schema::object::Object;
use std::collections::{BTreeMap, BTreeSet};

/// Validates the claims that were created for the claims in the spec. `path` is that of the list.
pub(super) fn resource_claims(path: &Path<'_>, status: &Object, spec: &Object, errors: &mut ErrorList) {
    let claim_names: BTreeSet<&str> =
        children(spec, "resourceClaims").map(|claim| text(claim, "name")).collect();
    let mut seen = BTreeSet::new();
    for (index, claim) in children(status, "resourceClaimStatuses").enumerate() {
        let path = path.index(index);
        let name = text(claim, "name");
        if !claim_names.contains(name) {
            let detail = "must match the name of an entry in `spec.resourceClaims`";
            errors.push(Error::invalid(&path.child("name"), name, detail));
        }
        if !seen.insert(name) {
            errors.push(Error::duplicate(&path.child("name"), name));
        }
        if let Some(name) = maybe_text(claim, "resourceClaimName") {
            dns_subdomain(&path.child("resourceClaimName"), name, errors);
        }
    }
}

/// Validates the claim for extended resources of the containers (KEP-5004). `path` is that of its status. The
/// path of a request's name is upstream's, without the mapping.
pub(super) fn extended_resource_claim(
    path: &Path<'_>,
    status: &Object,
    spec: &Object,
    errors: &mut ErrorList,
) {
    let Some(claim) = child(status, "extendedResourceClaimStatus") else { return };
    let mappings = path.child("requestMappings");
    if list(claim, "requestMappings").is_empty() {
        errors.push(Error::required(&mappings, "at least one request mapping is required"));
    }
    // A regular container takes precedence over an init container with the same name.
    let containers = children(spec, "initContainers").chain(children(spec, "containers"));
    let containers: BTreeMap<&str, &Object> =
        containers.map(|container| (text(container, "name"), container)).collect();
    let mut seen = BTreeSet::new();
    for (index, mapping) in children(claim, "requestMappings").enumerate() {
        let item = mappings.index(index);
        let members = ["containerName", "resourceName", "requestName"];
        let [container, resource, request] = members.map(|member| text(mapping, member));
        requested(&item, container, resource, &containers, errors);
        dns_label(&path.child("requestName"), request, errors);
        if !seen.insert([container, resource, request]) {
            let all = members.into_iter().zip([container, resource, request]);
            errors.extend(all.map(|(member, value)| Error::duplicate(&item.child(member), value)));
        }
    }
    match text(claim, "resourceClaimName") {
        "" => errors.push(Error::required(&path.child("resourceClaimName"), "")),
        name => dns_subdomain(&path.child("resourceClaimName"), name, errors),
    }
}

fn requested(
    path: &Path<'_>,
    name: &str,
    resource: &str,
    containers: &BTreeMap<&str, &Object>,
    errors: &mut ErrorList,
) {
    let Some(container) = containers.get(name) else {
        let detail = "must match the name of an entry in spec.initContainers.name or spec.containers.name";
        errors.push(Error::invalid(&path.child("containerName"), name, detail));
        return;
    };
    let requests = child(container, "resources").and_then(|resources| child(resources, "requests"));
    if !requests.is_some_and(|requests| requests.contains_key(resource)) {
        let detail = "must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests";
        errors.push(Error::invalid(&path.child("resourceName"), resource, detail));
    }
}

/// Validates the claims' use of node allocatable resources (KEP-5517). `path` is that of the list.
pub(super) fn node_allocatable_claims(
    path: &Path<'_>,
    status: &Object,
    spec: &Object,
    errors: &mut ErrorList,
) {
    let mapped = children(spec, "resourceClaims").chain(children(status, "resourceClaimStatuses"));
    let claim_names: BTreeSet<&str> =
        mapped.filter_map(|claim| maybe_text(claim, "resourceClaimName")).collect();
    for (index, claim) in children(status, "nodeAllocatableResourceClaimStatuses").enumerate() {
        let path = path.index(index);
        let name = text(claim, "resourceClaimName");
        if name.is_empty() {
            continue;
        }
        if !claim_names.contains(name) {
            let detail = "no mapping found in pod reference";
            errors.push(Error::invalid(&path.child("resourceClaimName"), name, detail));
        }
        let mapping_path = path.child("mapping");
        for (index, item) in children(claim, "mapping").enumerate() {
            let path = mapping_path.index(index);
            allocatable_name(&path, item, errors);
            nonnegative_amount(&path, item, "quantity", errors);
        }
        let overhead_path = path.child("overhead");
        for (index, item) in children(claim, "overhead").enumerate() {
            overhead(&overhead_path.index(index), item, errors);
        }
    }
}

fn overhead(path: &Path<'_>, item: &Object, errors: &mut ErrorList) {
    allocatable_name(path, item, errors);
    if !is_set(item, "perPod") && !is_set(item, "perContainer") {
        errors.push(Error::invalid(path, "", "at least one of perPod or perContainer must be set"));
        return;
    }
    for member in ["perPod", "perContainer"] {
        nonnegative_amount(path, item, member, errors);
    }
}

fn allocatable_name(path: &Path<'_>, item: &Object, errors: &mut ErrorList) {
    let name = text(item, "name");
    if !matches!(name, "cpu" | "memory") && !is_huge_pages(name) {
        errors.push(Error::invalid(&path.child("name"), name, "must be a node allocatable resource name"));
    }
}

fn nonnegative_amount(path: &Path<'_>, item: &Object, member: &str, errors: &mut ErrorList) {
    let Some(amount) = item.get(member).filter(|amount| !amount.is_null()) else { return };
    let amount = quantity(Some(amount));
    if amount.sign().is_lt() {
        errors.push(Error::invalid(&path.child(member), amount.to_string(), "must be non-negative"));
    }
}
