//! What objects refer to by name and a node has to read because of it (upstream's `pkg/api/v1/pod`,
//! `pkg/api/v1/persistentvolume` and component-helpers' `storage/ephemeral`).
//!
//! The object is a tree or the stored bytes, in which only what is asked for is read.

use std::borrow::Cow;

use schema::object::Object;
use schema::proto::inplace::MessageRef;
use schema::table::Message;

use crate::table::view::{Doubt, View};

/// The annotation of a pod that a node runs from a file and shows to the cluster.
pub const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";

/// What a pod refers to, in its own namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A ConfigMap.
    ConfigMap,
    /// A Secret.
    Secret,
    /// A PersistentVolumeClaim.
    Claim,
    /// A ResourceClaim.
    ResourceClaim,
    /// A ServiceAccount.
    ServiceAccount,
}

/// Sources of volumes with a reference to a secret in this member, and how a persistent volume names the namespace
/// of that secret.
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
/// What only persistent volumes have. The secrets of the controller are not for nodes.
const SECRETS_OF_PERSISTENT_VOLUMES: [(&str, &str); 2] =
    [("csi", "nodeStageSecretRef"), ("csi", "nodeExpandSecretRef")];
/// Sources whose secret is in the namespace that it names, even if that is empty.
const ALWAYS_IN_NAMED_NAMESPACE: [&str; 3] = ["cinder", "storageos", "csi"];

/// An object that refers to others.
#[derive(Debug)]
pub struct Referrer<'a> {
    form: Form<'a>,
    doubt: Doubt,
}

#[derive(Debug)]
enum Form<'a> {
    Tree(&'a Object),
    Message(MessageRef<'a>),
}

impl<'a> Referrer<'a> {
    /// A tree of v1.
    pub fn tree(object: &'a Object) -> Self {
        Referrer { form: Form::Tree(object), doubt: Doubt::default() }
    }

    /// The canonical bytes of a message of v1.
    pub fn message(message: &'static Message, raw: &'a [u8]) -> Self {
        Referrer { form: Form::Message(MessageRef::new(message, raw)), doubt: Doubt::default() }
    }

    /// Whether all that was asked until now could be read. If not, what was read as absent may be there, and a tree
    /// knows more.
    pub fn is_certain(&self) -> bool {
        !self.doubt.exists()
    }

    fn view(&self) -> View<'_> {
        match self.form {
            Form::Tree(object) => View::of(object),
            Form::Message(message) => View::of_message(message, &self.doubt),
        }
    }

    /// `spec.nodeName`; empty if there is none.
    pub fn node_name(&self) -> &str {
        self.view().at("spec.nodeName").text()
    }

    /// Whether a pod is a node's copy of one that it runs from a file.
    pub fn is_mirror(&self) -> bool {
        // Its name has dots, which paths take for steps.
        let annotations = self.view().at("metadata.annotations");
        annotations.entries().any(|(name, _)| name == MIRROR_ANNOTATION)
    }

    /// What a pod refers to, in no order. The same thing may come several times; names are not empty.
    pub fn of_pod(&self) -> Vec<(Kind, Cow<'_, str>)> {
        let pod = self.view();
        let (spec, mut found) = (pod.get("spec"), Found::default());
        found.add(Kind::ServiceAccount, spec.get("serviceAccountName"));
        for secret in spec.get("imagePullSecrets").items() {
            found.add(Kind::Secret, secret.get("name"));
        }
        for list in ["initContainers", "containers", "ephemeralContainers"] {
            spec.get(list).items().for_each(|container| found.container(container));
        }
        for volume in spec.get("volumes").items() {
            found.volume(pod, volume);
        }
        found.resource_claims(pod);
        found.0
    }

    /// The claim that a persistent volume is bound to, as namespace and name.
    pub fn claim(&self) -> Option<(&str, &str)> {
        let claim = self.view().at("spec.claimRef");
        claim.exists().then(|| (claim.get("namespace").text(), claim.get("name").text()))
    }

    /// The secrets that nodes need for a persistent volume, as namespaces and names.
    pub fn secrets_of_persistent_volume(&self) -> Vec<(&str, &str)> {
        let spec = self.view().get("spec");
        let bound = spec.at("claimRef.namespace").text();
        let azure = spec.get("azureFile");
        let mut secrets =
            vec![(azure.get("secretNamespace").filled_or(bound), azure.get("secretName").text())];
        for (source, reference) in SECRETS_OF_VOLUMES.iter().chain(&SECRETS_OF_PERSISTENT_VOLUMES) {
            let secret = spec.get(source).get(reference);
            let namespace = if ALWAYS_IN_NAMED_NAMESPACE.contains(source) {
                secret.get("namespace").text()
            } else {
                secret.get("namespace").filled_or(bound)
            };
            secrets.push((namespace, secret.get("name").text()));
        }
        secrets.retain(|(_, name)| !name.is_empty());
        secrets
    }
}

