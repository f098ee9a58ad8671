//! All webhooks of a kind, and which of them an endpoint concerns.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use super::hook::Hook;
use crate::Attributes;
use crate::dynamic::{Invocation, Versions};

/// Endpoints and operations that are remembered. There are some 1,500 of built-in resources.
const REMEMBERED_MAX: usize = 8192;

/// A hook whose rules an endpoint fits.
#[derive(Clone)]
pub(super) struct Candidate {
    /// Its place among all hooks.
    pub(super) index: usize,
    /// What to tell of; `None` if that takes the name of the object.
    pub(super) invocation: Option<Invocation>,
}

#[derive(Default)]
struct Memo {
    generation: u64,
    candidates: HashMap<String, Arc<[Candidate]>>,
}

/// The webhooks of all configurations in order of the configurations' names, with a memory of what their rules say of
/// an endpoint: a request that concerns none of them costs one look-up, however many there are.
#[derive(Default)]
pub struct Hooks {
    hooks: Vec<Arc<Hook>>,
    memo: Mutex<Memo>,
}

impl Hooks {
    /// These, in this order.
    pub fn new(hooks: Vec<Arc<Hook>>) -> Self {
        Hooks { hooks, memo: Mutex::default() }
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
        let endpoint = a.endpoint;
        let mut key = String::with_capacity(96);
        // Writing to a string does not fail.
        _ = write!(key, "{}/{}", endpoint.group_version, endpoint.plural);
        _ = write!(key, "/{}/{}", endpoint.subresource, a.operation.name());
        let generation = versions.generation();
        let mut memo = self.memo.lock().unwrap_or_else(PoisonError::into_inner);
        if memo.generation != generation || memo.candidates.len() >= REMEMBERED_MAX {
            *memo = Memo { generation, candidates: HashMap::new() };
        }
        if let Some(known) = memo.candidates.get(&key) {
            return Arc::clone(known);
        }
        let found: Arc<[Candidate]> = self.select(a, versions).into();
        memo.candidates.insert(key, Arc::clone(&found));
        found
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
