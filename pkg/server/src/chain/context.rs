//! Request context: everything that is derived from the request head alone.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use http::header::{HeaderName, USER_AGENT};
use http::request::Parts;
use tokio::time::Instant;

use apimachinery::go_quote::Quoted;
use apimachinery::query::{Query, decode_path};
use apimachinery::request_context::{
    AuditId, BodyLength, ClientConnection, FORWARDED_FOR_MAX, RequestContext, user_agent_text,
};
use apimachinery::request_info::{RequestInfo, request_info};
use apimachinery::request_notes::Notes;
use apimachinery::status::Status;
use apimachinery::time::parse_duration;
use endpoints::routing::path::LongQuery;

use super::rejection::Rejection;
use crate::connection::peer::Peer;
use crate::env::Env;
use crate::limits::inflight::{is_long_running, is_mutating};

/// Header with the audit id, copied to the response.
pub(super) const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");
const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const X_REAL_IP: HeaderName = HeaderName::from_static("x-real-ip");

/// The context of a request, with the reason to reject it right away, if there is one.
pub(super) struct ContextOutcome {
    pub(super) context: RequestContext,
    pub(super) rejection: Option<Rejection>,
}

/// Parses a request's head into its context, with the rejection of an invalid request. `timeout_max` limits
/// the duration; `?timeout=` can only shorten it.
pub(super) fn context(
    parts: &Parts,
    peer: &Peer,
    received: Instant,
    timeout_max: Duration,
    env: &Env,
) -> ContextOutcome {
    let long_query = parts.extensions.get::<LongQuery>().map(|query| Arc::clone(&query.0));
    let query = Query::parse(long_query.as_deref().or(parts.uri.query()).unwrap_or_default());
    let (info, rejection) = match info(parts, &query) {
        Ok(info) => (info, None),
        Err(rejection) => (RequestInfo::default(), Some(rejection)),
    };
    let (deadline, late) = match deadline(&info, &query, received, timeout_max) {
        Ok(deadline) => (deadline, None),
        Err(rejection) => (None, Some(rejection)),
    };
    let user_agent = parts.headers.get(USER_AGENT).map(|value| user_agent_text(value.as_bytes()));
    let context = RequestContext {
        info,
        query,
        long_query,
        audit_id: audit_id(&parts.headers, env),
        received: env.clock.now(),
        deadline: deadline.map(Instant::into_std),
        client: ClientConnection::default(),
        user_agent: user_agent.unwrap_or_default(),
        peer: Some(peer.remote),
        forwarded_for: forwarded_for(&parts.headers),
        notes: Notes::default(),
        body: BodyLength::default(),
    };
    let garbled = check_query(&context);
    let rejection = rejection.or_else(|| check_length(&parts.headers)).or(garbled).or(late);
    ContextOutcome { context, rejection }
}

/// Rejects a write with an unparseable query. A read may ignore such parameters, as in upstream. But a
/// collection must not be deleted without its selector.
fn check_query(context: &RequestContext) -> Option<Rejection> {
    let flaw = context.query.error().filter(|_| is_mutating(&context.info))?;
    Some(Box::new(Status::bad_request(flaw.to_string())).into())
}

/// Rejects a request of ambiguous length. The reader of HTTP/1.1 heads has done so already; HTTP/2 delimits bodies by
/// frames, but a backend behind the proxy may not.
fn check_length(headers: &HeaderMap) -> Option<Rejection> {
    let error = endpoints::header::content_length(headers).err()?;
    Some(Box::new(Status::bad_request(error.to_string())).into())
}

