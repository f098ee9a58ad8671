//! Reconciles objects that the server itself owns: reads the current state, computes the desired state, and
//! writes only a difference.

use apimachinery::status::Reason;
use schema::object::Object;

use storage::Revision;

use super::{Client, ReadFreshness};
use crate::generic::UpdateOutcome;
use crate::{Result, meta};

/// Computes the desired state from the current one; `None` if nothing must change. May be called several
/// times, each time with a newer state.
pub type DesiredState<'w> = dyn Fn(Option<&Object>) -> Option<Object> + Send + Sync + 'w;

/// Result of [`Client::reconcile_existing`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReconcileOutcome {
    /// True if the current state differed from the desired one.
    pub written: bool,
    /// Resource version of the object after the call; 0 if there is no object.
    pub revision: Revision,
}

impl From<Reconciled> for ReconcileOutcome {
    fn from(reconciled: Reconciled) -> Self {
        let revision = reconciled.object.as_ref().map_or("", |object| meta::text(object, "resourceVersion"));
        ReconcileOutcome { written: reconciled.written, revision: revision.parse().unwrap_or_default() }
    }
}

/// Result of [`Client::reconcile`].
pub struct Reconciled {
    /// Current object; `None` if it neither exists nor is desired.
    pub object: Option<Object>,
    /// True if the object was created or updated.
    pub written: bool,
}

impl Client {
    /// Reconciles an object. A read of the cache decides if a write is needed; the write is computed from the
    /// state in the store.
    ///
    /// # Errors
    /// As [`Client::create`] and [`Client::update`].
    pub async fn reconcile(
        &self,
        namespace: &str,
        name: &str,
        desired: &DesiredState<'_>,
    ) -> Result<Reconciled> {
        let current = self.get(namespace, name, ReadFreshness::Cached).await?;
        if desired(current.as_ref()).is_none() {
            return Ok(Reconciled { object: current, written: false });
        }
        let result = if current.is_some() {
            self.update_existing(namespace, name, desired).await
        } else {
            self.create_missing(namespace, name, desired).await
        };
        // Another server was faster, or the cache lags behind a creation or deletion, possibly one of this
        // server.
        match result {
            Err(status) if status.reason == Reason::AlreadyExists => {
                self.update_existing(namespace, name, desired).await
            }
            Err(status) if status.reason == Reason::NotFound => {
                self.create_missing(namespace, name, desired).await
            }
            result => result,
        }
    }

    /// Reconciles an existing object like [`reconcile`](Self::reconcile), for a caller that has already found a
    /// difference. Reads nothing before the write and decodes nothing after it.
    ///
    /// # Errors
    /// As [`Client::update`]; the object does not exist.
    pub async fn reconcile_existing(
        &self,
        namespace: &str,
        name: &str,
        desired: &DesiredState<'_>,
    ) -> Result<ReconcileOutcome> {
        let (outcome, written) = self.update_existing_if_different(namespace, name, desired).await?;
        Ok(ReconcileOutcome { written, revision: outcome.stored.revision })
    }

    /// Creates a missing object.
    async fn create_missing(
        &self,
        namespace: &str,
        name: &str,
        desired: &DesiredState<'_>,
    ) -> Result<Reconciled> {
        let Some(mut object) = desired(None) else {
            return Ok(Reconciled { object: None, written: false });
        };
        meta::set_text(&mut object, "name", name);
        if !namespace.is_empty() {
            meta::set_text(&mut object, "namespace", namespace);
        }
        let object = self.create(object).await?;
        Ok(Reconciled { object: Some(object), written: true })
    }

    /// Updates an existing object.
    async fn update_existing(
        &self,
        namespace: &str,
        name: &str,
        desired: &DesiredState<'_>,
    ) -> Result<Reconciled> {
        let (outcome, written) = self.update_existing_if_different(namespace, name, desired).await?;
        let object = self.decoded(outcome.stored.as_ref())?;
        Ok(Reconciled { object: Some(object), written })
    }

    /// Updates an existing object. Returns true if it was written.
    async fn update_existing_if_different(
        &self,
        namespace: &str,
        name: &str,
        desired: &DesiredState<'_>,
    ) -> Result<(UpdateOutcome, bool)> {
        let mut written = false;
        let mut change = |old: &Object| {
            let new = desired(Some(old));
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
