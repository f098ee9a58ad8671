//! Parts of a task that are polled only after their own waker was called.
//!
//! The task of a connection consists of responses, timers, the server shutdown, and delayed output. Every
//! wake-up would poll all of them, mostly in vain, and some take locks that all connections share.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Release};
use std::task::{Context, Poll, Wake, Waker};

use futures::task::AtomicWaker;

/// Waker for one part of a task, with a flag.
pub(crate) struct WakeFlag {
    woken: AtomicBool,
    task: AtomicWaker,
}

impl WakeFlag {
    /// Creates a flag. If `woken`, the part is polled at the first opportunity.
    pub(crate) fn new(woken: bool) -> Arc<Self> {
        Arc::new(WakeFlag { woken: AtomicBool::new(woken), task: AtomicWaker::new() })
    }

    /// Wakes the task of `cx` from now on.
    pub(crate) fn register(&self, cx: &Context<'_>) {
        self.task.register(cx.waker());
    }

    /// Returns true if the part was woken since the last call.
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

/// Future that skips polls, except the first one, unless its own waker was called.
pub(crate) struct WakeGated<F> {
    future: F,
    flag: Arc<WakeFlag>,
    /// Wakes `flag`.
    waker: Waker,
}

impl<F> WakeGated<F> {
    pub(crate) fn new(future: F) -> Self {
        let flag = WakeFlag::new(true);
        WakeGated { future, waker: Waker::from(Arc::clone(&flag)), flag }
    }
}

impl<F: Future + Unpin> Future for WakeGated<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        // Registered before the flag is read, so that a later wake-up reaches the task.
        this.flag.register(cx);
        if !this.flag.take() {
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
    fn only_woken_parts_are_polled() {
        let task = Arc::new(Task::default());
        let polls = AtomicUsize::new(0);
        let waker = Waker::from(Arc::clone(&task));
        let mut cx = Context::from_waker(&waker);
        let mut first = oneshot::channel();
        let mut second = oneshot::channel();
        let mut gates = [&mut first.1, &mut second.1].map(|receiver| {
            let polls = &polls;
            WakeGated::new(poll_fn(move |cx| {
                polls.fetch_add(1, SeqCst);
                receiver.poll_unpin(cx)
            }))
        });
        let mut poll = || gates.each_mut().map(|gate| gate.poll_unpin(&mut cx));
        assert_eq!(
            (poll(), polls.load(SeqCst)),
            ([Poll::Pending, Poll::Pending], 2),
            "the first time all are"
        );
        assert_eq!((poll(), polls.load(SeqCst)), ([Poll::Pending, Poll::Pending], 2));
        second.0.send(7).ok();
        assert_eq!(task.0.load(SeqCst), 1);
        assert_eq!((poll(), polls.load(SeqCst)), ([Poll::Pending, Poll::Ready(Ok(7))], 3));
        first.0.send(8).ok();
        assert_eq!(poll()[0], Poll::Ready(Ok(8)));
    }
}
