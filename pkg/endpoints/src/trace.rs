//! Trace spans of handlers: one for the verb and one for the response, under upstream's names (apiserver
//! `endpoints/handlers/trace_util.go`, `responsewriters/writers.go`). A request that is not sampled costs one
//! check.

use std::sync::Arc;

use apimachinery::request_context::RequestContext;
use apimachinery::status::Status;
use component_base::trace::{Attribute, Span};
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use http::request::Parts;
use http::{Method, Version};
use http_body::Body as _;
use jsontree::json;

use crate::observed_body::{ObservedBody, SendResult};
use crate::routing::action::Action;
use crate::routing::dispatch::Response;

/// Maximum length of the user agent in bytes; longer values are truncated and marked.
const USER_AGENT_MAX: usize = 1024;

#[derive(Clone)]
pub(crate) struct Trace {
    pub(crate) span: Span,
    context: Arc<RequestContext>,
    method: Method,
    version: Version,
    /// True if the verb's span records the time of the response; false for lists, as in upstream.
    records_response: bool,
}

impl Trace {
    /// Starts the trace of a request's handler. A watch has a span only while it sends its initial state.
    pub(crate) fn begin(action: Action, parts: &Parts, context: &Arc<RequestContext>) -> Self {
        let lists = matches!(action, Action::List | Action::Watch);
        let name = match action {
            Action::Get => "Get",
            Action::List | Action::Watch if context.info.verb != "watch" => "List",
            Action::List | Action::Watch if sends_initial_state(context) => "WatchList",
            Action::Create => "Create",
            Action::Update => "Update",
            Action::Patch => "Patch",
            Action::Delete | Action::DeleteCollection => "Delete",
            Action::Connect | Action::List | Action::Watch => "",
        };
        let span = match name {
            "" => Span::none(),
            name => Span::current().child(name, || request(parts, context)),
        };
        let method = parts.method.clone();
        let version = parts.version;
        Trace { span, context: Arc::clone(context), method, version, records_response: !lists }
    }

    /// Encodes a response in `group_version` within a span that lasts until the response is sent.
    pub(crate) fn serialized(
        &self,
        group_version: &str,
        make: impl FnOnce() -> Result<Response, Box<Status>>,
    ) -> Result<Response, Box<Status>> {
        let span = self.begin_response();
        let response = make()?;
        Ok(self.until_sent(span, group_version, response))
    }

    /// As [`serialized`](Self::serialized), for a response whose encoding yields.
    pub(crate) async fn serialized_by(
        &self,
        group_version: &str,
        response: impl Future<Output = Result<Response, Box<Status>>>,
    ) -> Result<Response, Box<Status>> {
        let span = self.begin_response();
        let response = response.await?;
        Ok(self.until_sent(span, group_version, response))
    }

    /// Encodes an error, recorded like [`serialized`](Self::serialized) responses.
    pub(crate) fn serialized_error(&self, make: impl FnOnce() -> Response) -> Response {
        let span = self.begin_response();
        self.until_sent(span, "v1", make())
    }

    fn begin_response(&self) -> Span {
        if self.records_response {
            self.span.event("About to write a response");
        }
        self.span.child("SerializeObject", || self.response_attributes())
    }

    fn until_sent(&self, span: Span, group_version: &str, response: Response) -> Response {
        if span.is_none() {
            return response;
        }
        note(&span, response.headers(), group_version);
        match response.body().size_hint().exact().and_then(|size| i64::try_from(size).ok()) {
            Some(size) => span.event_with("About to start writing response", "size", size),
            None => span.event("About to start writing response"),
        }
        let verb = self.records_response.then(|| self.span.clone());
        response.map(|body| {
            ObservedBody::body(body, move |result: SendResult| {
                let event = if result.complete { "Write call succeeded" } else { "Write call failed" };
                span.event_with(event, "size", result.bytes);
                drop(span);
                verb.iter().for_each(|verb| verb.event("Writing http response done"));
            })
        })
    }

    /// Returns the spans of a watch that sends its initial state: one for encoding, which starts now, and one
    /// for the whole request. `response` contains the response headers.
    pub(crate) fn streamed(
        &self,
        response: &http::response::Parts,
        group_version: &str,
    ) -> Option<Box<[Span; 2]>> {
        if self.span.is_none() {
            return None;
        }
        let span = self.span.child("WatchServer.HandleHTTP", || self.response_attributes());
        note(&span, &response.headers, group_version);
        span.event("About to start writing response");
        Some(Box::new([span, self.span.clone()]))
    }

    fn response_attributes(&self) -> Vec<Attribute> {
        vec![
            ("method", self.method.as_str().into()),
            ("url", self.context.info.path.as_str().into()),
            ("protocol", protocol(self.version).into()),
        ]
    }
}

/// True if a watch sends its initial state and marks its end.
fn sends_initial_state(context: &RequestContext) -> bool {
    let flag = |name: &str| context.query.flag(name) == Some(true);
    flag("sendInitialEvents") && flag("allowWatchBookmarks")
}

fn protocol(version: Version) -> String {
    match version {
        // Go includes the minor version.
        Version::HTTP_2 => "HTTP/2.0".to_owned(),
        version => format!("{version:?}"),
    }
}

/// Returns the request attributes of a verb's span.
fn request(parts: &Parts, context: &RequestContext) -> Vec<Attribute> {
    let info = &context.info;
    let header = |name| parts.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let client = context.source_addresses().next().map(|address| address.to_string()).unwrap_or_default();
    let scope = match info.verb.as_str() {
        "create" => "resource",
        _ if !info.name.is_empty() => "resource",
        _ if !info.namespace.is_empty() => "namespace",
        _ => "cluster",
    };
    let verb = match (info.verb.as_str(), header(CONTENT_TYPE)) {
        ("list", _) => "LIST",
        ("watch", _) => "WATCH",
        ("patch", kind) if kind.starts_with("application/apply-patch") => "APPLY",
        _ => parts.method.as_str(),
    };
    let user_agent = match context.user_agent.get(..USER_AGENT_MAX) {
        Some(cut) if cut.len() < context.user_agent.len() => format!("{cut}...TRUNCATED"),
        _ => context.user_agent.clone(),
    };
    vec![
        ("accept", header(ACCEPT).into()),
        ("client", client.into()),
        ("api-group", info.group.as_str().into()),
        ("api-version", info.version.as_str().into()),
        ("name", info.name.as_str().into()),
        ("subresource", info.subresource.as_str().into()),
        ("namespace", info.namespace.as_str().into()),
        ("protocol", protocol(parts.version).into()),
        ("resource", info.resource.as_str().into()),
        ("scope", scope.into()),
        ("url", info.path.as_str().into()),
        ("user-agent", user_agent.into()),
        ("verb", verb.into()),
    ]
}

/// Records the encoding of a response under the name of upstream's encoder.
fn note(span: &Span, headers: &HeaderMap, group_version: &str) {
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let json = |yaml| {
        let yaml = if yaml { "true" } else { "false" };
        json!({"name": "json", "pretty": "false", "strict": "false", "yaml": yaml}).to_string()
    };
    let encoder = match media_type {
        "application/vnd.kubernetes.protobuf" => "protobuf".to_owned(),
        "application/vnd.kubernetes.protobuf;stream=watch" => "raw-protobuf".to_owned(),
        "application/yaml" => json(true),
        kind if kind.starts_with("application/cbor") => "cbor".to_owned(),
        _ => json(false),
    };
    span.set("mediaType", media_type);
    span.set(
        "encoder",
        json!({"encodeGV": group_version, "encoder": encoder, "name": "versioning"}).to_string(),
    );
}
