//! `NodeDeclaredFeatureValidator` rejects changes to a running pod that need a feature which its node has not
//! declared (KEP-5328; upstream's `plugin/pkg/admission/nodedeclaredfeatures`).

use std::sync::Arc;

use api::resources::{self, Resource};
use api::tree::{child, children, texts};
use async_trait::async_trait;
use schema::object::Object;

use crate::meta::is_sidecar;
use crate::pod_resize::{changes_running, node_name};
use crate::resource_list::ResourceList;
use crate::{AdmissionNotes, Attributes, Objects, Operation, Plugin, Verdict};

/// Predicate on the new and the old pod spec: true if the change needs the feature.
type FeaturePredicate = fn(&Object, &Object) -> bool;

/// Node features by name, each with the predicate for updates that need it.
const FEATURES: [(&str, FeaturePredicate); 2] = [
    ("InPlacePodLevelResourcesVerticalScaling", resizes_pod),
    ("InPlacePodVerticalScalingInitContainers", resizes_init_containers),
];

pub struct NodeDeclaredFeatureValidator {
    objects: Arc<dyn Objects>,
    nodes: &'static Resource<'static>,
}

impl NodeDeclaredFeatureValidator {
    /// Looks up nodes in `objects`. `None` if they are not served.
    pub fn new(objects: Arc<dyn Objects>) -> Option<Self> {
        Some(NodeDeclaredFeatureValidator { objects, nodes: resources::find("", "v1", "nodes", "")? })
    }
}

#[async_trait]
impl Plugin for NodeDeclaredFeatureValidator {
    fn name(&self) -> &'static str {
        "NodeDeclaredFeatureValidator"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.operation == Operation::Update && (a.is_pod() || a.is("", "pods", "resize"))
    }

    async fn validate(&self, a: &Attributes<'_>, object: Option<&Object>, _: &mut AdmissionNotes) -> Verdict {
        let (Some(pod), Some(old)) = (object, a.old) else { return Ok(()) };
        if !changes_running(pod, old) {
            return Ok(());
        }
        let (Some(new), Some(old)) = (child(pod, "spec"), child(old, "spec")) else { return Ok(()) };
        let needed = FEATURES.iter().filter(|(_, needs)| needs(new, old)).map(|(feature, _)| *feature);
        let mut needed: Vec<&str> = needed.collect();
        if needed.is_empty() {
            return Ok(());
        }
        let name = node_name(pod);
        let node = self.objects.find(self.nodes, "", name).await?;
        let node = node.ok_or_else(|| a.forbidden(format!("node {name:?} not found")))?;
        let status = child(&node, "status");
        let declares =
            |feature: &str| status.is_some_and(|s| texts(s, "declaredFeatures").any(|f| f == feature));
        needed.retain(|feature| !declares(feature));
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
        let plugin =
            NodeDeclaredFeatureValidator::new(Store::of([("nodes", able), ("nodes", plain)])).unwrap();
        let pod = |node: &str, generation: i64, member: &str, cpu: &str| {
            let resources = json!({"requests": {"cpu": cpu}});
            let value = match member {
                "resources" => resources,
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
        check("plain", "containers", "2", None);
        check("absent", "resources", "2", Some("node \"absent\" not found".to_owned()));
    }
}
