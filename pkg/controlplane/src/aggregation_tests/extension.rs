//! A fake extension API server with correct and faulty responses.
#![allow(clippy::unwrap_used)]

use std::convert::Infallible;
use std::sync::Arc;

use bytes::Bytes;
use endpoints::routing::dispatch::Body;
use futures::StreamExt;
use http::header::{CONTENT_TYPE, ETAG, HeaderValue, LOCATION};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use jsontree::{Value, json};
use rcgen::{CertificateParams, KeyPair};
use rustls_pki_types::PrivateKeyDer;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub(super) struct Extension {
    pub(super) port: u16,
    /// PEM of the certificate.
    pub(super) certificate: String,
    serving: JoinHandle<()>,
}

impl Extension {
    /// Starts a server with this name in its certificate.
    pub(super) async fn start(name: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap().self_signed(&key).unwrap();
        let chain = vec![certificate.der().clone()];
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = rustls::ServerConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
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
        Extension { port, certificate: certificate.pem(), serving }
    }
}

impl Drop for Extension {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn full(text: impl Into<Bytes>) -> Body {
    Full::new(text.into()).map_err(|never| match never {}).boxed_unsync()
}

fn respond(request: Request<Incoming>) -> Response<Body> {
    if let Some(protocol) = request.headers().get("upgrade").cloned() {
        return upgraded(request, protocol);
    }
    let path = request.uri().path().to_owned();
    let query = request.uri().query().unwrap_or_default().to_owned();
    match &*path {
        "/apis" => document(DISCOVERY_TYPE, &discovery()),
        "/openapi/v3" => {
            let at = json!({"serverRelativeURL": "/openapi/v3/apis/ext.example.com/v1?hash=1"});
            document("application/json", &json!({"paths": {"apis/ext.example.com/v1": at}}))
        }
        "/openapi/v3/apis/ext.example.com/v1" => {
            document("application/json", &json!({"openapi": "3.0.0", "x-hash": query}))
        }
        "/openapi/v2" => {
            document("application/json", &json!({"paths": {"/apis/ext.example.com/v1/things": {}}}))
        }
        path if path.ends_with("/redirects") => {
            let mut response = Response::new(full(""));
            *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
            response.headers_mut().insert(LOCATION, HeaderValue::from_static("https://elsewhere/"));
            response
        }
        path if path.ends_with("/dies") => {
            let half = futures::stream::once(async { Ok(Frame::data(Bytes::from_static(b"half of "))) });
            let death = futures::stream::once(async {
                // Lets the earlier data be sent first.
                tokio::task::yield_now().await;
                Err("it died".into())
            });
            let body = StreamBody::new(half.chain(death));
            Response::new(BodyExt::boxed_unsync(body))
        }
        _ if query.contains("watch") => {
            // An endless response.
            let first = futures::stream::once(async { Ok(Frame::data(Bytes::from_static(b"first\n"))) });
            let body = StreamBody::new(first.chain(futures::stream::pending()));
            Response::new(BodyExt::boxed_unsync(body))
        }
        _ if request.method() == "POST" => {
            Response::new(request.into_body().map_err(Into::into).boxed_unsync())
        }
        _ => {
            let header =
                |name: &&str| Some(((*name).to_owned(), request.headers().get(*name)?.to_str().ok()?.into()));
            let headers = ["x-remote-user", "x-remote-group", "authorization", "x-forwarded-uri", "host"];
            let headers: jsontree::Object = headers.iter().filter_map(header).collect();
            document("application/json", &json!({"uri": request.uri().to_string(), "headers": headers}))
        }
    }
}

const DISCOVERY_TYPE: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

fn discovery() -> Value {
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "items": [{
        "metadata": {"name": "ext.example.com"},
        "versions": [{"version": "v1", "resources": [
            {"resource": "things", "scope": "Namespaced", "singularResource": "thing", "verbs": ["get"]},
        ]}],
    }]})
}

fn document(media_type: &'static str, document: &Value) -> Response<Body> {
    let mut response = Response::new(full(document.to_string()));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    response.headers_mut().insert(ETAG, HeaderValue::from_static("\"1\""));
    response
}

/// Echoes one line.
fn upgraded(mut request: Request<Incoming>, protocol: HeaderValue) -> Response<Body> {
    let mut response = Response::new(full(""));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    response.headers_mut().insert("connection", HeaderValue::from_static("Upgrade"));
    response.headers_mut().insert("upgrade", protocol);
    let user = request.headers().get("x-remote-user").unwrap().to_str().unwrap().to_owned();
    tokio::spawn(async move {
        let upgraded = hyper::upgrade::on(&mut request).await.unwrap();
        let mut stream = BufReader::new(TokioIo::new(upgraded));
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
        stream.write_all(format!("{user} says {}", line.trim_end()).as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
    });
    response
}
