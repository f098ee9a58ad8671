//! `PodTolerationRestriction` adds default tolerations from namespace annotations to pods and enforces a
//! whitelist (upstream's `plugin/pkg/admission/podtolerationrestriction`). A configuration applies to
//! namespaces without the annotations.

mod configuration;

use std::sync::Arc;

use api::resources::{self, Resource};
use api::tree::{child, list};
use apimachinery::status::Status;
use async_trait::async_trait;
use jsontree::{Value, json};
use schema::object::{self, Object};

use crate::objects::not_found;
use crate::{AdmissionNotes, Attributes, Objects, Plugin, Verdict, meta, toleration};
pub use configuration::PodTolerationConfiguration;

const DEFAULTS: &str = "scheduler.alpha.kubernetes.io/defaultTolerations";
const ALLOWED: &str = "scheduler.alpha.kubernetes.io/tolerationsWhitelist";

pub struct PodTolerationRestriction {
    objects: Arc<dyn Objects>,
    namespaces: &'static Resource<'static>,
    configuration: PodTolerationConfiguration,
}

impl PodTolerationRestriction {
    /// Looks up namespaces in `objects`. `None` if they are not served.
    pub fn new(objects: Arc<dyn Objects>) -> Option<Self> {
        let namespaces = resources::find("", "v1", "namespaces", "")?;
        let configuration = PodTolerationConfiguration::default();
        Some(PodTolerationRestriction { objects, namespaces, configuration })
    }

    /// Replaces the configuration.
    #[must_use]
    pub fn with_configuration(self, configuration: PodTolerationConfiguration) -> Self {
        PodTolerationRestriction { configuration, ..self }
    }

    /// Returns the tolerations in an annotation of the namespace; `None` if the annotation is missing.
    async fn annotation_tolerations(
        &self,
        a: &Attributes<'_>,
        key: &str,
    ) -> Result<Option<Vec<Value>>, Box<Status>> {
        let namespace = self.objects.find(self.namespaces, "", a.namespace).await?;
        let namespace = namespace.ok_or_else(|| not_found(self.namespaces, a.namespace))?;
        match meta::annotation(&namespace, key) {
            None => Ok(None),
            Some("") => Ok(Some(Vec::new())),
            Some(text) => match serde_json::from_str::<Option<Vec<Value>>>(text) {
                Ok(tolerations) => Ok(Some(tolerations.unwrap_or_default())),
                Err(error) => Err(Status::unmapped(error.to_string()).into()),
            },
        }
    }

    async fn check_pod(&self, a: &Attributes<'_>, pod: &Object) -> Verdict {
        let tolerations = child(pod, "spec").map_or(&[][..], |spec| list(spec, "tolerations"));
        if tolerations.is_empty() {
            return Ok(());
        }
        let annotated = self.annotation_tolerations(a, ALLOWED).await?;
        let (allowed, of) = match &annotated {
            Some(allowed) => (allowed, "namespace"),
            None => (&self.configuration.allowed, "cluster"),
        };
        if toleration::all_covered(tolerations, allowed) {
            Ok(())
        } else {
            // Upstream returns a plain error here, not a Forbidden.
            Err(Status::unmapped(format!(
            "pod tolerations (possibly merged with namespace default tolerations) conflict with its {of} whitelist"
        ))
        .into())
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

    async fn mutate(&self, a: &Attributes<'_>, pod: Option<&mut Object>, _: &mut AdmissionNotes) -> Verdict {
        let Some(pod) = pod else { return Ok(()) };
        let mut extra = Vec::new();
        if a.creates() {
            let annotated = self.annotation_tolerations(a, DEFAULTS).await?;
            extra = annotated.unwrap_or_else(|| self.configuration.default.clone());
        }
        if api::qos::of(pod) != "BestEffort" {
            extra.push(json!(
                {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}));
        }
        if !extra.is_empty() {
            let tolerations = child(pod, "spec").map_or(&[][..], |spec| list(spec, "tolerations"));
            let merged = toleration::merge(tolerations, &extra);
            object::set(pod, &["spec", "tolerations"], merged);
        }
        self.check_pod(a, pod).await
    }

    async fn validate(&self, a: &Attributes<'_>, object: Option<&Object>, _: &mut AdmissionNotes) -> Verdict {
        match object {
            Some(pod) => self.check_pod(a, pod).await,
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::testing::{Outcome, Store, Write};

    #[test]
    fn namespace_defaults_and_whitelist_apply() {
        let a = json!({"key": "a", "operator": "Exists"});
        let b = json!({"key": "b", "operator": "Exists"});
        let check = |allowed: &Value, tolerations: &Value, expected: Result<Value, &str>| {
            let annotations = json!({DEFAULTS: json!([a]).to_string(), ALLOWED: allowed.to_string()});
            let namespace = json!({"metadata": {"name": "ns", "annotations": annotations}});
            let plugin = PodTolerationRestriction::new(Store::of([("namespaces", namespace)])).unwrap();
            let pod = json!({"metadata": {"name": "p"}, "spec": {"tolerations": tolerations}});
            let got = Write::default().mutated(&plugin, pod).map(|pod| pod["spec"]["tolerations"].clone());
            assert_eq!(got, expected.map_err(str::to_owned));
        };
        check(&json!([]), &json!([]), Ok(json!([a])));
        check(&json!([]), &json!([b]), Ok(json!([b, a])));
        check(&json!([a]), &json!([]), Ok(json!([a])));
        check(&json!([a]), &json!([b]), Err(&conflict_text("namespace")));
    }

    fn conflict_text(of: &str) -> String {
        format!(
            "pod tolerations (possibly merged with namespace default tolerations) conflict with its {of} whitelist"
        )
    }

    #[test]
    fn configuration_applies_without_annotations() {
        let a = json!({"key": "a", "operator": "Exists"});
        let b = json!({"key": "b", "operator": "Exists"});
        let text = format!(
            r#"{{"apiVersion": "podtolerationrestriction.admission.k8s.io/v1alpha1", "kind": "Configuration", "default": [{a}], "whitelist": [{a}]}}"#
        );
        let check = |annotations: &Value, tolerations: &Value, expected: Outcome<Value>| {
            let namespace = json!({"metadata": {"name": "ns", "annotations": annotations}});
            let plugin = PodTolerationRestriction::new(Store::of([("namespaces", namespace)])).unwrap();
            let plugin =
                plugin.with_configuration(PodTolerationConfiguration::parse(text.as_bytes()).unwrap());
            let pod = json!({"metadata": {"name": "p"}, "spec": {"tolerations": tolerations}});
            let got = Write::default().mutated(&plugin, pod).map(|pod| pod["spec"]["tolerations"].clone());
            assert_eq!(got, expected);
        };
        check(&json!({}), &json!([]), Ok(json!([a])));
        check(&json!({}), &json!([b]), Err(conflict_text("cluster")));
        check(&json!({DEFAULTS: ""}), &json!([]), Ok(json!([])));
        check(&json!({DEFAULTS: "null", ALLOWED: ""}), &json!([b]), Ok(json!([b])));
    }
}
