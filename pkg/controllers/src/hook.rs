//! Start hooks, and the conditions that they wait for.

use crate::error::Error;
use std::future::Future;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};

/// A start hook, listed in health as `poststarthook/NAME`.
pub struct PostStartHook {
    /// Upstream's name.
    pub name: &'static str,
    /// The work. An error terminates the process.
    pub work: BoxFuture<'static, Result<(), Error>>,
}

/// Future of a one-time event at start. Completed futures stay completed.
pub type StartEvent = Shared<BoxFuture<'static, ()>>;

/// Creates the shared future of `done`.
pub fn start_event(done: impl Future<Output = ()> + Send + 'static) -> StartEvent {
    done.boxed().shared()
}

/// Returns a hook whose work another task performs.
pub fn hook(name: &'static str, done: StartEvent) -> PostStartHook {
    PostStartHook { name, work: done.map(Ok).boxed() }
}
