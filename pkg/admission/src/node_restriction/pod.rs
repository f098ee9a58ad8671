//! Pods of a node. A node creates mirror pods for its static pods, reports pod status, and deletes or evicts
//! pods.

use std::sync::Arc;

use api::references::{Kind, MIRROR_ANNOTATION, Referrer};
use api::tree::{child, children, list, maybe_flag, text};
use apimachinery::go_quote::quote;
use apimachinery::status::Status;
use jsontree::Value;
use schema::object::Object;

use super::{NodeRestriction, operation};
use crate::error::RejectionReason;
use crate::{Attributes, Operation, Verdict, meta};

/// Volume sources that need no API object.
const LOCAL_SOURCES: [&str; 22] = [
    "awsElasticBlockStore",
    "azureDisk",
    "cephfs",
    "cinder",
    "downwardAPI",
    "emptyDir",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "hostPath",
    "image",
    "iscsi",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
];
/// Volume sources that reference an API object, with that object for messages.
const REFERRING_SOURCES: [(&str, &str); 7] = [
    ("configMap", "configmaps (via configmap volumes)"),
    ("secret", "secrets (via secret volumes)"),
    ("csi", "csidrivers (via CSI volumes)"),
    ("glusterfs", "endpoints (via glusterFS volumes)"),
    ("persistentVolumeClaim", "persistentvolumeclaims"),
    ("ephemeral", "persistentvolumeclaims (via ephemeral volumes)"),
    ("azureFile", "secrets (via azureFile volumes)"),
];
/// The same for projected volumes.
const REFERRING_PROJECTIONS: [(&str, &str); 5] = [
    ("configMap", "configmaps (via projected volumes)"),
    ("secret", "secrets (via projected volumes)"),
    ("serviceAccountToken", "serviceaccounts (via projected volumes)"),
    ("clusterTrustBundle", "clustertrustbundles"),
    ("podCertificate", "podcertificates"),
];

impl NodeRestriction {
    /// Checks an operation of a node on pods.
    pub(super) async fn pod(&self, a: &Attributes<'_>, node: &str, new: &Object) -> Verdict {
        match (a.subresource(), a.operation) {
            ("", Operation::Create) => self.mirror_pod(a, node, new).await,
            ("", Operation::Delete) => self.deleted_pod(a, node).await,
            ("", _) => Err(a.forbidden(format!(
                "unexpected operation {}, node {} can only create and delete mirror pods",
                quote(operation(a)),
                quote(node)
            ))),
            ("status", Operation::Update) => pod_status(a, node, new),
            ("status", _) => Err(a.forbidden(format!("unexpected operation {}", quote(operation(a))))),
            ("eviction", Operation::Create) => self.evicted_pod(a, node, new).await,
            ("eviction", _) => Err(a.forbidden(format!("unexpected operation {}", operation(a)))),
            (other, _) => Err(a.forbidden(format!(
                "unexpected pod subresource {}, only 'status' and 'eviction' are allowed",
                quote(other)
            ))),
        }
    }

    async fn deleted_pod(&self, a: &Attributes<'_>, node: &str) -> Verdict {
        let stored: Arc<Object>;
        let pod: &Object = match a.old {
            Some(pod) => pod,
            None => {
                stored = self.look_up(self.rows.pods, a.namespace, a.name).await?;
                &stored
            }
        };
        if node_name(pod) == node {
            Ok(())
        } else {
            Err(a.forbidden(format!(
                "node {} can only delete pods with spec.nodeName set to itself",
                quote(node)
            )))
        }
    }

    async fn evicted_pod(&self, a: &Attributes<'_>, node: &str, eviction: &Object) -> Verdict {
        let name = if a.name.is_empty() { meta::text(eviction, "name") } else { a.name };
        if name.is_empty() {
            return Err(a.forbidden("could not determine pod from request data"));
        }
        let pod = self.look_up(self.rows.pods, a.namespace, name).await?;
        if node_name(&pod) == node {
            Ok(())
        } else {
            Err(a.forbidden(format!("node {node} can only evict pods with spec.nodeName set to itself")))
        }
    }

    async fn mirror_pod(&self, a: &Attributes<'_>, node: &str, pod: &Object) -> Verdict {
        let by = quote(node);
        if meta::annotation(pod, MIRROR_ANNOTATION).is_none() {
            return Err(a.forbidden(format!(
                "pod does not have {} annotation, node {by} can only create mirror pods",
                quote(MIRROR_ANNOTATION)
            )));
        }
        if node_name(pod) != node {
            return Err(
                a.forbidden(format!("node {by} can only create pods with spec.nodeName set to itself"))
            );
        }
        self.owner(a, node, pod).await?;
        match refers_to(pod) {
            Ok(None) => Ok(()),
            Ok(Some(source)) => {
                Err(a.forbidden(format!("node {by} can not create pods that reference {source}")))
            }
            Err(cause) => Err(a.forbidden(format!("error checking mirror pod for API references: {cause}"))),
        }
    }

