//! A small HTTPS server for tests of outgoing requests.
#![allow(clippy::unwrap_used)]

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// HTTPS server that runs until dropped.
pub(crate) struct Https {
    pub(crate) port: u16,
    /// CA certificate in PEM.
    pub(crate) authority: String,
    serving: JoinHandle<()>,
}

impl Drop for Https {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Https {
    /// Starts a server with these names in its certificate. `respond` gets path and body of a request; with
    /// `None` the connection is closed.
    pub(crate) async fn start(
        names: &[&str],
        respond: impl Fn(&str, &[u8]) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let leaf = CertificateParams::new(names).unwrap().signed_by(&key, &authority).unwrap();
        let chain = CertificateDer::pem_slice_iter(leaf.pem().as_bytes()).map(Result::unwrap).collect();
        let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let respond = Arc::new(respond);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let acceptor = acceptor.clone();
                let respond = Arc::clone(&respond);
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let service = service_fn(move |request: http::Request<hyper::body::Incoming>| {
                        let respond = Arc::clone(&respond);
                        async move {
                            let path = request.uri().path().to_owned();
                            let body = request.into_body().collect().await.map_err(io::Error::other)?;
                            let response = respond(&path, &body.to_bytes());
                            let response = response.ok_or_else(|| io::Error::other("no answer"))?;
                            Ok::<_, io::Error>(http::Response::new(Full::new(Bytes::from(response))))
                        }
                    });
                    let server = auto::Builder::new(TokioExecutor::new());
                    let _ = server.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Https { port, authority: authority.pem(), serving }
    }
}
