//! Size estimates of requests, computed without waiting. Work estimates are based on them, before a request
//! is admitted.

use api::resources::Resource;
use apimachinery::selectors::FieldRequirements;
use cacher::Extent;

use super::{Registry, StoredResource, Target};

impl Registry {
    /// Returns the number and size of the objects that a list or the initial state of a watch visits: those
    /// of a namespace, or all for an empty one. An index by one of `fields` reduces them. `None` if unknown.
    pub fn extent(&self, row: &Resource<'_>, namespace: &str, fields: &FieldRequirements) -> Option<Extent> {
        let stored = self.stored(row.storage.as_ref()?).ok()?;
        let namespace = match (row.namespaced, namespace) {
            (false, _) => "",
            (true, "") => fields.exact_match("metadata.namespace").unwrap_or_default(),
            (true, namespace) => namespace,
        };
        stored.resource.extent(namespace, term(&stored, row, fields))
    }

    /// Returns the number of watches that get an event for a write of an object, which may have no name yet.
    /// Watches that select by an indexed field are not counted.
    pub fn watches_of(&self, target: &Target<'_>) -> usize {
        let stored = target.resource.storage.as_ref().and_then(|storage| self.stored(storage).ok());
        let namespace = if target.resource.namespaced { target.namespace } else { "" };
        stored.map_or(0, |stored| stored.resource.watches_of(namespace, target.name))
    }
}

/// Required value of the resource's indexed field.
fn term<'f>(stored: &StoredResource, row: &Resource<'_>, fields: &'f FieldRequirements) -> Option<&'f str> {
    let index = stored.resource.config().index?;
    let is_indexed = |path: &str| stored.fields.position(path) == Some(index);
    let (label, _) = row.field_selectors.iter().find(|(_, path)| is_indexed(path))?;
    fields.exact_match(label)
}
