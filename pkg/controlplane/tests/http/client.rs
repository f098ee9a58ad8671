//! A minimal test client of one server. It sends exactly what the test specifies.

use std::sync::Arc;

use bytes::Bytes;
use controlplane::config::Config;
use controlplane::test_cluster::TestServer;
use endpoints::cpu_pool::CpuPool;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use hyper_util::rt::TokioIo;
use jsontree::Value;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::net::TcpStream;

pub(crate) const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub(crate) const JSON: &str = "application/json";

/// A server with an administrator client.
pub(crate) struct Client {
    server: TestServer,
}

/// A completely read response.
pub(crate) struct ReadResponse {
    pub(crate) code: u16,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Bytes,
}

impl ReadResponse {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// Returns a header; empty if missing.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Returns status code and reason of the Status.
    pub(crate) fn failure(&self) -> (u16, String) {
        (self.code, self.json()["reason"].as_str().unwrap_or("").to_owned())
    }
}

impl Client {
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// Starts a server with a changed configuration.
    pub(crate) async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        Client { server: TestServer::start_with(change).await.unwrap() }
    }

    /// Returns the server's CPU pool.
    pub(crate) fn heavy(&self) -> CpuPool {
        self.server.cpu_pool()
    }

    /// Opens an HTTP/1.1 connection.
    pub(crate) async fn connect(&self) -> SendRequest<Full<Bytes>> {
        let mut roots = rustls::RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(self.server.ca_certificates().as_bytes()) {
            roots.add(certificate.unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let url = self.server.url();
        let stream = TcpStream::connect(url.strip_prefix("https://").unwrap()).await.unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        let stream = tokio_rustls::TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
        let (sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        sender
    }

    /// Sends a request on its own connection, as administrator unless it has other credentials.
    pub(crate) async fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> http::Response<Incoming> {
        self.open_on(&mut self.connect().await, method, path, headers, body).await
    }

    /// Sends a request on a connection that has no active request.
    async fn open_on(
        &self,
        sender: &mut SendRequest<Full<Bytes>>,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> http::Response<Incoming> {
        let mut request = http::Request::builder().method(method).uri(path).header("host", "x");
        if !headers.iter().any(|(name, _)| *name == "authorization") {
            request = request.header("authorization", format!("Bearer {}", self.server.token()));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        sender.ready().await.unwrap();
        sender.send_request(request.body(Full::new(body.into())).unwrap()).await.unwrap()
    }

    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> ReadResponse {
        self.send_on(&mut self.connect().await, method, path, headers, body).await
    }

    /// Like [`send`](Self::send), on a connection that has no active request.
    pub(crate) async fn send_on(
        &self,
        sender: &mut SendRequest<Full<Bytes>>,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> ReadResponse {
        let (parts, body) = self.open_on(sender, method, path, headers, body).await.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        ReadResponse { code: parts.status.as_u16(), headers: parts.headers, body }
    }

    pub(crate) async fn get(&self, path: &str, accept: &str) -> ReadResponse {
        self.send("GET", path, &[("accept", accept)], "").await
    }

    pub(crate) async fn post(&self, path: &str, object: &Value) -> ReadResponse {
        self.send("POST", path, &[("content-type", JSON)], object.to_string()).await
    }

    /// Creates a config map with a label `app`.
    pub(crate) async fn config_map(&self, name: &str, app: &str) -> Value {
        let object = jsontree::json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "labels": {"app": app}}, "data": {"k": "v"},
        });
        let response = self.post(CONFIG_MAPS, &object).await;
        assert_eq!(response.code, 201, "{}", String::from_utf8_lossy(&response.body));
        response.json()
    }
}
