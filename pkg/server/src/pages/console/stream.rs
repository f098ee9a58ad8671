//! Live state as `text/event-stream`: each event contains the whole document.

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

/// Maximum number of concurrent streams.
pub(super) const STREAMS_MAX: usize = 8;
/// Interval between events. Slow readers skip events.
const EVENT_INTERVAL: Duration = Duration::from_millis(500);
/// Maximum duration of a stream. Browsers reconnect automatically, and are authenticated again.
const STREAM_MAX: Duration = Duration::from_secs(600);
/// `Retry-After` in seconds if all streams are in use.
const RETRY_SECONDS: u64 = 5;

const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

/// Starts a stream; 429 if all are in use.
pub(super) fn handle(console: &Arc<Console>) -> Response {
    let Ok(permit) = Arc::clone(&console.watchers).try_acquire_owned() else {
        return respond::too_many_requests(RETRY_SECONDS);
    };
    let mut ticks = interval(EVENT_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let console = Arc::clone(console);
    let until = Instant::now() + STREAM_MAX;
    let states = stream::unfold((console, ticks, permit), move |(console, mut ticks, permit)| async move {
        tokio::select! {
            biased;
            () = console.disconnecting.cancelled() => return None,
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

/// One event. Compact JSON contains no newline.
fn event(console: &Console) -> Bytes {
    let mut event = BytesMut::from(&b"data: "[..]).writer();
    let _ = serde_json::to_writer(&mut event, &console.state());
    let mut event = event.into_inner();
    event.extend_from_slice(b"\n\n");
    event.freeze()
}
