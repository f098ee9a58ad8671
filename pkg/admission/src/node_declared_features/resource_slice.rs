//! Devices of a ResourceSlice that map to allocatable resources of nodes. Each of those nodes must have declared
//! support for them.

use api::tree::{child, children, flag, text, texts};
use apimachinery::field::Path;
use apimachinery::go_quote::Quoted;
use apimachinery::labels::{Operator, Requirement, Selector};
use schema::object::Object;

use super::{NodeDeclaredFeatureValidator, declares};
use crate::{Attributes, Verdict, meta};

/// Name of the feature in the status of a node.
const FEATURE: &str = "DRANodeAllocatableResources";

/// Nodes with access to a device.
enum DeviceNodes<'s> {
    Named(&'s str),
    Selected(&'s Object),
    All,
}

impl<'s> DeviceNodes<'s> {
    /// Reads the nodes of a slice or of a device; `None` if it names none.
    fn of(holder: &'s Object) -> Option<Self> {
        let name = text(holder, "nodeName");
        if !name.is_empty() {
            return Some(DeviceNodes::Named(name));
        }
        let selector = child(holder, "nodeSelector").map(DeviceNodes::Selected);
        selector.or_else(|| flag(holder, "allNodes").then_some(DeviceNodes::All))
    }

    /// True if a node has access.
    fn include(&self, node: &Object) -> bool {
        match self {
            DeviceNodes::Named(name) => meta::text(node, "name") == *name,
            DeviceNodes::Selected(selector) => {
                children(selector, "nodeSelectorTerms").any(|term| term_matches(term, node))
            }
            DeviceNodes::All => true,
        }
    }
}

impl NodeDeclaredFeatureValidator {
    /// Rejects devices with allocatable resources of a node that does not support them.
    pub(super) async fn resource_slice(&self, a: &Attributes<'_>, slice: &Object) -> Verdict {
        let Some(spec) = child(slice, "spec") else { return Ok(()) };
        let by_device = flag(spec, "perDeviceNodeSelection");
        for device in children(spec, "devices") {
            if child(device, "nodeAllocatableResources").is_none_or(Object::is_empty) {
                continue;
            }
            let name = text(device, "name");
            let Some(nodes) = DeviceNodes::of(if by_device { device } else { spec }) else {
                return Err(a.forbidden(format!(
                    "device {} in ResourceSlice has NodeAllocatableResources but does not map to any nodes",
                    Quoted(name)
                )));
            };
            self.device(a, name, &nodes).await?;
        }
        Ok(())
    }

    async fn device(&self, a: &Attributes<'_>, device: &str, nodes: &DeviceNodes<'_>) -> Verdict {
        if let DeviceNodes::Named(name) = nodes {
            let node = self.objects.find(self.nodes, "", name).await?;
            let missing =
                || a.forbidden(format!("node {} not found for device {}", Quoted(name), Quoted(device)));
            return supports(a, &*node.ok_or_else(missing)?);
        }
        let all = self.objects.list(self.nodes, "").await?;
        all.iter().filter(|node| nodes.include(node)).try_for_each(|node| supports(a, node))
    }
}

fn supports(a: &Attributes<'_>, node: &Object) -> Verdict {
    if declares(node, FEATURE) {
        return Ok(());
    }
    let name = meta::text(node, "name");
    Err(a.forbidden(format!("node {} does not support {FEATURE} feature", Quoted(name))))
}

/// True if a node satisfies all requirements of a term. An empty term and one with an invalid requirement match no
/// node.
fn term_matches(term: &Object, node: &Object) -> bool {
    let labels = child(node, "metadata").and_then(|metadata| child(metadata, "labels"));
    let label = |key: &str| labels?.get(key)?.as_str();
    let field = |key: &str| (key == "metadata.name").then(|| meta::text(node, "name"));
    let expressions = || children(term, "matchExpressions");
    let fields = || children(term, "matchFields");
    expressions().chain(fields()).next().is_some()
        && selector(expressions()).is_some_and(|selector| selector.matches(label))
        && selector(fields()).is_some_and(|selector| selector.matches(field))
}

/// Parses the requirements of a node selector. `None` if one is invalid.
fn selector<'a>(requirements: impl Iterator<Item = &'a Object>) -> Option<Selector> {
    Some(Selector::new(requirements.map(requirement).collect::<Option<_>>()?))
}

/// Parses a requirement of a node selector.
fn requirement(requirement: &Object) -> Option<Requirement> {
    let operator = match text(requirement, "operator") {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        "Gt" => Operator::GreaterThan,
        "Lt" => Operator::LessThan,
        _ => return None,
    };
    let values = texts(requirement, "values").map(str::to_owned).collect();
    Requirement::new(text(requirement, "key").to_owned(), operator, values, &Path::NIL).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use component_base::features::{Gate, Gates};
    use jsontree::{Value, json};

    use super::*;
    use crate::testing::{Store, Write};

    /// Returns the rejection of a slice with one device in a cluster with two nodes.
    fn rejection(gate: bool, mut spec: Value) -> Option<String> {
        let node = |name: &str, features: &[&str]| {
            let metadata = json!({"name": name, "labels": {"zone": name}});
            ("nodes", json!({"metadata": metadata, "status": {"declaredFeatures": features}}))
        };
        let gates = Gates::default().with(Gate::DRANodeAllocatableResources, gate);
        let store = Store::of([node("able", &[FEATURE]), node("plain", &[])]);
        let plugin = NodeDeclaredFeatureValidator::new(store, gates).unwrap();
        spec["devices"][0]["name"] = json!("d");
        spec["devices"][0]["nodeAllocatableResources"] = json!({"cpu": {}});
        let write = Write::of("resource.k8s.io", "v1", "resourceslices");
        let message = write.validated(&plugin, json!({"metadata": {"name": "s"}, "spec": spec})).err()?;
        message.strip_prefix("resourceslices.resource.k8s.io \"s\" is forbidden: ").map(str::to_owned)
    }

    #[test]
    fn nodes_of_a_device_must_support_allocatable_resources() {
        let check = |gate: bool, spec: Value, expected: Option<&str>| {
            assert_eq!(rejection(gate, spec.clone()).as_deref(), expected, "{spec}");
        };
        let unsupported = Some("node \"plain\" does not support DRANodeAllocatableResources feature");
        let nowhere =
            "device \"d\" in ResourceSlice has NodeAllocatableResources but does not map to any nodes";
        check(false, json!({"devices": [{}], "nodeName": "plain"}), None);
        check(true, json!({"devices": [{}], "nodeName": "plain"}), unsupported);
        check(true, json!({"devices": [{}], "nodeName": "able"}), None);
        let missing = "node \"none\" not found for device \"d\"";
        check(true, json!({"devices": [{}], "nodeName": "none"}), Some(missing));
        check(true, json!({"devices": [{}], "allNodes": true}), unsupported);
        check(true, json!({"devices": [{}]}), Some(nowhere));
        check(true, json!({"devices": [{"allNodes": true}], "perDeviceNodeSelection": true}), unsupported);
        let selector = |values: &[&str]| {
            let zone = json!({"key": "zone", "operator": "In", "values": values});
            json!({"nodeSelectorTerms": [{}, {"matchExpressions": [zone]}]})
        };
        check(true, json!({"devices": [{}], "nodeSelector": selector(&["able"])}), None);
        check(true, json!({"devices": [{}], "nodeSelector": selector(&["plain"])}), unsupported);
    }
}
