//! Parts of a task, each of which is polled only if it was woken itself.
//!
//! The task of a connection is several things at once: what its client is told, timers, the end of the server, and output that
//! waits for its turn. Whatever wakes the task, all of them would be polled, most for nothing, and some ask for locks that all
//! connections share.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Release};
use std::task::{Context, Poll, Wake, Waker};

use futures::task::AtomicWaker;

/// Wakes a task for one of its parts, and knows that it did.
pub(crate) struct WakeFlag {
    woken: AtomicBool,
    task: AtomicWaker,
}

impl WakeFlag {
    /// Those of a part that is to be polled first, if `woken`.
    pub(crate) fn new(woken: bool) -> Arc<Self> {
        Arc::new(WakeFlag { woken: AtomicBool::new(woken), task: AtomicWaker::new() })
    }

    /// From now on the task of `cx` is woken.
    pub(crate) fn register(&self, cx: &Context<'_>) {
        self.task.register(cx.waker());
    }

    /// Whether the part was woken since this was asked last.
    pub(crate) fn take(&self) -> bool {
        self.woken.swap(false, AcqRel)
    }
}

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Release);
        self.task.wake();
    }
}

/// A future that does nothing when it is polled, but for the first time, unless its own waker was called since.
pub(crate) struct WakeGated<F> {
    future: F,
    wakes: Arc<WakeFlag>,
    /// Calls `wakes`.
    waker: Waker,
}

impl<F> WakeGated<F> {
    /// A part that has not been polled yet.
    pub(crate) fn new(future: F) -> Self {
        let wakes = WakeFlag::new(true);
        WakeGated { future, waker: Waker::from(Arc::clone(&wakes)), wakes }
    }
}

impl<F: Future + Unpin> Future for WakeGated<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        // Before the look at whether it was woken: who wakes it afterwards finds the task.
        this.wakes.register(cx);
        if !this.wakes.take() {
            return Poll::Pending;
        }
        Pin::new(&mut this.future).poll(&mut Context::from_waker(&this.waker))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use futures::FutureExt;
    use futures::future::poll_fn;
    use tokio::sync::oneshot;

    use super::*;

    #[derive(Default)]
    struct Task(AtomicUsize);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, SeqCst);
        }
    }

    #[test]
    fn a_part_is_polled_when_it_was_woken_and_then_alone() {
        let (task, polls) = (Arc::new(Task::default()), AtomicUsize::new(0));
        let waker = Waker::from(Arc::clone(&task));
        let mut cx = Context::from_waker(&waker);
        let (mut left, mut right) = (oneshot::channel(), oneshot::channel());
        let mut parts = [&mut left.1, &mut right.1].map(|answer| {
            let polls = &polls;
            WakeGated::new(poll_fn(move |cx| {
                polls.fetch_add(1, SeqCst);
                answer.poll_unpin(cx)
            }))
        });
        let mut poll = || parts.each_mut().map(|part| part.poll_unpin(&mut cx));
        assert_eq!(
            (poll(), polls.load(SeqCst)),
            ([Poll::Pending, Poll::Pending], 2),
            "the first time all are"
        );
        assert_eq!((poll(), polls.load(SeqCst)), ([Poll::Pending, Poll::Pending], 2));
        right.0.send(7).ok();
        assert_eq!(task.0.load(SeqCst), 1);
        assert_eq!((poll(), polls.load(SeqCst)), ([Poll::Pending, Poll::Ready(Ok(7))], 3));
        left.0.send(8).ok();
        assert_eq!(poll()[0], Poll::Ready(Ok(8)));
    }
}
