//! Certificate requests of a node on behalf of a pod. The pod must run on the node, with the requested
//! service account, and mount a certificate of the signer.

use api::references::MIRROR_ANNOTATION;
use api::tree::{child, children, text};
use apimachinery::go_quote::quote;
use apimachinery::status::Status;
use component_base::features::Gate;
use schema::object::Object;

use super::pod::node_name;
use super::{NodeRestriction, operation};
use crate::{Attributes, Verdict, meta};

impl NodeRestriction {
    pub(super) async fn pod_certificate(&self, a: &Attributes<'_>, node: &str, request: &Object) -> Verdict {
        if !self.gates.enabled(Gate::PodCertificateRequest) {
            return Err(a.forbidden("PodCertificateRequest feature gate is disabled"));
        }
        if !a.creates() {
            return Err(a.forbidden(format!("unexpected operation {}", operation(a))));
        }
        if !a.subresource().is_empty() {
            return Err(a.forbidden(format!("unexpected subresource {}", a.subresource())));
        }
        let none = Object::new();
        let spec = child(request, "spec").unwrap_or(&none);
        self.named_node(a, node, spec).await?;
        let named = quote(&format!("{}/{}", a.namespace, text(spec, "podName")));
        let looked_up = self.look_up(self.rows.pods, a.namespace, text(spec, "podName")).await;
        let pod = looked_up.map_err(|status| stale(&format!("retrieving pod {named}"), &status))?;
        let requested = text(spec, "podUID");
        let uid = meta::text(&pod, "uid");
        if requested != uid {
            return Err(inconsistent(&format!(
                "PodCertificateRequest for pod {named} contains pod UID ({}) which differs from running pod {}",
                quote(requested),
                quote(uid)
            )));
        }
        if node_name(&pod) != node {
            let by = quote(node);
            return Err(a.forbidden(format!(
                "pod {named} is not running on node {by} named in the PodCertificateRequest"
            )));
        }
        if meta::annotation(&pod, MIRROR_ANNOTATION).is_some() {
            return Err(a.forbidden(format!("pod {named} is a mirror pod")));
        }
        self.named_account(a, &named, spec, &pod).await
    }

    async fn named_node(&self, a: &Attributes<'_>, node: &str, spec: &Object) -> Verdict {
        let named = quote(text(spec, "nodeName"));
        if text(spec, "nodeName") != node {
            return Err(a.forbidden(format!(
                "PodCertificateRequest.Spec.NodeName={named}, which is not the requesting node {}",
                quote(node)
            )));
        }
        let looked_up = self.look_up(self.rows.nodes, "", node).await;
        let stored = looked_up.map_err(|status| stale(&format!("retrieving node {named}"), &status))?;
        let requested = text(spec, "nodeUID");
        let uid = meta::text(&stored, "uid");
        if requested == uid {
            Ok(())
        } else {
            Err(inconsistent(&format!(
                "PodCertificateRequest for pod {} names node UID {}, inconsistent with the running node ({})",
                quote(&format!("{}/{}", a.namespace, text(spec, "podName"))),
                quote(requested),
                quote(uid)
            )))
        }
    }

    async fn named_account(&self, a: &Attributes<'_>, named: &str, spec: &Object, pod: &Object) -> Verdict {
        let account = text(spec, "serviceAccountName");
        let pod_account = child(pod, "spec").map_or("", |spec| text(spec, "serviceAccountName"));
        if account != pod_account {
            return Err(a.forbidden(format!(
                "PodCertificateRequest for pod {named} contains serviceAccountName ({}) that differs from running pod ({})",
                quote(account),
                quote(pod_account)
            )));
        }
        let looked_up = self.look_up(self.rows.accounts, a.namespace, account).await;
        let action = format!("retrieving service account {}", quote(&format!("{}/{account}", a.namespace)));
        let stored = looked_up.map_err(|status| stale(&action, &status))?;
        let requested = text(spec, "serviceAccountUID");
        let uid = meta::text(&stored, "uid");
        if requested == uid {
            self.named_signer(a, named, spec, pod).await
        } else {
            Err(inconsistent(&format!(
                "PodCertificateRequest for pod {named} names service account UID {}, which differs from the running service account ({})",
                quote(requested),
                quote(uid)
            )))
        }
    }

    /// Checks that the node has a reason to use the signer: a volume of the pod, or an explicit permission. RBAC cannot
    /// name resources with slashes, so that a colon replaces them in the signer's name.
    async fn named_signer(&self, a: &Attributes<'_>, named: &str, spec: &Object, pod: &Object) -> Verdict {
        let signer = text(spec, "signerName");
        if mounts_signer(pod, signer) {
            return Ok(());
        }
        let resource = signer.replace('/', ":");
        let attributes = authorization::Attributes {
            verb: "request-serviceaccounts-podcertificate-signer",
            group: a.resource.group,
            version: a.resource.version,
            resource: &resource,
            namespace: a.namespace,
            name: text(spec, "serviceAccountName"),
            resource_request: true,
            ..authorization::Attributes::of_user(a.user)
        };
        let Err(refused) = self.authorizer.decide(attributes).await.outcome() else { return Ok(()) };
        let signer = quote(signer);
        Err(a.forbidden(match refused.error {
            Some(error) => format!(
                "error authorizing {} to request podcertificaterequests for signer {signer}: {error}",
                a.user.name
            ),
            None => {
                format!("pod {named} does not mount a podCertificate projected volume for signer {signer}")
            }
        }))
    }
}

/// True if a volume of the pod requests certificates of the signer.
fn mounts_signer(pod: &Object, signer: &str) -> bool {
    let volumes = child(pod, "spec").into_iter().flat_map(|spec| children(spec, "volumes"));
    let sources = volumes
        .filter_map(|volume| child(volume, "projected"))
        .flat_map(|volume| children(volume, "sources"));
    sources
        .filter_map(|source| child(source, "podCertificate"))
        .any(|certificate| text(certificate, "signerName") == signer)
}

/// Builds the error for a missing object. It is not a rejection, because the object may still appear.
fn stale(action: &str, status: &Status) -> Box<Status> {
    inconsistent(&format!("while {action} named in the PodCertificateRequest: {}", status.message))
}

fn inconsistent(text: &str) -> Box<Status> {
    Status::unmapped(text.to_owned()).into()
}
