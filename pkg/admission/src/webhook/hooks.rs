//! All webhooks of a kind, and which of them an endpoint concerns.

use std::sync::Arc;

use super::hook::Hook;
use crate::Attributes;
use crate::dynamic::{Invocation, MatchCache, Versions};

/// A hook whose rules an endpoint fits.
#[derive(Clone)]
pub(super) struct Candidate {
    /// Its place among all hooks.
    pub(super) index: usize,
    /// What to tell of; `None` if that takes the name of the object.
    pub(super) invocation: Option<Invocation>,
}

/// The webhooks of all configurations in order of the configurations' names, with a memory of what their rules say of
/// an endpoint: a request that concerns none of them costs one look-up, however many there are.
#[derive(Default)]
pub struct Hooks {
    hooks: Vec<Arc<Hook>>,
    memo: MatchCache<Candidate>,
}

impl Hooks {
    /// These, in this order.
    pub fn new(hooks: Vec<Arc<Hook>>) -> Self {
        Hooks { hooks, memo: MatchCache::default() }
    }

    /// All of these, and then all of the others.
    pub fn followed_by(&self, others: &Self) -> Self {
        Hooks::new(self.hooks.iter().chain(&others.hooks).cloned().collect())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    pub(super) fn get(&self, index: usize) -> Option<&Arc<Hook>> {
        self.hooks.get(index)
    }

    /// The hooks whose rules fit an operation at an endpoint.
    pub(super) fn candidates(&self, a: &Attributes<'_>, versions: &dyn Versions) -> Arc<[Candidate]> {
        if self.hooks.is_empty() {
            return Arc::default();
        }
        self.memo.candidates(a, versions, |_| 1, || self.select(a, versions))
    }

    fn select(&self, a: &Attributes<'_>, versions: &dyn Versions) -> Vec<Candidate> {
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
