//! Objects of agent sandboxes: definitions, and the bodies of each program's requests.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use crate::client::{Call, Client, JSON};
use crate::custom::{DEFINITIONS, LOOKS_MAX, established};
use crate::error::{Error, Result};
use crate::realistic::Pod;
use crate::setup;

const GROUP: &str = "agents.apibench.example.com";
/// Annotation of a claim: the time at which the controller has seen it.
pub(super) const OBSERVED: &str = "agents.apibench.example.com/first-observed";
/// Annotation of a claim: its sandbox.
pub(super) const ASSIGNED: &str = "agents.apibench.example.com/sandbox-name";
/// Annotation of a sandbox: its pod.
pub(super) const POD_NAME: &str = "agents.apibench.example.com/pod-name";
/// Label of a sandbox and its pod: the claim.
pub(super) const CLAIM: &str = "agents.apibench.example.com/claim";

/// A time in the past.
const TIME: &str = "2026-01-01T00:00:00Z";
/// Nodes of the pods, each with a kubelet that watches its pods.
const NODES: u64 = 20;

/// Polling interval for a CRD.
const LOOK: Duration = Duration::from_millis(50);

/// Plurals and kinds.
const KINDS: [(&str, &str); 3] = [("claims", "Claim"), ("sandboxes", "Sandbox"), ("warmpools", "WarmPool")];

fn collection(namespace: &str, plural: &str) -> String {
    format!("/apis/{GROUP}/v1/namespaces/{}/{plural}", namespace_of(namespace))
}

fn core(namespace: &str, plural: &str) -> String {
    format!("/api/v1/namespaces/{}/{plural}", namespace_of(namespace))
}

fn events(namespace: &str) -> String {
    format!("/apis/events.k8s.io/v1/namespaces/{}/events", namespace_of(namespace))
}

fn namespace_of(prefix: &str) -> String {
    format!("{prefix}-agents")
}

/// Creates the definitions, the namespace and the warm pool. Deletes objects of an interrupted run.
pub(super) async fn prepare(client: &Arc<Client>, namespace: &str) -> Result<()> {
    setup::create_namespace(client, &namespace_of(namespace)).await?;
    for (plural, kind) in KINDS {
        let definition = definition(plural, kind).to_string();
        let response = client.call(0, Call::send(Method::POST, DEFINITIONS, JSON, definition), 0).await?;
        if response.status != 409 {
            response.expect(201)?;
        }
        established(client, 0, &format!("{plural}.{GROUP}")).await?;
        // An established CRD may be unavailable for a moment.
        served(client, &collection(namespace, plural)).await?;
    }
    remove(client, namespace).await?;
    let pool = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "WarmPool", "metadata": {"name": "pool"},
        "spec": {"replicas": 100, "templateRef": {"name": "python"}},
    });
    let pools = collection(namespace, "warmpools");
    client.call(0, Call::send(Method::POST, pools, JSON, pool.to_string()), 0).await?.expect(201)?;
    Ok(())
}

/// Waits until a collection is served.
async fn served(client: &Client, path: &str) -> Result<()> {
    for _ in 0..LOOKS_MAX {
        if client.call(0, Call::get(path.to_owned()), 0).await?.status == 200 {
            return Ok(());
        }
        tokio::time::sleep(LOOK).await;
    }
    Err(Error::Wrong(format!("{path} is not served after {LOOKS_MAX} looks")))
}

/// Deletes all objects except the namespace and the definitions.
pub(super) async fn remove(client: &Client, namespace: &str) -> Result<()> {
    for (plural, _) in KINDS {
        setup::delete_all(client, &collection(namespace, plural)).await?;
    }
    setup::delete_all(client, &core(namespace, "pods")).await?;
    setup::delete_all(client, &events(namespace)).await
}

/// Returns the paths of the watches of all programs: one per controller and kind, the scheduler, the garbage
/// collector, and the kubelets.
pub(super) fn watched(namespace: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for plural in ["claims", "sandboxes", "sandboxes", "warmpools"] {
        paths.push(format!("{}?watch=1&timeoutSeconds=3600", collection(namespace, plural)));
    }
    for _program in ["sandbox-controller", "scheduler", "garbage-collector"] {
        paths.push(format!("{}?watch=1&timeoutSeconds=3600", core(namespace, "pods")));
    }
    for node in 0..NODES {
        let pods = core(namespace, "pods");
        let selector = format!("spec.nodeName%3D{}", node_name(node));
        paths.push(format!("{pods}?watch=1&timeoutSeconds=3600&fieldSelector={selector}"));
    }
    paths
}

fn node_name(number: u64) -> String {
    format!("agent-node-{}", number % NODES)
}

/// Returns the condition Ready of a claim or a sandbox.
fn ready_condition(is_ready: bool, reason: &str) -> Value {
    let status = if is_ready { "True" } else { "False" };
    json!({
        "type": "Ready", "status": status, "reason": reason, "message": "state of the pod of the sandbox",
        "lastTransitionTime": TIME, "observedGeneration": 1,
    })
}

