//! Context of a request during its whole lifetime.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use bytes::Bytes;

use crate::query::Query;
use crate::request_info::RequestInfo;
use crate::request_notes::Notes;
use crate::time::UnixTime;

/// Maximum number of addresses from proxy headers in a request context.
pub const FORWARDED_FOR_MAX: usize = 32;
/// Maximum length of a user agent in bytes, before [`USER_AGENT_TRUNCATED`] (upstream's `maxUserAgentLength`).
pub const USER_AGENT_BYTES_MAX: usize = 1024;
/// Suffix of a user agent that was cut.
pub const USER_AGENT_TRUNCATED: &str = "...TRUNCATED";
/// Maximum length of an audit id in bytes.
pub const AUDIT_ID_BYTES_MAX: usize = 256;

/// A request without its body and user. The chain creates it; handlers and admission plugins borrow it. The
/// default is an internal request of this server.
#[derive(Debug, Clone, Default)]
pub struct RequestContext {
    /// Parsed path, verb and selectors.
    pub info: RequestInfo,
    /// Decoded query.
    pub query: Query,
    /// Text of the query, if it is too long for the request's URI.
    pub long_query: Option<Arc<str>>,
    /// Id of the request's audit events, also sent as `Audit-ID`.
    pub audit_id: AuditId,
    /// Wall-clock time at which the server received the request.
    pub received: UnixTime,
    /// Deadline of the response; `None` for a long-running request.
    pub deadline: Option<Instant>,
    /// Connection state of the client.
    pub client: ClientConnection,
    /// Start of the `User-Agent` header ([`user_agent_text`]); may be empty or arbitrary text.
    pub user_agent: String,
    /// Remote address of the connection.
    pub peer: Option<SocketAddr>,
    /// Client addresses from proxy headers, starting with the client; the last [`FORWARDED_FOR_MAX`] of them. Not
    /// trustworthy, because any client can set them.
    pub forwarded_for: Vec<IpAddr>,
    /// Audit annotations and warnings.
    pub notes: Notes,
    /// Length of the request body.
    pub body: BodyLength,
}

impl RequestContext {
    /// Returns a copy for the records of a long-running request, which last for hours. It has no query and no
    /// selectors, and the start of each text from the URL. It shares the notes and the client.
    pub fn retained(&self) -> Self {
        RequestContext {
            info: self.info.retained(),
            query: Query::default(),
            long_query: None,
            audit_id: self.audit_id.clone(),
            received: self.received,
            deadline: self.deadline,
            client: self.client.clone(),
            user_agent: self.user_agent.clone(),
            peer: self.peer,
            forwarded_for: self.forwarded_for.clone(),
            notes: self.notes.clone(),
            body: self.body.clone(),
        }
    }

    /// Source addresses, starting with the client and ending with the remote address of the connection, the
    /// only trustworthy one (upstream's `SourceIPs`).
    pub fn source_addresses(&self) -> impl Iterator<Item = IpAddr> {
        let peer = self.peer.map(|peer| peer.ip().to_canonical());
        let last = peer.filter(|peer| self.forwarded_for.last() != Some(peer));
        self.forwarded_for.iter().copied().chain(last)
    }
}

/// Length of a request's body, once it was read completely.
#[derive(Debug, Default)]
pub struct BodyLength {
    /// Length in bytes plus one; 0 before the body was read.
    length_plus_one: AtomicU64,
}

impl BodyLength {
    /// Records that the body was read completely.
    pub fn read(&self, bytes: usize) {
        self.length_plus_one.store(u64::try_from(bytes).unwrap_or(u64::MAX).saturating_add(1), Relaxed);
    }

    /// Length in bytes; `None` if the body was not read completely.
    pub fn bytes(&self) -> Option<u64> {
        self.length_plus_one.load(Relaxed).checked_sub(1)
    }
}

impl Clone for BodyLength {
    fn clone(&self) -> Self {
        BodyLength { length_plus_one: AtomicU64::new(self.length_plus_one.load(Relaxed)) }
    }
}

/// Returns the text of a `User-Agent` header, cut like upstream's audit (`maybeTruncateUserAgent`). A watch retains it
/// for hours.
pub fn user_agent_text(header: &[u8]) -> String {
    let head = header.get(..USER_AGENT_BYTES_MAX).unwrap_or(header);
    let mut text = String::from_utf8_lossy(head).into_owned();
    if text.len() > USER_AGENT_BYTES_MAX || head.len() < header.len() {
        text.truncate(text.floor_char_boundary(USER_AGENT_BYTES_MAX));
        text.push_str(USER_AGENT_TRUNCATED);
    }
    text
}

/// Maximum length of a truncated id in bytes.
const TRUNCATED_BYTES: usize = 64;

