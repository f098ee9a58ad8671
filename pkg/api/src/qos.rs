//! Quality of service class of a pod, which controls its treatment on a node with memory pressure (upstream's
//! `pkg/apis/core/helper/qos`).

use crate::tree::{child, children, text};
use apimachinery::quantity::Quantity;
use component_base::features::{Gate, Gates};
use jsontree::Value;
use schema::object::Object;
use std::collections::BTreeMap;

const COMPUTE: [&str; 2] = ["cpu", "memory"];

/// Sums of requests or limits by resource; zeros count as absent.
type Sums = BTreeMap<&'static str, Quantity>;

/// Treatment of `spec.resources` without requests and limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EmptyPodResources {
    /// The resources of the containers decide.
    #[default]
    Ignored,
    /// Nothing is requested.
    Counted,
}

impl EmptyPodResources {
    /// Returns the treatment that the gates select.
    pub fn of(gates: &Gates) -> Self {
        if gates.enabled(Gate::PodLevelResourcesFixKubeletQOSClass) { Self::Ignored } else { Self::Counted }
    }
}

/// Returns the class in a pod's status, or the result of [`compute`] if the status has none.
pub fn of(pod: &Object) -> &str {
    match child(pod, "status").map_or("", |status| text(status, "qosClass")) {
        "" => compute(pod, EmptyPodResources::default()),
        class => class,
    }
}

/// Computes the class from a pod's spec. `BestEffort` if nothing is requested. `Guaranteed` if all containers
/// have limits for cpu and memory that equal the requests. Otherwise `Burstable`. Resources of the whole pod
/// (KEP-2837) replace those of the containers, unless they are empty and ignored.
pub fn compute(pod: &Object, empty: EmptyPodResources) -> &'static str {
    let Some(spec) = child(pod, "spec") else { return "BestEffort" };
    let mut requests = Sums::new();
    let mut limits = Sums::new();
    let mut guaranteed = true;
    let mut count = |resources: Option<&Object>, needs_limits: bool| {
        let list = |name| resources.and_then(|resources| child(resources, name));
        add(list("requests"), &mut requests);
        let limited = add(list("limits"), &mut limits);
        guaranteed &= limited == COMPUTE.len() || !needs_limits;
    };
    let has_any = |resources: &Object| {
        ["requests", "limits"].iter().any(|list| child(resources, list).is_some_and(|list| !list.is_empty()))
    };
    let counts = |resources: &&Object| empty == EmptyPodResources::Counted || has_any(resources);
    if let Some(resources) = child(spec, "resources").filter(counts) {
        let has_limits = child(resources, "limits").is_some_and(|limits| !limits.is_empty());
        count(Some(resources), has_limits);
    } else {
        for container in ["containers", "initContainers"].into_iter().flat_map(|list| children(spec, list)) {
            count(child(container, "resources"), true);
        }
    }
    match (guaranteed, requests.is_empty() && limits.is_empty()) {
        (_, true) => "BestEffort",
        (true, _) if requests == limits => "Guaranteed",
        _ => "Burstable",
    }
}

/// Adds the cpu and memory of a list. Returns the number of the two that the list contains.
fn add(list: Option<&Object>, sums: &mut Sums) -> usize {
    let Some(list) = list else { return 0 };
    let quantity =
        |name| list.get(name).and_then(Value::as_str).and_then(|text| text.parse::<Quantity>().ok());
    let set = COMPUTE.into_iter().filter_map(|name| Some((name, quantity(name)?)));
    let mut count = 0;
    for (name, quantity) in set.filter(|(_, quantity)| quantity.sign().is_gt()) {
        sums.entry(name).or_default().add(&quantity);
        count += 1;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::json;

    fn check(spec: Value, expected: &str) {
        let pod = Object::from_iter([("spec".to_owned(), spec)]);
        assert_eq!(compute(&pod, EmptyPodResources::Ignored), expected, "{pod:?}");
    }

    fn container(limits: Value, requests: Value) -> Value {
        json!({"resources": {"limits": limits, "requests": requests}})
    }

    #[test]
    fn class_depends_on_containers() {
        let both = json!({"cpu": "1", "memory": "1Gi"});
        check(json!({"containers": [{}]}), "BestEffort");
        check(
            json!({"containers": [container(json!({"cpu": "0"}), json!({"example.com/x": "1"}))]}),
            "BestEffort",
        );
        check(json!({"containers": [container(both.clone(), both.clone())]}), "Guaranteed");
        check(json!({"containers": [container(both.clone(), both.clone()), {}]}), "Burstable");
        check(json!({"containers": [container(both.clone(), json!({"cpu": "1"}))]}), "Burstable");
        check(json!({"containers": [container(both.clone(), json!({}))]}), "Burstable");
        let equal = json!({"cpu": "1000m", "memory": "1024Mi"});
        check(json!({"containers": [container(both, equal)]}), "Guaranteed");
    }

    #[test]
    fn pod_resources_take_precedence() {
        let both = json!({"cpu": "1", "memory": "1Gi"});
        check(
            json!({"containers": [{}], "resources": container(both.clone(), both.clone())["resources"]}),
            "Guaranteed",
        );
        check(json!({"resources": {"requests": both.clone()}}), "Burstable");
        check(json!({"containers": [container(both.clone(), both)], "resources": {}}), "Guaranteed");
        check(json!({"resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}}), "Burstable");
    }

    #[test]
    fn older_releases_count_empty_pod_resources() {
        let both = json!({"cpu": "1", "memory": "1Gi"});
        let spec = json!({"containers": [container(both.clone(), both)], "resources": {}});
        let pod = Object::from_iter([("spec".to_owned(), spec)]);
        assert_eq!(compute(&pod, EmptyPodResources::Counted), "BestEffort");
    }

    #[test]
    fn a_status_keeps_its_class() {
        let Value::Object(pod) = json!({"status": {"qosClass": "Guaranteed"}}) else { unreachable!() };
        assert_eq!(of(&pod), "Guaranteed");
    }
}
