//! Test server with programmed responses, over TLS and HTTP/2 like a real one.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may say what must hold and stop there")]

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use clap::Parser as _;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls_pki_types::PrivateKeyDer;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::args::{Args, ServerSpec};
use crate::stats::Tally;
use crate::target::Target;
use crate::workload::Context;

/// Status and body for "METHOD /path?query".
pub(crate) type Handler = dyn Fn(&str) -> (u16, String) + Send + Sync;

/// Serves `handler` until the test's runtime ends. Returns a context with the flags of `line`.
pub(crate) async fn serve(line: &[&str], handler: Arc<Handler>) -> Context {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let acceptor = acceptor();
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            tokio::spawn(connection(acceptor.clone(), tcp, Arc::clone(&handler)));
        }
    });
    let spec: ServerSpec = format!("name=fake,url={url}").parse().unwrap();
    let args = Args::try_parse_from(["apibench"].iter().chain(line)).unwrap();
    Context {
        target: Arc::new(Target::resolve(&spec, true).unwrap()),
        settings: Arc::new(args.settings),
        tally: Arc::new(Tally::default()),
    }
}

fn acceptor() -> TlsAcceptor {
    let certified = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let mut config = builder.with_single_cert(vec![certified.cert.der().clone()], key).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}

async fn connection(acceptor: TlsAcceptor, tcp: TcpStream, handler: Arc<Handler>) {
    let Ok(tls) = acceptor.accept(tcp).await else { return };
    let service = service_fn(move |request: Request<Incoming>| {
        let (status, body) =
            handler(&format!("{} {}", request.method(), request.uri().path_and_query().unwrap()));
        let response = Response::builder().status(status).body(Full::new(Bytes::from(body))).unwrap();
        async move { Ok::<_, Infallible>(response) }
    });
    // The client can close at any time.
    let _ = hyper::server::conn::http2::Builder::new(TokioExecutor::new())
        .serve_connection(TokioIo::new(tls), service)
        .await;
}
