//! `NodeRestriction` limits a node to the allowed fields of its own objects and of those of its pods
//! (upstream's `plugin/pkg/admission/noderestriction`). The node authorizer allows more, because it does not
//! see the written object.

mod node;
mod pod;
mod pod_certificate;
#[cfg(test)]
mod tests;
mod token;

use std::sync::Arc;

use api::resources::{self, Resource};
use api::semantic;
use api::tree::{child, child_mut, maybe_text};
use apimachinery::go_quote::quote;
use apimachinery::gvk::GroupResource;
use apimachinery::status::Status;
use async_trait::async_trait;
use authorization::Authorizer;
use authorization::node::node_of;
use component_base::features::{Gate, Gates};
use schema::object::Object;

use crate::certificate_approval::signer_of;
use crate::certificate_subject::subject;
use crate::{AdmissionNotes, Attributes, Objects, Operation, Plugin, Verdict, meta};

/// The namespace of node heartbeat leases.
const LEASE_NAMESPACE: &str = "kube-node-lease";
/// The signers of kubelet certificates, for servers and clients.
const KUBELET_SIGNERS: [&str; 2] =
    ["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"];
/// Fields of a claim's status that nodes may change. The second pair applies only if recovery from expansion
/// failure is enabled.
const CLAIM_STATUS: [&str; 4] = ["capacity", "conditions", "allocatedResourceStatuses", "allocatedResources"];

/// Resources for look-ups.
struct Rows {
    pods: &'static Resource<'static>,
    nodes: &'static Resource<'static>,
    accounts: &'static Resource<'static>,
    claims: &'static Resource<'static>,
    volumes: &'static Resource<'static>,
    drivers: &'static Resource<'static>,
    csi_nodes: &'static Resource<'static>,
}

pub struct NodeRestriction {
    objects: Arc<dyn Objects>,
    authorizer: Arc<dyn Authorizer>,
    gates: Gates,
    rows: Rows,
}

impl NodeRestriction {
    /// Looks up pods and nodes in `objects`. Checks permissions for audiences and signers
    /// with `authorizer`. `None` if they are not served.
    pub fn new(objects: Arc<dyn Objects>, authorizer: Arc<dyn Authorizer>, gates: Gates) -> Option<Self> {
        let core = |plural: &str| resources::find("", "v1", plural, "");
        let rows = Rows {
            pods: core("pods")?,
            nodes: core("nodes")?,
            accounts: core("serviceaccounts")?,
            claims: core("persistentvolumeclaims")?,
            volumes: core("persistentvolumes")?,
            drivers: resources::find("storage.k8s.io", "v1", "csidrivers", "")?,
            csi_nodes: resources::find("storage.k8s.io", "v1", "csinodes", "")?,
        };
        Some(NodeRestriction { objects, authorizer, gates, rows })
    }

    /// Returns an object, or the 404 of upstream's listers, which contains the kind in place of the resource.
    async fn look_up(
        &self,
        row: &'static Resource<'static>,
        namespace: &str,
        name: &str,
    ) -> Result<Arc<Object>, Box<Status>> {
        let object = self.objects.find(row, namespace, name).await?;
        object.ok_or_else(|| Status::not_found(&GroupResource::new(row.group, row.singular), name).into())
    }

    fn claim_status(&self, a: &Attributes<'_>, node: &str, new: &Object) -> Verdict {
        if a.subresource() != "status" {
            return Err(a.forbidden("may only update PVC status"));
        }
        let Some(old) = a.old.filter(|_| a.operation == Operation::Update) else {
            return Err(a.forbidden(format!("unexpected operation {}", quote(operation(a)))));
        };
        let again = self.gates.enabled(Gate::RecoverVolumeExpansionFailure);
        let node_fields = CLAIM_STATUS.get(..if again { 4 } else { 2 }).unwrap_or_default();
        if semantic::equal(
            self.rows.claims.message,
            &strip_claim(node_fields, old),
            &strip_claim(node_fields, new),
        ) {
            Ok(())
        } else {
            // Upstream appends a diff in a format that it declares unstable.
            Err(a.forbidden(format!(
                "node {} is not allowed to update fields other than status.quantity and status.conditions",
                quote(node)
            )))
        }
    }

    fn csi_node(&self, a: &Attributes<'_>, node: &str, new: &Object) -> Verdict {
        if written_name(a, new) != node {
            return Err(a.forbidden("can only access CSINode with the same name as the requesting node"));
        }
        if a.subresource() != "status" {
            return Ok(());
        }
        if !self.gates.enabled(Gate::CSIVolumeHealth) {
            return Err(a.forbidden("CSIVolumeHealth feature gate is disabled"));
        }
        let Some(old) = a.old.filter(|_| a.operation == Operation::Update) else {
            return Err(a.forbidden(format!("unexpected operation {}", quote(operation(a)))));
        };
        let spec = |csi_node: &Object| -> Object {
            csi_node.get("spec").map(|spec| ("spec".to_owned(), spec.clone())).into_iter().collect()
        };
        if semantic::equal(self.rows.csi_nodes.message, &spec(old), &spec(new)) {
            Ok(())
        } else {
            Err(a.forbidden(format!("node {} is not allowed to modify CSINode spec via status", quote(node))))
        }
    }

