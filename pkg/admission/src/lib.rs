//! Admission: what may be written, asked after authorization and before storage. Plugins see objects
//! as trees; they never write to storage and know nothing of routes.

mod always_admit;
mod always_deny;
mod always_pull_images;
mod anti_affinity_topology;
mod certificate_approval;
mod certificate_signing;
mod certificate_subject;
mod default_class;
mod default_ingress_class;
mod default_storage_class;
mod default_toleration_seconds;
mod deny_external_ips;
mod extended_resource_toleration;
mod in_use_protection;
mod limit_ranger;
mod meta;
mod namespace_auto_provision;
mod namespace_exists;
mod namespace_lifecycle;
mod node_declared_features;
mod objects;
mod outside;
mod owner_references;
mod pod_node_selector;
mod pod_resize;
mod pod_security;
mod pod_toleration_restriction;
mod pod_topology_labels;
mod priority;
mod resource_list;
mod resource_quota;
mod runtime_class;
mod service_account;
mod signer;
mod taint_nodes;
#[cfg(test)]
mod testing;
mod toleration;
mod volume_resize;

use api::resources::Resource;
use apimachinery::gvk::GroupResource;
use apimachinery::status::Status;
use apimachinery::user_info::UserInfo;
use async_trait::async_trait;
use schema::object::Object;

pub use always_admit::AlwaysAdmit;
pub use always_deny::AlwaysDeny;
pub use always_pull_images::AlwaysPullImages;
pub use anti_affinity_topology::LimitPodHardAntiAffinityTopology;
pub use certificate_approval::CertificateApproval;
pub use certificate_signing::CertificateSigning;
pub use certificate_subject::CertificateSubjectRestriction;
pub use default_ingress_class::DefaultIngressClass;
pub use default_storage_class::DefaultStorageClass;
pub use default_toleration_seconds::DefaultTolerationSeconds;
pub use deny_external_ips::DenyServiceExternalIPs;
pub use extended_resource_toleration::ExtendedResourceToleration;
pub use in_use_protection::StorageObjectInUseProtection;
pub use limit_ranger::LimitRanger;
pub use namespace_auto_provision::NamespaceAutoProvision;
pub use namespace_exists::NamespaceExists;
pub use namespace_lifecycle::NamespaceLifecycle;
pub use node_declared_features::NodeDeclaredFeatureValidator;
pub use objects::{Objects, Writes};
pub use outside::Outside;
pub use owner_references::OwnerReferencesPermissionEnforcement;
pub use pod_node_selector::PodNodeSelector;
pub use pod_resize::PodResizeValidator;
pub use pod_security::PodSecurity;
pub use pod_toleration_restriction::PodTolerationRestriction;
pub use pod_topology_labels::PodTopologyLabels;
pub use priority::Priority;
pub use resource_quota::ResourceQuota;
pub use runtime_class::RuntimeClass;
pub use service_account::ServiceAccount;
pub use taint_nodes::TaintNodesByCondition;
pub use volume_resize::PersistentVolumeClaimResize;

/// What is about to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// A new object.
    Create,
    /// A changed object.
    Update,
    /// A deletion.
    Delete,
}

/// A write that asks for admission. Objects have the shape of their storage version.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a> {
    /// What is about to happen.
    pub operation: Operation,
    /// Who asks for it.
    pub user: &'a UserInfo,
    /// The row of the resource itself.
    pub resource: &'a Resource<'a>,
    /// Subresource, or empty.
    pub subresource: &'a str,
    /// Namespace, or empty.
    pub namespace: &'a str,
    /// Name. While a generated one is not known, plugins see what it will begin with.
    pub name: &'a str,
    /// The object as it is; `None` for creations.
    pub old: Option<&'a Object>,
    /// Nothing will be written.
    pub dry_run: bool,
}

impl Attributes<'_> {
    /// Whether this is about a resource, or about that subresource of it.
    pub fn is(&self, group: &str, plural: &str, subresource: &str) -> bool {
        (self.resource.group, self.resource.plural, self.subresource) == (group, plural, subresource)
    }

    /// Whether this is about pods themselves, not a subresource of them.
    pub fn is_pod(&self) -> bool {
        self.is("", "pods", "")
    }

    /// Whether a new object is about to be written.
    pub fn creates(&self) -> bool {
        self.operation == Operation::Create
    }

    /// The same with a name to refuse under, where there is none yet: the prefix of the name to be generated,
    /// else upstream's `Unknown`.
    fn named<'n>(&self, name: &'n str) -> Attributes<'n>
    where
        Self: 'n,
    {
        Attributes { name, ..*self }
    }

    /// The resource as refusals name it.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(self.resource.group, self.resource.plural)
    }

    /// 403 of this write, for `cause`.
    pub fn forbidden(&self, cause: &str) -> Box<Status> {
        Status::forbidden(&self.group_resource(), self.name, cause).into()
    }
}

