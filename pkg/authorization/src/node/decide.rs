//! Decisions of the node authorizer.

use std::sync::Arc;

use api::references::Kind;
use apimachinery::fields::Operator;
use apimachinery::go_quote::quote;

use super::graph::{Graph, NodeOwnedKind, Vertex};
use super::{Policy, node_of};
use crate::{Attributes, Decision, Error};

/// The namespace of node heartbeat leases.
const LEASE_NAMESPACE: &str = "kube-node-lease";

/// Decides about a request by a graph and a policy. Never denies, because other authorizers may allow the
/// request.
pub fn decide(graph: &Graph, policy: &Policy, attributes: &Attributes<'_>) -> Decision {
    let Some(node) = node_of(attributes.user) else { return no_opinion("") };
    if node.is_empty() {
        return no_opinion(&format!("unknown node for user {}", quote(&attributes.user.name)));
    }
    let request = NodeRequest { graph, policy, node, attributes };
    match attributes.resource_request.then(|| request.by_resource()).flatten() {
        Some(Ok(())) => Decision::Allow(Arc::default()),
        Some(Err(Error::Rejected(reason))) => Decision::NoOpinion(reason),
        Some(Err(error)) => no_opinion(&error.to_string()),
        None if policy.rules.iter().any(|rule| rule.allows(attributes)) => Decision::Allow(Arc::default()),
        None => no_opinion(""),
    }
}

fn no_opinion(reason: &str) -> Decision {
    Decision::NoOpinion(reason.to_owned())
}

/// Allowed, or upstream's reason against it, which may be empty.
type Outcome = Result<(), Error>;

fn reject(reason: &str) -> Outcome {
    Err(Error::Rejected(reason.to_owned()))
}

struct NodeRequest<'a> {
    graph: &'a Graph,
    policy: &'a Policy,
    node: &'a str,
    attributes: &'a Attributes<'a>,
}

