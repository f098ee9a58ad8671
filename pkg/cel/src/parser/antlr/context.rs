//! Stacks of calls in predictions: where the automaton goes on when a rule ends. Stacks that share their lower
//! parts share memory, and one value can stand for several stacks that were merged.

use std::collections::HashMap;

use super::automaton::Id;

/// A set of stacks, by its place among the [`Contexts`]; equal sets are equal values.
pub(super) type Context = u32;

/// The empty stack: nothing is known about who called, or nobody did.
pub(super) const EMPTY: Context = 0;

/// Stands for the empty stack in a set that has other stacks too; it sorts behind all states.
const NOWHERE: Id = Id::MAX;

/// All sets of stacks.
#[derive(Debug)]
pub(super) struct Contexts {
    /// Tops of stacks in ascending order, with what is below each.
    sets: Vec<Vec<(Id, Context)>>,
    index: HashMap<Vec<(Id, Context)>, Context>,
}

impl Contexts {
    pub(super) fn new() -> Contexts {
        Contexts { sets: vec![Vec::new()], index: HashMap::new() }
    }

    /// One more call on top.
    pub(super) fn push(&mut self, below: Context, return_to: Id) -> Context {
        self.intern(vec![(return_to, below)])
    }

    /// The tops of the stacks; none for an empty one.
    pub(super) fn tops(&self, context: Context) -> impl Iterator<Item = Option<(Id, Context)>> {
        let set = &self.sets[context as usize];
        set.iter().map(|(top, below)| (*top != NOWHERE).then_some((*top, *below)))
    }

    /// Whether one of the stacks is empty.
    pub(super) fn has_empty(&self, context: Context) -> bool {
        context == EMPTY || self.sets[context as usize].last().is_some_and(|(top, _)| *top == NOWHERE)
    }

    /// The stacks of both. If `any_caller`, an empty stack means that anybody may have called, and covers all
    /// others.
    pub(super) fn merge(&mut self, a: Context, b: Context, any_caller: bool) -> Context {
        if a == b {
            return a;
        }
        if any_caller && (a == EMPTY || b == EMPTY) {
            return EMPTY;
        }
        let mut merged = self.entries(a);
        for (top, below) in self.entries(b) {
            match merged.binary_search_by_key(&top, |(top, _)| *top) {
                Ok(at) => merged[at].1 = self.merge(merged[at].1, below, any_caller),
                Err(at) => merged.insert(at, (top, below)),
            }
        }
        self.intern(merged)
    }

    fn entries(&self, context: Context) -> Vec<(Id, Context)> {
        if context == EMPTY { vec![(NOWHERE, EMPTY)] } else { self.sets[context as usize].clone() }
    }

    fn intern(&mut self, set: Vec<(Id, Context)>) -> Context {
        if let Some(known) = self.index.get(&set) {
            return *known;
        }
        let context = self.sets.len() as Context;
        self.sets.push(set.clone());
        self.index.insert(set, context);
        context
    }
}