    /// Checks that a mirror pod is owned by its Node, so that it is garbage-collected with it.
    async fn owner(&self, a: &Attributes<'_>, node: &str, pod: &Object) -> Verdict {
        let by = quote(node);
        let owners = child(pod, "metadata").map_or(&[][..], |metadata| list(metadata, "ownerReferences"));
        let itself = format!("node {by} can only create pods with an owner reference set to itself");
        let owner = match owners {
            [] => return Err(a.forbidden(&itself)),
            [owner] => owner.as_object().ok_or_else(|| a.forbidden(&itself))?,
            _ => {
                return Err(a.forbidden(format!(
                    "node {by} can only create pods with a single owner reference set to itself"
                )));
            }
        };
        if (text(owner, "apiVersion"), text(owner, "kind"), text(owner, "name")) != ("v1", "Node", node) {
            return Err(a.forbidden(&itself));
        }
        if maybe_flag(owner, "controller") != Some(true) {
            return Err(a.forbidden(format!(
                "node {by} can only create pods with a controller owner reference set to itself"
            )));
        }
        if maybe_flag(owner, "blockOwnerDeletion") == Some(true) {
            return Err(
                a.forbidden(format!("node {by} must not set blockOwnerDeletion on an owner reference"))
            );
        }
        let stored = self.look_up(self.rows.nodes, "", node).await?;
        let expected = text(owner, "uid");
        let got = meta::text(&stored, "uid");
        if expected == got {
            Ok(())
        } else {
            Err(a.forbidden(format!("node {node} UID mismatch: expected {expected} got {got}")))
        }
    }
}

/// Returns the node of a pod, or an empty string.
pub(super) fn node_name(pod: &Object) -> &str {
    child(pod, "spec").map_or("", |spec| text(spec, "nodeName"))
}

fn pod_status(a: &Attributes<'_>, node: &str, new: &Object) -> Verdict {
    let by = quote(node);
    let old = a.old.ok_or_else(|| Box::new(Status::internal_error("an update without a former object")))?;
    if node_name(old) != node {
        return Err(a.forbidden(format!(
            "node {by} can only update pod status for pods with spec.nodeName set to itself"
        )));
    }
    let labels =
        |pod: &Object| child(pod, "metadata").and_then(|metadata| child(metadata, "labels")).cloned();
    if labels(old).unwrap_or_default() != labels(new).unwrap_or_default() {
        return Err(a.forbidden(format!("node {by} cannot update labels through pod status")));
    }
    let claims = |pod: &Object| -> Vec<(String, Option<String>)> {
        let statuses =
            child(pod, "status").into_iter().flat_map(|status| children(status, "resourceClaimStatuses"));
        let named = |status: &Object| api::tree::maybe_text(status, "resourceClaimName").map(str::to_owned);
        statuses.map(|status| (text(status, "name").to_owned(), named(status))).collect()
    };
    if claims(old) != claims(new) {
        return Err(a.forbidden(format!("node {by} cannot update resource claim statues")));
    }
    let extended = |pod: &Object| child(pod, "status")?.get("extendedResourceClaimStatus").cloned();
    if extended(old) != extended(new) {
        return Err(a.forbidden(format!("node {by} cannot update extended resource claim status")));
    }
    let allocatable = |pod: &Object| -> Vec<Value> {
        let status = child(pod, "status");
        status.map_or(Vec::new(), |status| list(status, "nodeAllocatableResourceClaimStatuses").to_vec())
    };
    if allocatable(old) != allocatable(new) {
        return Err(a.forbidden(format!("node {by} cannot update node allocatable resource claim statuses")));
    }
    Ok(())
}

/// Returns the first reference of a pod to another API object (upstream's `HasAPIObjectReference`).
///
/// # Errors
/// A volume with an unknown source.
fn refers_to(pod: &Object) -> Result<Option<&'static str>, RejectionReason> {
    let none = Object::new();
    let spec = child(pod, "spec").unwrap_or(&none);
    if !text(spec, "serviceAccountName").is_empty() {
        return Ok(Some("serviceaccounts"));
    }
    let referrer = Referrer::tree(pod);
    let references = referrer.of_pod();
    let has_kind = |expected: Kind| references.iter().any(|(kind, _)| *kind == expected);
    if has_kind(Kind::Secret) {
        return Ok(Some("secrets"));
    }
    if has_kind(Kind::ConfigMap) {
        return Ok(Some("configmaps"));
    }
    if !list(spec, "resourceClaims").is_empty() {
        return Ok(Some("resourceclaims"));
    }
    for volume in children(spec, "volumes") {
        if let Some(source) = volume_refers_to(volume)? {
            return Ok(Some(source));
        }
    }
    Ok(None)
}

fn volume_refers_to(volume: &Object) -> Result<Option<&'static str>, RejectionReason> {
    let name = || quote(text(volume, "name"));
    if LOCAL_SOURCES.iter().any(|source| volume.contains_key(*source)) {
        return Ok(None);
    }
    if let Some((_, noun)) = REFERRING_SOURCES.iter().find(|(source, _)| volume.contains_key(*source)) {
        return Ok(Some(*noun));
    }
    let unknown = || RejectionReason(format!("unknown volume type for volume  {}", name()));
    let projected = child(volume, "projected").ok_or_else(unknown)?;
    for source in children(projected, "sources") {
        match REFERRING_PROJECTIONS.iter().find(|(member, _)| source.contains_key(*member)) {
            Some((_, noun)) => return Ok(Some(*noun)),
            None if source.contains_key("downwardAPI") => {}
            None => return Err(RejectionReason(format!("unknown source for projected volume {}", name()))),
        }
    }
    Ok(None)
}
