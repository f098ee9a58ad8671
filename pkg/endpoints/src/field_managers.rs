//! The field managers of all endpoints, made once at start.

use std::collections::HashMap;

use api::managed_fields::FieldManager;
use api::resources::{self, Resource};

/// The field manager of every endpoint that changes objects.
pub struct FieldManagers(HashMap<Key<'static>, FieldManager>);

/// Group version, resource and subresource.
type Key<'r> = (&'r str, &'r str, &'r str);

fn key<'r>(row: &Resource<'r>) -> Key<'r> {
    (row.group_version, row.plural, row.subresource)
}

impl FieldManagers {
    /// Makes them for a server that serves the rows that `served` names.
    pub fn new(served: impl Fn(&Resource) -> bool) -> Self {
        let endpoints = resources::all().filter(|row| served(row));
        let made = endpoints.filter_map(|row| Some((key(row), FieldManager::new(row, &served)?)));
        FieldManagers(made.collect())
    }

    /// The one of an endpoint; `None` where bodies have no metadata.
    pub fn of<'s>(&'s self, row: &Resource<'s>) -> Option<&'s FieldManager> {
        self.0.get(&key(row))
    }
}
