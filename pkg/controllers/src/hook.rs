//! Start hooks, and the conditions that they wait for.

use std::future::Future;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};

/// Work to be done at start, listed in health as `poststarthook/NAME`.
pub struct PostStartHook {
    /// Upstream's name of what it does.
    pub name: &'static str,
    /// Does it. An error ends the process.
    pub work: BoxFuture<'static, Result<(), String>>,
}

/// Something that comes true once while a server starts, and stays so.
pub type Awaited = Shared<BoxFuture<'static, ()>>;

/// What comes true when `done` is.
pub fn awaited(done: impl Future<Output = ()> + Send + 'static) -> Awaited {
    done.boxed().shared()
}

/// A hook whose work somebody else does.
pub fn hook(name: &'static str, done: Awaited) -> PostStartHook {
    PostStartHook { name, work: done.map(Ok).boxed() }
}
