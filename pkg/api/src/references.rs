//! Objects that an object refers to by name and that a node must therefore be able to read. Equivalent to
//! upstream's `pkg/api/v1/pod`, `pkg/api/v1/persistentvolume` and component-helpers' `storage/ephemeral`.
//!
//! The object is a tree or its stored bytes, of which only the needed fields are read.

use std::borrow::Cow;

use schema::object::Object;
use schema::proto::inplace::{MemberRef, MessageRef, NotInPlace};
use schema::table::Message;

use crate::table::view::{ReadStatus, View};

/// Annotation of mirror pods: pods that a node runs from a file and publishes in the cluster.
pub const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";

/// Kind of an object that a pod refers to in its own namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    ConfigMap,
    Secret,
    /// A PersistentVolumeClaim.
    Claim,
    ResourceClaim,
    ServiceAccount,
}

/// Volume sources with a secret reference in this member. The reference of a persistent volume also contains
/// the namespace of the secret.
const SECRETS_OF_VOLUMES: [(&str, &str); 8] = [
    ("cephfs", "secretRef"),
    ("cinder", "secretRef"),
    ("flexVolume", "secretRef"),
    ("rbd", "secretRef"),
    ("scaleIO", "secretRef"),
    ("iscsi", "secretRef"),
    ("storageos", "secretRef"),
    ("csi", "nodePublishSecretRef"),
];
/// Secret references that only persistent volumes have. Nodes do not need the secrets of the controller.
const SECRETS_OF_PERSISTENT_VOLUMES: [(&str, &str); 2] =
    [("csi", "nodeStageSecretRef"), ("csi", "nodeExpandSecretRef")];
/// Sources whose secret is always in the named namespace, even if that is empty.
const ALWAYS_IN_NAMED_NAMESPACE: [&str; 3] = ["cinder", "storageos", "csi"];

/// Members of a pod that [`Referrer::of_pod`] and [`Referrer::node_name`] read, besides the name.
const REFERRING_MEMBERS: [&[&str]; 3] =
    [&["spec"], &["status", "resourceClaimStatuses"], &["status", "extendedResourceClaimStatus"]];

#[derive(Debug)]
pub struct Referrer<'a> {
    form: Form<'a>,
    read_status: ReadStatus,
}

#[derive(Debug)]
enum Form<'a> {
    Tree(&'a Object),
    Message(MessageRef<'a>),
}

impl<'a> Referrer<'a> {
    pub fn tree(object: &'a Object) -> Self {
        Referrer { form: Form::Tree(object), read_status: ReadStatus::default() }
    }

    /// Canonical bytes of a `v1` message.
    pub fn message(message: &'static Message, raw: &'a [u8]) -> Self {
        Referrer { form: Form::Message(MessageRef::new(message, raw)), read_status: ReadStatus::default() }
    }

    /// True if all reads so far succeeded. Otherwise a field that looked absent may exist, and only a tree
    /// gives a reliable answer.
    pub fn is_certain(&self) -> bool {
        !self.read_status.is_irregular()
    }

    fn view(&self) -> View<'_> {
        match self.form {
            Form::Tree(object) => View::of(object),
            Form::Message(message) => View::of_message(message, &self.read_status),
        }
    }

    /// Returns `spec.nodeName`; empty if absent.
    pub fn node_name(&self) -> &str {
        self.view().get_path("spec.nodeName").text()
    }

    /// True for a mirror pod: a node's copy of a pod that it runs from a file.
    pub fn is_mirror(&self) -> bool {
        // The name contains dots, which are separators in paths.
        let annotations = self.view().get_path("metadata.annotations");
        annotations.entries().any(|(name, _)| name == MIRROR_ANNOTATION)
    }

    /// Returns the references of a pod, unordered and possibly repeated. Names are never empty.
    pub fn of_pod(&self) -> Vec<(Kind, Cow<'_, str>)> {
        let pod = self.view();
        let spec = pod.get("spec");
        let mut references = References::default();
        references.add(Kind::ServiceAccount, spec.get("serviceAccountName"));
        for secret in spec.get("imagePullSecrets").items() {
            references.add(Kind::Secret, secret.get("name"));
        }
        for list in ["initContainers", "containers", "ephemeralContainers"] {
            spec.get(list).items().for_each(|container| references.container(container));
        }
        for volume in spec.get("volumes").items() {
            references.volume(pod, volume);
        }
        references.resource_claims(pod);
        references.0
    }

    /// True if this pod certainly has the same node and references as an earlier state of it: the bytes that contain
    /// them are equal. False for trees.
    pub fn has_references_of(&self, earlier: &Referrer<'_>) -> bool {
        let Form::Message(pod) = self.form else { return false };
        let Form::Message(earlier_pod) = earlier.form else { return false };
        let is_equal = |path: &&[&str]| {
            let member = member_at(pod, path);
            member.is_ok_and(|member| {
                member_at(earlier_pod, path).is_ok_and(|other| member.has_bytes_of(other))
            })
        };
        REFERRING_MEMBERS.iter().all(is_equal) && self.is_mirror() == earlier.is_mirror()
    }

    /// Returns the claim that a persistent volume is bound to, as namespace and name.
    pub fn claim(&self) -> Option<(&str, &str)> {
        let claim = self.view().get_path("spec.claimRef");
        claim.exists().then(|| (claim.get("namespace").text(), claim.get("name").text()))
    }

    /// Returns the secrets that nodes need for a persistent volume, as namespaces and names.
    pub fn secrets_of_persistent_volume(&self) -> Vec<(&str, &str)> {
        let spec = self.view().get("spec");
        let bound = spec.get_path("claimRef.namespace").text();
        let azure = spec.get("azureFile");
        let mut secrets =
            vec![(azure.get("secretNamespace").non_empty_or(bound), azure.get("secretName").text())];
        for (source, reference) in SECRETS_OF_VOLUMES.iter().chain(&SECRETS_OF_PERSISTENT_VOLUMES) {
            let secret = spec.get(source).get(reference);
            let namespace = if ALWAYS_IN_NAMED_NAMESPACE.contains(source) {
                secret.get("namespace").text()
            } else {
                secret.get("namespace").non_empty_or(bound)
            };
            secrets.push((namespace, secret.get("name").text()));
        }
        secrets.retain(|(_, name)| !name.is_empty());
        secrets
    }
}