/// What a plugin decides: a refusal is the Status for the client.
pub type Verdict = Result<(), Box<Status>>;

/// What plugins say to a client whose write they let pass.
pub type Warnings = Vec<String>;

/// A plugin. Each does what its name says upstream, under the same name.
#[async_trait]
pub trait Plugin: Send + Sync + 'static {
    /// The name in `--enable-admission-plugins`.
    fn name(&self) -> &'static str;

    /// Whether the plugin has a say in a write at all; if not, it is not asked. Must be cheap: every write
    /// asks every plugin.
    fn handles(&self, attributes: &Attributes<'_>) -> bool;

    /// Edits a new or changed object, or refuses it. Not asked about deletions.
    ///
    /// # Errors
    /// The Status for the client.
    async fn mutate(
        &self,
        _attributes: &Attributes<'_>,
        _object: &mut Object,
        _warnings: &mut Warnings,
    ) -> Verdict {
        Ok(())
    }

    /// Refuses a write, or lets it pass. `object` is what will be written; `None` for deletions.
    ///
    /// # Errors
    /// The Status for the client.
    async fn validate(
        &self,
        _attributes: &Attributes<'_>,
        _object: Option<&Object>,
        _warnings: &mut Warnings,
    ) -> Verdict {
        Ok(())
    }
}

/// Plugins in order: all of them edit, and after the object is complete all of them judge. The first refusal
/// counts.
#[derive(Default)]
pub struct Chain {
    plugins: Vec<Box<dyn Plugin>>,
}

impl Chain {
    /// Asks `plugins` in this order.
    pub fn new(plugins: Vec<Box<dyn Plugin>>) -> Self {
        Chain { plugins }
    }

    /// Lets every plugin edit a new or changed object.
    ///
    /// # Errors
    /// The first refusal.
    pub async fn mutate(
        &self,
        attributes: &Attributes<'_>,
        object: &mut Object,
        warnings: &mut Warnings,
    ) -> Verdict {
        let name = name_of(attributes, Some(object)).to_owned();
        let attributes = &attributes.named(&name);
        for plugin in self.plugins.iter().filter(|plugin| plugin.handles(attributes)) {
            plugin.mutate(attributes, object, warnings).await?;
        }
        Ok(())
    }

    /// Asks every plugin whether this may be written.
    ///
    /// # Errors
    /// The first refusal.
    pub async fn validate(
        &self,
        attributes: &Attributes<'_>,
        object: Option<&Object>,
        warnings: &mut Warnings,
    ) -> Verdict {
        let name = name_of(attributes, object);
        let attributes = &attributes.named(name);
        for plugin in self.plugins.iter().filter(|plugin| plugin.handles(attributes)) {
            plugin.validate(attributes, object, warnings).await?;
        }
        Ok(())
    }
}

/// The name that refusals of a write bear (upstream's `extractResourceName`).
fn name_of<'o>(attributes: &Attributes<'o>, object: Option<&'o Object>) -> &'o str {
    if !attributes.name.is_empty() {
        return attributes.name;
    }
    let found = |member| object.map_or("", |object| meta::text(object, member));
    match (found("name"), found("generateName")) {
        ("", "") => "Unknown",
        ("", prefix) => prefix,
        (name, _) => name,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use futures::FutureExt;
    use serde_json::json;

    use super::*;

    fn check(metadata: serde_json::Value, expected: &str) {
        let attributes = Attributes {
            operation: Operation::Create,
            user: &UserInfo::default(),
            resource: api::resources::find("", "v1", "pods", "").unwrap(),
            subresource: "",
            namespace: "ns",
            name: "",
            old: None,
            dry_run: false,
        };
        let mut pod = testing::object(json!({"metadata": metadata}));
        let chain = Chain::new(vec![Box::new(AlwaysAdmit), Box::new(AlwaysDeny)]);
        let mut warnings = Warnings::new();
        let mutated = chain.mutate(&attributes, &mut pod, &mut warnings).now_or_never().unwrap();
        let judged = chain.validate(&attributes, Some(&pod), &mut warnings).now_or_never().unwrap();
        for refused in [mutated, judged] {
            let refusal =
                format!("pods \"{expected}\" is forbidden: admission control is denying all modifications");
            assert_eq!(refused.unwrap_err().message, refusal);
        }
    }

    #[test]
    fn a_refusal_names_what_is_known_of_the_name() {
        check(json!({"name": "a", "generateName": "b-"}), "a");
        check(json!({"generateName": "b-"}), "b-");
        check(json!({}), "Unknown");
    }
}
