//! Prediction contexts: call stacks with the states to continue at when rules end. Stacks share common lower
//! parts, and one value can represent several merged stacks.

use std::collections::HashMap;

use super::automaton::Id;

/// Index of a set of stacks in [`Contexts`]; equal sets have equal indices.
pub(super) type Context = u32;

/// The empty stack: the caller is unknown, or there is none.
pub(super) const EMPTY: Context = 0;

/// Represents the empty stack in a set with other stacks; it sorts after all states.
const EMPTY_RETURN_STATE: Id = Id::MAX;

/// Interner of stack sets.
#[derive(Debug)]
pub(super) struct Contexts {
    /// Per set: tops of stacks in ascending order, with the set below each top.
    sets: Vec<Vec<(Id, Context)>>,
    index: HashMap<Vec<(Id, Context)>, Context>,
}

impl Contexts {
    pub(super) fn new() -> Contexts {
        Contexts { sets: vec![Vec::new()], index: HashMap::new() }
    }

    /// Pushes a call.
    pub(super) fn push(&mut self, below: Context, return_to: Id) -> Context {
        self.intern(vec![(return_to, below)])
    }

    /// The tops of the stacks; `None` for an empty stack.
    pub(super) fn tops(&self, context: Context) -> impl Iterator<Item = Option<(Id, Context)>> {
        let set = &self.sets[context as usize];
        set.iter().map(|(top, below)| (*top != EMPTY_RETURN_STATE).then_some((*top, *below)))
    }

    /// Returns true if one of the stacks is empty.
    pub(super) fn has_empty(&self, context: Context) -> bool {
        context == EMPTY
            || self.sets[context as usize].last().is_some_and(|(top, _)| *top == EMPTY_RETURN_STATE)
    }

    /// Merges two sets. With `any_caller`, an empty stack matches any caller and covers all others.
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
        if context == EMPTY { vec![(EMPTY_RETURN_STATE, EMPTY)] } else { self.sets[context as usize].clone() }
    }

    fn intern(&mut self, set: Vec<(Id, Context)>) -> Context {
        if let Some(existing) = self.index.get(&set) {
            return *existing;
        }
        let context = self.sets.len() as Context;
        self.sets.push(set.clone());
        self.index.insert(set, context);
        context
    }
}
