//! HTTP/1.1 client with administrator credentials, for tests. It uses one connection per request.
#![allow(clippy::unwrap_used)]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use endpoints::routing::dispatch::BoxError;
use futures::StreamExt;
use http::Request;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use jsontree::Value;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::test_cluster::TestServer;

/// Timeout for a change to take effect. It takes milliseconds on an idle machine.
const CHANGE_MAX: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub(crate) struct Client {
    address: SocketAddr,
    tls: Arc<rustls::ClientConfig>,
    token: &'static str,
    header: Option<(&'static str, &'static str)>,
}

impl Client {
    pub(crate) fn of(server: &TestServer) -> Self {
        let address = server.url().strip_prefix("https://").unwrap().parse().unwrap();
        Client::at(address, server.ca_certificates(), server.token())
    }

    /// Creates a client for a server address with CA `trust`.
    pub(crate) fn at(address: SocketAddr, trust: &str, token: &'static str) -> Self {
        let mut roots = rustls::RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(trust.as_bytes()) {
            roots.add(certificate.unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = rustls::ClientConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions().unwrap().with_root_certificates(roots);
        let tls = Arc::new(builder.with_no_client_auth());
        Client { address, tls, token, header: None }
    }

    /// Replaces the token.
    pub(crate) fn with_token(self, token: &'static str) -> Self {
        Client { token, ..self }
    }

    /// Adds a header to every request.
    pub(crate) fn with_header(self, name: &'static str, value: &'static str) -> Self {
        Client { header: Some((name, value)), ..self }
    }

    async fn execute<B>(&self, request: Request<B>) -> http::Response<Incoming>
    where
        B: hyper::body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let connector = tokio_rustls::TlsConnector::from(Arc::clone(&self.tls));
        let stream = connector.connect(name, stream).await.unwrap();
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection.with_upgrades());
        sender.send_request(request).await.unwrap()
    }

    fn request(&self, method: &str, path: &str) -> http::request::Builder {
        let bearer = format!("Bearer {}", self.token);
        let builder = Request::builder().method(method).uri(path);
        let builder = builder.header("host", "x").header("authorization", bearer);
        match self.header {
            Some((name, value)) => builder.header(name, value),
            None => builder,
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Sends a request without a body and returns the response.
    pub(crate) async fn response(&self, method: &str, path: &str) -> http::Response<Incoming> {
        self.execute(self.request(method, path).body(Full::<Bytes>::default()).unwrap()).await
    }

    /// Starts a POST whose body is sent on a signal. Returns the signal's sender and the future status code.
    pub(crate) fn held_back(&self, path: &str, object: &Value) -> (oneshot::Sender<()>, JoinHandle<u16>) {
        let (resume, resumed) = oneshot::channel();
        let object = Bytes::from(object.to_string());
        let body = futures::stream::once(async move {
            let _ = resumed.await;
            Ok::<_, BoxError>(Frame::data(object))
        });
        let request = self.request("POST", path).header("content-type", "application/json");
        let request = request.body(BodyExt::boxed_unsync(StreamBody::new(body))).unwrap();
        let client = self.clone();
        (resume, tokio::spawn(async move { client.execute(request).await.status().as_u16() }))
    }

    /// Repeats a request until the response contains a text.
    pub(crate) async fn until_page_has(&self, path: &str, text: &str) {
        let polling = async { while !self.text("GET", path).await.1.contains(text) {} };
        tokio::time::timeout(CHANGE_MAX, polling).await.expect("nothing changed in time");
    }

    /// Sends a request and returns status code and text.
    pub(crate) async fn text(&self, method: &str, path: &str) -> (u16, String) {
        let request = self.request(method, path).body(Full::<Bytes>::default()).unwrap();
        let response = self.execute(request).await;
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8(body.to_vec()).unwrap())
    }

    /// As [`send`](Self::send), with the text of the response.
    pub(crate) async fn text_of(&self, method: &str, path: &str, body: Value) -> (u16, String) {
        let request = self.request(method, path).header("content-type", "application/merge-patch+json");
        let response = self.execute(request.body(Full::from(body.to_string())).unwrap()).await;
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8(body.to_vec()).unwrap())
    }

    /// Returns the first chunk of a possibly endless response. The request body is endless too.
    pub(crate) async fn first_piece(&self, method: &str, path: &str, piece: &'static str) -> String {
        let first = futures::stream::once(async move { Ok::<_, BoxError>(Frame::data(Bytes::from(piece))) });
        let body = StreamBody::new(first.chain(futures::stream::pending()));
        let request = self.request(method, path).body(BodyExt::boxed_unsync(body)).unwrap();
        let first = async { self.execute(request).await.into_body().frame().await };
        let frame = tokio::time::timeout(CHANGE_MAX, first).await.expect("nothing came in time");
        String::from_utf8(frame.unwrap().unwrap().into_data().unwrap().to_vec()).unwrap()
    }

    /// Returns the part of a response before it was aborted.
    pub(crate) async fn broken(&self, path: &str) -> String {
        let request = self.request("GET", path).body(Full::<Bytes>::default()).unwrap();
        let mut body = self.execute(request).await.into_body();
        let mut received = Vec::new();
        while let Some(frame) = body.frame().await {
            match frame {
                Ok(frame) => received.extend(frame.into_data().unwrap()),
                Err(_) => return String::from_utf8(received).unwrap(),
            }
        }
        panic!("it came to its end");
    }

    /// Sends a request and returns status code and object. PATCH is a merge patch; STRATEGIC and APPLY are
    /// other patch types.
    pub(crate) async fn send(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let (method, media_type) = match method {
            "APPLY" => ("PATCH", "application/apply-patch+yaml"),
            "PATCH" => ("PATCH", "application/merge-patch+json"),
            "STRATEGIC" => ("PATCH", "application/strategic-merge-patch+json"),
            other => (other, "application/json"),
        };
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let request = self.request(method, path).header("content-type", media_type);
        let response = self.execute(request.body(Full::from(body)).unwrap()).await;
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&body).unwrap())
    }

    pub(crate) async fn ok(&self, method: &str, path: &str, body: Value) -> Value {
        let (code, response) = self.send(method, path, body).await;
        assert!((200..300).contains(&code), "{method} {path}: {response}");
        response
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.ok("GET", path, Value::Null).await
    }

    /// Repeats a request until it returns a status code, because writes take effect only with a watch event.
    pub(crate) async fn eventually(&self, path: &str, code: u16) {
        let polling = async {
            while self.text("GET", path).await.0 != code {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(CHANGE_MAX, polling).await.expect("nothing changed in time");
    }

    pub(crate) async fn make(&self, path: &str, object: Value) {
        self.ok("POST", path, object).await;
    }

    /// Sends a text on an upgraded connection and returns everything received until it ends.
    pub(crate) async fn upgraded(&self, method: &str, path: &str, line: &str) -> String {
        let request = self.request(method, path).header("connection", "Upgrade").header("upgrade", "echo");
        let mut response = self.execute(request.body(Full::<Bytes>::default()).unwrap()).await;
        assert_eq!(response.status(), 101);
        assert_eq!(response.headers().get("upgrade").unwrap(), "echo");
        let mut stream = TokioIo::new(hyper::upgrade::on(&mut response).await.unwrap());
        stream.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        stream.flush().await.unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.unwrap();
        reply
    }
}
