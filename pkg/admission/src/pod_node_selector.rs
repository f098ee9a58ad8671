//! `PodNodeSelector` merges the node selector of a namespace annotation into its pods (upstream's
//! `plugin/pkg/admission/podnodeselector`). A configuration sets the default selector and the allowed
//! selectors by namespace.

mod configuration;

use std::sync::Arc;

use api::resources::{self, Resource};
use api::tree::{child, pairs, text};
use apimachinery::field::{Error, Path};
use apimachinery::names::{is_label_key, is_label_value};
use apimachinery::status::Status;
use async_trait::async_trait;
use schema::object::{self, Object};

use crate::objects::not_found;
use crate::{AdmissionNotes, Attributes, Objects, Plugin, Verdict, meta};
pub use configuration::PodNodeSelectorConfiguration;

const SELECTOR: &str = "scheduler.alpha.kubernetes.io/node-selector";
/// The configuration key of the default node selector, for namespaces without the annotation.
const DEFAULT: &str = "clusterDefaultNodeSelector";
const NOT_ALLOWED: &str = "pod node label selector labels conflict with its namespace whitelist";
const CONFLICT: &str = "pod node label selector conflicts with its namespace node label selector";

pub struct PodNodeSelector {
    objects: Arc<dyn Objects>,
    namespaces: &'static Resource<'static>,
    configuration: PodNodeSelectorConfiguration,
}

impl PodNodeSelector {
    /// Looks up namespaces in `objects`. `None` if they are not served.
    pub fn new(objects: Arc<dyn Objects>) -> Option<Self> {
        let namespaces = resources::find("", "v1", "namespaces", "")?;
        Some(PodNodeSelector { objects, namespaces, configuration: PodNodeSelectorConfiguration::default() })
    }

    /// Replaces the configuration.
    #[must_use]
    pub fn with_configuration(self, configuration: PodNodeSelectorConfiguration) -> Self {
        PodNodeSelector { configuration, ..self }
    }

    /// Returns the node labels that pods of a namespace must select.
    async fn labels(&self, a: &Attributes<'_>) -> Result<Vec<(String, String)>, Box<Status>> {
        let namespace = self.objects.find(self.namespaces, "", a.namespace).await?;
        let namespace = namespace.ok_or_else(|| not_found(self.namespaces, a.namespace))?;
        let annotated = meta::annotation(&namespace, SELECTOR);
        parse(annotated.unwrap_or_else(|| self.configuration.selector(DEFAULT)))
            .map_err(|error| Status::unmapped(error.to_string()).into())
    }

    fn check_pod(&self, a: &Attributes<'_>, pod: &Object, labels: &[(String, String)]) -> Verdict {
        let Some(spec) = child(pod, "spec") else { return Ok(()) };
        if conflicts(spec, labels) {
            return Err(a.forbidden(CONFLICT));
        }
        let allowed = parse(self.configuration.selector(a.namespace));
        let allowed = allowed.map_err(|error| Status::unmapped(error.to_string()))?;
        if is_within(spec, &allowed) { Ok(()) } else { Err(a.forbidden(NOT_ALLOWED)) }
    }
}

/// True if a pod selects only allowed labels. An empty list allows all labels.
fn is_within(spec: &Object, allowed: &[(String, String)]) -> bool {
    // If a label occurs twice, the last value counts.
    let is = |key: &str, value: &str| {
        allowed.iter().rev().find(|(name, _)| name == key).is_some_and(|(_, allowed)| allowed == value)
    };
    allowed.is_empty() || pairs(spec, "nodeSelector").all(|(key, value)| is(key, value))
}

/// An invalid node selector. The texts are upstream's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
enum SelectorError {
    #[error("invalid selector: [{0}]")]
    Pair(String),
    /// An invalid key or value of a label.
    #[error("{0}")]
    Label(Error),
}

/// Parses `key=value,key2=value2` (upstream's `ConvertSelectorToLabelsMap`).
fn parse(selector: &str) -> Result<Vec<(String, String)>, SelectorError> {
    let parts = selector.split(',').filter(|_| !selector.is_empty());
    let pair = |part: &str| match part.split('=').collect::<Vec<_>>().as_slice() {
        [key, value] => label(key.trim(), value.trim()),
        _ => Err(SelectorError::Pair(part.to_owned())),
    };
    parts.map(pair).collect()
}

fn label(key: &str, value: &str) -> Result<(String, String), SelectorError> {
    let invalid = |path: &Path<'_>, text: &str, messages: Vec<String>| {
        SelectorError::Label(Error::invalid(path, text, messages.join("; ")))
    };
    match (is_label_key(key), is_label_value(value)) {
        (messages, _) if !messages.is_empty() => Err(invalid(&Path::NIL, key, messages)),
        (_, messages) if !messages.is_empty() => Err(invalid(&Path::NIL.key(key), value, messages)),
        _ => Ok((key.to_owned(), value.to_owned())),
    }
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

    async fn mutate(&self, a: &Attributes<'_>, pod: Option<&mut Object>, _: &mut AdmissionNotes) -> Verdict {
        let Some(pod) = pod else { return Ok(()) };
        let labels = self.labels(a).await?;
        if child(pod, "spec").is_some_and(|spec| conflicts(spec, &labels)) {
            return Err(a.forbidden(CONFLICT));
        }
        for (key, value) in &labels {
            object::set(pod, &["spec", "nodeSelector", key], value.clone());
        }
        self.check_pod(a, pod, &labels)
    }

    async fn validate(&self, a: &Attributes<'_>, object: Option<&Object>, _: &mut AdmissionNotes) -> Verdict {
        match object {
            Some(pod) => self.check_pod(a, pod, &self.labels(a).await?),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jsontree::{Value, json};

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
        let value = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
        check("a=-", json!({}), Err(&format!("[a]: Invalid value: \"-\": {value}")));
    }

    #[test]
    fn configuration_sets_default_and_allowed_selectors() {
        let text = b"podNodeSelectorPluginConfig: {clusterDefaultNodeSelector: a=b, ns: 'a=b,c=d'}";
        let check = |annotations: Value, selector: Value, expected: Result<Value, &str>| {
            let namespace = json!({"metadata": {"name": "ns", "annotations": annotations}});
            let plugin = PodNodeSelector::new(Store::of([("namespaces", namespace)])).unwrap();
            let plugin = plugin.with_configuration(PodNodeSelectorConfiguration::parse(text));
            let pod = json!({"metadata": {"name": "p"}, "spec": {"nodeSelector": selector}});
            let got = Write::default().mutated(&plugin, pod).map(|pod| pod["spec"]["nodeSelector"].clone());
            assert_eq!(got, expected.map_err(|cause| format!("pods \"p\" is forbidden: {cause}")));
        };
        check(json!({}), json!({}), Ok(json!({"a": "b"})));
        check(json!({}), json!({"c": "d"}), Ok(json!({"a": "b", "c": "d"})));
        check(json!({}), json!({"c": "x"}), Err(NOT_ALLOWED));
        check(json!({}), json!({"e": "f"}), Err(NOT_ALLOWED));
        check(json!({SELECTOR: ""}), json!({"c": "d"}), Ok(json!({"c": "d"})));
        check(json!({SELECTOR: "e=f"}), json!({}), Err(NOT_ALLOWED));
    }
}
