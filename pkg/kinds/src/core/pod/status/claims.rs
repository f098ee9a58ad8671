//! Resource claims in the status of a pod.

use crate::validation::resource_name::is_native;
use crate::validation::resources::resource_list;
use crate::validation::value::{dns_label, dns_subdomain};
use api::tree::{child, children, list, maybe_text, text};
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
            errors.push(Error::required(&path.child("resourceClaimName"), "must not be empty"));
        }
        if !claim_names.contains(name) {
            let detail = "no mapping found in pod reference";
            errors.push(Error::invalid(&path.child("resourceClaimName"), name, detail));
        }
        if list(claim, "containers").is_empty() {
            errors.push(Error::required(&path.child("containers"), "must not be empty"));
        }
        let path = path.child("resources");
        if child(claim, "resources").is_none_or(Object::is_empty) {
            errors.push(Error::required(&path, "must not be empty"));
        }
        for (name, quantity) in resource_list(claim, "resources") {
            let path = path.key(name);
            if !is_native(name) {
                errors.push(Error::invalid(&path, name, "must be a node allocatable resource name"));
            }
            if quantity.sign().is_lt() {
                errors.push(Error::invalid(&path, quantity.to_string(), "must be non-negative"));
            }
        }
    }
}
