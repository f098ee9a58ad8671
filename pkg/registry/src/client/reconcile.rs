//! How the server keeps objects of its own: it looks at what is there, asks what should be there, and writes
//! only a difference.

use apimachinery::status::Reason;
use schema::object::Object;

use storage::Revision;

use super::{Client, Read};
use crate::generic::UpdateOutcome;
use crate::{Result, meta};

/// What an object should be, given what it is: `None` when that is fine. May be asked several times, each
/// time about a newer state.
pub type DesiredState<'w> = dyn Fn(Option<&Object>) -> Option<Object> + Send + Sync + 'w;

/// An object after it was amended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Amended {
    /// Whether it was written.
    pub written: bool,
    /// Its revision now.
    pub revision: Revision,
}

impl From<Reconciled> for Amended {
    fn from(kept: Reconciled) -> Self {
        let revision = kept.object.as_ref().map_or("", |object| meta::text(object, "resourceVersion"));
        Amended { written: kept.written, revision: revision.parse().unwrap_or_default() }
    }
}

/// An object after it was looked at.
pub struct Reconciled {
    /// As it is now; `None` when there is none, and none is wanted.
    pub object: Option<Object>,
    /// Whether it was written.
    pub written: bool,
}

impl Client {
    /// Makes an object what it should be. A look at the cache decides whether anything is to be done; what
    /// is done is made from what is really there.
    ///
    /// # Errors
    /// As [`Client::create`] and [`Client::update`].
    pub async fn reconcile(
        &self,
        namespace: &str,
        name: &str,
        wanted: &DesiredState<'_>,
    ) -> Result<Reconciled> {
        let current = self.get(namespace, name, Read::Cached).await?;
        if wanted(current.as_ref()).is_none() {
            return Ok(Reconciled { object: current, written: false });
        }
        let kept = if current.is_some() {
            self.update_existing(namespace, name, wanted).await
        } else {
            self.create_missing(namespace, name, wanted).await
        };
        // Another server was faster, or the cache lags behind a creation or a deletion, also one of this server.
        match kept {
            Err(status) if status.reason == Reason::AlreadyExists => {
                self.update_existing(namespace, name, wanted).await
            }
            Err(status) if status.reason == Reason::NotFound => {
                self.create_missing(namespace, name, wanted).await
            }
            kept => kept,
        }
    }

    /// Makes an object that is there what it should be, as [`keep`](Self::keep) does, for who knows already that
    /// there is something to be done, and has seen the object: nothing is looked at before, nor decoded afterwards.
    ///
    /// # Errors
    /// As [`Client::update`]: there is none.
    pub async fn amend(&self, namespace: &str, name: &str, wanted: &DesiredState<'_>) -> Result<Amended> {
        let (outcome, written) = self.amended(namespace, name, wanted).await?;
        Ok(Amended { written, revision: outcome.stored.revision })
    }

    /// Makes an object that is not there.
    async fn create_missing(
        &self,
        namespace: &str,
        name: &str,
        wanted: &DesiredState<'_>,
    ) -> Result<Reconciled> {
        let Some(mut object) = wanted(None) else {
            return Ok(Reconciled { object: None, written: false });
        };
        meta::set_text(&mut object, "name", name);
        if !namespace.is_empty() {
            meta::set_text(&mut object, "namespace", namespace);
        }
        let object = self.create(object).await?;
        Ok(Reconciled { object: Some(object), written: true })
    }

    /// Changes an object that is there.
    async fn update_existing(
        &self,
        namespace: &str,
        name: &str,
        wanted: &DesiredState<'_>,
    ) -> Result<Reconciled> {
        let (outcome, written) = self.amended(namespace, name, wanted).await?;
        let object = self.decoded(outcome.stored.as_ref())?;
        Ok(Reconciled { object: Some(object), written })
    }

    /// Changes an object that is there, and says whether it was written.
    async fn amended(
        &self,
        namespace: &str,
        name: &str,
        wanted: &DesiredState<'_>,
    ) -> Result<(UpdateOutcome, bool)> {
        let mut written = false;
        let mut change = |old: &Object| {
            let new = wanted(Some(old));
            written = new.is_some();
            if let Some(mut new) = new {
                self.complete(Some(old), &mut new);
                return Ok(new);
            }
            Ok(old.clone())
        };
        let outcome = self.write(namespace, name, &mut change).await?;
        Ok((outcome, written))
    }
}
