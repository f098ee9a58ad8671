//! One connection: TCP, TLS and protocol negotiation.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use std::{fmt, io};

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tower_service::Service;

use crate::dial::{Address, AddressCheck, Dialer, Io, Route, permitted, tcp, tcp_permitted};
use crate::error::Error;
use crate::tls::{Tls, explain};

/// Timeout of a TLS handshake (Go's default transport).
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);

/// Creates connections to the host of a URL.
#[derive(Clone)]
pub(crate) struct Connector {
    /// TLS configuration with the offered protocols.
    pub(crate) config: Arc<ClientConfig>,
    /// Name to verify instead of the URL's host.
    pub(crate) server_name: Option<String>,
    /// Address lookup for hosts that DNS does not resolve.
    pub(crate) route: Option<Route>,
    /// Dialer that replaces direct connections.
    pub(crate) dialer: Option<Dialer>,
    /// Restricts the addresses to connect to.
    pub(crate) permits_address: Option<AddressCheck>,
}

impl Connector {
    /// Connects to the host of a URL.
    ///
    /// # Errors
    /// [`Error::Connect`].
    pub(crate) async fn connect(&self, uri: &Uri) -> Result<Stream, Error> {
        let tls = match uri.scheme_str() {
            Some("https") => true,
            Some("http") => false,
            _ => return Err(Error::connect("unsupported protocol scheme".to_owned())),
        };
        let host = uri.host().ok_or_else(|| Error::connect("http: no Host in request URL".to_owned()))?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = uri.port_u16().unwrap_or(if tls { 443 } else { 80 });
        let address = match &self.route {
            Some(route) => route(host, port).map_err(|error| Error::connect(error.to_string()))?,
            None => Address { host: host.to_owned(), port },
        };
        let name = tls.then_some(host);
        let connected = match (&self.dialer, self.permits_address) {
            (None, None) => self.with_stream(tcp(&address).await, name).await,
            (None, Some(permits)) => self.with_stream(tcp_permitted(&address, permits).await, name).await,
            (Some(dialer), None) => self.with_stream(dialer.dial(&address).await, name).await,
            (Some(dialer), Some(permits)) => {
                let address = permitted(&address, permits).await?;
                self.with_stream(dialer.dial(&address).await, name).await
            }
        };
        connected.map_err(|error| Error::connect(error.to_string()))
    }

    /// Adds TLS to a stream if the URL requires it.
    async fn with_stream(
        &self,
        stream: Result<impl Io + 'static, Error>,
        host: Option<&str>,
    ) -> Result<Stream, Error> {
        let Some(host) = host else {
            return Ok(Stream::new(Box::new(stream?), false));
        };
        let name = self.server_name.as_deref().unwrap_or(host);
        let (stream, http2) = handshake(&self.config, name, stream?).await?;
        Ok(Stream::new(stream, http2))
    }
}

/// Performs a TLS handshake. Returns the stream, and true if HTTP/2 was negotiated.
///
/// # Errors
/// In the words of Go's `crypto/tls`.
async fn handshake(
    config: &Arc<ClientConfig>,
    name: &str,
    stream: impl Io + 'static,
) -> Result<(Box<dyn Io>, bool), Error> {
    let name =
        ServerName::try_from(name.to_owned()).map_err(|error| Error::connect(format!("tls: {error}")))?;
    let connecting = TlsConnector::from(Arc::clone(config)).connect(name, stream);
    match timeout(HANDSHAKE_MAX, connecting).await {
        Ok(Ok(stream)) => {
            let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            Ok((Box::new(stream), http2))
        }
        Ok(Err(error)) => Err(Error::connect(explain(&error))),
        Err(_) => Err(Error::connect("net/http: TLS handshake timeout".to_owned())),
    }
}

/// TLS client for one server, over streams that the caller provides.
#[derive(Clone)]
pub struct TlsClient {
    config: Arc<ClientConfig>,
    name: String,
}

impl TlsClient {
    /// Creates a TLS client that verifies the name `host`, or the server name in `tls`. Reads files once,
    /// which blocks.
    ///
    /// # Errors
    /// [`Error::Credentials`].
    pub fn new(tls: &Tls, host: &str) -> Result<Self, Error> {
        let config = Arc::new(tls.config(&tls.material(None)?)?);
        let name = tls.server_name.clone().unwrap_or_else(|| host.to_owned());
        Ok(TlsClient { config, name })
    }

    /// Performs the handshake, for at most 10 s.
    ///
    /// # Errors
    /// In the words of Go's `crypto/tls`.
    pub async fn handshake(&self, stream: impl Io + 'static) -> Result<Box<dyn Io>, Error> {
        handshake(&self.config, &self.name, stream).await.map(|(stream, _)| stream)
    }
}

/// Shows the expected name but no secrets.
impl fmt::Debug for TlsClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secured").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Stream, Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connector = self.clone();
        Box::pin(async move { connector.connect(&uri).await })
    }
}

/// A connection.
pub(crate) struct Stream {
    io: TokioIo<Box<dyn Io>>,
    http2: bool,
    usage: ConnectionUsage,
}

impl Stream {
    fn new(io: Box<dyn Io>, http2: bool) -> Self {
        Stream { io: TokioIo::new(io), http2, usage: ConnectionUsage::default() }
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        let connected = Connected::new().extra(self.usage.clone());
        if self.http2 { connected.negotiated_h2() } else { connected }
    }
}

/// True once a connection has returned a response. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConnectionUsage(Arc<AtomicBool>);

impl ConnectionUsage {
    /// Marks the connection of a response.
    pub(crate) fn mark_used<T>(response: &http::Response<T>) {
        if let Some(usage) = response.extensions().get::<Self>() {
            usage.0.store(true, Ordering::Relaxed);
        }
    }

    /// True if the connection had returned a response before.
    pub(crate) fn was_used(connected: &Connected) -> bool {
        let mut extensions = http::Extensions::new();
        connected.get_extras(&mut extensions);
        extensions.get::<Self>().is_some_and(|usage| usage.0.load(Ordering::Relaxed))
    }
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_read(cx, buf)
    }
}

impl Write for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(cx, bufs)
    }
}
