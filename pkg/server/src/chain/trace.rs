//! Trace span of a request: sampling and attributes (apiserver `endpoints/filters/traces.go`, and
//! OpenTelemetry's conventions for HTTP servers).

use std::sync::Arc;

use http::header::{CONTENT_LENGTH, HOST, HeaderName};
use http::request::Parts;

use apimachinery::request_context::RequestContext;
use apimachinery::request_info::RequestInfo;
use apimachinery::user_info::{GROUP_MASTERS, GROUP_MONITORING, UserInfo};
use component_base::trace::{Attribute, Origin, RemoteSpan, Span, Tracer};
use endpoints::observed_body::{ObservedBody, SendResult};
use endpoints::routing::dispatch::Response;

use super::rejection::Rejection;
use crate::env::Env;

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// Default port of HTTPS, which is left out.
const HTTPS_PORT: u16 = 443;

#[derive(Debug, Clone)]
pub struct Traces {
    pub tracer: Arc<dyn Tracer>,
    /// Fraction of the other requests that are sampled, 0 to 1.
    pub sampling_rate: f64,
}

impl Traces {
    /// Starts the span of a request of `user`. Administrators and monitoring may set the sampling decision
    /// and the parent trace. Other requests are sampled at random, and their trace context becomes a link.
    pub(super) fn begin(&self, parts: &Parts, context: &RequestContext, user: &UserInfo, env: &Env) -> Span {
        let trusted = user.in_group(GROUP_MASTERS) || user.in_group(GROUP_MONITORING);
        let (sampled, origin) = match remote(parts) {
            Some(remote) if trusted => (remote.sampled, Origin::Continued(remote)),
            Some(remote) => (env.random_bool(self.sampling_rate), Origin::Linked(remote)),
            None => (env.random_bool(self.sampling_rate), Origin::New),
        };
        if !sampled {
            return Span::none();
        }
        let attributes = attributes(parts, context);
        self.tracer.request(name(parts.method.as_str(), &context.info), origin, context.received, attributes)
    }
}

fn text<'p>(parts: &'p Parts, name: &HeaderName) -> &'p str {
    parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn remote(parts: &Parts) -> Option<RemoteSpan> {
    let parent = parts.headers.get(&TRACEPARENT)?.to_str().ok()?;
    RemoteSpan::parse(parent, text(parts, &TRACESTATE))
}

/// Returns method and path, without the parts that vary between objects.
fn name(method: &str, info: &RequestInfo) -> String {
    if !info.is_resource {
        return method.to_owned();
    }
    let mut name = format!("{method} /{}", info.api_prefix);
    let namespace = if info.namespace.is_empty() { "" } else { "namespaces/{:namespace}" };
    let object = if info.name.is_empty() { "" } else { "{:name}" };
    let segments = [&info.group, &info.version, namespace, &info.resource, object, &info.subresource];
    // Upstream drops all empty parts except version and resource, which are never empty.
    for segment in segments.into_iter().filter(|segment| !segment.is_empty()) {
        name.push('/');
        name.push_str(segment);
    }
    name
}

/// Maximum length of a client's text in a span, in bytes. The span of a watch lasts as long as the watch.
const TEXT_BYTES_MAX: usize = 1024;

fn limited(text: &str) -> &str {
    text.get(..text.floor_char_boundary(TEXT_BYTES_MAX)).unwrap_or_default()
}

fn attributes(parts: &Parts, context: &RequestContext) -> Vec<Attribute> {
    let host = parts.uri.authority().map_or_else(|| text(parts, &HOST), |authority| authority.as_str());
    let authority = host.parse::<http::uri::Authority>().ok();
    let target = parts.uri.path_and_query().map_or("", |target| target.as_str());
    let host_name = authority.as_ref().map_or("", |authority| authority.host());
    let mut attributes: Vec<Attribute> = vec![
        ("server.address", limited(host_name.trim_matches(['[', ']'])).into()),
        ("http.request.method", parts.method.as_str().into()),
        ("url.scheme", "https".into()),
        ("url.path", limited(&context.info.path).into()),
        ("network.protocol.version", version(parts).into()),
        ("http.target", limited(target).into()),
        ("audit-id", context.audit_id.truncated().into()),
    ];
    let port = authority.as_ref().and_then(|authority| authority.port_u16());
    attributes
        .extend(port.filter(|port| *port != HTTPS_PORT).map(|port| ("server.port", i64::from(port).into())));
    if let Some(peer) = context.peer {
        attributes.push(("network.peer.address", peer.ip().to_string().into()));
        attributes.push(("network.peer.port", i64::from(peer.port()).into()));
    }
    if !context.user_agent.is_empty() {
        attributes.push(("user_agent.original", context.user_agent.as_str().into()));
    }
    let forwarded = text(parts, &X_FORWARDED_FOR).split(',').next().unwrap_or_default();
    let client = match (forwarded, context.peer) {
        ("", Some(peer)) => peer.ip().to_string(),
        (forwarded, _) => limited(forwarded).to_owned(),
    };
    attributes.push(("client.address", client.into()));
    let length = text(parts, &CONTENT_LENGTH).parse::<i64>().ok().filter(|length| *length > 0);
    attributes.extend(length.map(|length| ("http.request.body.size", length.into())));
    attributes
}

fn version(parts: &Parts) -> &'static str {
    match parts.version {
        http::Version::HTTP_2 => "2.0",
        http::Version::HTTP_10 => "1.0",
        _ => "1.1",
    }
}

/// Ends the span when the response is complete.
pub(super) fn end_span_when_sent(span: Span, response: Response) -> Response {
    if span.is_none() {
        return response;
    }
    record_code(&span, response.status().as_u16());
    response.map(|body| {
        ObservedBody::body(body, move |sent: SendResult| {
            if sent.bytes > 0 {
                span.set("http.response.body.size", sent.bytes);
            }
        })
    })
}

/// Records a rejection in the span.
pub(super) fn record_rejection(span: &Span, rejection: &Rejection) {
    if span.is_none() {
        return;
    }
    record_code(
        span,
        match rejection {
            Rejection::Status(status) | Rejection::DeadlineExceeded(status) => status.code,
            Rejection::TooMany { .. } => 429,
            Rejection::PlainText(_) | Rejection::Panicked(_) => 500,
        },
    );
}

fn record_code(span: &Span, code: u16) {
    span.set("http.response.status_code", i64::from(code));
    if code >= 500 {
        span.failed("");
    }
}