impl NodeRequest<'_> {
    /// Decides about resources with special checks; `None` for all others.
    fn by_resource(&self) -> Option<Outcome> {
        let Attributes { group, resource, subresource, .. } = *self.attributes;
        Some(match (group, resource) {
            ("", "secrets") => self.read_namespaced(Kind::Secret),
            ("", "configmaps") => self.read_namespaced(Kind::ConfigMap),
            ("", "persistentvolumeclaims") if subresource == "status" => self.update_claim_status(),
            ("", "persistentvolumeclaims") => self.get(Vertex::Referred(Kind::Claim)),
            ("", "persistentvolumes") => self.get(Vertex::Volume),
            ("resource.k8s.io", "resourceclaims") => self.get(Vertex::Referred(Kind::ResourceClaim)),
            ("storage.k8s.io", "volumeattachments") => {
                self.get(Vertex::Owned(NodeOwnedKind::VolumeAttachment))
            }
            ("", "serviceaccounts") => self.service_account(),
            ("coordination.k8s.io", "leases") => self.lease(),
            ("storage.k8s.io", "csinodes") => self.csi_node(),
            ("resource.k8s.io", "resourceslices") => self.resource_slice(),
            ("", "nodes") => self.node_object(),
            ("", "pods") => self.pod(),
            ("certificates.k8s.io", "podcertificaterequests") => {
                if self.policy.features.pod_certificates {
                    self.pod_certificate_request()
                } else {
                    reject("")
                }
            }
            _ => return None,
        })
    }

    /// Checks that the named object is related to the node.
    fn check_related(&self, vertex: Vertex) -> Outcome {
        let Attributes { namespace, name, .. } = *self.attributes;
        if name.is_empty() {
            return reject("No Object name found");
        }
        self.reaches(vertex, namespace, name)
    }

    fn reaches(&self, vertex: Vertex, namespace: &str, name: &str) -> Outcome {
        if self.graph.reaches(self.node, vertex, namespace, name) {
            Ok(())
        } else {
            Err(Error::Rejected(format!(
                "no relationship found between node '{}' and this object",
                self.node
            )))
        }
    }

    /// True if the field selector limits the request to objects of the node.
    fn selects_own(&self) -> bool {
        let requirements = &self.attributes.selectors.fields.read;
        requirements.iter().any(|required| {
            required.field == "spec.nodeName"
                && required.operator == Operator::Equals
                && required.value == self.node
        })
    }

    fn get(&self, vertex: Vertex) -> Outcome {
        if self.attributes.verb != "get" {
            return reject("can only get individual resources of this type");
        }
        if !self.attributes.subresource.is_empty() {
            return reject("cannot get subresource");
        }
        self.check_related(vertex)
    }

    fn read_namespaced(&self, kind: Kind) -> Outcome {
        if !self.attributes.is_read_only() {
            return reject("can only read resources of this type");
        }
        if !self.attributes.subresource.is_empty() {
            return reject("cannot read subresource");
        }
        if self.attributes.namespace.is_empty() {
            return reject("can only read namespaced object of this type");
        }
        self.check_related(Vertex::Referred(kind))
    }

    fn update_claim_status(&self) -> Outcome {
        match self.attributes.verb {
            "update" | "patch" => self.check_related(Vertex::Referred(Kind::Claim)),
            _ => reject("can only get/update/patch this type"),
        }
    }

    fn service_account(&self) -> Outcome {
        let Attributes { verb, subresource, namespace, name, .. } = *self.attributes;
        if verb == "get" && subresource.is_empty() {
            return if self.policy.features.service_accounts {
                self.read_namespaced(Kind::ServiceAccount)
            } else {
                reject("not allowed to get service accounts")
            };
        }
        if verb != "create" || name.is_empty() {
            return reject("can only create tokens for individual service accounts");
        }
        if subresource != "token" {
            return reject("can only create token subresource of serviceaccount");
        }
        self.reaches(Vertex::Referred(Kind::ServiceAccount), namespace, name)
    }

    /// True if nodes use the verb to manage their own objects.
    fn is_own_object_verb(&self) -> bool {
        matches!(self.attributes.verb, "get" | "create" | "update" | "patch" | "delete")
    }

    /// True if the object has the node's name. The name of a new object is unknown here; admission checks it.
    fn is_own(&self) -> bool {
        self.attributes.verb == "create" || self.attributes.name == self.node
    }

    fn lease(&self) -> Outcome {
        if !self.is_own_object_verb() {
            return reject("can only get, create, update, patch, or delete a node lease");
        }
        if self.attributes.namespace != LEASE_NAMESPACE {
            return Err(Error::Rejected(format!(
                "can only access leases in the {} system namespace",
                quote(LEASE_NAMESPACE)
            )));
        }
        if self.is_own() {
            Ok(())
        } else {
            reject("can only access node lease with the same name as the requesting node")
        }
    }

    fn csi_node(&self) -> Outcome {
        match self.attributes.subresource {
            "" if self.is_own_object_verb() => {}
            "" => return reject("can only get, create, update, patch, or delete a CSINode"),
            "status" if !self.policy.features.volume_health => {
                return reject("CSINode status access requires CSIVolumeHealth feature");
            }
            "status" if matches!(self.attributes.verb, "get" | "update" | "patch") => {}
            "status" => return reject("can only get, update, or patch CSINode status"),
            _ => return reject("cannot authorize CSINode subresources"),
        }
        if self.is_own() {
            Ok(())
        } else {
            reject("can only access CSINode with the same name as the requesting node")
        }
    }

    fn resource_slice(&self) -> Outcome {
        if !self.attributes.subresource.is_empty() {
            return reject("cannot authorize ResourceSlice subresources");
        }
        match self.attributes.verb {
            // Admission checks the node of a new slice.
            "create" => Ok(()),
            "get" | "update" | "patch" | "delete" => {
                self.check_related(Vertex::Owned(NodeOwnedKind::ResourceSlice))
            }
            "watch" | "list" | "deletecollection" => {
                if self.selects_own() {
                    Ok(())
                } else {
                    reject("can only list/watch/deletecollection resourceslices with nodeName field selector")
                }
            }
            _ => reject(
                "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection",
            ),
        }
    }

    fn pod_certificate_request(&self) -> Outcome {
        if !self.attributes.subresource.is_empty() {
            return reject("nodes may not access the status subresource of PodCertificateRequests");
        }
        match self.attributes.verb {
            "create" => Ok(()),
            "get" => self.check_related(Vertex::Owned(NodeOwnedKind::PodCertificateRequest)),
            "list" | "watch" if self.selects_own() => Ok(()),
            "list" | "watch" => {
                reject("can only list/watch podcertificaterequests with nodeName field selector")
            }
            verb => Err(Error::Rejected(format!("nodes may not {verb} podcertificaterequests"))),
        }
    }

    /// Checks access to the node's own Node by name, because a node reads it before it exists. Admission
    /// checks the object of a write.
    fn node_object(&self) -> Outcome {
        let node = self.node;
        let name = self.attributes.name;
        match (self.attributes.subresource, self.attributes.verb) {
            ("", "create" | "update" | "patch") | ("status", "update" | "patch") => Ok(()),
            ("", "get" | "list" | "watch") if name == node => Ok(()),
            ("", "get" | "list" | "watch") if name.is_empty() => {
                Err(Error::Rejected(format!("node '{node}' cannot read all nodes, only its own Node object")))
            }
            ("", "get" | "list" | "watch") => {
                Err(Error::Rejected(format!("node '{node}' cannot read '{name}', only its own Node object")))
            }
            _ => reject(""),
        }
    }

    /// Checks access to pods. Reads are limited to pods on the node; admission checks the object of a write.
    fn pod(&self) -> Outcome {
        match (self.attributes.subresource, self.attributes.verb) {
            ("", "get") => self.get(Vertex::Pod),
            ("", "list" | "watch") if self.selects_own() => Ok(()),
            ("", "list" | "watch") if !self.attributes.name.is_empty() => self.check_related(Vertex::Pod),
            ("", "list" | "watch") => reject("can only list/watch pods with spec.nodeName field selector"),
            ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create") => Ok(()),
            _ => reject(""),
        }
    }
}
