//! Template from which a server is forked.

use std::sync::Arc;

use ::api::catalog::Catalog;
use apiextensions::{Kinds, Known};
use cacher::{Delegator, Seed};
use endpoints::cpu_pool::CpuPool;
use endpoints::routing::served::Served;
use storage::mvcc::Image;

/// State that a fork inherits.
#[derive(Clone)]
pub(crate) struct Inherited {
    pub(crate) template: Arc<Template>,
    pub(crate) heavy: CpuPool,
}

/// State of a parent at one revision.
pub(crate) struct Template {
    pub(crate) image: Image,
    /// The watch cache states at that revision; `None` if the parent advanced before they could be taken.
    pub(crate) seed: Option<Arc<Seed>>,
    /// Catalog of built-in kinds.
    pub(crate) builtin: Catalog,
    /// The served CRDs at about that revision.
    pub(crate) kinds: Known,
}

/// State that forks of a server start from, apart from stored objects.
#[derive(Clone)]
pub(crate) struct Forkable {
    /// Readers with the watch cache.
    pub(crate) delegator: Delegator,
    /// Custom kinds.
    pub(crate) kinds: Kinds,
    /// Catalog of built-in kinds.
    pub(crate) builtin: Catalog,
}

impl Forkable {
    /// Creates the state of a server that does not run yet. Only built-in kinds are served then.
    pub(crate) fn new(delegator: Delegator, kinds: Kinds, served: &Served) -> Self {
        Forkable { delegator, kinds, builtin: Catalog::clone(&served.now().catalog) }
    }
}
