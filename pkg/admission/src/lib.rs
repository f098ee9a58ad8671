//! Admission: what may be written, asked after authorization and before storage. Plugins see objects
//! as trees; they never write to storage and know nothing of routes.

mod namespace_lifecycle;
mod objects;

use api::resources::Resource;
use apimachinery::gvk::GroupResource;
use apimachinery::status::Status;
use apimachinery::user_info::UserInfo;
use async_trait::async_trait;
use schema::object::Object;

pub use namespace_lifecycle::NamespaceLifecycle;
pub use objects::Objects;

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
    pub resource: &'static Resource,
    /// Subresource, or empty.
    pub subresource: &'a str,
    /// Namespace, or empty.
    pub namespace: &'a str,
    /// Name; empty while a generated one is not known.
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

    /// The resource as refusals name it.
    pub fn group_resource(&self) -> GroupResource {
        GroupResource::new(self.resource.group, self.resource.plural)
    }

    /// 403 of this write, for `cause`.
    pub fn forbidden(&self, cause: &str) -> Box<Status> {
        Status::forbidden(&self.group_resource(), self.name, cause).into()
    }
}

/// What plugins say to a client whose write they let pass.
pub type Warnings = Vec<String>;

/// A plugin. Each does what its name says upstream, under the same name.
#[async_trait]
pub trait Plugin: Send + Sync + 'static {
    /// The name in `--enable-admission-plugins`.
    fn name(&self) -> &'static str;

    /// Edits a new or changed object, or refuses it. Not asked about deletions.
    ///
    /// # Errors
    /// The Status for the client.
    async fn mutate(
        &self,
        _attributes: &Attributes<'_>,
        _object: &mut Object,
        _warnings: &mut Warnings,
    ) -> Result<(), Box<Status>> {
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
    ) -> Result<(), Box<Status>> {
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
    ) -> Result<(), Box<Status>> {
        for plugin in &self.plugins {
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
    ) -> Result<(), Box<Status>> {
        for plugin in &self.plugins {
            plugin.validate(attributes, object, warnings).await?;
        }
        Ok(())
    }
}
