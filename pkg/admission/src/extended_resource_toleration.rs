//! `ExtendedResourceToleration` lets pods that request an extended resource tolerate the taint of nodes
//! dedicated to it (upstream's `plugin/pkg/admission/extendedresourcetoleration`).

use std::collections::BTreeSet;

use api::tree::{child, child_mut, children, text};
use apimachinery::names::is_label_key;
use async_trait::async_trait;
use jsontree::json;
use schema::object::Object;

use crate::{AdmissionNotes, Attributes, Plugin, Verdict, meta};

pub struct ExtendedResourceToleration;

/// True if the resource is not one of Kubernetes' own.
pub(crate) fn is_extended(name: &str) -> bool {
    name.contains('/')
        && !name.contains("kubernetes.io/")
        && !name.starts_with("requests.")
        && is_label_key(&format!("requests.{name}")).is_empty()
}

#[async_trait]
impl Plugin for ExtendedResourceToleration {
    fn name(&self) -> &'static str {
        "ExtendedResourceToleration"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.is_pod() && a.writes()
    }

    async fn mutate(&self, _: &Attributes<'_>, pod: Option<&mut Object>, _: &mut AdmissionNotes) -> Verdict {
        let Some(pod) = pod else { return Ok(()) };
        let Some(spec) = child_mut(pod, "spec") else { return Ok(()) };
        let containers = ["containers", "initContainers"].into_iter().flat_map(|list| children(spec, list));
        let requests = containers.filter_map(|container| child(child(container, "resources")?, "requests"));
        let names: BTreeSet<jsontree::Key> =
            requests.flat_map(Object::keys).filter(|name| is_extended(name)).cloned().collect();
        for name in names {
            let is_equal = |toleration: &Object| {
                text(toleration, "key") == name
                    && text(toleration, "operator") == "Exists"
                    && text(toleration, "effect") == "NoSchedule"
                    && text(toleration, "value").is_empty()
            };
            if !children(spec, "tolerations").any(is_equal) {
                let toleration = json!({"key": name, "operator": "Exists", "effect": "NoSchedule"});
                meta::push(spec, &["tolerations"], toleration);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::Write;

    #[test]
    fn pod_tolerates_taints_of_requested_extended_resources() {
        let requests = json!({"cpu": "1", "example.com/gpu": "1", "kubernetes.io/x": "1"});
        let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"resources": {"requests": requests}}]}});
        let once = Write::default().mutated(&ExtendedResourceToleration, pod).unwrap();
        let expected = json!([{"key": "example.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]);
        assert_eq!(once["spec"]["tolerations"], expected);
        assert_eq!(Write::default().mutated(&ExtendedResourceToleration, once.clone()), Ok(once));
    }
}
