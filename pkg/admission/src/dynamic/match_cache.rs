//! Cache of rule matches by endpoint. A request that matches nothing costs one look-up, for any number of
//! webhooks and policies.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use super::VersionConverter;
use crate::Attributes;

/// Maximum number of endpoint and operation pairs in the cache. Built-in resources have about 1,500.
const ENTRIES_MAX: usize = 8192;
/// Maximum total weight of the cache.
const WEIGHT_MAX: usize = 1 << 20;

/// Webhooks or policies that may match, by endpoint and operation, regardless of object names.
pub(crate) struct MatchCache<T>(Mutex<CacheState<T>>);

struct CacheState<T> {
    generation: u64,
    weight: usize,
    candidates: HashMap<String, Arc<[T]>>,
}

impl<T> CacheState<T> {
    fn of(generation: u64) -> Self {
        CacheState { generation, weight: 0, candidates: HashMap::new() }
    }
}

impl<T> Default for MatchCache<T> {
    fn default() -> Self {
        MatchCache(Mutex::new(CacheState::of(0)))
    }
}

impl<T> MatchCache<T> {
    /// Returns the candidates for an operation at an endpoint, from the cache or from `select`. `weight` is
    /// the weight of one candidate.
    pub(crate) fn candidates(
        &self,
        a: &Attributes<'_>,
        versions: &dyn VersionConverter,
        weight: impl Fn(&T) -> usize,
        select: impl FnOnce() -> Vec<T>,
    ) -> Arc<[T]> {
        let endpoint = a.endpoint;
        let mut key = String::with_capacity(96);
        // Writing to a string cannot fail.
        _ = write!(key, "{}/{}", endpoint.group_version, endpoint.plural);
        _ = write!(key, "/{}/{}", endpoint.subresource, a.operation.name());
        let generation = versions.generation();
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let full = state.candidates.len() >= ENTRIES_MAX || state.weight >= WEIGHT_MAX;
        if state.generation != generation || full {
            *state = CacheState::of(generation);
        }
        if let Some(candidates) = state.candidates.get(&key) {
            return Arc::clone(candidates);
        }
        let selected: Arc<[T]> = select().into();
        state.weight = state.weight.saturating_add(selected.iter().map(weight).sum());
        state.candidates.insert(key, Arc::clone(&selected));
        selected
    }
}
