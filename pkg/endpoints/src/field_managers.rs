//! The field managers of all endpoints, made once at start.

use std::collections::HashMap;

use api::managed_fields::FieldManager;
use api::resources::{self, Resource};

/// The field manager of every endpoint that changes objects.
pub struct FieldManagers(HashMap<Key, FieldManager>);

/// Group version, resource and subresource.
type Key = (&'static str, &'static str, &'static str);

fn key(row: &'static Resource) -> Key {
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
    pub fn of(&self, row: &'static Resource) -> Option<&FieldManager> {
        self.0.get(&key(row))
    }
}
