//! Admission: what may be written, asked after authorization and before storage. Plugins see objects
//! as trees; they never write to storage and know nothing of routes.

mod namespace_lifecycle;

use apimachinery::status::Status;
use async_trait::async_trait;
use schema::object::Object;

pub use namespace_lifecycle::{NamespaceLifecycle, NamespaceState, Namespaces};

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

/// A write that asks for admission.
#[derive(Debug, Clone, Copy)]
pub struct Attributes<'a> {
    /// What is about to happen.
    pub operation: Operation,
    /// API group of the resource.
    pub group: &'a str,
    /// Plural resource.
    pub resource: &'a str,
    /// Kind of the object.
    pub kind: &'a str,
    /// Subresource, or empty.
    pub subresource: &'a str,
    /// Namespace, or empty.
    pub namespace: &'a str,
    /// Name; empty while a generated one is not known.
    pub name: &'a str,
    /// The new object; `None` for deletions.
    pub object: Option<&'a Object>,
    /// The object as it is; `None` for creations.
    pub old: Option<&'a Object>,
    /// Nothing will be written.
    pub dry_run: bool,
}

/// A check on writes.
#[async_trait]
pub trait Plugin: Send + Sync + 'static {
    /// Refuses a write, or lets it pass.
    ///
    /// # Errors
    /// The Status for the client.
    async fn validate(&self, attributes: Attributes<'_>) -> Result<(), Box<Status>>;
}

/// Plugins in order; the first refusal counts.
#[derive(Default)]
pub struct Chain {
    plugins: Vec<Box<dyn Plugin>>,
}

impl Chain {
    /// Asks `plugins` in this order.
    pub fn new(plugins: Vec<Box<dyn Plugin>>) -> Self {
        Chain { plugins }
    }

    /// Asks every plugin.
    ///
    /// # Errors
    /// The first refusal.
    pub async fn validate(&self, attributes: Attributes<'_>) -> Result<(), Box<Status>> {
        for plugin in &self.plugins {
            plugin.validate(attributes).await?;
        }
        Ok(())
    }
}
