//! `PodTopologyLabels` copies the zone and region labels of a node to its pods (KEP-4742; upstream's
//! `plugin/pkg/admission/podtopologylabels`).

use std::sync::Arc;

use api::resources::{self, Resource};
use api::tree::{child, text};
use async_trait::async_trait;
use schema::object::Object;

use crate::{AdmissionNotes, Attributes, Objects, Plugin, Verdict, meta};

/// The labels that pods inherit from their node.
const LABELS: [&str; 2] = ["topology.kubernetes.io/zone", "topology.kubernetes.io/region"];

pub struct PodTopologyLabels {
    objects: Arc<dyn Objects>,
    nodes: &'static Resource<'static>,
}

impl PodTopologyLabels {
    /// Looks up nodes in `objects`. `None` if they are not served.
    pub fn new(objects: Arc<dyn Objects>) -> Option<Self> {
        Some(PodTopologyLabels { objects, nodes: resources::find("", "v1", "nodes", "")? })
    }
}

/// Returns the node name in a new pod or in a binding.
fn node_of<'o>(a: &Attributes<'_>, object: &'o Object) -> &'o str {
    let (member, name) = if a.is_pod() { ("spec", "nodeName") } else { ("target", "name") };
    match child(object, member) {
        Some(target) if a.is_pod() || text(target, "kind") == "Node" => text(target, name),
        _ => "",
    }
}

#[async_trait]
impl Plugin for PodTopologyLabels {
    fn name(&self) -> &'static str {
        "PodTopologyLabels"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.creates() && (a.is_pod() || a.is("", "pods", "binding"))
    }

    async fn mutate(
        &self,
        a: &Attributes<'_>,
        object: Option<&mut Object>,
        _: &mut AdmissionNotes,
    ) -> Verdict {
        let Some(object) = object else { return Ok(()) };
        let node = node_of(a, object);
        if node.is_empty() {
            return Ok(());
        }
        let Some(node) = self.objects.cached(self.nodes, "", node).await? else { return Ok(()) };
        for key in LABELS {
            if let Some(value) = meta::label(&node, key) {
                meta::set_pair(object, "labels", key, value);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jsontree::{Value, json};

    use super::*;
    use crate::testing::{Store, Write};

    #[test]
    fn a_pod_has_the_topology_of_its_node() {
        let labels = json!({LABELS[0]: "z1", LABELS[1]: "r1", "other": "x"});
        let node = json!({"metadata": {"name": "n", "labels": labels}});
        let plugin = PodTopologyLabels::new(Store::of([("nodes", node)])).unwrap();
        let check = |write: Write, object: Value, expected: Value| {
            let got = write.mutated(&plugin, object).unwrap();
            assert_eq!(got["metadata"]["labels"], expected);
        };
        let pod = |node: &str| json!({"metadata": {"name": "p", "labels": {LABELS[0]: "own", "a": "b"}}, "spec": {"nodeName": node}});
        check(Write::default(), pod("n"), json!({LABELS[0]: "z1", LABELS[1]: "r1", "a": "b"}));
        check(Write::default(), pod("absent"), json!({LABELS[0]: "own", "a": "b"}));
        let binding = |kind: &str| json!({"metadata": {"name": "p"}, "target": {"kind": kind, "name": "n"}});
        let bind = || Write::default().through("binding");
        check(bind(), binding("Node"), json!({LABELS[0]: "z1", LABELS[1]: "r1"}));
        check(bind(), binding("Other"), json!(null));
    }
}
