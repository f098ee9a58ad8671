//! Template from which a server is forked.

use std::sync::Arc;

use ::api::catalog::Catalog;
use apiextensions::{DefinitionsHandle, DefinitionsSnapshot};
use cacher::{Delegator, Seed};
use endpoints::cpu_pool::CpuPool;
use endpoints::routing::served::ServedApi;
use storage::mvcc::Image;

/// State that a fork inherits.
#[derive(Clone)]
pub(crate) struct InheritedState {
    pub(crate) template: Arc<Template>,
    pub(crate) cpu_pool: CpuPool,
}

/// State of a parent at one revision.
pub(crate) struct Template {
    pub(crate) image: Image,
    /// The watch cache states at that revision; `None` if the parent advanced before they could be taken.
    pub(crate) seed: Option<Arc<Seed>>,
    /// Catalog of built-in kinds.
    pub(crate) builtin: Catalog,
    /// The served CRDs at about that revision.
    pub(crate) kinds: DefinitionsSnapshot,
}

/// State that forks of a server start from, apart from stored objects.
#[derive(Clone)]
pub(crate) struct ForkState {
    /// Readers with the watch cache.
    pub(crate) delegator: Delegator,
    /// Custom kinds.
    pub(crate) kinds: DefinitionsHandle,
    /// Catalog of built-in kinds.
    pub(crate) builtin: Catalog,
}

impl ForkState {
    /// Creates the state of a server that does not run yet. Only built-in kinds are served then.
    pub(crate) fn new(delegator: Delegator, kinds: DefinitionsHandle, served: &ServedApi) -> Self {
        ForkState { delegator, kinds, builtin: Catalog::clone(&served.now().catalog) }
    }
}
