//! Where admission takes part in a write: what has a say is not the registry's to know.

use async_trait::async_trait;
use schema::object::Object;

use super::Result;

/// Admission, as one write meets it. Objects have the storage version's shape; `old` is `None` when the
/// object is created. An update may ask several times, each time about a newer state.
#[async_trait]
pub trait Admit: Send + Sync {
    /// Edits an object before its kind's strategy sees it, or refuses it. Adds to `warnings` what the client
    /// should know.
    async fn mutate(&self, new: &mut Object, old: Option<&Object>, warnings: &mut Vec<String>) -> Result<()>;

    /// The last word on an object before it is written: refuses it, or lets it pass.
    async fn validate(&self, new: &Object, old: Option<&Object>, warnings: &mut Vec<String>) -> Result<()>;
}

/// For what the server writes on its own behalf: everything passes as it is.
pub struct AdmitAll;

#[async_trait]
impl Admit for AdmitAll {
    async fn mutate(&self, _: &mut Object, _: Option<&Object>, _: &mut Vec<String>) -> Result<()> {
        Ok(())
    }

    async fn validate(&self, _: &Object, _: Option<&Object>, _: &mut Vec<String>) -> Result<()> {
        Ok(())
    }
}
