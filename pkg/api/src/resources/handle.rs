//! Resource rows that outlive a request. Built-in rows are static. Rows of custom resources are created and
//! removed at runtime. Their memory is freed after the last request, list or watch that uses them.

use std::fmt;
use std::sync::Arc;

use schema::custom::CUSTOM_RESOURCE;
use self_cell::self_cell;

use super::custom::{Custom, CustomKind};
use super::{Encoding, Resource, StorageSpec};

/// Owned reference to a resource row. Cloning it allocates nothing.
#[derive(Clone)]
pub enum Handle {
    Builtin(&'static Resource<'static>),
    Custom(Arc<CustomRow>),
}

impl Handle {
    /// Creates a row of a custom resource. `complete` receives a row with all texts and the common properties
    /// of custom resources. It adds the rest: verbs, scope, storage.
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
            let lists = texts.borrow_dependent();
            let texts = texts.borrow_owner();
            complete(row(texts, lists), texts)
        }))))
    }

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

/// Texts of a custom resource's row.
#[derive(Debug, Clone, Default)]
pub struct CustomTexts {
    pub group: String,
    pub version: String,
    /// `group/version`.
    pub group_version: String,
    pub plural: String,
    /// `status` or `scale`; empty for the resource itself.
    pub subresource: String,
    pub kind: String,
    /// `apiVersion` of `kind`.
    pub kind_group_version: String,
    /// Singular name; empty for subresources.
    pub singular: String,
    pub short_names: Vec<String>,
    /// Categories such as `all`.
    pub categories: Vec<String>,
    /// Opaque name of the storage version.
    pub storage_version_hash: String,
    /// `apiVersion` of the form that objects have between a request and the store.
    pub storage_version: String,
    /// Path of the keys below the storage prefix, `group/plural`.
    pub prefix: String,
    /// Field selector labels, each with the path that it selects on.
    pub field_selectors: Vec<(String, String)>,
    /// Position of the version in its CRD.
    pub number: u16,
    pub definition: Option<Arc<CustomKind>>,
}

impl CustomTexts {
    /// Storage of the objects: JSON in the storage version, below the prefix.
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

    fn custom(&self) -> Option<Custom<'_>> {
        let kind = self.definition.as_deref()?;
        Some(Custom { kind, version: kind.versions.get(usize::from(self.number))? })
    }
}

/// Lists of text slices that a row borrows.
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

/// Row with the texts that it borrows.
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
    fn custom_row_is_freed_with_its_last_user() {
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
        let retained = handle.clone();
        drop(handle);
        let Resource { plural, namespaced, short_names, .. } = retained.row();
        assert_eq!((*plural, *namespaced, *short_names), ("widgets", false, &["wd"][..]));
        drop(retained);
        assert!(alive.upgrade().is_none());
    }
}
