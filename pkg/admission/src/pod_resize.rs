//! `PodResizeValidator` rejects a resize of a running pod beyond its node's capacity, or on nodes without
//! support for it (KEP-1287; upstream's `plugin/pkg/admission/podresize`).

use std::sync::Arc;

use api::resources::{self, Resource};
use api::tree::{child, integer, text};
use apimachinery::go_quote::Quoted;
use apimachinery::quantity::Quantity;
use apimachinery::status::{Cause, Status};
use async_trait::async_trait;
use schema::object::Object;

use crate::resource_list::{CountOptions, ResourceList, ResourceSide, of_pod};
use crate::{AdmissionNotes, Attributes, Objects, Operation, Plugin, Verdict, meta};

/// The label with the node's operating system.
const OS: &str = "kubernetes.io/os";

pub struct PodResizeValidator {
    objects: Arc<dyn Objects>,
    nodes: &'static Resource<'static>,
}

impl PodResizeValidator {
    /// Looks up nodes in `objects`. `None` if they are not served.
    pub fn new(objects: Arc<dyn Objects>) -> Option<Self> {
        Some(PodResizeValidator { objects, nodes: resources::find("", "v1", "nodes", "")? })
    }
}

/// True if an update changes the desired state of a pod on a node, which changes its generation.
pub(crate) fn changes_running(new: &Object, old: &Object) -> bool {
    let generation = |pod| child(pod, "metadata").map_or(0, |metadata| integer(metadata, "generation"));
    !node_name(new).is_empty() && generation(new) != generation(old)
}

/// Returns the node of a pod; empty if it is not scheduled.
pub(crate) fn node_name(pod: &Object) -> &str {
    child(pod, "spec").map_or("", |spec| text(spec, "nodeName"))
}

#[async_trait]
impl Plugin for PodResizeValidator {
    fn name(&self) -> &'static str {
        "PodResizeValidator"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.operation == Operation::Update && a.is("", "pods", "resize")
    }

    async fn validate(&self, a: &Attributes<'_>, object: Option<&Object>, _: &mut AdmissionNotes) -> Verdict {
        let (Some(pod), Some(old)) = (object, a.old) else { return Ok(()) };
        if !changes_running(pod, old) {
            return Ok(());
        }
        let name = node_name(pod);
        let node = self.objects.find(self.nodes, "", name).await?;
        let node = node.ok_or_else(|| a.forbidden(format!("node {} not found", Quoted(name))))?;
        if let Some(os) = meta::label(&node, OS).filter(|os| *os != "linux") {
            let cause = format!(
                "pod resize is only supported on linux nodes, node {} is {}",
                Quoted(name),
                Quoted(os)
            );
            return Err(with_cause(a.forbidden(&cause), "UnsupportedPlatform"));
        }
        match shortage(pod, &node) {
            Some(cause) => Err(with_cause(a.forbidden(&cause), "NodeCapacity")),
            None => Ok(()),
        }
    }
}

/// Returns a message about the first resource that the node has too little of, if any.
fn shortage(pod: &Object, node: &Object) -> Option<String> {
    let counting = CountOptions { all_of_pod: true, use_status_resources: false };
    let requests = of_pod(pod, ResourceSide::Requests, counting);
    let allocatable =
        child(node, "status").map(|status| ResourceList::of(status, "allocatable")).unwrap_or_default();
    let short = |name: &str, unit: fn(&Quantity) -> i64| {
        let zero = Quantity::default();
        let of = |list: &ResourceList| list.get(name).unwrap_or(&zero).clone();
        let requested = of(&requests);
        let allocatable = of(&allocatable);
        (requested > allocatable)
            .then(|| format!("{name}, requested: {}, allocatable: {}", unit(&requested), unit(&allocatable)))
    };
    let short = [short("cpu", Quantity::milli_value), short("memory", Quantity::value)];
    let short: Vec<String> = short.into_iter().flatten().collect();
    (!short.is_empty())
        .then(|| format!("node didn't have enough allocatable resources: {}", short.join("; ")))
}

fn with_cause(mut status: Box<Status>, reason: &str) -> Box<Status> {
    let cause = Cause { reason: reason.to_owned(), message: String::new(), field: String::new() };
    status.details.get_or_insert_default().causes.push(cause);
    status
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jsontree::{Value, json};

    use super::*;
    use crate::testing::{Store, Write};

    fn pod(node: &str, generation: i64, cpu: &str) -> Value {
        let container = json!({"resources": {"requests": {"cpu": cpu, "memory": "1Mi"}}});
        json!({"metadata": {"name": "p", "generation": generation},
            "spec": {"nodeName": node, "containers": [container]}})
    }

    #[test]
    fn a_pod_grows_within_its_node() {
        let node = |name: &str, os: &str| {
            let node = json!({"metadata": {"name": name, "labels": {OS: os}},
                "status": {"allocatable": {"cpu": "1", "memory": "1Gi"}}});
            ("nodes", node)
        };
        let plugin = PodResizeValidator::new(Store::of([node("n", "linux"), node("w", "windows")])).unwrap();
        let check = |node: &str, generation: i64, cpu: &str, expected: Option<&str>| {
            let write = Write::default().through("resize").over(pod(node, 1, "100m"));
            let got = write.validated(&plugin, pod(node, generation, cpu)).err();
            assert_eq!(got, expected.map(|cause| format!("pods \"p\" is forbidden: {cause}")));
        };
        check("n", 2, "1", None);
        check(
            "n",
            2,
            "2",
            Some("node didn't have enough allocatable resources: cpu, requested: 2000, allocatable: 1000"),
        );
        check("absent", 2, "1", Some("node \"absent\" not found"));
        check("absent", 1, "1", None);
        check("", 2, "1", None);
        check("w", 2, "1", Some("pod resize is only supported on linux nodes, node \"w\" is \"windows\""));
    }
}
