//! What is known of a request from the moment it came in until it is answered.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use bytes::Bytes;

use crate::query::Query;
use crate::request_info::RequestInfo;
use crate::request_notes::Notes;
use crate::time::UnixTime;

/// A request, without its body and its sender. The chain makes one for each; handlers and admission plugins
/// borrow it. The default is that of a request that this server makes of itself.
#[derive(Debug, Clone, Default)]
pub struct RequestContext {
    /// What the path asks for.
    pub info: RequestInfo,
    /// The parameters.
    pub query: Query,
    /// The id under which the request is audited, and which its answer carries.
    pub audit_id: AuditId,
    /// When it came in.
    pub received: UnixTime,
    /// When it has to be answered; `None` for one that may stay open.
    pub deadline: Option<Instant>,
    /// Whether anybody still waits for the answer.
    pub client: Client,
    /// The client's name for itself; may be empty, and anything.
    pub user_agent: String,
    /// The other end of the connection.
    pub peer: Option<SocketAddr>,
    /// Whom proxies on the way say the request is from, first the client. Anyone can write this.
    pub forwarded_for: Vec<IpAddr>,
    /// What is noted about it on the way.
    pub notes: Notes,
    /// How long its body was.
    pub body: BodyLength,
}

impl RequestContext {
    /// Where the request came from, first the client and last the other end of the connection, which alone
    /// is sure (upstream's `SourceIPs`).
    pub fn source_addresses(&self) -> impl Iterator<Item = IpAddr> {
        let peer = self.peer.map(|peer| peer.ip().to_canonical());
        let last = peer.filter(|peer| self.forwarded_for.last() != Some(peer));
        self.forwarded_for.iter().copied().chain(last)
    }
}

/// How long the body of a request was, once somebody has read all of it.
#[derive(Debug, Default)]
pub struct BodyLength {
    /// One more than the length in bytes; 0 while nobody has read it.
    beyond: AtomicU64,
}

impl BodyLength {
    /// It was read, and had so many bytes.
    pub fn read(&self, bytes: usize) {
        self.beyond.store(u64::try_from(bytes).unwrap_or(u64::MAX).saturating_add(1), Relaxed);
    }

    /// How many bytes it had; `None` if nobody has read it to its end.
    pub fn bytes(&self) -> Option<u64> {
        self.beyond.load(Relaxed).checked_sub(1)
    }
}

impl Clone for BodyLength {
    fn clone(&self) -> Self {
        BodyLength { beyond: AtomicU64::new(self.beyond.load(Relaxed)) }
    }
}

/// The length of an id beside others, in bytes.
const TRUNCATED_BYTES: usize = 64;

/// Tells whether the client of a request still waits for its answer. Clones tell the same. The default is
/// one that waits for ever.
#[derive(Debug, Clone, Default)]
pub struct Client {
    gone: Arc<AtomicBool>,
}

/// The client of a request waits while this value lives.
#[derive(Debug)]
pub struct Waiting(Client);

impl Client {
    /// Ties the client's patience to a value.
    pub fn waiting(&self) -> Waiting {
        Waiting(self.clone())
    }

    /// Whether nobody waits any more.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Relaxed)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.gone.store(true, Relaxed);
    }
}

/// The id of a request: the client's own, or a UUID. Cheap to clone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditId(Bytes);

impl AuditId {
    /// The id with these bytes.
    pub fn new(bytes: &[u8]) -> Self {
        AuditId(Bytes::copy_from_slice(bytes))
    }

    /// As text; empty for what is none, which only a client can send.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    /// As text where many ids come together: what a client makes too long is cut (upstream's
    /// `GetAuditIDTruncated`).
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
    fn a_request_comes_from_its_client_by_way_of_its_peer() {
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
