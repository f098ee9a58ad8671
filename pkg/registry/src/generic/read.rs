//! GET.

use apimachinery::status::Status;
use cacher::Freshness;

use super::{Registry, Result, Target, error};
use crate::Stored;

impl Registry {
    /// Reads one object. `resource_version` as the client wrote it: empty for the latest, `0` for
    /// any, `N` for at least N.
    ///
    /// # Errors
    /// 404; 500 for a malformed version (upstream does not map that error); 504 for one that is not
    /// reached yet.
    pub async fn get(&self, target: &Target<'_>, resource_version: &str) -> Result<Stored> {
        let storage = self.storage_of(target, "get")?;
        let freshness = match resource_version {
            "" => Freshness::Consistent,
            version => Freshness::NotOlderThan(
                super::revision(version).map_err(|e| Status::unmapped(e.to_string()))?,
            ),
        };
        let key = self.key(storage, target)?;
        let lookup = self
            .delegator
            .get(&key, freshness)
            .await
            .map_err(|e| error::read(&target.group_resource(), "get", e))?;
        match lookup.kv {
            Some(kv) => Ok(Stored { key: kv.key, value: kv.value, revision: kv.mod_revision }),
            None => Err(Status::not_found(&target.group_resource(), target.name).into()),
        }
    }
}
