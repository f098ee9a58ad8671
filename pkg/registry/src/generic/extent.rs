//! How much requests are about, as far as that is known without waiting: what they cost is estimated by it
//! before they are admitted.

use api::resources::Resource;
use apimachinery::selectors::FieldRequirements;
use cacher::Extent;

use super::{Registry, StoredResource, Target};

impl Registry {
    /// How much a list or the beginning of a watch has to look at: the objects of a namespace, or of all with an empty
    /// one, as far as an index by one of `fields` does not leave them out. `None` if nobody knows.
    pub fn extent(&self, row: &Resource<'_>, namespace: &str, fields: &FieldRequirements) -> Option<Extent> {
        let stored = self.stored(row.storage.as_ref()?).ok()?;
        let namespace = match (row.namespaced, namespace) {
            (false, _) => "",
            (true, "") => fields.exact_match("metadata.namespace").unwrap_or_default(),
            (true, namespace) => namespace,
        };
        stored.resource.extent(namespace, term(&stored, row, fields))
    }

    /// How many watches are told of a change of an object; it may not have a name yet. Those that select by an indexed
    /// field are not counted.
    pub fn watches_of(&self, target: &Target<'_>) -> usize {
        let stored = target.resource.storage.as_ref().and_then(|storage| self.stored(storage).ok());
        let namespace = if target.resource.namespaced { target.namespace } else { "" };
        stored.map_or(0, |stored| stored.resource.watches_of(namespace, target.name))
    }
}

/// The value that the indexed field of a resource has to have.
fn term<'f>(stored: &StoredResource, row: &Resource<'_>, fields: &'f FieldRequirements) -> Option<&'f str> {
    let index = stored.resource.config().index?;
    let is_indexed = |path: &str| stored.fields.position(path) == Some(index);
    let (label, _) = row.field_selectors.iter().find(|(_, path)| is_indexed(path))?;
    fields.exact_match(label)
}