/// References found so far.
#[derive(Default)]
struct Found<'a>(Vec<(Kind, Cow<'a, str>)>);

impl<'a> Found<'a> {
    fn add(&mut self, kind: Kind, name: View<'a>) {
        if !name.text().is_empty() {
            self.0.push((kind, Cow::Borrowed(name.text())));
        }
    }

    fn container(&mut self, container: View<'a>) {
        for env in container.get("envFrom").items() {
            self.add(Kind::Secret, env.at("secretRef.name"));
            self.add(Kind::ConfigMap, env.at("configMapRef.name"));
        }
        for env in container.get("env").items() {
            let from = env.get("valueFrom");
            self.add(Kind::Secret, from.at("secretKeyRef.name"));
            self.add(Kind::ConfigMap, from.at("configMapKeyRef.name"));
        }
    }

    fn volume(&mut self, pod: View<'a>, volume: View<'a>) {
        self.add(Kind::Secret, volume.at("secret.secretName"));
        self.add(Kind::Secret, volume.at("azureFile.secretName"));
        self.add(Kind::ConfigMap, volume.at("configMap.name"));
        for source in volume.at("projected.sources").items() {
            self.add(Kind::Secret, source.at("secret.name"));
            self.add(Kind::ConfigMap, source.at("configMap.name"));
        }
        for (source, reference) in SECRETS_OF_VOLUMES {
            self.add(Kind::Secret, volume.get(source).get(reference).get("name"));
        }
        self.add(Kind::Claim, volume.at("persistentVolumeClaim.claimName"));
        if volume.get("ephemeral").exists() {
            self.0.push((Kind::Claim, ephemeral_claim(pod, volume).into()));
        }
    }

    /// The claims of devices that exist: named by the pod, or made of a template and named in its status.
    fn resource_claims(&mut self, pod: View<'a>) {
        let made = pod.at("status.resourceClaimStatuses");
        for claim in pod.at("spec.resourceClaims").items() {
            let (by_name, template) =
                (claim.get("resourceClaimName"), claim.get("resourceClaimTemplateName"));
            if by_name.exists() {
                self.add(Kind::ResourceClaim, by_name);
            } else if template.exists() {
                let name = claim.get("name").text();
                let status = made.items().find(|status| status.get("name").text() == name);
                if let Some(status) = status {
                    self.add(Kind::ResourceClaim, status.get("resourceClaimName"));
                }
            }
        }
        self.add(Kind::ResourceClaim, pod.at("status.extendedResourceClaimStatus.resourceClaimName"));
    }
}

/// The name of the claim that is made for an ephemeral volume of a pod.
fn ephemeral_claim(pod: View<'_>, volume: View<'_>) -> String {
    format!("{}-{}", pod.at("metadata.name").text(), volume.get("name").text())
}

#[cfg(test)]
mod tests;
