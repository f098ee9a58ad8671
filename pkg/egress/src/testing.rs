//! Fake proxies and an echo server for tests.
#![allow(clippy::unwrap_used, reason = "a test may say what must hold")]

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use client::{Address, Dialer, Io};
use futures::Stream;
use futures::stream::poll_fn;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;
use tokio_stream::wrappers::UnixListenerStream;
use tonic::body::Body;
use tonic::server::{Grpc, NamedService, StreamingService};
use tonic::{Request, Response, Status, Streaming};
use tonic_prost::ProstCodec;
use tower::Service;

use crate::tunnel::{CloseResponse, Data, DialResponse, Packet, Payload};
use crate::{Egress, Network};

/// The fixed number that replaces random numbers in these tests.
pub(crate) const RANDOM: i64 = 7;

/// The egress selections for a configuration with one network.
pub(crate) fn egress(name: &str, connection: &str) -> Result<Egress, crate::Error> {
    let text = format!(
        "apiVersion: apiserver.k8s.io/v1beta1\nkind: EgressSelectorConfiguration\negressSelections:\n\
         - {{name: {name}, connection: {connection}}}"
    );
    Egress::parse(text.as_bytes(), &(Arc::new(|| RANDOM) as _))
}

/// The dialer for the cluster network.
pub(crate) fn dialer(connection: &str) -> Dialer {
    egress("cluster", connection).unwrap().dialer(Network::Cluster).unwrap()
}

/// A server that echoes its input until end of file.
pub(crate) async fn echo() -> Address {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let (mut read, mut write) = stream.into_split();
                let _ = tokio::io::copy(&mut read, &mut write).await;
            });
        }
    });
    Address { host: address.ip().to_string(), port: address.port() }
}

/// Asserts that bytes travel in both directions.
pub(crate) async fn assert_echoes(stream: &mut (impl Io + ?Sized)) {
    stream.write_all(b"hello").await.unwrap();
    let mut bytes = [0; 5];
    stream.read_exact(&mut bytes).await.unwrap();
    assert_eq!(&bytes, b"hello");
}

/// Reads a CONNECT request and opens the connection, or sends `response` instead if there is one.
pub(crate) async fn connect(
    mut stream: impl Io,
    response: Option<String>,
    seen: mpsc::UnboundedSender<String>,
) {
    let mut reader = BufReader::new(&mut stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).await.unwrap_or(0) == 0 {
            return;
        }
    }
    let target = head.split(' ').nth(1).unwrap().to_owned();
    let _ = seen.send(head);
    if let Some(response) = response {
        let _ = stream.write_all(response.as_bytes()).await;
        return;
    }
    let mut other = TcpStream::connect(target).await.unwrap();
    stream.write_all(b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n").await.unwrap();
    let _ = copy_bidirectional(&mut stream, &mut other).await;
}

pub(crate) struct Connect {
    /// The heads of the received requests.
    pub(crate) seen: mpsc::UnboundedReceiver<String>,
    pub(crate) port: u16,
}

impl Connect {
    /// Listens on TCP, with or without TLS.
    pub(crate) async fn tcp(tls: Option<TlsAcceptor>, response: Option<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (requests_sender, seen) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let tls = tls.clone();
                let response = response.clone();
                let requests_sender = requests_sender.clone();
                tokio::spawn(async move {
                    match tls {
                        None => connect(stream, response, requests_sender).await,
                        Some(tls) => {
                            let Ok(stream) = tls.accept(stream).await else { return };
                            connect(stream, response, requests_sender).await;
                        }
                    }
                });
            }
        });
        Connect { seen, port }
    }

    pub(crate) fn unix(path: &Path) -> Self {
        let listener = UnixListener::bind(path).unwrap();
        let (requests_sender, seen) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(connect(stream, None, requests_sender.clone()));
            }
        });
        Connect { seen, port: 0 }
    }
}

/// A CA and a certificate signed by it, used by both client and server.
pub(crate) struct Keys {
    authority: String,
    certificate: String,
    key: String,
}

impl Keys {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &authority);
        Keys { authority: authority.pem(), certificate: leaf.unwrap().pem(), key: key.serialize_pem() }
    }

    /// Requires a client certificate signed by the CA.
    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.authority.as_bytes()).unwrap()).unwrap();
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider)).build();
        let chain = vec![CertificateDer::from_pem_slice(self.certificate.as_bytes()).unwrap()];
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).unwrap();
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_client_cert_verifier(verifier.unwrap())
            .with_single_cert(chain, key);
        TlsAcceptor::from(Arc::new(config.unwrap()))
    }

    /// Writes the client's files and returns the `tlsConfig` that references them.
    pub(crate) fn write(&self, dir: &Path) -> String {
        let file = |name: &str, pem: &str| -> PathBuf {
            let path = dir.join(name);
            std::fs::write(&path, pem).unwrap();
            path
        };
        let ca = file("ca.crt", &self.authority);
        let cert = file("client.crt", &self.certificate);
        let key = file("client.key", &self.key);
        format!("{{caBundle: {ca:?}, clientCert: {cert:?}, clientKey: {key:?}}}")
    }
}

