//! HTTP/2 connections to one server. The workload chooses the number of TCP connections, the streams on each,
//! and the flow control windows.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_TYPE, USER_AGENT};
use http::{Method, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{Builder, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use crate::error::{Error, Result};
use crate::realistic::Write;
use crate::target::Target;

pub(crate) use crate::realistic::JSON;

/// HTTP/2 flow control windows in bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Windows {
    stream: u32,
    connection: u32,
}

impl Windows {
    /// Large enough never to be the bottleneck.
    pub(crate) const LARGE: Self = Self { stream: 4 << 20, connection: 8 << 20 };
    /// Small enough for the server to notice at once that the client does not read. The connection window is
    /// HTTP/2's minimum.
    pub(crate) const SMALL: Self = Self { stream: 16 << 10, connection: 65_535 };
}

/// A request, without the parts common to all requests.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: Method,
    path: String,
    accept: &'static str,
    gzip: bool,
    /// User and groups to impersonate, if any.
    actor: Option<(String, &'static [&'static str])>,
    body: Option<(&'static str, Bytes)>,
}

impl Call {
    /// Creates a GET request for JSON.
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self { method: Method::GET, path: path.into(), accept: JSON, gzip: false, actor: None, body: None }
    }

    /// Creates a write with a JSON response. `kind` is the media type of the body.
    pub(crate) fn send(
        method: Method,
        path: impl Into<String>,
        kind: &'static str,
        body: impl Into<Bytes>,
    ) -> Self {
        Self { method, body: Some((kind, body.into())), ..Self::get(path) }
    }

    /// Returns the request of a manager's write of the object `name`.
    pub(crate) fn of_manager(write: &Write, collection: &str, name: &str) -> Self {
        let method = if write.method == "POST" { Method::POST } else { Method::PATCH };
        Self::send(method, write.target(collection, name), write.content_type, write.body.to_string())
    }

    /// Creates a DELETE request.
    pub(crate) fn delete(path: impl Into<String>) -> Self {
        Self { method: Method::DELETE, ..Self::get(path) }
    }

    /// Requests another media type.
    pub(crate) fn accept(self, accept: &'static str) -> Self {
        Self { accept, ..self }
    }

    /// Impersonates a user with these groups.
    pub(crate) fn impersonating(self, user: String, groups: &'static [&'static str]) -> Self {
        Self { actor: Some((user, groups)), ..self }
    }

    /// Accepts a gzipped response.
    pub(crate) fn gzip(self, gzip: bool) -> Self {
        Self { gzip, ..self }
    }
}

/// A completely read response.
#[derive(Debug)]
pub(crate) struct Answer {
    /// The request, for messages.
    what: String,
    /// HTTP status code.
    pub(crate) status: u16,
    /// Length of the body in bytes.
    pub(crate) bytes: u64,
    /// Start of the body, as much as the caller requested.
    pub(crate) head: Vec<u8>,
    /// True if the body is gzipped.
    pub(crate) gzipped: bool,
}

/// Bytes of a possible error response that are stored for messages.
const QUOTE: usize = 600;

impl Answer {
    /// Returns the response, or an error if its status is not `status`.
    pub(crate) fn expect(self, status: u16) -> Result<Self> {
        if self.status == status { Ok(self) } else { Err(self.wrong(&format!("wanted {status}"))) }
    }

    /// Creates an error that quotes this response.
    pub(crate) fn wrong(&self, why: &str) -> Error {
        let quote = String::from_utf8_lossy(self.head.get(..QUOTE).unwrap_or(&self.head)).into_owned();
        Error::Wrong(format!("{}: {why}, got {} {}", self.what, self.status, quote.trim()))
    }
}

/// Connections to one server. Lane `i` uses connection `i` modulo the number of connections.
#[derive(Debug)]
pub(crate) struct Client {
    target: Arc<Target>,
    senders: Vec<SendRequest<Full<Bytes>>>,
    time_limit: Duration,
    /// Connection tasks; dropping the client closes the connections.
    _drivers: JoinSet<()>,
}