/// Returns a patch of a sandbox status.
pub(super) fn sandbox_status(is_ready: bool, reason: &str) -> Value {
    let scheduled = json!({
        "type": "PodScheduled", "status": "True", "reason": "PodScheduled", "message": "", "lastTransitionTime": TIME,
    });
    json!({"status": {
        "conditions": [ready_condition(is_ready, reason), scheduled], "selector": "sandbox=0123456789",
        "podIPs": ["10.1.2.3"], "nodeName": "node",
    }})
}

/// Names and bodies of one claim of one lane.
pub(super) struct Names {
    namespace: String,
    suffix: String,
    node: String,
}

impl Names {
    pub(super) fn new(namespace: &str, lane: u64, number: u64) -> Self {
        let suffix = format!("{lane}-{number}");
        Names { namespace: namespace.to_owned(), suffix, node: node_name(lane) }
    }

    pub(super) fn claim_name(&self) -> String {
        format!("claim-{}", self.suffix)
    }

    /// Name of the sandbox and of its pod.
    pub(super) fn sandbox_name(&self) -> String {
        format!("warm-{}", self.suffix)
    }

    pub(super) fn claims(&self) -> String {
        collection(&self.namespace, "claims")
    }

    pub(super) fn claim(&self) -> String {
        format!("{}/{}", self.claims(), self.claim_name())
    }

    pub(super) fn claim_watch(&self) -> String {
        let selector = format!("metadata.name%3D{}", self.claim_name());
        format!("{}?watch=1&timeoutSeconds=600&fieldSelector={selector}", self.claims())
    }

    pub(super) fn sandboxes(&self) -> String {
        collection(&self.namespace, "sandboxes")
    }

    pub(super) fn sandbox(&self) -> String {
        format!("{}/{}", self.sandboxes(), self.sandbox_name())
    }

    pub(super) fn pool(&self) -> String {
        format!("{}/pool", collection(&self.namespace, "warmpools"))
    }

    pub(super) fn pods(&self) -> String {
        core(&self.namespace, "pods")
    }

    pub(super) fn pod(&self) -> String {
        format!("{}/{}", self.pods(), self.sandbox_name())
    }

    pub(super) fn events(&self) -> String {
        events(&self.namespace)
    }

    pub(super) fn claim_object(&self) -> Value {
        json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "Claim",
            "metadata": {"name": self.claim_name(), "labels": {"session": self.suffix, "created-by": "apibench"}},
            "spec": {"warmPoolRef": {"name": "pool"}, "lifecycle": {"shutdownPolicy": "Delete"}},
        })
    }

    /// Returns the patch that gives the warm sandbox to a claim. It fails if the sandbox has changed.
    pub(super) fn adoption(&self, sandbox: &Value, claim: &Value) -> Value {
        let labels = json!({CLAIM: self.claim_name(), "session": self.suffix});
        let uid = claim["metadata"]["uid"].as_str().unwrap_or_default();
        json!({
            "metadata": {
                "resourceVersion": sandbox["metadata"]["resourceVersion"], "labels": labels,
                "ownerReferences": [owner("Claim", &self.claim_name(), uid)],
            },
            "spec": {"podTemplate": {"metadata": {"labels": labels}}},
        })
    }

    /// Returns the patch that reports a claim as ready. It fails if the claim has changed.
    pub(super) fn claim_status(&self, claim: &Value) -> Value {
        json!({
            "metadata": {"resourceVersion": claim["metadata"]["resourceVersion"]},
            "status": {
                "conditions": [ready_condition(true, "SandboxReady")],
                "sandbox": {"name": self.sandbox_name(), "podIPs": ["10.1.2.3"]},
            },
        })
    }

    fn pod_of_size(&self, kilobytes: u64) -> Value {
        Pod { name: &self.sandbox_name(), app: 0, node: "", kilobytes }.object()
    }

    pub(super) fn sandbox_object(&self, kilobytes: u64) -> Value {
        let pod = self.pod_of_size(kilobytes);
        let metadata =
            json!({"labels": pod["metadata"]["labels"], "annotations": pod["metadata"]["annotations"]});
        json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "Sandbox",
            "metadata": {
                "name": self.sandbox_name(), "labels": {"warm-pool": "pool", "launch-type": "warm"},
                "ownerReferences": [owner("WarmPool", "pool", "01234567-89ab-cdef-0123-456789abcdef")],
            },
            "spec": {"podTemplate": {"metadata": metadata, "spec": pod["spec"]}, "operatingMode": "Running"},
        })
    }

    pub(super) fn pod_object(&self, kilobytes: u64) -> Value {
        let mut pod = self.pod_of_size(kilobytes);
        let uid = "01234567-89ab-cdef-0123-456789abcdef";
        pod["metadata"]["ownerReferences"] = json!([owner("Sandbox", &self.sandbox_name(), uid)]);
        pod
    }

    /// Returns a kubelet's report: created containers, or the complete status.
    pub(super) fn pod_status(&self, kilobytes: u64, is_ready: bool) -> Value {
        let name = self.sandbox_name();
        if is_ready {
            return json!({"status": Pod { name: &name, app: 0, node: &self.node, kilobytes }.status()});
        }
        let conditions = ["Initialized", "PodReadyToStartContainers"];
        let conditions =
            conditions.map(|kind| json!({"type": kind, "status": "False", "lastTransitionTime": TIME}));
        json!({"status": {"startTime": TIME, "hostIP": "10.0.0.1", "conditions": conditions}})
    }

    pub(super) fn binding(&self) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": self.sandbox_name()},
            "target": {"apiVersion": "v1", "kind": "Node", "name": self.node},
        })
    }

    pub(super) fn event(&self, reason: &str, controller: &str, number: u64) -> Value {
        let namespace = namespace_of(&self.namespace);
        json!({
            "apiVersion": "events.k8s.io/v1", "kind": "Event",
            "metadata": {"name": format!("{}.{}.{number}", self.sandbox_name(), reason.to_lowercase())},
            "eventTime": "2026-01-01T00:00:00.000000Z", "type": "Normal", "reason": reason, "action": reason,
            "note": "state of the sandbox and of its containers", "reportingController": controller,
            "reportingInstance": "instance-0",
            "regarding": {"kind": "Pod", "namespace": namespace, "name": self.sandbox_name(), "apiVersion": "v1"},
        })
    }
}

