//! Quantities by resource name, and the total resources of a pod (KEP-753, KEP-2837; upstream's
//! `component-helpers/resource` and `apiserver/pkg/quota/v1`).

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use api::tree::{child, children, text};
use apimachinery::quantity::Quantity;
use jsontree::Value;
use schema::object::Object;

use crate::meta::is_sidecar;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ResourceList(BTreeMap<String, Quantity>);

impl Deref for ResourceList {
    type Target = BTreeMap<String, Quantity>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for ResourceList {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl FromIterator<(String, Quantity)> for ResourceList {
    fn from_iter<I: IntoIterator<Item = (String, Quantity)>>(pairs: I) -> Self {
        ResourceList(pairs.into_iter().collect())
    }
}

impl ResourceList {
    /// Reads a member of an object. Skips invalid quantities, which stored objects never contain.
    pub(crate) fn of(object: &Object, name: &str) -> Self {
        let quantity = |value: &Value| value.as_str().and_then(|text| text.parse().ok());
        let members = child(object, name).into_iter().flatten();
        members.filter_map(|(name, value)| Some((name.to_string(), quantity(value)?))).collect()
    }

    /// Returns the list as a JSON value.
    pub(crate) fn to_value(&self) -> Value {
        let pairs = self.0.iter().map(|(name, quantity)| (name.as_str(), Value::from(quantity.to_string())));
        Value::Object(pairs.collect())
    }

    pub(crate) fn add(&mut self, other: &ResourceList) {
        for (name, quantity) in &other.0 {
            match self.0.get_mut(name) {
                Some(sum) => sum.add(quantity),
                None => drop(self.0.insert(name.clone(), quantity.clone())),
            }
        }
    }

    /// Raises each quantity to that of `other` if that is greater.
    pub(crate) fn max_with(&mut self, other: &ResourceList) {
        for (name, quantity) in &other.0 {
            if self.0.get(name).is_none_or(|current| quantity > current) {
                self.0.insert(name.clone(), quantity.clone());
            }
        }
    }
}

/// Requests or limits of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResourceSide {
    Requests,
    Limits,
}

impl ResourceSide {
    fn member(self) -> &'static str {
        match self {
            ResourceSide::Requests => "requests",
            ResourceSide::Limits => "limits",
        }
    }
}

/// Options of the sum. Container specs and the pod-level cpu and memory always count.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CountOptions {
    /// Includes pod-level huge pages and the runtime overhead.
    pub(crate) all_of_pod: bool,
    /// Includes allocated resources from container statuses during a resize (KEP-1287).
    pub(crate) use_status_resources: bool,
}

/// Returns the total resources of a pod: the sum of its containers, or the maximum of its init steps if that
/// is greater. Pod-level resources take precedence.
pub(crate) fn of_pod(pod: &Object, side: ResourceSide, counting: CountOptions) -> ResourceList {
    let Some(spec) = child(pod, "spec") else { return ResourceList::default() };
    let status = child(pod, "status").filter(|_| counting.use_status_resources);
    let statuses = |list| status.into_iter().flat_map(move |status| children(status, list));
    let mut total = ResourceList::default();
    for container in children(spec, "containers") {
        let container_status =
            statuses("containerStatuses").find(|s| text(s, "name") == text(container, "name"));
        total.add(&of_container(container, container_status, status, side));
    }
    let mut sidecars = ResourceList::default();
    let mut initial = ResourceList::default();
    for container in children(spec, "initContainers") {
        if is_sidecar(container) {
            let container_status =
                statuses("initContainerStatuses").find(|s| text(s, "name") == text(container, "name"));
            let needs = of_container(container, container_status, status, side);
            total.add(&needs);
            sidecars.add(&needs);
            initial.max_with(&sidecars);
        } else {
            let mut step = of_container(container, None, None, side);
            step.add(&sidecars);
            initial.max_with(&step);
        }
    }
    total.max_with(&initial);
    if let Some(resources) = child(spec, "resources") {
        let huge = |name: &str| counting.all_of_pod && name.starts_with("hugepages-");
        let of_pod = ResourceList::of(resources, side.member());
        let is_pod_level = |name: &String| matches!(name.as_str(), "cpu" | "memory") || huge(name);
        total.extend(of_pod.0.into_iter().filter(|(name, _)| is_pod_level(name)));
    }
    if counting.all_of_pod {
        add_overhead(&mut total, &ResourceList::of(spec, "overhead"), side);
    }
    total
}

/// Adds the overhead. Limits are raised only if they are set.
fn add_overhead(total: &mut ResourceList, overhead: &ResourceList, side: ResourceSide) {
    match side {
        ResourceSide::Requests => total.add(overhead),
        ResourceSide::Limits => {
            for (name, quantity) in &overhead.0 {
                if let Some(limit) = total.get_mut(name).filter(|limit| !limit.is_zero()) {
                    limit.add(quantity);
                }
            }
        }
    }
}

/// Returns the resources of a container: those of its spec, or those of its status if they are greater.
fn of_container(
    container: &Object,
    status: Option<&Object>,
    pod_status: Option<&Object>,
    side: ResourceSide,
) -> ResourceList {
    let spec = child(container, "resources");
    let spec = spec.map(|resources| ResourceList::of(resources, side.member())).unwrap_or_default();
    let Some((status, actual)) = status.and_then(|status| Some((status, child(status, "resources")?))) else {
        return spec;
    };
    let actual = ResourceList::of(actual, side.member());
    let mut needs = if is_infeasible(pod_status) { ResourceList::default() } else { spec };
    needs.max_with(&actual);
    if side == ResourceSide::Requests {
        needs.max_with(&ResourceList::of(status, "allocatedResources"));
    }
    needs
}

/// True if the node has reported the requested resize as infeasible.
fn is_infeasible(status: Option<&Object>) -> bool {
    let mut conditions = status.into_iter().flat_map(|status| children(status, "conditions"));
    let pending = conditions.find(|condition| text(condition, "type") == "PodResizePending");
    pending.is_some_and(|condition| text(condition, "reason") == "Infeasible")
}
