//! Tests of a whole server on a socket: TLS, client certificates, invalid input, drain.

use std::net::Ipv4Addr;
use std::path::Path;

use arc_swap::ArcSwap;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::*;
use crate::testing::NOW;
use crate::tls::self_signed::{CertificatePair, Usage, authority, issue};
use crate::tls::{CertificateFiles, TlsFiles, TlsOptions};
use crate::{BindOptions, bind};

struct Server {
    address: SocketAddr,
    ca: CertificatePair,
    client_ca: CertificatePair,
    chain: Arc<Chain>,
    script: Arc<Script>,
    lifecycle: Lifecycle,
    serving: JoinHandle<()>,
    files: TlsFiles,
    tls: Arc<ArcSwap<Tls>>,
    _dir: tempfile::TempDir,
}

fn write(dir: &Path, name: &str, text: &str) -> std::path::PathBuf {
    let path = dir.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn server() -> Server {
    let dir = tempfile::tempdir().unwrap();
    let ca = authority("server-ca", now()).unwrap();
    let client_ca = authority("client-ca", now()).unwrap();
    let pair = issue(&ca, "server", &[], &Usage::Server(vec!["localhost".to_owned()]), now()).unwrap();
    let files = TlsFiles {
        default: CertificateFiles {
            certificate: write(dir.path(), "s.crt", &pair.certificate),
            key: write(dir.path(), "s.key", &pair.key),
        },
        sni: Vec::new(),
        client_authorities: vec![write(dir.path(), "c.crt", &client_ca.certificate)],
        proxy_authorities: Vec::new(),
        loopback: None,
    };
    let tls = Tls::new(&files.read().unwrap(), &TlsOptions::default()).unwrap();
    let script = Arc::new(Script::default());
    let chain = chain(&script, &[Mode::AlwaysAllow], ChainOptions::default());
    let lifecycle = Lifecycle::new();
    let listener = bind(BindOptions { address: (Ipv4Addr::LOCALHOST, 0).into(), share_port: false }).unwrap();
    let address = listener.local_addr().unwrap();
    let tls = Arc::new(ArcSwap::from_pointee(tls));
    let serving = tokio::spawn(crate::serve(
        listener,
        Arc::clone(&tls),
        Arc::clone(&chain),
        ConnectionOptions::default(),
        lifecycle.clone(),
        PATIENCE,
    ));
    Server { address, ca, client_ca, chain, script, lifecycle, serving, files, tls, _dir: dir }
}

/// System time. rustls clients verify certificates by the system clock, so the certificates are created with
/// it.
#[allow(clippy::disallowed_methods)]
fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_secs()).unwrap()
}

impl Server {
    async fn connect(&self, identity: Option<&CertificatePair>, alpn: &[&str]) -> TlsStream<TcpStream> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.ca.certificate.as_bytes()).unwrap()).unwrap();
        let builder =
            ClientConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_root_certificates(roots);
        let mut config = match identity {
            None => builder.with_no_client_auth(),
            Some(pair) => {
                let chain = vec![CertificateDer::from_pem_slice(pair.certificate.as_bytes()).unwrap()];
                let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).unwrap();
                builder.with_client_auth_cert(chain, key).unwrap()
            }
        };
        config.alpn_protocols = alpn.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap()
    }

    /// Sends one request on a new connection.
    async fn get(&self, identity: Option<&CertificatePair>, head: &str) -> String {
        let mut stream = self.connect(identity, &[]).await;
        let head = format!("GET /api/v1/who HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{head}\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut got = String::new();
        timeout(PATIENCE, stream.read_to_string(&mut got)).await.unwrap().unwrap();
        got
    }
}

