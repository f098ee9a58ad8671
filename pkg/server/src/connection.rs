//! One connection: TLS, HTTP/1.1 or HTTP/2, and its end.

use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use std::time::Duration;

use arc_swap::ArcSwap;
use http_body::Body as _;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::time::timeout;

use audit::Sink;
use endpoints::routing::path::LongQuery;

use crate::Chain;
use crate::chain::SentResponse;
use crate::connection::activity::HEAD_TIMEOUT;
use crate::connection::coalescing_writer::CoalescingWriter;
use crate::connection::peer::{Peer, Protocol};
use crate::connection::request_body::RequestBody;
use crate::connection::wake_gate::WakeGated;
use crate::http1::StrictReader;
use crate::http1::head::FIELDS_MAX;
use crate::http2::FilteredStream;
use crate::http2::filter::{FRAME_BYTES_MAX, HEADER_LIST_BYTES_MAX};
use crate::lifecycle::Lifecycle;
use crate::limits::incomplete_heads::IncompleteHead;
use crate::tls::Tls;
use crate::tls::client_certificates::ClientCertificates;

pub(crate) mod activity;
mod close_reason;
pub(crate) mod coalescing_writer;
pub(crate) mod peer;
pub(crate) mod plain_http;
pub(crate) mod request_body;
pub(crate) mod wake_gate;

use close_reason::CloseState;

/// Timeout for the shutdown handshake of a closing connection.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum size of each buffer of the HTTP/1.1 parser. [`StrictReader`] passes on only small heads.
const PARSER_BUFFER_BYTES_MAX: usize = 512 * 1024;
/// Receive window of a stream. Nearly every object fits into it.
const STREAM_WINDOW_BYTES: u32 = 256 * 1024;
/// Number of streams, in multiples of the concurrent ones, that a client may reset before their requests start (the
/// limit of Go's server for handlers that have not started).
const RESETS_PER_STREAM: usize = 4;
/// Send buffer per stream for slow clients, in addition to the current piece of the body.
const SEND_BUFFER_BYTES: usize = 128 * 1024;

#[derive(Debug, Clone, Copy)]
pub struct ConnectionOptions {
    /// `--http2-max-streams-per-connection`; 0 means 100, as in upstream.
    pub http2_streams_max: u32,
}

impl Default for ConnectionOptions {
    fn default() -> Self {
        ConnectionOptions { http2_streams_max: 100 }
    }
}

/// Serves an accepted connection until it ends. Errors affect only this connection.
pub(crate) async fn serve_tls<S>(
    stream: S,
    remote: SocketAddr,
    tls: Arc<ArcSwap<Tls>>,
    chain: Arc<Chain>,
    options: ConnectionOptions,
    lifecycle: Lifecycle,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let accepted = tokio::select! {
        accepted = timeout(HEAD_TIMEOUT, tls.load().acceptor().accept(stream)) => accepted,
        () = lifecycle.draining().cancelled() => return,
    };
    let stream = match accepted {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return handshake_failed(&chain, remote, &error.to_string()),
        Err(_) => return handshake_failed(&chain, remote, "timed out"),
    };
    let (_, session) = stream.get_ref();
    let protocol = match session.alpn_protocol() {
        Some(b"h2") => Protocol::Http2,
        _ => Protocol::Http1,
    };
    let shown =
        session.peer_certificates().and_then(|certificates| ClientCertificates::new(certificates, tls));
    serve(stream, Peer::new(remote, protocol, shown), chain, options, lifecycle).await;
}

fn handshake_failed(chain: &Chain, remote: SocketAddr, reason: &str) {
    chain.metrics().tls_handshake_errors.increment();
    tracing::debug!(%remote, reason, "TLS handshake failed");
}

/// Serves requests from a decrypted byte stream.
pub(crate) async fn serve<S>(
    stream: S,
    peer: Arc<Peer>,
    chain: Arc<Chain>,
    options: ConnectionOptions,
    lifecycle: Lifecycle,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let audit_sink = chain.audit_sink();
    let incomplete_heads = Arc::clone(chain.incomplete_heads());
    let service = {
        let peer = Arc::clone(&peer);
        service_fn(move |request: http::Request<Incoming>| {
            let chain = Arc::clone(&chain);
            let peer = Arc::clone(&peer);
            // Boxed, so that the memory of the chain is freed when a response starts. The task of a stream
            // lives as long as its response, which for a watch can be hours.
            Box::pin(async move {
                let response = peer.activity.prepare_response(handle(&chain, &peer, request)).await;
                if response.status() == http::StatusCode::SWITCHING_PROTOCOLS {
                    peer.opaque.store(true, Relaxed);
                }
                Ok::<_, Infallible>(response)
            })
        })
    };
    let builder = builder(peer.protocol, options);
    let observed = ObservedStream { stream, peer: Arc::clone(&peer), audit_sink };
    let output = CoalescingWriter::new(observed, peer.protocol == Protocol::Http2);
    let incomplete_head = || IncompleteHead::new(Arc::clone(&incomplete_heads), Arc::clone(&peer));
    let blocks = FilteredStream::new(output.clone(), peer.protocol, incomplete_head());
    let io = TokioIo::new(StrictReader::new(blocks, Arc::clone(&peer), incomplete_head()));
    let mut connection = pin!(builder.serve_connection_with_upgrades(io, service));
    let mut endings = CloseState::default();
    let mut expired = pin!(peer.activity.expired());
    let mut stalled = pin!(peer.activity.wait_until_stalled());
    loop {
        let ending = pin!(endings.next(&peer, &lifecycle, expired.as_mut(), stalled.as_mut()));
        tokio::select! {
            biased; // so that later responses carry `Connection: close`
            cut = WakeGated::new(ending) => if cut { return },
            ended = poll_fn(|cx| output.poll_driving(connection.as_mut(), cx)) => {
                if let Err(error) = ended.map_err(Into::into).flatten() {
                    tracing::debug!(remote = %peer.remote, error, "connection ended");
                }
                return send_rejection(&peer, output).await;
            }
        }
        connection.as_mut().graceful_shutdown();
    }
}

