//! An HTTPS server whose responses are hostile: pages instead of reviews, wrong lengths, endless bodies, bombs.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::server::TlsStream;
use tokio_rustls::{TlsAcceptor, rustls};

use super::random::Random;
use super::sequences;

/// Largest body of a response in bytes.
pub const BODY_BYTES_MAX: usize = 12 << 20;
/// Largest request that is read in bytes.
const REQUEST_BYTES_MAX: usize = 16 << 20;
/// Time that a silent response lasts.
const SILENCE: Duration = Duration::from_secs(3);
/// Server names of the certificate.
const HOST: &str = "127.0.0.1";
const SERVICE: &str = "hostile.hostile.svc";

const CODES: [u16; 17] =
    [200, 200, 200, 200, 201, 204, 301, 307, 400, 401, 403, 404, 409, 410, 429, 500, 503];
const MEDIA_TYPES: [&str; 8] = [
    "application/json",
    "application/json",
    "text/html",
    "text/plain; charset=utf-8",
    "application/vnd.kubernetes.protobuf",
    "application/cbor",
    "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io",
    "///",
];

/// The server. It stops when dropped.
pub struct Backend {
    port: u16,
    /// CA certificate in PEM.
    authority: String,
    /// Seed of the responses; the path of a request is added to it.
    seed: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Backend {
    /// Starts a server on a free port.
    ///
    /// # Panics
    /// There is none.
    pub async fn start() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new([HOST, SERVICE].map(str::to_owned))
            .unwrap()
            .signed_by(&key, &authority)
            .unwrap();
        let chain = CertificateDer::pem_slice_iter(leaf.pem().as_bytes()).map(Result::unwrap).collect();
        let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let listener = TcpListener::bind((HOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seed = Arc::new(AtomicU64::new(0));
        let task = tokio::spawn(accept(listener, TlsAcceptor::from(Arc::new(config)), seed.clone()));
        Backend { port, authority: authority.pem(), seed, task }
    }

    /// Sets the seed of later responses.
    pub fn set_seed(&self, seed: u64) {
        self.seed.store(seed, Ordering::Relaxed);
    }

    /// Returns the client configuration of a webhook at this path.
    pub fn client_config(&self, path: &str) -> Value {
        json!({"url": format!("https://{HOST}:{}{path}", self.port), "caBundle": self.bundle()})
    }

    /// Returns the port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the CA bundle in base64.
    pub fn bundle(&self) -> String {
        base64(self.authority.as_bytes())
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Encodes bytes in base64.
fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

async fn accept(listener: TcpListener, tls: TlsAcceptor, seed: Arc<AtomicU64>) {
    while let Ok((stream, _)) = listener.accept().await {
        let tls = tls.clone();
        let seed = seed.clone();
        tokio::spawn(async move {
            let Ok(stream) = tls.accept(stream).await else { return };
            // A client that closes early is expected.
            let _ = serve(stream, &seed).await;
        });
    }
}

async fn serve(mut stream: TlsStream<TcpStream>, seed: &AtomicU64) -> std::io::Result<()> {
    let Some((path, body)) = read(&mut stream).await? else { return Ok(()) };
    let salt = path.bytes().fold(0u64, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
    let mut random = Random(seed.load(Ordering::Relaxed) ^ salt);
    let response = Response::choose(&mut random, &path, &body);
    response.send(&mut stream, &mut random).await?;
    stream.shutdown().await
}

/// Reads a request; returns its path and body. `None` if the connection was closed.
async fn read(stream: &mut TlsStream<TcpStream>) -> std::io::Result<Option<(String, Vec<u8>)>> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let line =
                |line: &str| line.to_ascii_lowercase().strip_prefix("content-length:").map(str::to_owned);
            let length = head.lines().find_map(line).and_then(|length| length.trim().parse().ok());
            let total = end + 4 + length.unwrap_or(0).min(REQUEST_BYTES_MAX);
            if bytes.len() >= total {
                let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                return Ok(Some((path, bytes.split_off(end + 4))));
            }
        }
        if bytes.len() > REQUEST_BYTES_MAX || stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    }
}

/// Framing of a response body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Framing {
    Exact,
    /// The length is larger than the body.
    TooLong,
    /// The length is smaller than the body.
    TooShort,
    /// Two different lengths.
    TwoLengths,
    /// Chunks without an end.
    Unfinished,
    /// A chunk size that is no number.
    BadChunk,
    /// No length; the end of the connection ends the body.
    UntilClosed,
    /// No response at all for some time.
    Silent,
}

const FRAMINGS: [Framing; 12] = [
    Framing::Exact,
    Framing::Exact,
    Framing::Exact,
    Framing::Exact,
    Framing::Exact,
    Framing::TooLong,
    Framing::TooShort,
    Framing::TwoLengths,
    Framing::Unfinished,
    Framing::BadChunk,
    Framing::UntilClosed,
    Framing::Silent,
];

struct Response {
    code: u16,
    media_type: &'static str,
    framing: Framing,
    body: Vec<u8>,
}

impl Response {
    /// Returns a response to this request: half of them are plausible reviews with hostile members.
    fn choose(random: &mut Random, path: &str, body: &[u8]) -> Self {
        let request: Value = serde_json::from_slice(body).unwrap_or_default();
        if random.below(2) == 0 {
            let body = match path.split(['?', '/']).nth(1) {
                Some("convert") => conversion(random, &request),
                Some("admit") => admission(random, &request),
                _ => discovery(random),
            };
            let body = body.to_string().into_bytes();
            return Response { code: 200, media_type: MEDIA_TYPES[0], framing: Framing::Exact, body };
        }
        Response {
            code: *random.pick(&CODES),
            media_type: random.pick::<&str>(&MEDIA_TYPES),
            framing: *random.pick(&FRAMINGS),
            body: page(random),
        }
    }

