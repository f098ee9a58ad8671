//! How the server keeps objects of its own: it looks at what is there, asks what should be there, and writes
//! only a difference.

use schema::object::Object;

use super::{Client, Read};
use crate::{Result, meta};

/// What an object should be, given what it is: `None` when that is fine. May be asked several times, each
/// time about a newer state.
pub type Wanted<'w> = dyn Fn(Option<&Object>) -> Option<Object> + Send + Sync + 'w;

/// An object after it was looked at.
pub struct Kept {
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
    pub async fn keep(&self, namespace: &str, name: &str, wanted: &Wanted<'_>) -> Result<Kept> {
        let current = self.get(namespace, name, Read::Cached).await?;
        let Some(mut object) = wanted(current.as_ref()) else {
            return Ok(Kept { object: current, written: false });
        };
        if current.is_none() {
            meta::set_text(&mut object, "name", name);
            if !namespace.is_empty() {
                meta::set_text(&mut object, "namespace", namespace);
            }
            match self.create(object).await {
                Ok(object) => return Ok(Kept { object: Some(object), written: true }),
                // Another server was faster, or the cache lags.
                Err(status) if status.reason == "AlreadyExists" => {}
                Err(status) => return Err(status),
            }
        }
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
        let object = self.decoded(outcome.stored.as_ref())?;
        Ok(Kept { object: Some(object), written })
    }
}
