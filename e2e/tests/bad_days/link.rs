//! One HTTP/2 connection for many requests. A lost connection is reopened to the next available server, as
//! behind a load balancer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use e2e::Server;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::Response;
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use kube::client::ConfigExt;
use rustls_pki_types::ServerName;
use serde::Deserialize;
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// Above the server's timeout of any request except watches (60 s).
const REQUEST_LIMIT: Duration = Duration::from_secs(75);

/// Address and admin credentials of a server.
#[derive(Clone)]
pub(crate) struct Address {
    port: u16,
    tls: TlsConnector,
}

impl Address {
    pub(crate) async fn of(server: &Server) -> Self {
        let mut tls = server.client_config().await.rustls_client_config().unwrap();
        tls.alpn_protocols = vec![b"h2".to_vec()];
        Address { port: server.port(), tls: TlsConnector::from(Arc::new(tls)) }
    }
}

/// No response, or an incomplete one: the connection is lost.
#[derive(Debug)]
pub(crate) struct Broken;

/// A connection to one of several servers.
pub(crate) struct Link {
    addresses: Vec<Address>,
    /// Flow control window for unread streams in bytes.
    window_bytes: u32,
    state: Mutex<State>,
}

struct State {
    at: usize,
    sender: Option<SendRequest<Full<Bytes>>>,
}

/// A completely read response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) body: Bytes,
}

/// The parts of an object, a list or a Status that clients need.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Document {
    pub(crate) kind: String,
    pub(crate) metadata: Metadata,
    pub(crate) items: Vec<Document>,
    pub(crate) code: u16,
    pub(crate) message: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Metadata {
    pub(crate) name: String,
    pub(crate) resource_version: String,
    pub(crate) annotations: std::collections::BTreeMap<String, String>,
}

impl Metadata {
    pub(crate) fn revision(&self) -> i64 {
        self.resource_version.parse().expect("a resource version is a number")
    }
}

impl Answer {
    pub(crate) fn document(&self) -> Document {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }
}

impl Link {
    /// Creates a link that starts with server number `first`. Connects on first use.
    pub(crate) fn new(addresses: Vec<Address>, first: usize, window_bytes: u32) -> Self {
        Link { addresses, window_bytes, state: Mutex::new(State { at: first, sender: None }) }
    }

    /// Sends a request; the response body must still be read.
    pub(crate) async fn open(
        &self,
        method: &str,
        path: &str,
        body: &str,
    ) -> Result<Response<Incoming>, Broken> {
        let mut sender = self.sender().await?;
        let media_type = match method {
            "PATCH" => "application/merge-patch+json",
            _ => "application/json",
        };
        let request = Request::builder()
            .method(method)
            .uri(format!("https://127.0.0.1{path}"))
            .header("content-type", media_type)
            .header("accept", "application/json")
            .body(Full::new(Bytes::from(body.to_owned())))
            .unwrap();
        sender.send_request(request).await.map_err(|_| Broken)
    }

    /// Sends a request and reads the response.
    ///
    /// # Panics
    /// It exceeds the server's maximum time.
    pub(crate) async fn send(&self, method: &str, path: &str, body: &str) -> Result<Answer, Broken> {
        let sending = async {
            let response = self.open(method, path, body).await?;
            let code = response.status().as_u16();
            let body = response.into_body().collect().await.map_err(|_| Broken)?.to_bytes();
            Ok(Answer { code, body })
        };
        let sent = timeout(REQUEST_LIMIT, sending).await;
        sent.unwrap_or_else(|_| panic!("{method} {path} takes longer than a request may take"))
    }

    /// Returns the connection, and opens it if necessary.
    async fn sender(&self) -> Result<SendRequest<Full<Bytes>>, Broken> {
        let mut state = self.state.lock().await;
        if let Some(sender) = state.sender.as_ref().filter(|sender| !sender.is_closed()) {
            return Ok(sender.clone());
        }
        if state.sender.take().is_some() {
            state.at += 1;
        }
        let address = &self.addresses[state.at % self.addresses.len()];
        match connect(address, self.window_bytes).await {
            Ok(sender) => Ok(state.sender.insert(sender).clone()),
            Err(broken) => {
                state.at += 1;
                Err(broken)
            }
        }
    }
}

async fn connect(address: &Address, window_bytes: u32) -> Result<SendRequest<Full<Bytes>>, Broken> {
    let stream = TcpStream::connect(("127.0.0.1", address.port)).await.map_err(|_| Broken)?;
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let stream = address.tls.connect(name, stream).await.map_err(|_| Broken)?;
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(window_bytes)
        .handshake(TokioIo::new(stream))
        .await
        .map_err(|_| Broken)?;
    tokio::spawn(connection);
    Ok(sender)
}
