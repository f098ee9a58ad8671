//! Lookup of a version's endpoints by name.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

use jsontree::is_equal;

use super::Endpoint;

/// Resources and subresources by plural name and subresource. Every request looks one up several times.
#[derive(Debug, Clone, Default)]
pub struct Endpoints {
    sorted: Vec<Arc<Endpoint>>,
    /// Index of the first endpoint of each plural name.
    first_by_plural: HashMap<Box<str>, usize>,
}

impl Endpoints {
    /// Finds a resource (`subresource` empty) or subresource.
    pub fn find(&self, plural: &str, subresource: &str) -> Option<&Arc<Endpoint>> {
        let matches = self.sorted.get(*self.first_by_plural.get(plural)?..)?;
        let matches = matches.iter().take_while(|endpoint| endpoint.row.row().plural == plural);
        matches.into_iter().find(|endpoint| is_equal(endpoint.row.row().subresource, subresource))
    }
}

impl FromIterator<Arc<Endpoint>> for Endpoints {
    fn from_iter<I: IntoIterator<Item = Arc<Endpoint>>>(endpoints: I) -> Self {
        let mut sorted: Vec<_> = endpoints.into_iter().collect();
        sorted.sort_by(|a, b| a.key().cmp(&b.key()));
        let mut first_by_plural = HashMap::new();
        for (at, endpoint) in sorted.iter().enumerate() {
            first_by_plural.entry(endpoint.row.row().plural.into()).or_insert(at);
        }
        Endpoints { sorted, first_by_plural }
    }
}

impl Deref for Endpoints {
    type Target = [Arc<Endpoint>];

    fn deref(&self) -> &Self::Target {
        &self.sorted
    }
}