    fn signing_request(&self, a: &Attributes<'_>, node: &str, new: &Object) -> Verdict {
        let checked = !self.gates.enabled(Gate::AllowInsecureKubeletCertificateSigningRequests)
            && a.creates()
            && KUBELET_SIGNERS.contains(&signer_of(new));
        if !checked {
            return Ok(());
        }
        let common_name = subject(new, |subject| {
            subject.iter_common_name().last().and_then(|name| name.as_str().ok()).map(str::to_owned)
        });
        match common_name {
            Err(cause) => Err(a.forbidden(format!("unable to parse csr: {cause}"))),
            Ok(Some(name)) if name == format!("system:node:{node}") => Ok(()),
            Ok(_) => Err(a.forbidden(format!("can only create a node CSR with CN=system:node:{node}"))),
        }
    }
}

/// Returns a claim without the fields that every write changes and without the fields `members` that nodes may
/// change.
fn strip_claim(members: &[&str], claim: &Object) -> Object {
    let mut claim = claim.clone();
    if let Some(metadata) = child_mut(&mut claim, "metadata") {
        metadata.remove("resourceVersion");
        metadata.remove("managedFields");
    }
    if let Some(status) = child_mut(&mut claim, "status") {
        members.iter().for_each(|member| drop(status.remove(*member)));
    }
    claim
}

/// Returns upstream's name for an operation.
fn operation(a: &Attributes<'_>) -> &'static str {
    match a.operation {
        Operation::Create => "CREATE",
        Operation::Update => "UPDATE",
        Operation::Delete => "DELETE",
        Operation::Connect => "CONNECT",
    }
}

/// Returns the name of the written object. For a creation, the name is in the object itself.
fn written_name<'a>(a: &Attributes<'a>, new: &'a Object) -> &'a str {
    if a.creates() { meta::text(new, "name") } else { a.name }
}

fn lease(a: &Attributes<'_>, node: &str, new: &Object) -> Verdict {
    if a.namespace != LEASE_NAMESPACE {
        let namespace = quote(LEASE_NAMESPACE);
        return Err(a.forbidden(format!("can only access leases in the {namespace} system namespace")));
    }
    if written_name(a, new) == node {
        Ok(())
    } else {
        Err(a.forbidden("can only access node lease with the same name as the requesting node"))
    }
}

fn resource_slice(a: &Attributes<'_>, node: &str, new: &Object) -> Verdict {
    let (slice, does) = match a.operation {
        Operation::Create => (Some(new), "create"),
        Operation::Delete => (a.old, "delete"),
        Operation::Update | Operation::Connect => return Ok(()),
    };
    let spec = slice.and_then(|slice| child(slice, "spec"));
    if spec.and_then(|spec| maybe_text(spec, "nodeName")) == Some(node) {
        Ok(())
    } else {
        Err(a.forbidden(format!(
            "can only {does} ResourceSlice with the same NodeName as the requesting node"
        )))
    }
}

#[async_trait]
impl Plugin for NodeRestriction {
    fn name(&self) -> &'static str {
        "NodeRestriction"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.operation != Operation::Connect && node_of(a.user).is_some()
    }

    async fn mutate(
        &self,
        a: &Attributes<'_>,
        object: Option<&mut Object>,
        _: &mut AdmissionNotes,
    ) -> Verdict {
        let Some(node) = node_of(a.user) else { return Ok(()) };
        if node.is_empty() {
            return Err(a.forbidden(format!("could not determine node from user {}", quote(&a.user.name))));
        }
        let none = Object::new();
        let new: &Object = object.as_deref().unwrap_or(&none);
        match (a.resource.group, a.resource.plural) {
            ("", "pods") => self.pod(a, node, new).await,
            ("", "nodes") => node::check(a, node, new),
            ("", "persistentvolumeclaims") => self.claim_status(a, node, new),
            ("", "serviceaccounts") => self.token(a, node, new).await,
            ("certificates.k8s.io", "podcertificaterequests") => self.pod_certificate(a, node, new).await,
            ("coordination.k8s.io", "leases") => lease(a, node, new),
            ("storage.k8s.io", "csinodes") => self.csi_node(a, node, new),
            ("resource.k8s.io", "resourceslices") => resource_slice(a, node, new),
            ("certificates.k8s.io", "certificatesigningrequests") => self.signing_request(a, node, new),
            _ => Ok(()),
        }
    }
}
