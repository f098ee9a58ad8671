//! What forks of a server are made of.

use std::sync::Arc;

use ::api::catalog::Catalog;
use apiextensions::{Kinds, Known};
use cacher::{Delegator, Seed};
use endpoints::cpu_pool::CpuPool;
use endpoints::routing::served::Served;
use storage::mvcc::Image;

/// What a server begins with that is a fork.
#[derive(Clone)]
pub(crate) struct Inherited {
    pub(crate) template: Arc<Template>,
    pub(crate) heavy: CpuPool,
}

/// What a parent held at one revision.
pub(crate) struct Template {
    pub(crate) image: Image,
    /// The states of the watch caches there; `None` if the parent went on before they could be had.
    pub(crate) seed: Option<Arc<Seed>>,
    /// What is built in and served.
    pub(crate) builtin: Catalog,
    /// What was served by definitions, about then.
    pub(crate) kinds: Known,
}

/// What forks of a server begin with, beside what is stored.
#[derive(Clone)]
pub(crate) struct Forkable {
    /// What reads are answered from.
    pub(crate) delegator: Delegator,
    /// What is served by definitions.
    pub(crate) kinds: Kinds,
    /// What is built in and served.
    pub(crate) builtin: Catalog,
}

impl Forkable {
    /// Of a server that does not run yet, so that nothing is `served` but what is built in.
    pub(crate) fn new(delegator: Delegator, kinds: Kinds, served: &Served) -> Self {
        Forkable { delegator, kinds, builtin: Catalog::clone(&served.now().catalog) }
    }
}
