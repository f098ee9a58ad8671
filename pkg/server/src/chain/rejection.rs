//! Rejections of requests.

use http::header::{HeaderName, HeaderValue};
use http::request::Parts;
use http::uri::PathAndQuery;
use http::{HeaderMap, Uri};
use tokio::task::JoinError;

use apimachinery::go_quote::quote;
use apimachinery::request_notes::Notes;
use apimachinery::status::Status;
use authorization::{Authorized, Unauthorized};
use endpoints::cpu_pool::Overloaded;
use endpoints::response::ErrorForm;
use endpoints::routing::dispatch::Response;

use crate::respond;

/// Reason that a request was not dispatched.
pub(super) enum Rejection {
    Status(Box<Status>),
    /// No seat or other resource available; includes the seconds until a retry.
    TooMany {
        retry_after: u64,
    },
    /// The deadline has passed. Upstream's filter writes this Status without its kind, and clients handle
    /// that text specially.
    DeadlineExceeded(Box<Status>),
    /// 500 with this text, not as a Status, as in upstream.
    PlainText(String),
    Panicked(String),
}

impl From<Box<Status>> for Rejection {
    fn from(status: Box<Status>) -> Self {
        Rejection::Status(status)
    }
}

impl From<Overloaded> for Rejection {
    fn from(_: Overloaded) -> Self {
        Rejection::TooMany { retry_after: 1 }
    }
}

/// Rejection of a request whose task did not return.
impl From<JoinError> for Rejection {
    fn from(error: JoinError) -> Self {
        let cancelled = |_| Rejection::Panicked(String::new());
        error.try_into_panic().map_or_else(cancelled, |panic| Rejection::panic(&*panic))
    }
}

impl Rejection {
    pub(super) fn deadline_exceeded() -> Self {
        let status = Status::timeout("request did not complete within the allotted timeout", 0);
        Rejection::DeadlineExceeded(Box::new(status.without_kind()))
    }

    /// 500 in upstream's wording, without details for the client. Escaped, so that browsers do not interpret
    /// it as markup.
    pub(super) fn internal(uri: &Uri, cause: &str) -> Self {
        let target = uri.path_and_query().map_or("/", PathAndQuery::as_str);
        let text = format!("Internal Server Error: {}: {cause}", quote(target));
        let text = text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        Rejection::PlainText(format!("{text}\n"))
    }

    /// Rejection for a panic, with its message if it is a text.
    pub(super) fn panic(payload: &(dyn std::any::Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        Rejection::Panicked(text.or_else(|| payload.downcast_ref().cloned()).unwrap_or_default())
    }
}

/// Rejection of an unauthorized request. As in upstream, an authorizer's error is logged and returned.
pub(super) fn unauthorized(why: Unauthorized, uri: &Uri) -> Rejection {
    match why {
        Unauthorized::Forbidden { status, .. } => Rejection::Status(status),
        Unauthorized::Failed(error) => {
            tracing::error!(%error, "authorization failed with an error");
            Rejection::internal(uri, &error)
        }
    }
}

/// Adds the authorizer's decision to the audit annotations.
pub(super) fn note_decision(notes: &Notes, outcome: &Result<Authorized, Unauthorized>) {
    let (decision, reason) = match outcome {
        Ok(authorized) => (Some("allow"), authorized.reason()),
        Err(Unauthorized::Forbidden { reason, .. }) => (Some("forbid"), reason.as_str()),
        Err(Unauthorized::Failed(_)) => (None, "internal error"),
    };
    if let Some(decision) = decision {
        notes.annotate("authorization.k8s.io/decision", decision);
    }
    notes.annotate("authorization.k8s.io/reason", reason);
}

/// Parts of a request that affect the encoding of an error, copied for that case.
pub(super) struct ErrorHeaders {
    headers: [Option<HeaderValue>; 2],
    uri: Uri,
}

const ERROR_HEADERS: [HeaderName; 2] = [http::header::ACCEPT, http::header::USER_AGENT];

impl ErrorHeaders {
    pub(super) fn of(parts: &Parts) -> Self {
        let headers = ERROR_HEADERS.map(|name| parts.headers.get(name).cloned());
        ErrorHeaders { headers, uri: parts.uri.clone() }
    }

    /// Returns the response with a Status in the form that the request accepts.
    pub(super) fn response(self, status: &Status) -> Response {
        let headers = ERROR_HEADERS.into_iter().zip(self.headers);
        let headers: HeaderMap = headers.filter_map(|(name, value)| Some((name, value?))).collect();
        respond::status(status, ErrorForm { headers: &headers, uri: &self.uri })
    }
}
