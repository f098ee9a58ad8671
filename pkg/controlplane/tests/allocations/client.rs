//! HTTP/2 client of the test on one connection. Its allocations do not count.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;
use controlplane::test_cluster::TestServer;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use serde_json::Value;
use tokio::net::TcpStream;

use crate::counter::Uncounted;
use crate::realistic::{JSON, Write};

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: &'static str,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) content_type: &'static str,
    pub(crate) accept: &'static str,
    pub(crate) token: &'static str,
    pub(crate) body: Bytes,
}

/// Token of the user of most requests: a cluster administrator by RBAC, so that no step is skipped for it.
pub(crate) const OPERATOR: &str = "operator-token";
/// Token of a user without permissions.
pub(crate) const UNPRIVILEGED: &str = "nobody-token";

impl Call {
    pub(crate) fn get(target: impl Into<String>) -> Self {
        let target = target.into();
        Call { method: "GET", target, content_type: JSON, accept: JSON, token: OPERATOR, body: Bytes::new() }
    }

    pub(crate) fn send(
        method: &'static str,
        target: impl Into<String>,
        content_type: &'static str,
        body: &Value,
    ) -> Self {
        Call { method, content_type, body: body.to_string().into(), ..Self::get(target) }
    }

    pub(crate) fn post(target: impl Into<String>, body: &Value) -> Self {
        Self::send("POST", target, JSON, body)
    }

    pub(crate) fn delete(target: impl Into<String>) -> Self {
        Call { method: "DELETE", ..Self::get(target) }
    }

    /// Returns the call of a manager's write.
    pub(crate) fn of_manager(write: &Write, collection: &str, name: &str) -> Self {
        Self::send(write.method, write.target(collection, name), write.content_type, &write.body)
    }

    pub(crate) fn accept(self, accept: &'static str) -> Self {
        Call { accept, ..self }
    }

    pub(crate) fn token(self, token: &'static str) -> Self {
        Call { token, ..self }
    }

    /// Returns the request head; `base` is the address of a server.
    pub(crate) fn head(&self, base: &str) -> http::request::Builder {
        http::Request::builder()
            .method(self.method)
            .uri(format!("{base}{}", self.target))
            .header("authorization", format!("Bearer {}", self.token))
            .header("user-agent", "allocations")
            .header("content-type", self.content_type)
            .header("accept", self.accept)
    }
}

/// Runs the tasks of the HTTP/2 client uncounted.
#[derive(Clone)]
struct UncountedExecutor;

impl<F> hyper::rt::Executor<F> for UncountedExecutor
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    fn execute(&self, future: F) {
        tokio::spawn(Uncounted::new(future));
    }
}

/// An open connection.
pub(crate) struct Connection {
    base: String,
    sender: SendRequest<Full<Bytes>>,
}

/// A completely read response.
pub(crate) struct Received {
    pub(crate) code: u16,
    pub(crate) body: Bytes,
}

impl Received {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

impl Connection {
    pub(crate) async fn open(server: &TestServer) -> Self {
        Uncounted::new(Self::connect(server)).await
    }

    async fn connect(server: &TestServer) -> Self {
        let mut roots = rustls::RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(server.ca_certificates().as_bytes()) {
            roots.add(certificate.unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let base = server.url();
        let stream = TcpStream::connect(base.strip_prefix("https://").unwrap()).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let stream = tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
        let (sender, connection) = handshake(UncountedExecutor, TokioIo::new(stream)).await.unwrap();
        tokio::spawn(Uncounted::new(connection));
        Connection { base, sender }
    }

    /// Sends a request and reads the response.
    pub(crate) async fn send(&self, call: &Call) -> Received {
        Uncounted::new(self.exchange(call)).await
    }

    async fn exchange(&self, call: &Call) -> Received {
        let request = call.head(&self.base).body(Full::new(call.body.clone())).unwrap();
        let (parts, body) = self.sender.clone().send_request(request).await.unwrap().into_parts();
        Received { code: parts.status.as_u16(), body: body.collect().await.unwrap().to_bytes() }
    }

    /// Sends a request that must succeed.
    pub(crate) async fn ok(&self, call: &Call) -> Received {
        let received = self.send(call).await;
        let text = String::from_utf8_lossy(&received.body);
        assert!((200..300).contains(&received.code), "{} {}: {text}", call.method, call.target);
        received
    }

    /// Starts a watch. Adds the number of received events to `events` until it ends.
    pub(crate) async fn watch(self, call: &Call, events: Arc<AtomicUsize>) {
        let request = call.head(&self.base).body(Full::default()).unwrap();
        let response =
            Uncounted::new(async { self.sender.clone().send_request(request).await.unwrap() }).await;
        assert_eq!(response.status(), 200);
        tokio::spawn(Uncounted::new(async move {
            let _connection = self;
            let mut body = response.into_body();
            while let Some(Ok(frame)) = body.frame().await {
                let ends =
                    frame.data_ref().map_or(0, |data| data.iter().filter(|byte| **byte == b'\n').count());
                events.fetch_add(ends, Relaxed);
            }
        }));
    }
}
