//! A fake kubelet that echoes its requests.
#![allow(clippy::unwrap_used)]

use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub(super) struct Kubelet {
    pub(super) port: u16,
    serving: JoinHandle<()>,
}

impl Kubelet {
    /// Starts a kubelet with the certificate of the server whose files are in `dir`.
    pub(super) async fn start(dir: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let read = |name: &str| std::fs::read(dir.join(name)).unwrap();
        let chain: Vec<_> =
            CertificateDer::pem_slice_iter(&read("apiserver.crt")).map(Result::unwrap).collect();
        let key = PrivateKeyDer::from_pem_slice(&read("apiserver.key")).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = rustls::ServerConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let acceptor =
            tokio_rustls::TlsAcceptor::from(Arc::new(builder.with_single_cert(chain, key).unwrap()));
        let serving = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let service = service_fn(|request| async { Ok::<_, Infallible>(respond(request)) });
                    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
                    let _ = connection.with_upgrades().await;
                });
            }
        });
        Kubelet { port, serving }
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn respond(mut request: Request<Incoming>) -> Response<Full<Bytes>> {
    let target = format!("{} {}", request.method(), request.uri());
    let mut response = Response::new(Full::from(target.clone()));
    if target.contains("=404") {
        *response.status_mut() = StatusCode::NOT_FOUND;
    }
    if let Some(protocol) = request.headers().get("upgrade").cloned() {
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        *response.body_mut() = Full::default();
        response.headers_mut().insert("connection", http::HeaderValue::from_static("Upgrade"));
        response.headers_mut().insert("upgrade", protocol);
        tokio::spawn(async move {
            let upgraded = hyper::upgrade::on(&mut request).await.unwrap();
            let mut stream = BufReader::new(TokioIo::new(upgraded));
            let mut line = String::new();
            stream.read_line(&mut line).await.unwrap();
            let reply = format!("{target} says {}", line.trim_end());
            stream.write_all(reply.as_bytes()).await.unwrap();
            stream.shutdown().await.unwrap();
        });
    }
    response
}
