//! All policies of a kind with their bindings, and which of them an endpoint concerns.

use std::collections::HashMap;
use std::sync::Arc;

use super::index::Index;
use super::model::{Binding, Policy};
use crate::Attributes;
use crate::dynamic::{Invocation, MatchCache, Versions};

/// A policy that some binding refers to.
struct Hook<E> {
    policy: Arc<Policy<E>>,
    bindings: Arc<[Arc<Binding>]>,
    /// All bindings, if what they take has nothing to do with endpoints.
    all: Option<Arc<Index>>,
}

/// A policy whose rules an endpoint fits.
pub(super) struct Candidate<E> {
    pub(super) policy: Arc<Policy<E>>,
    /// What it is told of; `None` if that takes the name of the object.
    pub(super) invocation: Option<Invocation>,
    bindings: Arc<[Arc<Binding>]>,
    pub(super) index: Arc<Index>,
}

impl<E> Candidate<E> {
    /// The binding at a place of the index.
    pub(super) fn binding(&self, place: usize) -> Option<&Binding> {
        self.bindings.get(place).map(|binding| &**binding)
    }
}

type Candidates<E> = Arc<[Candidate<E>]>;

/// The policies that bindings refer to, in the order of their names, with a memory of what their rules say of an
/// endpoint: a request that concerns none of them costs one look-up, however many there are.
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
    /// These, in this order. A binding whose policy is not there counts for nothing.
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

    /// All of these, and then all of the others. Bindings stay with the policies that they were given with.
    pub fn followed_by(&self, others: &Self) -> Self {
        let hooks = self.hooks.iter().chain(&others.hooks).cloned();
        Policies { hooks: hooks.collect(), memo: MatchCache::default() }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    /// The policies whose rules fit an operation at an endpoint, each with the bindings whose rules do.
    pub(super) fn candidates(&self, a: &Attributes<'_>, versions: &dyn Versions) -> Candidates<E> {
        if self.hooks.is_empty() {
            return Arc::from([]);
        }
        let bindings = |candidate: &Candidate<E>| candidate.index.len();
        self.memo.candidates(a, versions, bindings, || self.select(a, versions))
    }

    fn select(&self, a: &Attributes<'_>, versions: &dyn Versions) -> Vec<Candidate<E>> {
        let fits = |hook: &Hook<E>| {
            let criteria = &hook.policy.criteria;
            let select = || criteria.select_or_all(a.operation, a.endpoint, a.name, versions);
            let invocation = if criteria.has_names() { None } else { Some(select()?) };
            let index = match &hook.all {
                Some(all) => Arc::clone(all),
                None => Arc::new(Index::new(&hook.bindings, hook.fitting(a, versions))),
            };
            let (policy, bindings) = (Arc::clone(&hook.policy), Arc::clone(&hook.bindings));
            (index.len() > 0).then_some(Candidate { policy, invocation, bindings, index })
        };
        self.hooks.iter().filter_map(fits).collect()
    }
}

impl<E> Clone for Hook<E> {
    fn clone(&self) -> Self {
        let (policy, bindings) = (Arc::clone(&self.policy), Arc::clone(&self.bindings));
        Hook { policy, bindings, all: self.all.clone() }
    }
}

impl<E> Hook<E> {
    /// The places of bindings whose rules fit, the names of objects aside.
    fn fitting(&self, a: &Attributes<'_>, versions: &dyn Versions) -> impl Iterator<Item = usize> {
        let fits = move |binding: &Binding| match &binding.criteria {
            Some(criteria) if !criteria.has_names() => {
                criteria.select_or_all(a.operation, a.endpoint, a.name, versions).is_some()
            }
            _ => true,
        };
        self.bindings.iter().enumerate().filter(move |(_, binding)| fits(binding)).map(|(place, _)| place)
    }
}
