//! Where admission takes part in a write: what has a say is not the registry's to know.

use api::options::DeleteOptions;
use apimachinery::field::ErrorList;
use async_trait::async_trait;
use futures::future::BoxFuture;
use schema::object::Object;

use super::Result;

/// Admission, as one request meets it, and what the client of the request should know. Objects have the
/// storage version's shape; `old` is `None` when the object is created. An operation may ask several times,
/// each time about a newer state.
#[async_trait]
pub trait Admit: Send + Sync {
    /// Edits an object before its kind's strategy sees it, or refuses it.
    async fn mutate(&self, new: &mut Object, old: Option<&Object>) -> Result<Edits>;

    /// What is wrong with an object that its kind's strategy has prepared, as far as it depends on who sent it. It is
    /// told together with what else is wrong. `None` for the many kinds where nothing does.
    fn validation_errors<'f>(
        &'f self,
        _new: &'f Object,
        _old: Option<&'f Object>,
    ) -> Option<BoxFuture<'f, ErrorList>> {
        None
    }

    /// The last word on an object before it is written: refuses it, or lets it pass.
    async fn validate(&self, new: &Object, old: Option<&Object>) -> Result<()>;

    /// The last word on the deletion of an object, which is `old` now.
    async fn delete(&self, old: &Object, options: &DeleteOptions) -> Result<()>;

    /// Takes what the client is to be warned of, whatever becomes of the request. A text may come again.
    fn warn(&self, text: String);
}

/// What became of an object besides what its members say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Edits {
    /// Whether its labels are those of its pod template ([`kinds::defaults::shares_labels`]); `None` if nothing was edited
    /// that could change that.
    pub shares_labels: Option<bool>,
}

/// For what the server does on its own behalf: everything passes as it is, and nobody is there to be warned.
pub struct AdmitAll;

#[async_trait]
impl Admit for AdmitAll {
    async fn mutate(&self, _: &mut Object, _: Option<&Object>) -> Result<Edits> {
        Ok(Edits::default())
    }

    async fn validate(&self, _: &Object, _: Option<&Object>) -> Result<()> {
        Ok(())
    }

    async fn delete(&self, _: &Object, _: &DeleteOptions) -> Result<()> {
        Ok(())
    }

    fn warn(&self, _: String) {}
}