fn owner(kind: &str, name: &str, uid: &str) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": kind, "name": name, "uid": uid, "controller": true,
        "blockOwnerDeletion": true,
    })
}

/// Returns the CRD of a kind. Its schema has the shape of all kinds together.
fn definition(plural: &str, kind: &str) -> Value {
    let text = json!({"type": "string"});
    let texts = json!({"type": "object", "additionalProperties": text});
    let reference = json!({"type": "object", "required": ["name"], "properties": {"name": text}});
    let metadata = json!({"type": "object", "properties": {"labels": texts, "annotations": texts}});
    let template = json!({"type": "object", "properties": {"metadata": metadata, "spec": pod_spec()}});
    let condition = json!({"type": "object", "required": ["type", "status"], "properties": {
        "type": text, "status": text, "reason": text, "message": {"type": "string", "maxLength": 32768},
        "lastTransitionTime": {"type": "string", "format": "date-time"}, "observedGeneration": {"type": "integer"},
    }});
    let spec = json!({"type": "object", "properties": {
        "podTemplate": template, "operatingMode": {"type": "string", "enum": ["Running", "Suspended"]},
        "lifecycle": {"type": "object", "properties": {"shutdownPolicy": text}},
        "replicas": {"type": "integer", "minimum": 0}, "templateRef": reference, "warmPoolRef": reference,
    }});
    let addresses = json!({"type": "array", "items": text});
    let sandbox = json!({"type": "object", "properties": {"name": text, "podIPs": addresses}});
    let status = json!({"type": "object", "properties": {
        "conditions": keyed(&["type"], &condition), "sandbox": sandbox, "podIPs": addresses, "selector": text,
        "nodeName": text, "replicas": {"type": "integer"}, "readyReplicas": {"type": "integer"},
    }});
    let schema =
        json!({"type": "object", "required": ["spec"], "properties": {"spec": spec, "status": status}});
    let version = json!({
        "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": schema},
    });
    let names = json!({"plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List")});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{GROUP}")},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    })
}

/// Returns the schema of a list that is merged by keys.
fn keyed(keys: &[&str], items: &Value) -> Value {
    json!({"type": "array", "items": items, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys})
}

/// Returns the schema of the part of a pod spec that the sandboxes use.
fn pod_spec() -> Value {
    let text = json!({"type": "string"});
    let texts = json!({"type": "array", "items": text});
    let amounts = json!({"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": true}});
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let named = |mut properties: Value| {
        properties["name"] = text.clone();
        json!({"type": "object", "required": ["name"], "properties": properties})
    };
    let port = json!({"type": "object", "required": ["containerPort", "protocol"], "properties": {
        "name": text, "containerPort": {"type": "integer", "minimum": 1, "maximum": 65535}, "protocol": text,
    }});
    let mount = json!({"type": "object", "required": ["mountPath"], "properties": {
        "name": text, "mountPath": text, "readOnly": {"type": "boolean"},
    }});
    let container = named(json!({
        "image": text, "args": texts, "env": keyed(&["name"], &named(json!({"value": text}))),
        "ports": keyed(&["containerPort", "protocol"], &port),
        "resources": {"type": "object", "properties": {"requests": amounts, "limits": amounts}},
        "livenessProbe": open, "readinessProbe": open, "securityContext": open,
        "volumeMounts": keyed(&["mountPath"], &mount),
    }));
    let containers = keyed(&["name"], &container);
    let volume = named(json!({"configMap": open, "projected": open}));
    json!({"type": "object", "properties": {
        "containers": containers, "initContainers": containers, "volumes": keyed(&["name"], &volume), "nodeName": text,
        "serviceAccountName": text,
    }})
}