#[tokio::test]
async fn a_client_certificate_proves_a_user() {
    let server = server();
    // The chain's clock is stopped at NOW. The certificate must be valid then and at the system time.
    let good = issue(&server.client_ca, "carol", &["dev"], &Usage::Client, NOW.max(now())).unwrap();
    let stranger = issue(&server.ca, "carol", &[], &Usage::Client, NOW.max(now())).unwrap();
    let check = |got: String, line: &str, body: &str| {
        assert!(got.starts_with(line) && got.ends_with(body), "{got}");
    };
    check(server.get(None, "").await, "HTTP/1.1 200 ", "system:anonymous");
    check(server.get(Some(&stranger), "").await, "HTTP/1.1 401 ", "}\n");
    check(server.get(Some(&stranger), "Authorization: Bearer ann\r\n").await, "HTTP/1.1 200 ", "ann");
    check(server.get(Some(&good), "").await, "HTTP/1.1 200 ", "carol");
    check(server.get(Some(&good), "Authorization: Bearer nope\r\n").await, "HTTP/1.1 200 ", "carol");
}

#[tokio::test]
async fn removed_ca_is_rejected_on_open_connection() {
    let server = server();
    let carol = issue(&server.client_ca, "carol", &[], &Usage::Client, NOW.max(now())).unwrap();
    let mut open = server.connect(Some(&carol), &[]).await;
    let mut ask = async |expected: &str| {
        open.write_all(b"GET /api/v1/who HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let mut got = Vec::new();
        while !(got.ends_with(b"carol") || got.ends_with(b"}\n")) {
            assert!(open.read_buf(&mut got).await.unwrap() > 0, "{}", String::from_utf8_lossy(&got));
        }
        assert!(got.starts_with(expected.as_bytes()), "{}", String::from_utf8_lossy(&got));
    };
    let believe = |authority: &CertificatePair| {
        std::fs::write(&server.files.client_authorities[0], &authority.certificate).unwrap();
        let fresh = Tls::new(&server.files.read().unwrap(), &TlsOptions::default()).unwrap();
        server.tls.store(Arc::new(fresh));
    };
    ask("HTTP/1.1 200 ").await;
    believe(&server.ca);
    ask("HTTP/1.1 401 ").await;
    believe(&server.client_ca);
    ask("HTTP/1.1 200 ").await;
}

#[tokio::test]
async fn alpn_selects_protocol() {
    let server = server();
    let check = async |offer: &[&str], expected: Option<&str>| {
        let stream = server.connect(None, offer).await;
        let got =
            stream.get_ref().1.alpn_protocol().map(|protocol| String::from_utf8(protocol.to_vec()).unwrap());
        assert_eq!(got.as_deref(), expected, "{offer:?}");
    };
    check(&["http/1.1", "h2"], Some("h2")).await;
    check(&["http/1.1"], Some("http/1.1")).await;
    check(&[], None).await;
}

#[tokio::test]
async fn failed_handshake_affects_only_its_connection() {
    let server = server();
    let mut open = Vec::new();
    for junk in
        [&b"GET / HTTP/1.1\r\n\r\n"[..], b"\x16\x03\x01\x02\x00\x01\x00\x01", b"\x16\x03\x01\xff\xff", b""]
    {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        stream.write_all(junk).await.unwrap();
        open.push(stream);
    }
    assert!(server.get(None, "").await.ends_with("system:anonymous"));
    drop(open);
    server.lifecycle.drain();
    timeout(PATIENCE, server.serving).await.unwrap().unwrap();
    assert!(server.chain.metrics().tls_handshake_errors.get() >= 1);
    assert_eq!(server.chain.metrics().connections.get(), 0);
}

#[tokio::test]
async fn draining_finishes_requests_and_stops_accepting() {
    let server = server();
    let mut stream = server.connect(None, &["http/1.1"]).await;
    stream.write_all(b"GET /api/v1/wait HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    server.script.entered.notified().await;
    let idle = server.connect(None, &["h2"]).await;
    server.lifecycle.drain();
    let mut refused = false;
    for _ in 0..1000 {
        refused = TcpStream::connect(server.address).await.is_err();
        if refused {
            break;
        }
        tokio::task::yield_now().await;
    }
    assert!(refused);
    server.script.release.notify_one();
    let mut got = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut got)).await.unwrap().unwrap();
    assert!(got.ends_with("waited"), "{got}");
    drop(idle);
    timeout(PATIENCE, server.serving).await.unwrap().unwrap();
}