/// Sends the rejection for an invalid request, if there was one. Reads the client's remaining input for a
/// moment, because closing at once could discard the response.
async fn send_rejection<S: AsyncRead + AsyncWrite + Unpin>(peer: &Peer, mut stream: S) {
    let Some(rejection) = peer.rejection() else { return };
    tracing::debug!(remote = %peer.remote, refusal = ?rejection, "invalid HTTP/1.1 request");
    let goodbye = async {
        stream.write_all(rejection.response().as_bytes()).await?;
        stream.shutdown().await?;
        let mut unread = [0; 1024];
        while stream.read(&mut unread).await? > 0 {}
        Ok::<_, io::Error>(())
    };
    // A failed or slow write is ignored.
    let _ = timeout(SHUTDOWN_TIMEOUT, goodbye).await;
}

/// Handles a request, and ensures that a client that is still sending receives the response.
async fn handle(chain: &Arc<Chain>, peer: &Arc<Peer>, request: http::Request<Incoming>) -> SentResponse {
    let (mut head, body) = request.into_parts();
    if let Some(large) = peer.take_large_head() {
        head.uri = large.uri;
        head.headers = large.headers;
        if let Some(query) = large.query {
            head.extensions.insert(LongQuery(String::from_utf8_lossy(&query).into()));
        }
    }
    if body.is_end_stream() {
        let body = body.map_err(Into::into).boxed_unsync();
        return chain.serve(http::Request::from_parts(head, body), peer).await;
    }
    let expects = head.headers.contains_key(http::header::EXPECT);
    let (body, unread) = RequestBody::new(body);
    let body = body.map_err(Into::into).boxed_unsync();
    let mut response = chain.serve(http::Request::from_parts(head, body), peer).await;
    if !unread.discard(expects).await && peer.protocol == Protocol::Http1 {
        response.headers_mut().insert(http::header::CONNECTION, http::HeaderValue::from_static("close"));
    }
    response
}

fn builder(protocol: Protocol, options: ConnectionOptions) -> auto::Builder<TokioExecutor> {
    let streams = options.http2_streams_max;
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        // `Activity` tracks head and idle timeouts, which hyper's timeout does not distinguish.
        .header_read_timeout(None)
        // `StrictReader` has already enforced the limit.
        .max_headers(FIELDS_MAX)
        .max_buf_size(PARSER_BUFFER_BYTES_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(streams)
        .max_pending_accept_reset_streams((streams as usize).saturating_mul(RESETS_PER_STREAM))
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(STREAM_WINDOW_BYTES.saturating_mul(streams).min((1 << 31) - 1))
        .max_frame_size(FRAME_BYTES_MAX)
        .max_send_buf_size(SEND_BUFFER_BYTES)
        .max_header_list_size(HEADER_LIST_BYTES_MAX);
    match protocol {
        Protocol::Http1 => builder.http1_only(),
        Protocol::Http2 => builder.http2_only(),
    }
}

/// Stream that reports reads and writes to its peer's [`Activity`]. It delays writes until the audit events
/// of their requests are stored.
struct ObservedStream<S> {
    stream: S,
    peer: Arc<Peer>,
    /// Audit sink, if any.
    audit_sink: Option<Arc<dyn Sink>>,
}

impl<S> ObservedStream<S> {
    fn sync_audit(&self) {
        if let Some(recorded) = &self.audit_sink {
            recorded.sync();
        }
    }

    fn record_write(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if matches!(written, Poll::Ready(Ok(1..))) {
            self.peer.activity.record_write();
        }
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ObservedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        if buf.filled().len() > before {
            self.peer.activity.record_read();
        }
        polled
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ObservedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.sync_audit();
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.record_write(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.sync_audit();
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.record_write(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