#[derive(Default)]
struct References<'a>(Vec<(Kind, Cow<'a, str>)>);

impl<'a> References<'a> {
    fn add(&mut self, kind: Kind, name: View<'a>) {
        if !name.text().is_empty() {
            self.0.push((kind, Cow::Borrowed(name.text())));
        }
    }

    fn container(&mut self, container: View<'a>) {
        for env in container.get("envFrom").items() {
            self.add(Kind::Secret, env.get_path("secretRef.name"));
            self.add(Kind::ConfigMap, env.get_path("configMapRef.name"));
        }
        for env in container.get("env").items() {
            let from = env.get("valueFrom");
            self.add(Kind::Secret, from.get_path("secretKeyRef.name"));
            self.add(Kind::ConfigMap, from.get_path("configMapKeyRef.name"));
        }
    }

    fn volume(&mut self, pod: View<'a>, volume: View<'a>) {
        self.add(Kind::Secret, volume.get_path("secret.secretName"));
        self.add(Kind::Secret, volume.get_path("azureFile.secretName"));
        self.add(Kind::ConfigMap, volume.get_path("configMap.name"));
        for source in volume.get_path("projected.sources").items() {
            self.add(Kind::Secret, source.get_path("secret.name"));
            self.add(Kind::ConfigMap, source.get_path("configMap.name"));
        }
        for (source, reference) in SECRETS_OF_VOLUMES {
            self.add(Kind::Secret, volume.get(source).get(reference).get("name"));
        }
        self.add(Kind::Claim, volume.get_path("persistentVolumeClaim.claimName"));
        if volume.get("ephemeral").exists() {
            self.0.push((Kind::Claim, ephemeral_claim(pod, volume).into()));
        }
    }

    /// Adds existing resource claims: those that the pod names, and those that its status lists for claim
    /// templates.
    fn resource_claims(&mut self, pod: View<'a>) {
        let statuses = pod.get_path("status.resourceClaimStatuses");
        for claim in pod.get_path("spec.resourceClaims").items() {
            let by_name = claim.get("resourceClaimName");
            let template = claim.get("resourceClaimTemplateName");
            if by_name.exists() {
                self.add(Kind::ResourceClaim, by_name);
            } else if template.exists() {
                let name = claim.get("name").text();
                let status = statuses.items().find(|status| status.get("name").text() == name);
                if let Some(status) = status {
                    self.add(Kind::ResourceClaim, status.get("resourceClaimName"));
                }
            }
        }
        self.add(Kind::ResourceClaim, pod.get_path("status.extendedResourceClaimStatus.resourceClaimName"));
    }
}

fn member_at<'a>(message: MessageRef<'a>, path: &[&str]) -> Result<MemberRef<'a>, NotInPlace> {
    path.iter().try_fold(MemberRef::Message(message), |member, name| match member {
        MemberRef::Message(inner) => inner.get(name),
        _ => Ok(MemberRef::Absent),
    })
}

/// Returns the name of the claim for an ephemeral volume of a pod.
fn ephemeral_claim(pod: View<'_>, volume: View<'_>) -> String {
    format!("{}-{}", pod.get_path("metadata.name").text(), volume.get("name").text())
}

#[cfg(test)]
mod tests;
