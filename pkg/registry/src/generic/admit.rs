//! Interface for admission of a write. The registry is independent of the admission plugins.

use api::options::DeleteOptions;
use apimachinery::field::ErrorList;
use async_trait::async_trait;
use futures::future::BoxFuture;
use schema::object::Object;

use super::Result;

/// Admission for one request, with warnings for its client. Objects are in the storage version; `old` is
/// `None` for a create. A method may be called several times, each time with a newer state.
#[async_trait]
pub trait Admit: Send + Sync {
    /// Mutates an object before its kind's strategy, or rejects it.
    async fn mutate(&self, new: &mut Object, old: Option<&Object>) -> Result<AdmissionEffects>;

    /// Validates the parts of a prepared object that depend on the user. The errors are returned with those
    /// of the validation. `None` for the many kinds without such rules.
    fn validation_errors<'f>(
        &'f self,
        _new: &'f Object,
        _old: Option<&'f Object>,
    ) -> Option<BoxFuture<'f, ErrorList>> {
        None
    }

    /// Final validation of an object before it is written.
    async fn validate(&self, new: &Object, old: Option<&Object>) -> Result<()>;

    /// Final validation of a deletion; `old` is the current object.
    async fn delete(&self, old: &Object, options: &DeleteOptions) -> Result<()>;

    /// Adds a warning for the client, which is sent whatever the result of the request. A text may repeat.
    fn warn(&self, text: String);
}

/// Effects of admission besides the changes of fields.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AdmissionEffects {
    /// True if its labels are those of its pod template ([`kinds::defaults::shares_labels`]); `None` if nothing was edited
    /// that could change that.
    pub shares_labels: Option<bool>,
}

/// Admits everything and discards warnings, for writes of the server itself.
pub struct AdmitAll;

#[async_trait]
impl Admit for AdmitAll {
    async fn mutate(&self, _: &mut Object, _: Option<&Object>) -> Result<AdmissionEffects> {
        Ok(AdmissionEffects::default())
    }

    async fn validate(&self, _: &Object, _: Option<&Object>) -> Result<()> {
        Ok(())
    }

    async fn delete(&self, _: &Object, _: &DeleteOptions) -> Result<()> {
        Ok(())
    }

    fn warn(&self, _: String) {}
}
