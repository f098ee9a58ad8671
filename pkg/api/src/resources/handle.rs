//! Rows that outlive a request. Built-in ones are static; those of custom resources come and go while the
//! server runs, and their memory goes with the last request, list or watch that still uses them.

use std::fmt;
use std::sync::Arc;

use schema::custom::CUSTOM_RESOURCE;
use self_cell::self_cell;

use super::custom::{Custom, CustomKind};
use super::{Encoding, Resource, StorageSpec};

/// A row that can be kept. Cloning it allocates nothing.
#[derive(Clone)]
pub enum Handle {
    /// A row of the tables.
    Builtin(&'static Resource<'static>),
    /// A row that was made from a definition.
    Custom(Arc<CustomRow>),
}

impl Handle {
    /// Makes a row of its own. `complete` gets one that holds all the texts and what custom resources have in
    /// common, and says the rest: verbs, scope, storage.
    pub fn custom(
        texts: CustomTexts,
        complete: impl for<'a> FnOnce(Resource<'a>, &'a CustomTexts) -> Resource<'a>,
    ) -> Self {
        let texts = Texts::new(texts, |texts| Lists {
            short_names: texts.short_names.iter().map(String::as_str).collect(),
            categories: texts.categories.iter().map(String::as_str).collect(),
            field_selectors: texts.field_selectors.iter().map(|(l, p)| (l.as_str(), p.as_str())).collect(),
        });
        Handle::Custom(Arc::new(CustomRow(Cell::new(texts, |texts| {
            let (texts, lists) = (texts.borrow_owner(), texts.borrow_dependent());
            complete(row(texts, lists), texts)
        }))))
    }

    /// The row.
    pub fn row(&self) -> &Resource<'_> {
        match self {
            Handle::Builtin(row) => row,
            Handle::Custom(row) => row.0.borrow_dependent(),
        }
    }
}

impl From<&'static Resource<'static>> for Handle {
    fn from(row: &'static Resource<'static>) -> Self {
        Handle::Builtin(row)
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = self.row();
        write!(f, "{}/{}", row.group_version, row.path())
    }
}

/// The texts that a custom row consists of.
#[derive(Debug, Clone, Default)]
pub struct CustomTexts {
    /// API group.
    pub group: String,
    /// Served version.
    pub version: String,
    /// `group/version`.
    pub group_version: String,
    /// Plural name.
    pub plural: String,
    /// `status` or `scale`; empty for the resource itself.
    pub subresource: String,
    /// Kind of the body.
    pub kind: String,
    /// `apiVersion` of `kind`.
    pub kind_group_version: String,
    /// Singular name; empty for subresources.
    pub singular: String,
    /// Abbreviations.
    pub short_names: Vec<String>,
    /// Groups of resources such as `all`.
    pub categories: Vec<String>,
    /// Opaque name of the storage version.
    pub storage_version_hash: String,
    /// `apiVersion` of the form that objects have between a request and the store.
    pub storage_version: String,
    /// Path of the keys below the storage prefix, `group/plural`.
    pub prefix: String,
    /// Field selector labels, each with the path that it selects on.
    pub field_selectors: Vec<(String, String)>,
    /// The position of the version in its definition.
    pub number: u16,
    /// The definition.
    pub definition: Option<Arc<CustomKind>>,
}

impl CustomTexts {
    /// How objects are kept: as JSON, in the storage version, below the prefix.
    pub fn storage(&self) -> StorageSpec<'_> {
        StorageSpec {
            group_version: &self.storage_version,
            kind: &self.kind,
            message: &CUSTOM_RESOURCE,
            prefix: &self.prefix,
            encoding: Encoding::Json,
            custom: self.definition.as_deref(),
        }
    }

    /// What the definition says.
    fn custom(&self) -> Option<Custom<'_>> {
        let kind = self.definition.as_deref()?;
        Some(Custom { kind, version: kind.versions.get(usize::from(self.number))? })
    }
}

/// What slices of a row borrow.
struct Lists<'a> {
    short_names: Vec<&'a str>,
    categories: Vec<&'a str>,
    field_selectors: Vec<(&'a str, &'a str)>,
}

self_cell!(
    struct Texts {
        owner: CustomTexts,
        #[covariant]
        dependent: Lists,
    }
);

self_cell!(
    struct Cell {
        owner: Texts,
        #[covariant]
        dependent: Resource,
    }
);

/// A row together with the texts that it borrows.
pub struct CustomRow(Cell);

fn row<'a>(texts: &'a CustomTexts, lists: &'a Lists<'a>) -> Resource<'a> {
    Resource {
        group: &texts.group,
        version: &texts.version,
        group_version: &texts.group_version,
        plural: &texts.plural,
        subresource: &texts.subresource,
        kind: &texts.kind,
        kind_group_version: &texts.kind_group_version,
        singular: &texts.singular,
        short_names: &lists.short_names,
        categories: &lists.categories,
        storage_version_hash: &texts.storage_version_hash,
        field_selectors: &lists.field_selectors,
        message: &CUSTOM_RESOURCE,
        custom: texts.custom(),
        custom_version: texts.number,
        ..super::RESOURCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_custom_row_reads_as_a_built_in_one_and_its_memory_goes_with_its_last_user() {
        let texts = CustomTexts {
            group: "example.com".to_owned(),
            group_version: "example.com/v1".to_owned(),
            plural: "widgets".to_owned(),
            short_names: vec!["wd".to_owned()],
            ..CustomTexts::default()
        };
        let handle = Handle::custom(texts, |row, _| Resource { namespaced: false, ..row });
        let Handle::Custom(row) = &handle else { panic!("a row of the tables") };
        let alive = Arc::downgrade(row);
        let kept = handle.clone();
        drop(handle);
        let Resource { plural, namespaced, short_names, .. } = kept.row();
        assert_eq!((*plural, *namespaced, *short_names), ("widgets", false, &["wd"][..]));
        drop(kept);
        assert!(alive.upgrade().is_none());
    }
}
