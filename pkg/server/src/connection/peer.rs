//! Remote end of a connection, as its requests see it.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll};

use futures::task::AtomicWaker;
use http::HeaderValue;
use http::header::CONNECTION;
use tokio_util::sync::CancellationToken;

use crate::connection::activity::Activity;
use crate::http1::head::HeadRejection;
use crate::http1::large_head::LargeHead;
use crate::tls::client_certificates::ClientCertificates;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Http1,
    Http2,
}

/// Remote end of a connection.
pub struct Peer {
    pub remote: SocketAddr,
    pub(super) protocol: Protocol,
    certificates: Option<ClientCertificates>,
    pub(super) activity: Activity,
    pub(super) retire: CancellationToken,
    evicted: AtomicBool,
    /// Task that waits for the eviction.
    evicting: AtomicWaker,
    /// True if the bytes of the connection are not HTTP/1.1 requests.
    pub(super) opaque: AtomicBool,
    /// Number of completed responses.
    completed_responses: AtomicU64,
    /// Task that waits for a completed response.
    waiting: AtomicWaker,
    /// Rejection of the last request, which was not valid HTTP.
    rejection: OnceLock<HeadRejection>,
    /// Head of the current HTTP/1.1 request, if it is too large for the parser. Requests of a connection are passed on one at a
    /// time.
    large_head: Mutex<Option<LargeHead>>,
}

impl Peer {
    /// Creates a peer without requests. `certificates` contains its client certificates, if any.
    pub(crate) fn new(
        remote: SocketAddr,
        protocol: Protocol,
        certificates: Option<ClientCertificates>,
    ) -> Arc<Self> {
        Arc::new(Peer {
            remote,
            protocol,
            certificates,
            activity: Activity::new(protocol == Protocol::Http1),
            retire: CancellationToken::new(),
            evicted: AtomicBool::new(false),
            evicting: AtomicWaker::new(),
            opaque: AtomicBool::new(protocol == Protocol::Http2),
            completed_responses: AtomicU64::new(0),
            waiting: AtomicWaker::new(),
            rejection: OnceLock::new(),
            large_head: Mutex::default(),
        })
    }

    /// Client certificates of the peer.
    pub(crate) fn client_certificates(&self) -> Option<&ClientCertificates> {
        self.certificates.as_ref()
    }

    /// Sends GOAWAY, so that an HTTP/2 client opens another connection for its next requests.
    pub(crate) fn retire_http2(&self) {
        if self.protocol == Protocol::Http2 {
            self.retire.cancel();
        }
    }

    /// Makes the client close the connection after this response.
    pub(crate) fn close_after_response(&self, headers: &mut http::HeaderMap) {
        match self.protocol {
            Protocol::Http1 => drop(headers.insert(CONNECTION, HeaderValue::from_static("close"))),
            Protocol::Http2 => self.retire.cancel(),
        }
    }

    /// Ends the connection at once, without a response. Returns false if that was requested before.
    pub(crate) fn evict(&self) -> bool {
        let is_new = !self.evicted.swap(true, AcqRel);
        self.evicting.wake();
        is_new
    }

    /// Waits until the connection must end at once. There is a single caller.
    pub(crate) async fn wait_for_eviction(&self) {
        poll_fn(|cx| {
            // Registered before the flag is read, so that a later wake-up reaches the task.
            self.evicting.register(cx.waker());
            if self.evicted.load(Acquire) { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }

    /// Counts a request as active until the guard is dropped.
    pub(crate) fn begin(self: &Arc<Self>) -> ActiveRequest {
        self.activity.begin();
        ActiveRequest(Arc::clone(self))
    }

    /// True if the strict HTTP/1.1 reader does not apply: for HTTP/2, and after a 101 response.
    pub(crate) fn is_not_http1(&self) -> bool {
        self.opaque.load(Relaxed)
    }

    /// Ready when this many requests are completed.
    pub(crate) fn poll_response(&self, cx: &Context<'_>, requests: u64) -> Poll<()> {
        self.waiting.register(cx.waker());
        if self.completed_responses.load(Relaxed) == requests { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Sets the head of the next request.
    pub(crate) fn set_large_head(&self, head: LargeHead) {
        *self.large_head.lock().unwrap_or_else(PoisonError::into_inner) = Some(head);
    }

    /// Takes the head of the current request, if the parser did not get it.
    pub(super) fn take_large_head(&self) -> Option<LargeHead> {
        if self.protocol == Protocol::Http2 {
            return None;
        }
        self.large_head.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Records that the last input is not a valid request.
    pub(crate) fn reject(&self, rejection: HeadRejection) {
        // There is a single reader, which stops at the first rejection.
        let _ = self.rejection.set(rejection);
    }

    /// Rejection to send before the connection is closed.
    pub(crate) fn rejection(&self) -> Option<HeadRejection> {
        self.rejection.get().copied()
    }
}

pub(crate) struct ActiveRequest(Arc<Peer>);

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.0.activity.end();
        self.0.completed_responses.fetch_add(1, Relaxed);
        self.0.waiting.wake();
    }
}
