//! `NodeDeclaredFeatureValidator` rejects changes to a running pod that need a feature which its node has not
//! declared, and devices for such nodes (KEP-5328; upstream's `plugin/pkg/admission/nodedeclaredfeatures`).

mod resource_slice;

use std::sync::Arc;

use api::resources::{self, Resource};
use api::tree::{child, children, text, texts};
use apimachinery::quantity::Quantity;
use async_trait::async_trait;
use component_base::features::{Gate, Gates};
use schema::object::Object;

use crate::meta::is_sidecar;
use crate::pod_resize::{changes_running, node_name};
use crate::resource_list::ResourceList;
use crate::{AdmissionNotes, Attributes, Objects, Operation, Plugin, Verdict};

/// Predicate on the new and the old pod spec: true if the change needs the feature.
type FeaturePredicate = fn(&Object, &Object) -> bool;

/// Node features by name, each with the predicate for updates that need it.
const FEATURES: [(&str, FeaturePredicate); 3] = [
    ("InPlacePodLevelResourcesVerticalScaling", resizes_pod),
    ("InPlacePodVerticalScalingInitContainers", resizes_init_containers),
    ("InPlacePodVerticalScalingMemoryBackedVolumes", resizes_memory_volumes),
];

pub struct NodeDeclaredFeatureValidator {
    objects: Arc<dyn Objects>,
    nodes: &'static Resource<'static>,
    gates: Gates,
}

impl NodeDeclaredFeatureValidator {
    /// Looks up nodes in `objects`. `None` if they are not served.
    pub fn new(objects: Arc<dyn Objects>, gates: Gates) -> Option<Self> {
        Some(NodeDeclaredFeatureValidator { objects, nodes: resources::find("", "v1", "nodes", "")?, gates })
    }

    /// Rejects a change of a pod that its node does not support.
    async fn pod(&self, a: &Attributes<'_>, pod: &Object) -> Verdict {
        let Some(old) = a.old.filter(|old| changes_running(pod, old)) else { return Ok(()) };
        let (Some(new), Some(old)) = (child(pod, "spec"), child(old, "spec")) else { return Ok(()) };
        let needed = FEATURES.iter().filter(|(_, needs)| needs(new, old)).map(|(feature, _)| *feature);
        let mut needed: Vec<&str> = needed.collect();
        if needed.is_empty() {
            return Ok(());
        }
        let name = node_name(pod);
        let node = self.objects.find(self.nodes, "", name).await?;
        let node = node.ok_or_else(|| a.forbidden(format!("node {name:?} not found")))?;
        needed.retain(|feature| !declares(&node, feature));
        if needed.is_empty() {
            Ok(())
        } else {
            Err(a.forbidden(format!(
                "pod update requires features {} which are not available on node {name:?}",
                needed.join(", ")
            )))
        }
    }
}

#[async_trait]
impl Plugin for NodeDeclaredFeatureValidator {
    fn name(&self) -> &'static str {
        "NodeDeclaredFeatureValidator"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        match a.operation {
            Operation::Update if a.is_pod() || a.is("", "pods", "resize") => true,
            Operation::Create | Operation::Update => {
                a.is("resource.k8s.io", "resourceslices", "")
                    && self.gates.enabled(Gate::DRANodeAllocatableResources)
            }
            Operation::Delete | Operation::Connect => false,
        }
    }

    async fn validate(&self, a: &Attributes<'_>, object: Option<&Object>, _: &mut AdmissionNotes) -> Verdict {
        match object {
            Some(slice) if a.resource.plural == "resourceslices" => self.resource_slice(a, slice).await,
            Some(pod) => self.pod(a, pod).await,
            None => Ok(()),
        }
    }
}

/// True if a node has declared the feature.
fn declares(node: &Object, feature: &str) -> bool {
    let status = child(node, "status");
    status.is_some_and(|status| texts(status, "declaredFeatures").any(|declared| declared == feature))
}

/// True if the pod-level resources change.
fn resizes_pod(new: &Object, old: &Object) -> bool {
    match (child(new, "resources"), child(old, "resources")) {
        (None, None) => false,
        (Some(new), Some(old)) => resources_differ(new, old),
        _ => true,
    }
}

/// True if the resources of an init container change.
fn resizes_init_containers(new: &Object, old: &Object) -> bool {
    let pairs = children(new, "initContainers").zip(children(old, "initContainers"));
    let empty = Object::new();
    let resources = |container| child(container, "resources").unwrap_or(&empty);
    pairs.into_iter().any(|(new, old)| !is_sidecar(old) && resources_differ(resources(new), resources(old)))
}

/// True if the size limit of a volume in memory changes.
fn resizes_memory_volumes(new: &Object, old: &Object) -> bool {
    let count = |spec: &Object| children(spec, "volumes").count();
    let limit =
        |volume: &Object| -> Option<Quantity> { text(child(volume, "emptyDir")?, "sizeLimit").parse().ok() };
    let in_memory =
        |volume: &Object| child(volume, "emptyDir").is_some_and(|source| text(source, "medium") == "Memory");
    let is_resized = |new: &Object, old: &Object| {
        text(new, "name") == text(old, "name")
            && in_memory(new)
            && limit(new).zip(limit(old)).is_some_and(|limits| limits.0 != limits.1)
    };
    count(new) == count(old)
        && children(new, "volumes").zip(children(old, "volumes")).any(|pair| is_resized(pair.0, pair.1))
}

fn resources_differ(new: &Object, old: &Object) -> bool {
    ["requests", "limits"].iter().any(|list| ResourceList::of(new, list) != ResourceList::of(old, list))
        || new.get("claims") != old.get("claims")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jsontree::json;

    use super::*;
    use crate::testing::{Store, Write};

    #[test]
    fn change_needs_node_with_declared_feature() {
        let able = json!({"metadata": {"name": "able"}, "status": {"declaredFeatures": [FEATURES[0].0]}});
        let plain = json!({"metadata": {"name": "plain"}});
        let plugin = NodeDeclaredFeatureValidator::new(
            Store::of([("nodes", able), ("nodes", plain)]),
            Gates::default(),
        )
        .unwrap();
        let pod = |node: &str, generation: i64, member: &str, cpu: &str| {
            let resources = json!({"requests": {"cpu": cpu}});
            let value = match member {
                "resources" => resources,
                "volumes" => json!([{"name": "v", "emptyDir": {"medium": "Memory", "sizeLimit": cpu}}]),
                _ => json!([{"name": "c", "resources": resources}]),
            };
            json!({"metadata": {"name": "p", "generation": generation}, "spec": {"nodeName": node, member: value}})
        };
        let check = |node: &str, member: &str, cpu: &str, expected: Option<String>| {
            let write = Write::default().through("resize").over(pod(node, 1, member, "1"));
            let got = write.validated(&plugin, pod(node, 2, member, cpu)).err();
            assert_eq!(got, expected.map(|cause| format!("pods \"p\" is forbidden: {cause}")));
        };
        let missing = |feature: &str, node: &str| {
            Some(format!("pod update requires features {feature} which are not available on node {node:?}"))
        };
        check("able", "resources", "2", None);
        check("plain", "resources", "1000m", None);
        check("plain", "resources", "2", missing(FEATURES[0].0, "plain"));
        check("able", "initContainers", "2", missing(FEATURES[1].0, "able"));
        check("plain", "volumes", "1000m", None);
        check("plain", "volumes", "2", missing(FEATURES[2].0, "plain"));
        check("plain", "containers", "2", None);
        check("absent", "resources", "2", Some("node \"absent\" not found".to_owned()));
    }
}