    async fn send(&self, stream: &mut TlsStream<TcpStream>, random: &mut Random) -> std::io::Result<()> {
        if self.framing == Framing::Silent {
            tokio::time::sleep(SILENCE).await;
            return Ok(());
        }
        let length = self.body.len();
        let framing = match self.framing {
            Framing::Exact => format!("content-length: {length}\r\n"),
            Framing::TooLong => format!("content-length: {}\r\n", length + 1000),
            Framing::TooShort => format!("content-length: {}\r\n", length / 2),
            Framing::TwoLengths => format!("content-length: {length}\r\ncontent-length: {}\r\n", length / 2),
            Framing::Unfinished | Framing::BadChunk => "transfer-encoding: chunked\r\n".to_owned(),
            Framing::UntilClosed | Framing::Silent => String::new(),
        };
        let chunk = match self.framing {
            Framing::Unfinished => format!("{length:x}\r\n"),
            Framing::BadChunk => "xyz\r\n".to_owned(),
            _ => String::new(),
        };
        let Response { code, media_type, .. } = self;
        let headers = extra_headers(random);
        let head = format!(
            "HTTP/1.1 {code} X\r\nconnection: close\r\ncontent-type: {media_type}\r\nlocation: /admit\r\n\
             {headers}{framing}\r\n{chunk}",
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(&self.body).await
    }
}

/// Returns header lines: rarely many, rarely long ones, rarely one of an encoding.
fn extra_headers(random: &mut Random) -> String {
    match random.below(10) {
        0 => format!("x-long: {}\r\n", "x".repeat(random.below(2 << 20))),
        1 => (0..random.below(5000)).map(|number| format!("x-{number}: {number}\r\n")).collect(),
        2 => "content-encoding: gzip\r\n".to_owned(),
        3 => format!("retry-after: {}\r\n", u64::MAX),
        4 => format!("warning: 299 - \"{}\"\r\n", "w".repeat(random.below(100_000))),
        _ => String::new(),
    }
}

/// Texts that are expensive to quote or to escape.
fn long_text(random: &mut Random) -> String {
    const PARTS: [&str; 6] = ["x", "<p>\n", "\u{1}", "\"\\", "\u{10ffff}", "é"];
    let part = *random.pick(&PARTS);
    let bytes = *random.pick(&[0, 100, 3000, 100_000, BODY_BYTES_MAX]);
    part.repeat(bytes / part.len())
}

/// Bodies that are no review.
fn page(random: &mut Random) -> Vec<u8> {
    let levels = *random.pick(&[10usize, 500, 100_000, 3_000_000]);
    match random.below(7) {
        0 => Vec::new(),
        1 | 2 => long_text(random).into_bytes(),
        3 => [b"[".repeat(levels), b"]".repeat(levels)].concat(),
        4 => br#"{"a":"#.repeat(levels.min(BODY_BYTES_MAX / 5)),
        5 => {
            let text = long_text(random);
            json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": text,
                "reason": text, "code": random.below(1000)})
            .to_string()
            .into_bytes()
        }
        _ => (0..random.below(100_000)).map(|_| random.number() as u8).collect(),
    }
}

