//! Turns at making lists.
//!
//! A list gives way after each piece. But when hundreds of lists are made at once, each piece stands in the same line as
//! every short request, and whoever asks for little waits for all of them. So no more pieces are made at a time than
//! there are processors; the other lists wait here, where they keep nobody waiting.

use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http_body::{Body, Frame, SizeHint};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::PollSemaphore;

/// Some turns, first come, first served. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Turns(Arc<Semaphore>);

impl Turns {
    /// So many at a time.
    pub(crate) fn new(count: NonZeroUsize) -> Self {
        Turns(Arc::new(Semaphore::new(count.get())))
    }

    /// Waits for a turn, which lasts until it is dropped.
    pub(crate) async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        // Nobody closes the semaphore.
        Arc::clone(&self.0).acquire_owned().await.ok()
    }

    /// A body each of whose frames is made in a turn. `body` waits for nothing else.
    pub(crate) fn body<B>(&self, body: B) -> InTurns<B> {
        InTurns { turns: PollSemaphore::new(Arc::clone(&self.0)), body }
    }
}

/// A body whose frames are made in turns. Nothing is held between two frames: whoever does not read keeps nobody waiting.
pub(crate) struct InTurns<B> {
    turns: PollSemaphore,
    body: B,
}

impl<B: Body + Unpin> Body for InTurns<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let turn = ready!(self.turns.poll_acquire(context));
        let frame = Pin::new(&mut self.body).poll_frame(context);
        drop(turn);
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::task::Waker;

    use bytes::Bytes;
    use http_body_util::{BodyExt, Full};

    use super::*;

    #[tokio::test]
    async fn a_frame_waits_for_its_turn_and_keeps_none_behind_it() {
        let turns = Turns::new(NonZeroUsize::MIN);
        let other = turns.turn().await;
        let mut body = Box::pin(turns.body(Full::new(Bytes::from_static(b"list"))));
        let mut context = Context::from_waker(Waker::noop());
        assert!(body.as_mut().poll_frame(&mut context).is_pending());
        drop(other);
        assert!(body.as_mut().poll_frame(&mut context).is_ready());
        let next = turns.body(Full::new(Bytes::from_static(b"next")));
        assert_eq!(
            next.collect().await.unwrap().to_bytes(),
            "next",
            "while the first is not read to its end"
        );
    }

    #[tokio::test]
    async fn who_gives_up_while_they_wait_takes_no_turn() {
        let turns = Turns::new(NonZeroUsize::MIN);
        let other = turns.turn().await;
        let mut body = Box::pin(turns.body(Full::new(Bytes::from_static(b"list"))));
        assert!(body.as_mut().poll_frame(&mut Context::from_waker(Waker::noop())).is_pending());
        drop((body, other));
        assert!(turns.turn().await.is_some());
    }
}
