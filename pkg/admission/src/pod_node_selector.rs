//! `PodNodeSelector`: the pods of a namespace run on the nodes that an annotation of the namespace selects
//! (upstream's `plugin/pkg/admission/podnodeselector`, without its configuration file).

use std::sync::Arc;

use api::resources::{self, Resource};
use api::tree::{child, text};
use apimachinery::status::Status;
use async_trait::async_trait;
use schema::object::{self, Object};

use crate::objects::not_found;
use crate::{Attributes, Notes, Objects, Plugin, Verdict, meta};

const SELECTOR: &str = "scheduler.alpha.kubernetes.io/node-selector";
const CONFLICT: &str = "pod node label selector conflicts with its namespace node label selector";

/// The plugin.
pub struct PodNodeSelector {
    objects: Arc<dyn Objects>,
    namespaces: &'static Resource<'static>,
}

impl PodNodeSelector {
    /// Looks namespaces up in `objects`. `None` if they are not served.
    pub fn new(objects: Arc<dyn Objects>) -> Option<Self> {
        Some(PodNodeSelector { objects, namespaces: resources::find("", "v1", "namespaces", "")? })
    }

    /// The labels that nodes for pods of a namespace must have.
    async fn labels(&self, a: &Attributes<'_>) -> Result<Vec<(String, String)>, Box<Status>> {
        let namespace = self.objects.find(self.namespaces, "", a.namespace).await?;
        let namespace = namespace.ok_or_else(|| not_found(self.namespaces, a.namespace))?;
        parse(meta::annotation(&namespace, SELECTOR).unwrap_or_default())
            .map_err(|cause| Status::unmapped(cause).into())
    }
}

/// Reads `key=value,key2=value2` (upstream's `ConvertSelectorToLabelsMap`).
fn parse(selector: &str) -> Result<Vec<(String, String)>, String> {
    let parts = selector.split(',').filter(|_| !selector.is_empty());
    let pair = |part: &str| match part.split('=').collect::<Vec<_>>().as_slice() {
        [key, value] => Ok((key.trim().to_owned(), value.trim().to_owned())),
        _ => Err(format!("invalid selector: [{part}]")),
    };
    parts.map(pair).collect()
}

fn conflicts(spec: &Object, labels: &[(String, String)]) -> bool {
    let Some(selector) = child(spec, "nodeSelector") else { return false };
    labels.iter().any(|(key, value)| selector.contains_key(key) && text(selector, key) != value)
}

#[async_trait]
impl Plugin for PodNodeSelector {
    fn name(&self) -> &'static str {
        "PodNodeSelector"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.creates() && a.is_pod()
    }

    async fn mutate(&self, a: &Attributes<'_>, pod: Option<&mut Object>, _: &mut Notes) -> Verdict {
        let Some(pod) = pod else { return Ok(()) };
        let labels = self.labels(a).await?;
        if child(pod, "spec").is_some_and(|spec| conflicts(spec, &labels)) {
            return Err(a.forbidden(CONFLICT));
        }
        for (key, value) in labels {
            object::set(pod, &["spec", "nodeSelector", &key], value);
        }
        Ok(())
    }

    async fn validate(&self, a: &Attributes<'_>, object: Option<&Object>, _: &mut Notes) -> Verdict {
        let Some(spec) = object.and_then(|pod| child(pod, "spec")) else { return Ok(()) };
        match conflicts(spec, &self.labels(a).await?) {
            true => Err(a.forbidden(CONFLICT)),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{Store, Write};

    #[test]
    fn a_pod_selects_the_nodes_of_its_namespace() {
        let check = |annotation: &str, selector: Value, expected: Result<Value, &str>| {
            let annotations = json!({SELECTOR: annotation});
            let namespace = json!({"metadata": {"name": "ns", "annotations": annotations}});
            let plugin = PodNodeSelector::new(Store::of([("namespaces", namespace)])).unwrap();
            let pod = json!({"metadata": {"name": "p"}, "spec": {"nodeSelector": selector}});
            let got = Write::default().mutated(&plugin, pod).map(|pod| pod["spec"]["nodeSelector"].clone());
            assert_eq!(got, expected.map_err(str::to_owned));
        };
        check("", json!({"a": "b"}), Ok(json!({"a": "b"})));
        check("a=b, c=d", json!({"a": "b"}), Ok(json!({"a": "b", "c": "d"})));
        let refusal = format!("pods \"p\" is forbidden: {CONFLICT}");
        check("a=b", json!({"a": "x"}), Err(&refusal));
        check("a", json!({}), Err("invalid selector: [a]"));
    }
}
