//! All webhooks of a kind, searchable by endpoint.

use std::sync::Arc;

use super::hook::Hook;
use crate::Attributes;
use crate::dynamic::{Invocation, MatchCache, VersionConverter};

/// A webhook whose rules match an endpoint.
#[derive(Clone)]
pub(super) struct Candidate {
    /// Position among all webhooks.
    pub(super) index: usize,
    /// The version in which to present the request; `None` if that depends on the object's name.
    pub(super) invocation: Option<Invocation>,
}

/// The webhooks of all configurations, ordered by configuration name. A cache of rule matches makes a
/// non-matching request cost one look-up, for any number of webhooks.
#[derive(Default)]
pub struct Hooks {
    hooks: Vec<Arc<Hook>>,
    memo: MatchCache<Candidate>,
}

impl Hooks {
    pub fn new(hooks: Vec<Arc<Hook>>) -> Self {
        Hooks { hooks, memo: MatchCache::default() }
    }

    /// Concatenates two sets.
    pub fn concat(&self, others: &Self) -> Self {
        Hooks::new(self.hooks.iter().chain(&others.hooks).cloned().collect())
    }

    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    pub(super) fn get(&self, index: usize) -> Option<&Arc<Hook>> {
        self.hooks.get(index)
    }

    /// Returns the webhooks whose rules match an operation at an endpoint.
    pub(super) fn candidates(&self, a: &Attributes<'_>, versions: &dyn VersionConverter) -> Arc<[Candidate]> {
        if self.hooks.is_empty() {
            return Arc::default();
        }
        self.memo.candidates(a, versions, |_| 1, || self.select(a, versions))
    }

    fn select(&self, a: &Attributes<'_>, versions: &dyn VersionConverter) -> Vec<Candidate> {
        let fits = |(index, hook): (usize, &Arc<Hook>)| {
            if hook.criteria.has_names() {
                return Some(Candidate { index, invocation: None });
            }
            let invocation = hook.criteria.select(a.operation, a.endpoint, a.name, versions)?;
            Some(Candidate { index, invocation: Some(invocation) })
        };
        self.hooks.iter().enumerate().filter_map(fits).collect()
    }
}
