//! `RuntimeClass` sets the overhead, node selector and tolerations of a pod from its runtime class (KEP-585,
//! KEP-688; upstream's `plugin/pkg/admission/runtimeclass`).

use std::sync::Arc;

use api::resources::{self, Resource};
use api::tree::{child, child_mut, is_set, list, maybe_text, pairs};
use apimachinery::go_quote::Quoted;
use apimachinery::status::Status;
use async_trait::async_trait;
use jsontree::Value;
use schema::object::{self, Object};

use crate::error::RejectionReason;
use crate::resource_list::ResourceList;
use crate::{AdmissionNotes, Attributes, Objects, Plugin, Verdict, toleration};

const MISMATCH: &str = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead";
const OVERHEAD_WITHOUT_CLASS: &str =
    "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead";

pub struct RuntimeClass {
    objects: Arc<dyn Objects>,
    classes: &'static Resource<'static>,
}

impl RuntimeClass {
    /// Looks up classes in `objects`. `None` if they are not served.
    pub fn new(objects: Arc<dyn Objects>) -> Option<Self> {
        let classes = resources::find("node.k8s.io", "v1", "runtimeclasses", "")?;
        Some(RuntimeClass { objects, classes })
    }

    async fn class(&self, a: &Attributes<'_>, spec: &Object) -> Result<Option<Arc<Object>>, Box<Status>> {
        let Some(name) = maybe_text(spec, "runtimeClassName") else { return Ok(None) };
        // Upstream's live look-up rejects names that no object can have, which `find` would not.
        let class = match self.objects.cached(self.classes, "", name).await? {
            None => self.objects.get(self.classes, "", name).await?,
            class => class,
        };
        match class {
            None => Err(a.forbidden(format!("pod rejected: RuntimeClass {} not found", Quoted(name)))),
            class => Ok(class),
        }
    }
}

#[async_trait]
impl Plugin for RuntimeClass {
    fn name(&self) -> &'static str {
        "RuntimeClass"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.creates() && a.is_pod()
    }

    async fn mutate(&self, a: &Attributes<'_>, pod: Option<&mut Object>, _: &mut AdmissionNotes) -> Verdict {
        let Some(pod) = pod else { return Ok(()) };
        let Some(spec) = child_mut(pod, "spec") else { return Ok(()) };
        let Some(class) = self.class(a, spec).await? else { return Ok(()) };
        if let Some(overhead) = child(&class, "overhead") {
            let fixed = child(overhead, "podFixed").cloned().unwrap_or_default();
            let existing = ResourceList::of(spec, "overhead");
            if !existing.is_empty() && existing != ResourceList::of(overhead, "podFixed") {
                return Err(a.forbidden(MISMATCH));
            }
            spec.insert("overhead", Value::Object(fixed));
        }
        if let Some(scheduling) = child(&class, "scheduling") {
            select_nodes(spec, scheduling).map_err(|cause| a.forbidden(cause))?;
            let tolerations = toleration::merge(list(spec, "tolerations"), list(scheduling, "tolerations"));
            if !tolerations.is_empty() {
                spec.insert("tolerations", Value::Array(tolerations));
            }
        }
        Ok(())
    }

    async fn validate(&self, a: &Attributes<'_>, pod: Option<&Object>, _: &mut AdmissionNotes) -> Verdict {
        let Some(spec) = pod.and_then(|pod| child(pod, "spec")) else { return Ok(()) };
        let class = self.class(a, spec).await?;
        match class.as_deref().and_then(|class| child(class, "overhead")) {
            Some(overhead)
                if ResourceList::of(overhead, "podFixed") != ResourceList::of(spec, "overhead") =>
            {
                Err(a.forbidden(MISMATCH))
            }
            None if is_set(spec, "overhead") => Err(a.forbidden(OVERHEAD_WITHOUT_CLASS)),
            _ => Ok(()),
        }
    }
}

/// Merges the node selector of the class into that of the pod.
fn select_nodes(spec: &mut Object, scheduling: &Object) -> Result<(), RejectionReason> {
    for (key, of_class) in pairs(scheduling, "nodeSelector") {
        let of_pod = child(spec, "nodeSelector").and_then(|selector| maybe_text(selector, key));
        if let Some(of_pod) = of_pod.filter(|of_pod| *of_pod != of_class) {
            return Err(RejectionReason(format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{key}] = {of_class}; pod.spec.nodeSelector[{key}] = {of_pod}"
            )));
        }
        object::set(spec, &["nodeSelector", key], of_class);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jsontree::json;

    use super::*;
    use crate::testing::{Store, Write};

    fn plugin() -> RuntimeClass {
        let class = json!({"metadata": {"name": "rc"}, "handler": "h",
            "overhead": {"podFixed": {"cpu": "100m"}},
            "scheduling": {"nodeSelector": {"rt": "x"}, "tolerations": [{"key": "k", "operator": "Exists"}]}});
        RuntimeClass::new(Store::of([("runtimeclasses", class)])).unwrap()
    }

    fn pod(spec: Value) -> Value {
        json!({"metadata": {"name": "p"}, "spec": spec})
    }

    #[test]
    fn pod_gets_overhead_and_nodes_of_class() {
        let check = |spec: Value, expected: Result<Value, &str>| {
            let got = Write::default().mutated(&plugin(), pod(spec)).map(|pod| pod["spec"].clone());
            assert_eq!(got, expected.map_err(|cause| format!("pods \"p\" is forbidden: {cause}")));
        };
        let full = json!({"runtimeClassName": "rc", "overhead": {"cpu": "100m"}, "nodeSelector": {"rt": "x"},
            "tolerations": [{"key": "k", "operator": "Exists"}]});
        check(json!({"runtimeClassName": "rc"}), Ok(full.clone()));
        check(full.clone(), Ok(full));
        check(json!({}), Ok(json!({})));
        check(json!({"runtimeClassName": "x"}), Err("pod rejected: RuntimeClass \"x\" not found"));
        check(json!({"runtimeClassName": "rc", "overhead": {"cpu": "1"}}), Err(MISMATCH));
        check(
            json!({"runtimeClassName": "rc", "nodeSelector": {"rt": "y"}}),
            Err("conflict: runtimeClass.scheduling.nodeSelector[rt] = x; pod.spec.nodeSelector[rt] = y"),
        );
    }

    #[test]
    fn overhead_must_match_class() {
        let check = |spec: Value, expected: Option<&str>| {
            let got = Write::default().validated(&plugin(), pod(spec)).err();
            assert_eq!(got, expected.map(|cause| format!("pods \"p\" is forbidden: {cause}")));
        };
        check(json!({"runtimeClassName": "rc", "overhead": {"cpu": "0.1"}}), None);
        check(json!({"runtimeClassName": "rc"}), Some(MISMATCH));
        check(json!({"overhead": {"cpu": "1"}}), Some(OVERHEAD_WITHOUT_CLASS));
        check(json!({}), None);
    }
}