fn info(parts: &Parts, query: &Query) -> Result<RequestInfo, Rejection> {
    let path = decode_path(parts.uri.path())
        .ok_or_else(|| Rejection::from(Box::new(Status::bad_request("400 Bad Request"))))?;
    request_info(parts.method.as_str(), &path, query).map_err(|error| {
        let uri = parts.uri.path_and_query().map_or("", |uri| uri.as_str());
        let text =
            format!("Internal Server Error: {}: failed to create RequestInfo: {error}, {uri}\n", Quoted(uri));
        // Escaped, so that browsers do not interpret the text as markup.
        Rejection::PlainText(text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;"))
    })
}

/// Deadline of the request; `None` for long-running ones.
fn deadline(
    info: &RequestInfo,
    query: &Query,
    received: Instant,
    max: Duration,
) -> Result<Option<Instant>, Rejection> {
    if is_long_running(info) {
        return Ok(None);
    }
    let nanos = match query.first("timeout") {
        None | Some("") => 0,
        Some(text) => parse_duration(text).map_err(|error| {
            let message = format!("invalid timeout specified in the request URL - {error}");
            Rejection::from(Box::new(Status::bad_request(message)))
        })?,
    };
    let nanos = u64::try_from(nanos).unwrap_or(0);
    let timeout = if nanos == 0 { max } else { max.min(Duration::from_nanos(nanos)) };
    Ok(Some(received + timeout))
}

/// Returns the client's audit id, or a new one.
fn audit_id(headers: &HeaderMap, env: &Env) -> AuditId {
    match headers.get(&AUDIT_ID) {
        Some(id) if !id.is_empty() => AuditId::new(id.as_bytes()),
        _ => {
            let mut text = [0; uuid::fmt::Hyphenated::LENGTH];
            AuditId::new(env.uuid().hyphenated().encode_lower(&mut text).as_bytes())
        }
    }
}

/// Returns the client addresses from proxies: the addresses of `X-Forwarded-For`, and `X-Real-Ip` if it is not
/// among them. Of too many, the last ones are kept, because proxies append and a client can only prepend.
fn forwarded_for(headers: &HeaderMap) -> Vec<IpAddr> {
    let text = |name| endpoints::header::text_or_empty(headers, name);
    let address = |text: &str| text.trim().parse::<IpAddr>().ok().map(|address| address.to_canonical());
    let forwarded = text(X_FORWARDED_FOR);
    let last = forwarded.rsplit(',').filter_map(address).take(FORWARDED_FOR_MAX.saturating_sub(1));
    let mut addresses: Vec<IpAddr> = last.collect();
    addresses.reverse();
    if let Some(real) = address(&text(X_REAL_IP))
        && !addresses.contains(&real)
    {
        addresses.push(real);
    }
    addresses
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::connection::peer::Protocol;
    use crate::testing::{NOW, env, request};

    fn read(target: &str, headers: &[&str]) -> RequestContext {
        let parts = request("GET", target, headers).into_parts().0;
        let peer = Peer::new("192.0.2.1:1".parse().unwrap(), Protocol::Http1, None);
        context(&parts, &peer, Instant::now(), Duration::from_secs(60), &env()).context
    }

    #[test]
    fn context_is_parsed_from_head() {
        let context = read("/api/v1/pods?limit=5", &["User-Agent: kubectl/v1", "Audit-Id: mine"]);
        assert_eq!((context.info.resource.as_str(), context.query.first("limit")), ("pods", Some("5")));
        assert_eq!((context.user_agent.as_str(), context.audit_id.as_str()), ("kubectl/v1", "mine"));
        assert_eq!((context.received.seconds, context.deadline.is_some()), (NOW, true));
        assert!(read("/api/v1/pods?watch=1", &[]).deadline.is_none());
    }

    #[test]
    fn long_query_replaces_that_of_the_uri() {
        let mut parts = request("GET", "/api/v1/pods?", &[]).into_parts().0;
        parts.extensions.insert(LongQuery("limit=5".into()));
        let peer = Peer::new("192.0.2.1:1".parse().unwrap(), Protocol::Http1, None);
        let read = context(&parts, &peer, Instant::now(), Duration::from_secs(60), &env()).context;
        assert_eq!((read.query.first("limit"), read.long_query.as_deref()), (Some("5"), Some("limit=5")));
    }

    #[test]
    fn ambiguous_length_is_rejected() {
        let check = |headers: &[&str], expected: bool| {
            let parts = request("POST", "/api/v1/pods", headers).into_parts().0;
            let peer = Peer::new("192.0.2.1:1".parse().unwrap(), Protocol::Http2, None);
            let read = context(&parts, &peer, Instant::now(), Duration::from_secs(60), &env());
            assert_eq!(read.rejection.is_some(), expected, "{headers:?}");
        };
        check(&["content-length: 5"], false);
        check(&["content-length: 5", "content-length: 5"], false);
        check(&["content-length: 5", "content-length: 6"], true);
        check(&["content-length: 5, 5"], true);
    }

    #[test]
    fn forwarded_addresses_keep_order() {
        let check = |headers: &[&str], expected: &[&str]| {
            let got: Vec<String> =
                read("/", headers).source_addresses().map(|address| address.to_string()).collect();
            assert_eq!(got, expected, "{headers:?}");
        };
        check(&[], &["192.0.2.1"]);
        check(&["X-Forwarded-For: 10.0.0.1, nonsense ,::1"], &["10.0.0.1", "::1", "192.0.2.1"]);
        let forged = format!("X-Forwarded-For: {}10.0.0.1", "::,".repeat(1000));
        let expected = [&["::"; 30][..], &["10.0.0.1", "192.0.2.1"]].concat();
        check(&[&forged], &expected);
        check(&["X-Forwarded-For: 10.0.0.1", "X-Real-Ip: 10.0.0.1"], &["10.0.0.1", "192.0.2.1"]);
        check(&["X-Forwarded-For: 10.0.0.1", "X-Real-Ip: 10.0.0.2"], &["10.0.0.1", "10.0.0.2", "192.0.2.1"]);
    }
}
