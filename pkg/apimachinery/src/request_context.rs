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

/// A request without its body and user. The chain creates it; handlers and admission plugins borrow it. The
/// default is an internal request of this server.
#[derive(Debug, Clone, Default)]
pub struct RequestContext {
    /// Parsed path, verb and selectors.
    pub info: RequestInfo,
    /// Decoded query.
    pub query: Query,
    /// Id of the request's audit events, also sent as `Audit-ID`.
    pub audit_id: AuditId,
    /// Wall-clock time at which the server received the request.
    pub received: UnixTime,
    /// Deadline of the response; `None` for a long-running request.
    pub deadline: Option<Instant>,
    /// Connection state of the client.
    pub client: ClientConnection,
    /// `User-Agent` header; may be empty or arbitrary text.
    pub user_agent: String,
    /// Remote address of the connection.
    pub peer: Option<SocketAddr>,
    /// Client addresses from proxy headers, starting with the client. Not trustworthy, because any client can
    /// set them.
    pub forwarded_for: Vec<IpAddr>,
    /// Audit annotations and warnings.
    pub notes: Notes,
    /// Length of the request body.
    pub body: BodyLength,
}

impl RequestContext {
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
    /// Copies the bytes of an id, which need not be UTF-8.
    pub fn new(bytes: &[u8]) -> Self {
        AuditId(Bytes::copy_from_slice(bytes))
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
