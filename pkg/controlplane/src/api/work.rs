//! Work of an API beside its requests.

use controllers::hook::PostStartHook;
use futures::FutureExt;
use futures::future::{BoxFuture, join_all};

/// Start hooks, background tasks and work at shutdown. Every part of an API adds its own.
#[derive(Default)]
pub(super) struct Work {
    pub(super) hooks: Vec<PostStartHook>,
    pub(super) background: Vec<BoxFuture<'static, ()>>,
    before_stop: Vec<BoxFuture<'static, ()>>,
}

impl Work {
    /// Adds a background task. It runs as long as requests are served.
    pub(super) fn run(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.background.push(task.boxed());
    }

    /// Adds work at shutdown, while the server still serves.
    pub(super) fn run_before_stop(&mut self, task: BoxFuture<'static, ()>) {
        self.before_stop.push(task);
    }

    /// Takes the work at shutdown. All of it runs at the same time.
    pub(super) fn take_before_stop(&mut self) -> BoxFuture<'static, ()> {
        join_all(std::mem::take(&mut self.before_stop)).map(drop).boxed()
    }
}