/// Reports if the client is still connected. Clones share one state. The default never disconnects.
#[derive(Debug, Clone, Default)]
pub struct ClientConnection {
    disconnected: Arc<AtomicBool>,
}

/// Guard for a connected client.
#[derive(Debug)]
pub struct ConnectedGuard(ClientConnection);

impl ClientConnection {
    /// Returns a guard; the client counts as disconnected when it is dropped.
    pub fn guard(&self) -> ConnectedGuard {
        ConnectedGuard(self.clone())
    }

    /// True if the client has disconnected.
    pub fn is_disconnected(&self) -> bool {
        self.disconnected.load(Relaxed)
    }
}

impl Drop for ConnectedGuard {
    fn drop(&mut self) {
        self.0.disconnected.store(true, Relaxed);
    }
}

/// Audit id of a request: the client's own, or a UUID. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditId(Bytes);

impl AuditId {
    /// Copies the first [`AUDIT_ID_BYTES_MAX`] bytes of an id, which need not be UTF-8.
    pub fn new(bytes: &[u8]) -> Self {
        let is_inside = |end: usize| bytes.get(end).is_some_and(|byte| (0x80..0xc0).contains(byte));
        let mut end = bytes.len().min(AUDIT_ID_BYTES_MAX);
        // A character has at most four bytes.
        for _ in 0..3 {
            end = end.saturating_sub(usize::from(is_inside(end)));
        }
        AuditId(Bytes::copy_from_slice(bytes.get(..end).unwrap_or_default()))
    }

    /// The id as text; empty if it is not UTF-8, which is only possible for a client's id.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// The id as text, truncated if the client's is too long (upstream's `GetAuditIDTruncated`).
    pub fn truncated(&self) -> &str {
        let text = self.as_str();
        text.get(..TRUNCATED_BYTES).unwrap_or(text)
    }

    /// The bytes, shared.
    pub fn bytes(&self) -> Bytes {
        self.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retained_context_is_small() {
        let long = "/a".repeat(30_000);
        for path in
            ["/api/v1/namespaces/a/pods/b/exec", &format!("/api/v1/pods/{}", "b".repeat(60_000)), &long]
        {
            let query = Query::parse(&format!("labelSelector=a%3Db&fieldSelector=a%3Db&x={long}"));
            let info = crate::request_info::request_info("GET", path, &query).unwrap();
            let context = RequestContext { info, query, ..RequestContext::default() };
            let retained = context.retained();
            assert!(format!("{retained:?}").len() < 2048, "{path:.100}");
            assert_eq!(retained.info.verb, context.info.verb);
            assert!(context.info.name.starts_with(&retained.info.name));
            assert!(context.info.path.starts_with(&retained.info.path));
        }
    }

    #[test]
    fn long_user_agent_is_cut() {
        let check = |header: &[u8], retained: usize, suffix: &str| {
            let text = user_agent_text(header);
            assert_eq!((text.len(), text.ends_with(suffix)), (retained + suffix.len(), true));
        };
        check(&[b'x'; 1024], 1024, "");
        check(&[b'x'; 1025], 1024, "...TRUNCATED");
        check("ä".repeat(513).as_bytes(), 1024, "...TRUNCATED");
        check(&[0xff; 1024], 1023, "...TRUNCATED");
    }

    #[test]
    fn long_audit_id_is_cut_between_characters() {
        let check = |id: &str, bytes: usize| assert_eq!(AuditId::new(id.as_bytes()).as_str().len(), bytes);
        check("id", 2);
        check(&"x".repeat(1 << 20), 256);
        check(&format!("x{}", "ä".repeat(200)), 255);
        assert_eq!(AuditId::new(&[0x80; 1000]).bytes().len(), 253);
    }

    #[test]
    fn source_addresses_end_with_peer() {
        let check = |forwarded: &[&str], peer: Option<&str>, expected: &[&str]| {
            let addresses = |texts: &[&str]| texts.iter().flat_map(|text| text.parse()).collect();
            let context = RequestContext {
                forwarded_for: addresses(forwarded),
                peer: peer.and_then(|peer| peer.parse().ok()),
                ..RequestContext::default()
            };
            let expected: Vec<IpAddr> = addresses(expected);
            assert_eq!(context.source_addresses().collect::<Vec<_>>(), expected, "{context:?}");
        };
        check(&[], Some("192.0.2.1:5"), &["192.0.2.1"]);
        check(&["10.0.0.1", "10.0.0.2"], Some("192.0.2.1:5"), &["10.0.0.1", "10.0.0.2", "192.0.2.1"]);
        check(&["10.0.0.1"], Some("10.0.0.1:5"), &["10.0.0.1"]);
        check(&["10.0.0.1"], Some("[::ffff:10.0.0.1]:5"), &["10.0.0.1"]);
        check(&[], None, &[]);
    }
}
