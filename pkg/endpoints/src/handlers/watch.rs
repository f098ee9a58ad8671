//! Watches: options, start, response.

use std::time::Duration;

use api::options::ListOptions;
use apimachinery::status::Status;
use component_base::features::Gate;
use futures::{StreamExt, future};
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderValue, VARY};
use http_body_util::BodyExt;
use hyper::upgrade::OnUpgrade;
use registry::generic::{Progress, WatchEvents};
use tokio::time::Instant;

use crate::negotiation::{CBOR_SEQUENCE, Format, not_acceptable};
use crate::response::accepts_gzip;
use crate::routing::dispatch::Response;
use crate::scope::RequestScope;
use crate::warning;
use crate::watch::body::{Listing, WatchBody};
use crate::watch::frame::Encoder;
use crate::watch::metrics::Scope;
use crate::websocket::{self, Opcode, Protocols};

/// Upper bound of a timeout: a hundred years.
const TIMEOUT_MAX: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// Starts a watch, over a WebSocket if the client requests one and the `connection` can be upgraded.
pub(crate) async fn watch(
    call: &mut RequestScope<'_>,
    options: ListOptions,
    connection: Option<OnUpgrade>,
) -> Result<Response, Box<Status>> {
    call.storage()?;
    if !call.endpoint().serves("watch") {
        return Err(Status::method_not_supported(&call.target().group_resource(), "watch").into());
    }
    if call.representation.format == Format::Yaml {
        return Err(not_acceptable(call.formats.stream_media_types()));
    }
    let started_at = Instant::now();
    let deadline =
        started_at.checked_add(timeout(call, &options)).unwrap_or_else(|| started_at + TIMEOUT_MAX);
    let registry = &call.api.registry;
    let encoder =
        Encoder::new(call.route.endpoint.row.clone(), call.representation, call.reply()?.table, registry);
    let mut events = registry.watch(&call.target(), &options, deadline).await?;
    let progress = events.progress();
    let counters = call.api.watch_metrics.of(call.resource());
    let mut head = http::Response::new(()).into_parts().0;
    head.headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type(call.representation.format)));
    warning::add(&mut head.headers, &call.warnings.texts());
    let spans = call.trace.streamed(&head, call.endpoint().group_version);
    let listing = Listing { scope: Scope::of(call.info, call.name()), started_at, spans };
    let mut body = WatchBody::new(events, encoder, call.api.watch_drain.register_watch(), counters, listing);
    if let Some(connection) = connection.filter(|_| websocket::is_requested(call.headers)) {
        return Ok(upgrade(call, body, connection, progress));
    }
    if compresses(call, &options) {
        head.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        head.headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
        body = body.compressed();
    }
    head.extensions.insert(body.initialized());
    progress.map(|progress| head.extensions.insert(progress));
    Ok(http::Response::from_parts(head, body.boxed_unsync()))
}

/// Sends a watch over a WebSocket (upstream's `HandleWS`): each event is a message.
fn upgrade(
    call: &RequestScope<'_>,
    body: WatchBody<WatchEvents>,
    connection: OnUpgrade,
    progress: Option<Progress>,
) -> Response {
    let mut response = match websocket::accept(call.headers, Protocols::AnyWithOrigin) {
        Ok(accepted) => accepted.response,
        Err(rejection) => return *rejection,
    };
    response.extensions_mut().insert(body.initialized());
    progress.map(|progress| response.extensions_mut().insert(progress));
    let opcode = if call.representation.format == Format::Json { Opcode::Text } else { Opcode::Binary };
    let messages = body.in_messages(opcode).into_data_stream();
    let messages = messages.filter_map(|piece| future::ready(piece.ok()));
    websocket::start(&mut response, connection, messages, call.api.shutdown.clone());
    response
}

/// True for a watch that starts with the current state, if the client accepts gzip.
fn compresses(call: &RequestScope<'_>, options: &ListOptions) -> bool {
    call.api.registry.gates().enabled(Gate::WatchListCompression)
        && options.send_initial_events == Some(true)
        && options.allow_watch_bookmarks
        && accepts_gzip(call.headers)
}

fn content_type(format: Format) -> &'static str {
    match format {
        Format::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
        Format::Cbor => CBOR_SEQUENCE,
        other => other.media_type(),
    }
}

/// Returns the requested timeout. The default is random between one and two times the minimum, so that
/// watches do not all end together.
fn timeout(call: &RequestScope<'_>, options: &ListOptions) -> Duration {
    match options.timeout_seconds {
        Some(seconds) if seconds > 0 => Duration::from_secs(seconds.unsigned_abs()),
        _ => call.api.watch_timeout_min.mul_f64(1.0 + (call.api.jitter)()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests;
