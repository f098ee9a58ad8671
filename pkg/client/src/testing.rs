//! Test servers: a correct TLS server, and misbehaving ones.
#![allow(clippy::unwrap_used, reason = "a test may say what must hold")]

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::material::Source;
use crate::tls::{Tls, Trust};

/// A CA and a server certificate.
pub(crate) struct Keys {
    pub(crate) authority: String,
    pub(crate) certificate: String,
    key: String,
}

impl Keys {
    /// Creates a certificate for these server names.
    pub(crate) fn new(names: &[&str]) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(names).unwrap().signed_by(&key, &authority).unwrap();
        Keys { authority: authority.pem(), certificate: leaf.pem(), key: key.serialize_pem() }
    }

    /// Accepts TLS with these keys, with both versions of HTTP.
    fn acceptor(&self) -> TlsAcceptor {
        let chain = CertificateDer::pem_slice_iter(self.certificate.as_bytes()).map(Result::unwrap).collect();
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let builder = rustls::ServerConfig::builder_with_provider(provider);
        let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        let mut config = builder.with_single_cert(chain, key).unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        TlsAcceptor::from(Arc::new(config))
    }
}

/// Returns an inline PEM source.
pub(crate) fn inline(pem: &str) -> Source {
    Source::Inline(Arc::from(pem.as_bytes()))
}

/// Returns a TLS configuration that trusts one CA.
pub(crate) fn trusting(pem: &str) -> Tls {
    Tls { trust: Trust::Bundle(inline(pem)), ..Tls::default() }
}

/// A local server.
pub(crate) struct Server {
    pub(crate) port: u16,
    accepted: Arc<AtomicUsize>,
    serving: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Server {
    /// Returns the number of accepted connections.
    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    /// Starts an HTTPS server that responds with [`respond`].
    pub(crate) async fn tls(keys: &Keys) -> Self {
        Self::with_raw_frames(keys, 0, &[]).await
    }

    /// Like [`tls`](Self::tls), but the first `connections` connections respond to the first request with
    /// `frames` and close.
    pub(crate) async fn with_raw_frames(keys: &Keys, connections: usize, frames: &'static [u8]) -> Self {
        let acceptor = keys.acceptor();
        let remaining = AtomicUsize::new(connections);
        Self::start(move |stream| {
            let acceptor = acceptor.clone();
            let less = |remaining: usize| remaining.checked_sub(1);
            let leaves = remaining.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok();
            tokio::spawn(async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                if leaves {
                    return until_request(&mut stream, frames).await;
                }
                let service = service_fn(|request| async { Ok::<_, Infallible>(respond(request).await) });
                let server = auto::Builder::new(TokioExecutor::new());
                let _ = server.serve_connection_with_upgrades(TokioIo::new(stream), service).await;
            });
        })
        .await
    }

    /// Starts a server without TLS. It reads the start of a request, then sends `head`, and then `piece`
    /// repeatedly or nothing.
    pub(crate) async fn start_misbehaving(head: &'static str, piece: Option<&'static str>) -> Self {
        Self::start(move |mut stream| {
            tokio::spawn(async move {
                let _ = stream.read(&mut [0; 1024]).await;
                let _ = stream.write_all(head.as_bytes()).await;
                let Some(piece) = piece else { return };
                let piece = piece.repeat(1024);
                while stream.write_all(piece.as_bytes()).await.is_ok() {}
            });
        })
        .await
    }

    /// Starts a server without TLS that responds to `responses` requests per connection and then closes it
    /// without a response, when the next request has arrived.
    pub(crate) async fn closing_after(responses: usize) -> Self {
        Self::start(move |mut stream| {
            tokio::spawn(async move {
                for _ in 0..responses {
                    let _ = stream.read(&mut [0; 1024]).await;
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
                }
                let _ = stream.read(&mut [0; 1024]).await;
            });
        })
        .await
    }

    /// Starts a server that accepts connections and never sends anything.
    pub(crate) async fn silent() -> Self {
        Self::start(|stream| {
            tokio::spawn(async move {
                let _stream = stream;
                std::future::pending::<()>().await;
            });
        })
        .await
    }

    async fn start(serve: impl Fn(tokio::net::TcpStream) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let accepted = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&accepted);
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                serve(stream);
            }
        });
        Server { port, accepted, serving }
    }
}

/// Runs HTTP/2 until a request arrives, then sends `frames`.
async fn until_request(stream: &mut (impl AsyncRead + AsyncWrite + Unpin), frames: &[u8]) {
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    const PREFACE: usize = 24;
    const HEADERS: u8 = 1;
    stream.write_all(&SETTINGS).await.unwrap();
    stream.read_exact(&mut [0; PREFACE]).await.unwrap();
    let mut head = [0; 9];
    while head[3] != HEADERS {
        stream.read_exact(&mut head).await.unwrap();
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        stream.read_exact(&mut vec![0; length as usize]).await.unwrap();
    }
    stream.write_all(frames).await.unwrap();
    stream.shutdown().await.unwrap();
}

/// Echoes the request; `/to/URL` redirects; `/401` is rejected; an upgrade echoes one line.
async fn respond(mut request: Request<Incoming>) -> Response<Full<Bytes>> {
    let header = |name: &str| {
        let value = request.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
        value.unwrap_or_default()
    };
    if let Some(to) = request.uri().path().strip_prefix("/to/") {
        let mut response = Response::new(Full::default());
        *response.status_mut() = http::StatusCode::FOUND;
        response.headers_mut().insert("location", to.parse().unwrap());
        return response;
    }
    if !header("upgrade").is_empty() {
        let mut response = Response::new(Full::default());
        *response.status_mut() = http::StatusCode::SWITCHING_PROTOCOLS;
        response.headers_mut().insert("connection", "Upgrade".parse().unwrap());
        response.headers_mut().insert("upgrade", header("upgrade").parse().unwrap());
        tokio::spawn(async move {
            let mut stream = TokioIo::new(hyper::upgrade::on(&mut request).await.unwrap());
            let mut bytes = [0; 5];
            stream.read_exact(&mut bytes).await.unwrap();
            stream.write_all(&bytes).await.unwrap();
            stream.shutdown().await.unwrap();
        });
        return response;
    }
    if request.uri().path() == "/401" {
        let mut response = Response::new(Full::default());
        *response.status_mut() = http::StatusCode::UNAUTHORIZED;
        return response;
    }
    let host = request.uri().host().map_or_else(|| header("host"), str::to_owned);
    let request_line = format!(
        "{:?} {} {} {host} {}",
        request.version(),
        request.method(),
        request.uri().path(),
        header("authorization")
    );
    let body = request.into_body().collect().await.unwrap().to_bytes();
    Response::new(Full::from([request_line.as_bytes(), &body].concat()))
}
