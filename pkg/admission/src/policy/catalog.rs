//! All policies of a kind with their bindings, searchable by endpoint.

use std::collections::HashMap;
use std::sync::Arc;

use super::index::Index;
use super::model::{Binding, Policy};
use crate::Attributes;
use crate::dynamic::{Invocation, MatchCache, VersionConverter};

/// A policy with at least one binding.
struct Hook<E> {
    policy: Arc<Policy<E>>,
    bindings: Arc<[Arc<Binding>]>,
    /// Index of all bindings, if their criteria do not depend on the endpoint.
    all: Option<Arc<Index>>,
}

/// A policy whose rules match an endpoint.
pub(super) struct Candidate<E> {
    pub(super) policy: Arc<Policy<E>>,
    /// The version in which to present the request; `None` if that depends on the object's name.
    pub(super) invocation: Option<Invocation>,
    bindings: Arc<[Arc<Binding>]>,
    pub(super) index: Arc<Index>,
}

impl<E> Candidate<E> {
    /// Returns the binding at a position of the index.
    pub(super) fn binding(&self, place: usize) -> Option<&Binding> {
        self.bindings.get(place).map(|binding| &**binding)
    }
}

type Candidates<E> = Arc<[Candidate<E>]>;

/// All policies with bindings, ordered by name. A cache of rule matches makes a non-matching request cost one
/// look-up, for any number of policies.
pub struct Policies<E> {
    hooks: Vec<Hook<E>>,
    memo: MatchCache<Candidate<E>>,
}

impl<E> Default for Policies<E> {
    fn default() -> Self {
        Policies { hooks: Vec::new(), memo: MatchCache::default() }
    }
}

impl<E> Policies<E> {
    /// Combines policies with their bindings, in this order. Drops bindings without a policy.
    pub fn new(
        policies: impl IntoIterator<Item = Arc<Policy<E>>>,
        bindings: impl IntoIterator<Item = Arc<Binding>>,
    ) -> Self {
        let mut by_policy: HashMap<Box<str>, Vec<Arc<Binding>>> = HashMap::new();
        for binding in bindings {
            by_policy.entry(binding.policy.clone()).or_default().push(binding);
        }
        let hook = |policy: Arc<Policy<E>>| {
            let bindings: Arc<[Arc<Binding>]> = by_policy.remove(&policy.name)?.into();
            let endpoints_matter = |binding: &Arc<Binding>| {
                binding.criteria.as_ref().is_some_and(|criteria| criteria.has_any_rules())
            };
            let all = !bindings.iter().any(endpoints_matter);
            let all = all.then(|| Arc::new(Index::new(&bindings, 0..bindings.len())));
            Some(Hook { policy, bindings, all })
        };
        Policies { hooks: policies.into_iter().filter_map(hook).collect(), memo: MatchCache::default() }
    }

    /// Concatenates two sets. Each policy keeps its own bindings.
    pub fn concat(&self, others: &Self) -> Self {
        let hooks = self.hooks.iter().chain(&others.hooks).cloned();
        Policies { hooks: hooks.collect(), memo: MatchCache::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    /// Returns the policies whose rules match an operation at an endpoint, each with its matching bindings.
    pub(super) fn candidates(&self, a: &Attributes<'_>, versions: &dyn VersionConverter) -> Candidates<E> {
        if self.hooks.is_empty() {
            return Arc::from([]);
        }
        let bindings = |candidate: &Candidate<E>| candidate.index.len();
        self.memo.candidates(a, versions, bindings, || self.select(a, versions))
    }

    fn select(&self, a: &Attributes<'_>, versions: &dyn VersionConverter) -> Vec<Candidate<E>> {
        let fits = |hook: &Hook<E>| {
            let criteria = &hook.policy.criteria;
            let select = || criteria.select_or_all(a.operation, a.endpoint, a.name, versions);
            let invocation = if criteria.has_names() { None } else { Some(select()?) };
            let index = match &hook.all {
                Some(all) => Arc::clone(all),
                None => Arc::new(Index::new(&hook.bindings, hook.matching_bindings(a, versions))),
            };
            let policy = Arc::clone(&hook.policy);
            let bindings = Arc::clone(&hook.bindings);
            (index.len() > 0).then_some(Candidate { policy, invocation, bindings, index })
        };
        self.hooks.iter().filter_map(fits).collect()
    }
}

impl<E> Clone for Hook<E> {
    fn clone(&self) -> Self {
        let policy = Arc::clone(&self.policy);
        let bindings = Arc::clone(&self.bindings);
        Hook { policy, bindings, all: self.all.clone() }
    }
}

impl<E> Hook<E> {
    /// Returns the positions of bindings whose rules match, regardless of object names.
    fn matching_bindings(
        &self,
        a: &Attributes<'_>,
        versions: &dyn VersionConverter,
    ) -> impl Iterator<Item = usize> {
        let fits = move |binding: &Binding| match &binding.criteria {
            Some(criteria) if !criteria.has_names() => {
                criteria.select_or_all(a.operation, a.endpoint, a.name, versions).is_some()
            }
            _ => true,
        };
        self.bindings.iter().enumerate().filter(move |(_, binding)| fits(binding)).map(|(place, _)| place)
    }
}
