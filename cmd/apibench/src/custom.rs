//! Measured custom resources: one whose objects are written and read, and the many CRDs of a large provider.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::client::{Call, Client, JSON};
use crate::error::{Error, Result};
use crate::realistic::{GROUP, gadget, gadget_definition};

/// Path of CRDs.
pub(crate) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Polling interval for an established CRD.
const LOOK: Duration = Duration::from_millis(50);

/// Maximum number of polls.
pub(crate) const LOOKS_MAX: u32 = 1200;

/// Returns the path of the custom objects of a namespace.
pub(crate) fn path(namespace: &str) -> String {
    format!("/apis/{GROUP}/v1/namespaces/{namespace}/gadgets")
}

/// Creates the CRD of [`object`] and waits until it is served. An existing CRD stays unchanged.
pub(crate) async fn define(client: &Client) -> Result<()> {
    let body = gadget_definition().to_string();
    let response = client.call(0, Call::send(Method::POST, DEFINITIONS, JSON, body), 0).await?;
    if response.status != 409 {
        response.expect(201)?;
    }
    established(client, 0, &format!("gadgets.{GROUP}")).await?;
    client.call(0, Call::get(format!("/apis/{GROUP}/v1/gadgets?limit=1")), 0).await?.expect(200)?;
    Ok(())
}

fn definition(name: &str, spec: &Value) -> String {
    let metadata = json!({"name": name});
    let kind = "CustomResourceDefinition";
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec})
        .to_string()
}

/// Waits until a CRD is established.
pub(crate) async fn established(client: &Client, lane: usize, name: &str) -> Result<()> {
    for _ in 0..LOOKS_MAX {
        let call = Call::get(format!("{DEFINITIONS}/{name}"));
        let response = client.call(lane, call, usize::MAX).await?.expect(200)?;
        let object: Value =
            serde_json::from_slice(&response.head).map_err(|e| response.wrong(&e.to_string()))?;
        let conditions = object.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
        let mut is_established = conditions.filter(|it| it["type"] == "Established").map(|it| &it["status"]);
        if is_established.next().is_some_and(|status| status == "True") {
            return Ok(());
        }
        tokio::time::sleep(LOOK).await;
    }
    Err(Error::Wrong(format!("{name} is not established after {LOOKS_MAX} looks")))
}

/// Returns a custom object of 8 KB with a unique value.
pub(crate) fn object(name: &str, value: &str) -> String {
    gadget(name, value).to_string()
}

/// Kinds per group of the CRDs that are created concurrently, as in a large provider.
const KINDS: u64 = 10;

/// One CRD of the provider.
pub(crate) struct ProviderCrd {
    pub(crate) group: String,
    pub(crate) plural: String,
    pub(crate) kind: String,
}

impl ProviderCrd {
    /// Returns number `i`.
    pub(crate) fn nth(i: u64) -> Self {
        let group = i / KINDS;
        let kind = i % KINDS;
        ProviderCrd {
            group: format!("service{group}.provider.example.com"),
            plural: format!("thing{kind}s"),
            kind: format!("Thing{kind}"),
        }
    }

    /// Returns the name of the CRD.
    pub(crate) fn name(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// Returns the CRD of about 30 KB: the schema of the desired state, twice, and of the observed state.
    pub(crate) fn definition(&self) -> String {
        let wanted = parameters("for_provider", &self.kind);
        let spec = json!({"type": "object", "required": ["forProvider"], "properties": {
            "deletionPolicy": {"type": "string", "enum": ["Orphan", "Delete"], "default": "Delete"},
            "forProvider": wanted, "initProvider": wanted,
            "providerConfigRef": {"type": "object", "required": ["name"], "default": {"name": "default"},
                "properties": {"name": {"type": "string"}}},
        }, "x-kubernetes-validations": [{
            "rule": "!has(self.initProvider) || !has(self.initProvider.name0) || has(self.forProvider.name0)",
            "message": "forProvider.name0 is a required parameter"}]});
        let condition = json!({"type": "object", "required": ["type", "status"], "properties": {
            "type": {"type": "string"}, "status": {"type": "string"}, "reason": {"type": "string"},
            "message": {"type": "string"}, "lastTransitionTime": {"type": "string", "format": "date-time"}}});
        let status = json!({"type": "object", "properties": {
            "atProvider": parameters("at_provider", &self.kind),
            "conditions": {"type": "array", "items": condition, "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["type"]}}});
        let schema = json!({"type": "object", "required": ["spec"], "description":
            format!("{} is the Schema for the API of the same name.", self.kind),
            "properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"},
                "metadata": {"type": "object"}, "spec": spec, "status": status}});
        let columns = json!([
            {"name": "SYNCED", "type": "string", "jsonPath": ".status.conditions[?(@.type=='Synced')].status"},
            {"name": "READY", "type": "string", "jsonPath": ".status.conditions[?(@.type=='Ready')].status"},
            {"name": "AGE", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]);
        let version = json!({"name": "v1beta1", "served": true, "storage": true, "subresources": {"status": {}},
            "additionalPrinterColumns": columns, "schema": {"openAPIV3Schema": schema}});
        let names = json!({"plural": self.plural, "singular": self.plural.trim_end_matches('s'), "kind": self.kind,
            "listKind": format!("{}List", self.kind), "categories": ["crossplane", "managed", "provider"]});
        let spec = json!({"group": self.group, "scope": "Cluster", "names": names, "versions": [version]});
        definition(&self.name(), &spec)
    }
}

/// Returns an object schema with many described members, like those of CRD generators.
fn parameters(of: &str, kind: &str) -> Value {
    let about = |i: u64| {
        format!(
            "The value of parameter {i} ({of}) of the {kind}, which the service takes as it is. Changing it makes a \
             new resource if the service says so."
        )
    };
    let leaf = |i: u64| match i % 4 {
        0 => json!({"type": "string", "description": about(i)}),
        1 => json!({"type": "number", "description": about(i)}),
        2 => json!({"type": "boolean", "description": about(i)}),
        _ => {
            json!({"type": "array", "items": {"type": "string"}, "description": about(i), "x-kubernetes-list-type": "set"})
        }
    };
    let nested = |group: u64| {
        let leaves = (0..6).map(|i| (format!("name{i}"), leaf(group + i)));
        json!({"type": "object", "description": about(group),
            "properties": Value::Object(leaves.collect())})
    };
    let tags = json!({"type": "object", "additionalProperties": {"type": "string"}, "x-kubernetes-map-type": "granular"});
    let leaf_properties = (0..20).map(|i| (format!("name{i}"), leaf(i)));
    let properties = leaf_properties
        .chain((0..4).map(|i| (format!("block{i}"), nested(i))))
        .chain([("tags".to_owned(), tags)]);
    json!({"type": "object", "properties": Value::Object(properties.collect())})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn definitions_have_realistic_size() {
        let provided = ProviderCrd::nth(1234);
        let text = provided.definition();
        assert!((25_000..40_000).contains(&text.len()), "{}", text.len());
        let definition: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(definition["metadata"]["name"], "thing4s.service123.provider.example.com");
    }
}
