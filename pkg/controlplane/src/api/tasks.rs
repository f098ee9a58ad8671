//! Post-start hooks, background tasks and shutdown tasks of an API.

use controllers::hook::PostStartHook;
use futures::FutureExt;
use futures::future::{BoxFuture, join_all};

/// Tasks of an API that serve no request. Each part of the API adds its own.
#[derive(Default)]
pub(super) struct ApiTasks {
    pub(super) hooks: Vec<PostStartHook>,
    pub(super) background: Vec<BoxFuture<'static, ()>>,
    before_stop: Vec<BoxFuture<'static, ()>>,
}

impl ApiTasks {
    /// Adds a background task. It runs as long as requests are served.
    pub(super) fn add_background(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.background.push(task.boxed());
    }

    /// Adds a shutdown task, which runs while the server still serves.
    pub(super) fn add_before_stop(&mut self, task: BoxFuture<'static, ()>) {
        self.before_stop.push(task);
    }

    /// Takes the shutdown tasks. All of them run at the same time.
    pub(super) fn take_before_stop(&mut self) -> BoxFuture<'static, ()> {
        join_all(std::mem::take(&mut self.before_stop)).map(drop).boxed()
    }
}
