//! What rules say of endpoints, remembered: a request that concerns nobody costs one look-up, however many webhooks or
//! policies there are.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

use super::Versions;
use crate::Attributes;

/// Endpoints and operations that are remembered. There are some 1,500 of built-in resources.
const REMEMBERED_MAX: usize = 8192;
/// What all that is remembered may weigh together.
const WEIGHT_MAX: usize = 1 << 20;

/// Who may be concerned by operations at endpoints, the names of objects aside.
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
    /// Those whom an operation at an endpoint may concern: as remembered, or as `select` finds them now. `weight` is
    /// what one of them weighs.
    pub(crate) fn candidates(
        &self,
        a: &Attributes<'_>,
        versions: &dyn Versions,
        weight: impl Fn(&T) -> usize,
        select: impl FnOnce() -> Vec<T>,
    ) -> Arc<[T]> {
        let endpoint = a.endpoint;
        let mut key = String::with_capacity(96);
        // Writing to a string does not fail.
        _ = write!(key, "{}/{}", endpoint.group_version, endpoint.plural);
        _ = write!(key, "/{}/{}", endpoint.subresource, a.operation.name());
        let generation = versions.generation();
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let full = known.candidates.len() >= REMEMBERED_MAX || known.weight >= WEIGHT_MAX;
        if known.generation != generation || full {
            *known = CacheState::of(generation);
        }
        if let Some(candidates) = known.candidates.get(&key) {
            return Arc::clone(candidates);
        }
        let found: Arc<[T]> = select().into();
        known.weight = known.weight.saturating_add(found.iter().map(weight).sum());
        known.candidates.insert(key, Arc::clone(&found));
        found
    }
}