/// The behaviour of a fake proxy: receives the client's packets and sends its own.
pub(crate) type Behaviour =
    Arc<dyn Fn(Streaming<Packet>, mpsc::Sender<Result<Packet, Status>>) + Send + Sync>;

/// A konnectivity proxy (gRPC) on a Unix socket.
#[derive(Clone)]
pub(crate) struct Konnectivity(Behaviour);

impl Konnectivity {
    pub(crate) fn start(
        path: &Path,
        behaviour: impl Fn(Streaming<Packet>, mpsc::Sender<Result<Packet, Status>>) + Send + Sync + 'static,
    ) {
        let incoming = UnixListenerStream::new(UnixListener::bind(path).unwrap());
        let service = Konnectivity(Arc::new(behaviour));
        let serving = tonic::transport::Server::builder().add_service(service).serve_with_incoming(incoming);
        tokio::spawn(serving);
    }

    /// A proxy that opens connections itself, without an agent, and records the packets that it receives.
    pub(crate) fn honest(path: &Path) -> mpsc::UnboundedReceiver<Payload> {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self::start(path, move |inbound, out| {
            tokio::spawn(agent(inbound, out, sender.clone()));
        });
        receiver
    }
}

impl NamedService for Konnectivity {
    const NAME: &'static str = "ProxyService";
}

impl Service<http::Request<Body>> for Konnectivity {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        assert_eq!(request.uri().path(), "/ProxyService/Proxy");
        let service = self.clone();
        Box::pin(async move {
            Ok(Grpc::new(ProstCodec::<Packet, Packet>::default()).streaming(service, request).await)
        })
    }
}

type Packets = Pin<Box<dyn Stream<Item = Result<Packet, Status>> + Send>>;

impl StreamingService<Packet> for Konnectivity {
    type Response = Packet;
    type ResponseStream = Packets;
    type Future = Ready<Result<Response<Packets>, Status>>;

    fn call(&mut self, request: Request<Streaming<Packet>>) -> Self::Future {
        let (out, mut queue) = mpsc::channel(1);
        (self.0)(request.into_inner(), out);
        ready(Ok(Response::new(Box::pin(poll_fn(move |context| queue.poll_recv(context))))))
    }
}

/// A packet from the proxy. Clients ignore its kind.
pub(crate) fn packet(payload: Payload) -> Result<Packet, Status> {
    Ok(Packet { kind: 0, payload: Some(payload) })
}

/// A dial response; `error` is empty for success.
pub(crate) fn dialled(error: &str, connect_id: i64, random: i64) -> Result<Packet, Status> {
    packet(Payload::DialResponse(DialResponse { error: error.to_owned(), connect_id, random }))
}

pub(crate) fn data(connect_id: i64, bytes: &'static [u8]) -> Result<Packet, Status> {
    let data = Bytes::from_static(bytes);
    packet(Payload::Data(Data { connect_id, error: String::new(), data }))
}

pub(crate) fn closed(connect_id: i64) -> Result<Packet, Status> {
    packet(Payload::CloseResponse(CloseResponse { error: String::new(), connect_id }))
}

async fn agent(
    mut inbound: Streaming<Packet>,
    out: mpsc::Sender<Result<Packet, Status>>,
    note: mpsc::UnboundedSender<Payload>,
) {
    let mut connections = HashMap::new();
    while let Ok(Some(Packet { payload: Some(payload), .. })) = inbound.message().await {
        let _ = note.send(payload.clone());
        match payload {
            Payload::DialRequest(request) => match TcpStream::connect(&request.address).await {
                Err(error) => drop(out.send(dialled(&error.to_string(), 0, request.random)).await),
                Ok(stream) => {
                    let id = 1 + i64::try_from(connections.len()).unwrap();
                    let (mut read, write) = stream.into_split();
                    connections.insert(id, write);
                    let _ = out.send(dialled("", id, request.random)).await;
                    let out = out.clone();
                    tokio::spawn(async move {
                        let mut buffer = vec![0; 4096];
                        while let Ok(count @ 1..) = read.read(&mut buffer).await {
                            let bytes = Bytes::copy_from_slice(&buffer[..count]);
                            let data = Data { connect_id: id, error: String::new(), data: bytes };
                            if out.send(packet(Payload::Data(data))).await.is_err() {
                                return;
                            }
                        }
                        let _ = out.send(closed(id)).await;
                    });
                }
            },
            Payload::Data(data) => {
                let stream = connections.get_mut(&data.connect_id).unwrap();
                let _ = stream.write_all(&data.data).await;
            }
            Payload::CloseRequest(close) => drop(connections.remove(&close.connect_id)),
            _ => {}
        }
    }
}