impl Client {
    /// Opens `connections` TCP connections with TLS and HTTP/2.
    pub(crate) async fn connect(
        target: &Arc<Target>,
        connections: u64,
        windows: Windows,
        time_limit: Duration,
    ) -> Result<Self> {
        let mut drivers = JoinSet::new();
        let mut senders = Vec::new();
        for _ in 0..connections.max(1) {
            let opened = timeout(time_limit, open(target, windows, &mut drivers)).await;
            senders.push(opened.map_err(|_| Error::Timeout(time_limit))??);
        }
        Ok(Self { target: Arc::clone(target), senders, time_limit, _drivers: drivers })
    }

    /// Sends `call` and waits for the response headers; the caller reads the body.
    pub(crate) async fn start(&self, lane: usize, call: Call) -> Result<Response<Incoming>> {
        let at = lane % self.senders.len().max(1);
        let sender = self.senders.get(at).ok_or_else(|| Error::Wrong("no connection".to_owned()))?;
        let request = self.request(call)?;
        let response = timeout(self.time_limit, sender.clone().send_request(request)).await;
        Ok(response.map_err(|_| Error::Timeout(self.time_limit))??)
    }

    /// Sends `call`, reads the whole response and stores its first `keep` bytes.
    pub(crate) async fn call(&self, lane: usize, call: Call, keep: usize) -> Result<Answer> {
        let name = format!("{} {}", call.method, call.path);
        let exchange = async {
            let response = self.start(lane, call).await?;
            drain(name, response, keep).await
        };
        timeout(self.time_limit, exchange).await.map_err(|_| Error::Timeout(self.time_limit))?
    }

    fn request(&self, call: Call) -> Result<Request<Full<Bytes>>> {
        let uri = format!("{}{}", self.target.url.trim_end_matches('/'), call.path);
        let mut request = Request::builder().method(call.method).uri(uri);
        request = request.header(USER_AGENT, "apibench").header(ACCEPT, call.accept);
        if let Some(authorization) = &self.target.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        if let Some((user, groups)) = &call.actor {
            request = request.header("impersonate-user", user);
            request =
                groups.iter().fold(request, |request, group| request.header("impersonate-group", *group));
        }
        if call.gzip {
            request = request.header(ACCEPT_ENCODING, "gzip");
        }
        let body = match call.body {
            None => Bytes::new(),
            Some((kind, body)) => {
                request = request.header(CONTENT_TYPE, kind);
                body
            }
        };
        request.body(Full::new(body)).map_err(|e| Error::Usage(e.to_string()))
    }
}

async fn open(
    target: &Target,
    windows: Windows,
    drivers: &mut JoinSet<()>,
) -> Result<SendRequest<Full<Bytes>>> {
    let to = format!("{}:{}", target.host, target.port);
    let refused = |e: &dyn std::fmt::Display| Error::Connect { to: to.clone(), why: e.to_string() };
    let tcp = TcpStream::connect((target.host.as_str(), target.port)).await.map_err(|e| refused(&e))?;
    tcp.set_nodelay(true).map_err(|e| refused(&e))?;
    let name = ServerName::try_from(target.host.clone()).map_err(|e| refused(&e))?;
    let connector = TlsConnector::from(Arc::clone(&target.tls));
    let tls = connector.connect(name, tcp).await.map_err(|e| refused(&e))?;
    if tls.get_ref().1.alpn_protocol() != Some(b"h2") {
        return Err(refused(&"the server does not speak HTTP/2"));
    }
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .initial_stream_window_size(windows.stream)
        .initial_connection_window_size(windows.connection);
    let (sender, connection) = builder.handshake(TokioIo::new(tls)).await?;
    drivers.spawn(async move {
        // An error here also appears as the error of every request on this connection.
        let _ = connection.await;
    });
    Ok(sender)
}

async fn drain(what: String, response: Response<Incoming>, keep: usize) -> Result<Answer> {
    let status = response.status().as_u16();
    let gzipped = response.headers().get(CONTENT_ENCODING).is_some_and(|value| value == "gzip");
    let keep = if status < 300 { keep } else { keep.max(QUOTE) };
    let mut answer = Answer { what, status, bytes: 0, head: Vec::new(), gzipped };
    let mut body = response.into_body();
    while let Some(frame) = body.frame().await {
        let frame = frame?;
        let Some(data) = frame.data_ref() else { continue };
        answer.bytes += data.len() as u64;
        let length = keep.saturating_sub(answer.head.len()).min(data.len());
        answer.head.extend_from_slice(data.get(..length).unwrap_or_default());
    }
    Ok(answer)
}
