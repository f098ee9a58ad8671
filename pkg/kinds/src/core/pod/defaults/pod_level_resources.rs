//! Defaults of pod-level resources (KEP-2837), if some are set.

use crate::defaults::object::Object;
use api::tree::{child, children, text};
use apimachinery::quantity::Quantity;
use schema::object::{self, Object as Tree};
use std::collections::BTreeMap;

type Amounts = BTreeMap<String, Quantity>;

const HUGE_PAGES: &str = "hugepages-";
const ALL_CONTAINERS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// Completes `resources` of a pod spec from the containers and from each other. The containers must already
/// have their default requests.
pub(super) fn fill(spec: &mut Object) {
    if !spec.is_nil("resources") {
        spec.decoded(|spec| {
            fill_huge_page_limits(spec);
            fill_requests(spec);
        });
    }
}

/// Completes `resources` of a pod spec at the end of a write, if it has requests or limits (upstream's
/// `DefaultPodLevelResources`). The containers must already have their default requests.
pub(in crate::core::pod) fn complete(spec: &mut Tree) {
    let Some(resources) = child(spec, "resources") else { return };
    if ["limits", "requests"].iter().all(|list| child(resources, list).is_none_or(Tree::is_empty)) {
        return;
    }
    fill_huge_page_limits(spec);
    fill_all_requests(spec);
    fill_limits(spec);
}

/// Sets the missing limits of requested resources for which all containers have limits: to the limits of the
/// containers, or to the pod's request if that is larger.
fn fill_limits(spec: &mut Tree) {
    let Some(resources) = child(spec, "resources") else { return };
    let Some(requests) = child(resources, "requests") else { return };
    let is_limited_everywhere = |name: &str| {
        let mut containers = ALL_CONTAINERS.into_iter().flat_map(|list| children(spec, list));
        containers.all(|container| child(container, "resources").is_some_and(|of| has(of, "limits", name)))
    };
    let mut limits = of_containers(spec, "limits");
    limits.retain(|name, _| has(resources, "requests", name) && !has(resources, "limits", name));
    limits.retain(|name, _| is_supported(name) && is_limited_everywhere(name));
    let requests = amounts(requests).map(|(name, amount)| (name.to_owned(), amount));
    let requests: Amounts = requests.filter(|(name, _)| limits.contains_key(name)).collect();
    raise(&mut limits, &requests);
    insert(spec, "limits", limits);
}

fn is_supported(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with(HUGE_PAGES)
}

/// Sets the pod's limits of huge pages to the sum of its containers, unless the pod requests huge pages
/// itself.
fn fill_huge_page_limits(spec: &mut Tree) {
    let Some(resources) = child(spec, "resources") else { return };
    if ["limits", "requests"].iter().all(|list| child(resources, list).is_none_or(Tree::is_empty)) {
        return;
    }
    let mut limits = of_containers(spec, "limits");
    limits.retain(|name, _| {
        name.starts_with(HUGE_PAGES) && !has(resources, "requests", name) && !has(resources, "limits", name)
    });
    insert(spec, "limits", limits);
}

/// Sets the requests of a pod with limits to those of its containers, or to the limits. Huge pages cannot be
/// overcommitted, so their requests equal the limits.
fn fill_requests(spec: &mut Tree) {
    let limits = child(spec, "resources").and_then(|resources| child(resources, "limits"));
    if limits.is_some_and(|limits| !limits.is_empty()) {
        fill_all_requests(spec);
    }
}

/// Sets the requests of a pod to those of its containers, or to its limits.
fn fill_all_requests(spec: &mut Tree) {
    let Some(resources) = child(spec, "resources") else { return };
    let mut requests = of_containers(spec, "requests");
    requests.retain(|name, _| matches!(name.as_str(), "cpu" | "memory"));
    for (name, limit) in child(resources, "limits").into_iter().flat_map(amounts) {
        if is_supported(name) {
            requests.entry(name.to_owned()).or_insert(limit);
        }
    }
    requests.retain(|name, _| !has(resources, "requests", name));
    insert(spec, "requests", requests);
}

fn has(resources: &Tree, list: &str, name: &str) -> bool {
    child(resources, list).is_some_and(|list| list.contains_key(name))
}

fn insert(spec: &mut Tree, list: &str, amounts: Amounts) {
    for (name, amount) in amounts {
        object::set(spec, &["resources", list, &name], amount.to_string());
    }
}

/// Returns the total of all containers (KEP-753), which is the larger of two values:
///
/// - the sum of the containers that run concurrently, including sidecars
/// - the highest need of an init container with the sidecars started before it
fn of_containers(spec: &Tree, list: &str) -> Amounts {
    let mut running = Amounts::new();
    for container in children(spec, "containers") {
        add(&mut running, &of_container(container, list));
    }
    let mut sidecars = Amounts::new();
    let mut starting = Amounts::new();
    for container in children(spec, "initContainers") {
        let mut needed = of_container(container, list);
        if text(container, "restartPolicy") == "Always" {
            add(&mut running, &needed);
            add(&mut sidecars, &needed);
            raise(&mut starting, &sidecars);
        } else {
            add(&mut needed, &sidecars);
            raise(&mut starting, &needed);
        }
    }
    raise(&mut running, &starting);
    running
}

fn of_container(container: &Tree, list: &str) -> Amounts {
    let list = child(container, "resources").and_then(|resources| child(resources, list));
    list.map(|list| amounts(list).map(|(name, amount)| (name.to_owned(), amount)).collect())
        .unwrap_or_default()
}

/// Iterates over the amounts of a resource list. A malformed quantity counts as zero.
fn amounts(list: &Tree) -> impl Iterator<Item = (&str, Quantity)> {
    list.iter().map(|(name, amount)| {
        let amount = amount.as_str().and_then(|text| text.parse().ok()).unwrap_or_default();
        (name.as_str(), amount)
    })
}

fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        match sum.get_mut(name) {
            Some(total) => total.add(amount),
            None => _ = sum.insert(name.clone(), amount.clone()),
        }
    }
}

/// Raises every amount to at least that of `floor`.
fn raise(amounts: &mut Amounts, floor: &Amounts) {
    for (name, least) in floor {
        if amounts.get(name).is_none_or(|amount| least > amount) {
            amounts.insert(name.clone(), least.clone());
        }
    }
}
