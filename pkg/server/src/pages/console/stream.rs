//! The state as it changes: events of `text/event-stream`, each with the whole document, as long as somebody reads them.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use endpoints::routing::dispatch::{BoxError, Response};
use futures::stream;
use http::header::HeaderValue;
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use tokio::time::{Instant, MissedTickBehavior, interval};

use super::Console;
use crate::respond;

/// How many may watch at a time.
pub(super) const STREAMS_MAX: usize = 8;
/// Between states. Whoever reads slowly gets fewer.
const EVERY: Duration = Duration::from_millis(500);
/// After this a client has to come again, which browsers do by themselves, and is asked who it is.
const STREAM_MAX: Duration = Duration::from_secs(600);
/// What a client that finds no room is told to wait, in seconds.
const RETRY_SECONDS: u64 = 5;

const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

/// A stream of states; 429 when there are too many.
pub(super) fn answer(console: &Arc<Console>) -> Response {
    let Ok(permit) = Arc::clone(&console.watchers).try_acquire_owned() else {
        return respond::too_many_requests(RETRY_SECONDS);
    };
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (console, until) = (Arc::clone(console), Instant::now() + STREAM_MAX);
    let states = stream::unfold((console, ticks, permit), move |(console, mut ticks, permit)| async move {
        tokio::select! {
            biased;
            () = console.leaving.cancelled() => return None,
            now = ticks.tick() => if now >= until { return None },
        }
        let frame = Ok::<_, Infallible>(Frame::data(event(&console)));
        Some((frame, (console, ticks, permit)))
    });
    let mut response = Response::new(StreamBody::new(states).map_err(BoxError::from).boxed_unsync());
    response.headers_mut().insert(http::header::CONTENT_TYPE, EVENT_STREAM);
    response.headers_mut().insert(respond::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// JSON on one line has no line ends in it.
fn event(console: &Console) -> Bytes {
    let mut event = BytesMut::from(&b"data: "[..]).writer();
    let _ = serde_json::to_writer(&mut event, &console.state());
    let mut event = event.into_inner();
    event.extend_from_slice(b"\n\n");
    event.freeze()
}
