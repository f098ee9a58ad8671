//! `PodTolerationRestriction`: annotations of a namespace say which taints its pods tolerate, and which they may
//! (upstream's `plugin/pkg/admission/podtolerationrestriction`, without its configuration file).

use std::sync::Arc;

use api::resources::{self, Resource};
use api::tree::{child, list};
use apimachinery::status::Status;
use async_trait::async_trait;
use schema::object::{self, Object};
use serde_json::{Value, json};

use crate::objects::not_found;
use crate::{Attributes, Notes, Objects, Plugin, Verdict, meta, toleration};

const DEFAULTS: &str = "scheduler.alpha.kubernetes.io/defaultTolerations";
const ALLOWED: &str = "scheduler.alpha.kubernetes.io/tolerationsWhitelist";
const REFUSAL: &str = "pod tolerations (possibly merged with namespace default tolerations) conflict with its \
                       namespace whitelist";

/// The plugin.
pub struct PodTolerationRestriction {
    objects: Arc<dyn Objects>,
    namespaces: &'static Resource<'static>,
}

impl PodTolerationRestriction {
    /// Looks namespaces up in `objects`. `None` if they are not served.
    pub fn new(objects: Arc<dyn Objects>) -> Option<Self> {
        Some(PodTolerationRestriction { objects, namespaces: resources::find("", "v1", "namespaces", "")? })
    }

    /// The tolerations in an annotation of a write's namespace; none where there is none.
    async fn annotated(&self, a: &Attributes<'_>, key: &str) -> Result<Vec<Value>, Box<Status>> {
        let namespace = self.objects.find(self.namespaces, "", a.namespace).await?;
        let namespace = namespace.ok_or_else(|| not_found(self.namespaces, a.namespace))?;
        match meta::annotation(&namespace, key).unwrap_or_default() {
            "" => Ok(Vec::new()),
            text => serde_json::from_str(text).map_err(|error| Status::unmapped(error.to_string()).into()),
        }
    }

    async fn judge(&self, a: &Attributes<'_>, pod: &Object) -> Verdict {
        let tolerations = child(pod, "spec").map_or(&[][..], |spec| list(spec, "tolerations"));
        if tolerations.is_empty() {
            return Ok(());
        }
        match toleration::all_covered(tolerations, &self.annotated(a, ALLOWED).await?) {
            true => Ok(()),
            // Upstream makes no Forbidden of this one.
            false => Err(Status::unmapped(REFUSAL).into()),
        }
    }
}

#[async_trait]
impl Plugin for PodTolerationRestriction {
    fn name(&self) -> &'static str {
        "PodTolerationRestriction"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.is_pod() && a.writes()
    }

    async fn mutate(&self, a: &Attributes<'_>, pod: Option<&mut Object>, _: &mut Notes) -> Verdict {
        let Some(pod) = pod else { return Ok(()) };
        let mut extra = if a.creates() { self.annotated(a, DEFAULTS).await? } else { Vec::new() };
        if api::qos::of(pod) != "BestEffort" {
            extra.push(json!(
                {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}));
        }
        if !extra.is_empty() {
            let given = child(pod, "spec").map_or(&[][..], |spec| list(spec, "tolerations"));
            let merged = toleration::merge(given, &extra);
            object::set(pod, &["spec", "tolerations"], merged);
        }
        self.judge(a, pod).await
    }

    async fn validate(&self, a: &Attributes<'_>, object: Option<&Object>, _: &mut Notes) -> Verdict {
        match object {
            Some(pod) => self.judge(a, pod).await,
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::{Store, Write};

    #[test]
    fn a_pod_tolerates_what_its_namespace_says_and_no_more_than_it_allows() {
        let (a, b) = (json!({"key": "a", "operator": "Exists"}), json!({"key": "b", "operator": "Exists"}));
        let check = |allowed: &Value, given: &Value, expected: Result<Value, &str>| {
            let annotations = json!({DEFAULTS: json!([a]).to_string(), ALLOWED: allowed.to_string()});
            let namespace = json!({"metadata": {"name": "ns", "annotations": annotations}});
            let plugin = PodTolerationRestriction::new(Store::of([("namespaces", namespace)])).unwrap();
            let pod = json!({"metadata": {"name": "p"}, "spec": {"tolerations": given}});
            let got = Write::default().mutated(&plugin, pod).map(|pod| pod["spec"]["tolerations"].clone());
            assert_eq!(got, expected.map_err(str::to_owned));
        };
        check(&json!([]), &json!([]), Ok(json!([a])));
        check(&json!([]), &json!([b]), Ok(json!([b, a])));
        check(&json!([a]), &json!([]), Ok(json!([a])));
        check(&json!([a]), &json!([b]), Err(REFUSAL));
    }
}
