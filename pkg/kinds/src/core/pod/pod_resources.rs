//! Pod-level resources (KEP-2837), which must cover the containers' resources.

use crate::validation::resource_name::{is_huge_pages, pod_resource};
use crate::validation::resources::{Requirements, resource_list};
use api::tree::{child, children, is_set};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::quantity::Quantity;
use schema::object::Object;
use std::collections::{BTreeMap, BTreeSet};

use super::PodOptions;
use super::container_restarts::is_sidecar;
use super::os::os_name;

type Resources<'o> = BTreeMap<&'o str, Quantity>;

/// Validates the resources of a pod spec. `path` is that of the spec.
pub(super) fn pod_resources(
    path: &Path<'_>,
    spec: &Object,
    claims: &BTreeSet<&str>,
    options: &PodOptions,
    errors: &mut ErrorList,
) {
    let Some(resources) = child(spec, "resources") else { return };
    let path = path.child("resources");
    if os_name(spec) == Some("windows") {
        errors.push(Error::forbidden(&path, "may not be set for a windows pod"));
        return;
    }
    if is_set(resources, "claims") {
        let detail = "claims may not be set for Resources at pod-level";
        errors.push(Error::forbidden(&path.child("claims"), detail));
    }
    let allow_partial_huge_pages = options.partial_huge_pages;
    Requirements { name: pod_resource, claims, allow_partial_huge_pages }.validate(resources, &path, errors);
    consistency(&path, spec, resources, errors);
}

/// Checks that the pod's requests cover the sum of the containers' requests, and its limits the limit of each
/// container. Huge pages are never overcommitted, so their limits must cover the sum.
fn consistency(path: &Path<'_>, spec: &Object, resources: &Object, errors: &mut ErrorList) {
    let requests: Resources<'_> = resource_list(resources, "requests").collect();
    let limits: Resources<'_> = resource_list(resources, "limits").collect();
    let requests_path = path.child("requests");
    for (name, sum) in aggregate(spec, "requests") {
        if let Some(pod_request) = requests.get(name).filter(|pod_request| sum > **pod_request) {
            let detail = format!("must be greater than or equal to aggregate container requests of {sum}");
            errors.push(Error::invalid(&requests_path.key(name), pod_request.to_string(), detail));
        }
    }
    let limits_path = path.child("limits");
    for (name, sum) in aggregate(spec, "limits").into_iter().filter(|(name, _)| is_huge_pages(name)) {
        if let Some(pod_limit) = limits.get(name).filter(|pod_limit| sum > **pod_limit) {
            let detail = format!("must be greater than or equal to aggregate container limits of {sum}");
            errors.push(Error::invalid(&limits_path.key(name), pod_limit.to_string(), detail));
        }
    }
    let path = path.child("containers");
    for (index, container) in children(spec, "containers").enumerate() {
        let path = path.index(index);
        let resources = child(container, "resources").into_iter();
        for (name, limit) in resources.flat_map(|resources| resource_list(resources, "limits")) {
            if let Some(pod_limit) = limits.get(name).filter(|pod_limit| limit > **pod_limit) {
                let path = path.key(name);
                let detail = format!("must be less than or equal to pod limits of {pod_limit}");
                errors.push(Error::invalid(&path.child("limits"), limit.to_string(), detail));
            }
        }
    }
}

/// Returns the highest total need of a pod's containers at any time. Sidecars and regular containers run
/// concurrently. Before that, init containers run one after the other beside the sidecars started so far.
fn aggregate<'o>(spec: &'o Object, list: &'static str) -> Resources<'o> {
    let of = |container: &'o Object| -> Resources<'o> {
        child(container, "resources").into_iter().flat_map(|r| resource_list(r, list)).collect()
    };
    let mut running = Resources::new();
    for container in children(spec, "containers") {
        add(&mut running, &of(container));
    }
    let mut sidecars = Resources::new();
    let mut peak = Resources::new();
    for container in children(spec, "initContainers") {
        let mut now = of(container);
        if is_sidecar(container) {
            add(&mut running, &now);
            add(&mut sidecars, &now);
            now = sidecars.clone();
        } else {
            add(&mut now, &sidecars);
        }
        raise(&mut peak, now);
    }
    raise(&mut running, peak);
    running
}

fn add<'o>(sum: &mut Resources<'o>, other: &Resources<'o>) {
    for (name, quantity) in other {
        match sum.get_mut(name) {
            Some(sum) => sum.add(quantity),
            None => drop(sum.insert(name, quantity.clone())),
        }
    }
}

/// Raises each quantity to the larger of the two.
fn raise<'o>(max: &mut Resources<'o>, other: Resources<'o>) {
    for (name, quantity) in other {
        match max.get_mut(name) {
            Some(max) if *max >= quantity => {}
            Some(max) => *max = quantity,
            None => drop(max.insert(name, quantity)),
        }
    }
}