/// Returns a nested value that is parsed without recursion of this program.
fn deep(levels: usize) -> Value {
    (0..levels).fold(json!({}), |inner, _| json!({"x": inner}))
}

fn admission(random: &mut Random, request: &Value) -> Value {
    let mut response = json!({"uid": request["request"]["uid"], "allowed": random.below(3) > 0});
    match random.below(7) {
        0 | 1 => {
            // Base64 text is a third longer.
            let patch = sequences::json_patch(random, "data", 2 << 20);
            response["patchType"] = "JSONPatch".into();
            response["patch"] = base64(&patch).into();
        }
        2 => {
            response["status"] =
                json!({"message": long_text(random), "reason": long_text(random), "code": random.below(700)});
        }
        3 => response["warnings"] = (0..random.below(3000)).map(|_| "w".repeat(300)).collect(),
        4 => {
            let named = (0..random.below(3000)).map(|key| (format!("k{key}"), Value::from("v".repeat(300))));
            response["auditAnnotations"] = Value::Object(named.collect());
        }
        5 => response["status"] = json!({"details": {"causes": vec![json!({"message": "m"}); 10_000]}}),
        _ => response["uid"] = long_text(random).into(),
    }
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}

fn conversion(random: &mut Random, request: &Value) -> Value {
    let version = request["request"]["desiredAPIVersion"].clone();
    let mut objects = request["request"]["objects"].as_array().cloned().unwrap_or_default();
    for object in &mut objects {
        object["apiVersion"] = version.clone();
    }
    let last = objects.len().saturating_sub(1);
    if let Some(object) = objects.get_mut(last) {
        match random.below(8) {
            0 => object["metadata"]["name"] = "other".into(),
            1 => object["metadata"] = long_text(random).into(),
            2 => *object = Value::Null,
            3 => object["spec"] = deep(*random.pick(&[10, 390, 450])),
            4 => object["spec"] = json!({"long": long_text(random)}),
            5 => object["metadata"]["labels"] = json!({"a": long_text(random)}),
            6 => object["apiVersion"] = "other/v9".into(),
            _ => objects.truncate(last),
        }
    }
    let result = if random.below(4) == 0 {
        json!({"status": "Failure", "message": long_text(random)})
    } else {
        json!({"status": "Success"})
    };
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "response": {"uid": request["request"]["uid"], "result": result, "convertedObjects": objects}})
}

/// Returns discovery documents and schemas of an aggregated server.
fn discovery(random: &mut Random) -> Value {
    static MANY: LazyLock<Value> = LazyLock::new(|| {
        let resource =
            |number| json!({"name": format!("r{number}"), "kind": "R", "namespaced": true, "verbs": ["get"]});
        (0..50_000).map(resource).collect()
    });
    match random.below(4) {
        0 => json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": long_text(random),
            "resources": *MANY}),
        1 => {
            json!({"swagger": "2.0", "paths": deep(400), "definitions": {"a": {"description": long_text(random)}}})
        }
        2 => json!({"openapi": "3.0.0", "components": {"schemas": {"a": deep(400)}}, "paths": {
            long_text(random): {"serverRelativeURL": long_text(random)}}}),
        _ => json!({"kind": "Status", "message": long_text(random)}),
    }
}
