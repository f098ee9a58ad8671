//! Clients with malformed requests.

use std::io::Write;
use std::net::TcpStream;

use e2e::{Server, Store};
use http::Request;
use kube::Client;
use kube::client::Body;
use kube::config::AuthInfo;
use serde_json::Value;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// Upstream's request body limit in bytes.
const BODY_MAX: usize = 3 << 20;
const HALF_HANDSHAKES: usize = 64;

/// Posts a body; returns the status code and the response body.
async fn post(client: &Client, media_type: &str, body: impl Into<Vec<u8>>) -> (u16, Value) {
    let request = Request::post(CONFIG_MAPS).header("content-type", media_type);
    let response = client.send(request.body(Body::from(body.into())).unwrap()).await.unwrap();
    let code = response.status().as_u16();
    (code, serde_json::from_slice(&response.into_body().collect_bytes().await.unwrap()).unwrap())
}

/// Returns a ConfigMap whose only value is the given JSON.
fn config_map(name: &str, datum: &[u8]) -> Vec<u8> {
    let head =
        format!(r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{"k":"#);
    [head.as_bytes(), datum, b"}}"].concat()
}

/// Fails unless an ordinary request is served.
async fn serves(client: &Client) {
    let response = client.send(Request::get(CONFIG_MAPS).body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_bodies_are_rejected() {
    let server = Server::start(Store::Embedded);
    let client = server.client().await;
    let check = async |what: &str, media_type: &str, body: Vec<u8>, code: u16, reason: &str| {
        let (found, status) = post(&client, media_type, body).await;
        assert_eq!((found, &status["reason"]), (code, &reason.into()), "{what}: {status}");
        assert_ne!(status["message"], "", "{what}");
        serves(&client).await;
    };
    let json = "application/json";
    let large = [b"\"", vec![b'x'; BODY_MAX].as_slice(), b"\""].concat();
    check("too large", json, config_map("c", &large), 413, "RequestEntityTooLarge").await;
    let deep = [b"[".repeat(20_000), b"]".repeat(20_000)].concat();
    check("too deep", json, config_map("c", &deep), 400, "BadRequest").await;
    check("too deep and open", json, config_map("c", &b"[".repeat(1 << 20)), 400, "BadRequest").await;
    check("too deep YAML", "application/yaml", b"[".repeat(200_000), 400, "BadRequest").await;
    check("expanding YAML", "application/yaml", expanding_yaml(), 400, "BadRequest").await;
    check("half an object", json, config_map("c", b"\"")[..40].to_vec(), 400, "BadRequest").await;
    check("nothing", json, Vec::new(), 400, "BadRequest").await;
    let protobuf = "application/vnd.kubernetes.protobuf";
    check("half a message", protobuf, b"k8s\0\x0a\xff\xff\xff\xff\x7f".to_vec(), 400, "BadRequest").await;
    check("unknown format", "text/plain", config_map("c", b"\"\""), 415, "UnsupportedMediaType").await;
}

/// Returns a few bytes of YAML that expand to 10^9 strings.
fn expanding_yaml() -> Vec<u8> {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..9 {
        let aliases = vec![format!("*a{}", n - 1); 10].join(", ");
        text.push_str(&format!("a{n}: &a{n} [{aliases}]\n"));
    }
    text.into_bytes()
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_utf_8_becomes_the_replacement_character() {
    let server = Server::start(Store::Embedded);
    let client = server.client().await;
    let (code, object) = post(&client, "application/json", config_map("c", b"\"a\xffb\"")).await;
    assert_eq!(code, 201, "{object}");
    assert_eq!(object["data"]["k"], "a\u{fffd}b");
    serves(&client).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn junk_token_is_rejected() {
    let server = Server::start(Store::Embedded);
    let good = server.client().await;
    for token in ["junk", "a.b.c", "eyJhbGciOiJub25lIn0.e30."] {
        let mut config = server.client_config().await;
        config.auth_info = AuthInfo { token: Some(token.to_owned().into()), ..AuthInfo::default() };
        let bad = Client::try_from(config).unwrap();
        let response = bad.send(Request::get(CONFIG_MAPS).body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(response.status(), 401, "{token}");
        let status: Value =
            serde_json::from_slice(&response.into_body().collect_bytes().await.unwrap()).unwrap();
        assert_eq!((&status["reason"], &status["message"]), (&"Unauthorized".into(), &"Unauthorized".into()));
        serves(&good).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn incomplete_handshakes_block_no_other_client() {
    let server = Server::start(Store::Embedded);
    // The start of a ClientHello with an announced length of 512 bytes, and plain text instead of TLS.
    let hello = [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03];
    let starts: [&[u8]; 3] = [&hello, b"GET / HTTP/1.1\r\n\r\n", b""];
    let mut open = Vec::new();
    for n in 0..HALF_HANDSHAKES {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port())).unwrap();
        stream.write_all(starts[n % starts.len()]).unwrap();
        // Some disconnect at once.
        if n % 2 == 0 {
            open.push(stream);
        }
    }
    serves(&server.client().await).await;
    assert_eq!(open.len(), HALF_HANDSHAKES / 2);
}
