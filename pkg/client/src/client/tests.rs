//! Clients, tested against local servers.
#![allow(clippy::unwrap_used)]

use http::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;
use crate::call::Limits;
use crate::dial::Address;
use crate::testing::{Keys, Server, inline, trusting};
use crate::tls::Trust;

const LIMITS: Limits =
    Limits { total: Duration::from_secs(20), response_bytes_max: 1 << 16, redirects_max: 0 };

fn client(tls: Tls) -> Client {
    Client::new(Options { tls, ..Options::default() }).unwrap()
}

fn get(url: &str) -> Request<Bytes> {
    Request::get(url).body(Bytes::new()).unwrap()
}

async fn call(client: &Client, url: &str) -> Result<String, String> {
    let response = client.call(get(url), &LIMITS).await;
    response.map(|a| String::from_utf8(a.into_body().to_vec()).unwrap()).map_err(|error| error.to_string())
}

#[tokio::test]
async fn connections_are_reused() {
    let keys = Keys::new(&["127.0.0.1"]);
    for (http1_only, version) in [(false, "HTTP/2.0"), (true, "HTTP/1.1")] {
        let server = Server::tls(&keys).await;
        let client = client(Tls { http1_only, ..trusting(&keys.authority) });
        for _ in 0..3 {
            let body = call(&client, &format!("https://127.0.0.1:{}/a", server.port)).await.unwrap();
            assert!(body.starts_with(&format!("{version} GET /a 127.0.0.1")), "{body}");
        }
        assert_eq!(server.accepted(), 1, "{version}");
    }
}

#[tokio::test]
async fn explicit_host_header_is_sent() {
    let keys = Keys::new(&["127.0.0.1"]);
    let server = Server::tls(&keys).await;
    let mut request = get(&format!("https://127.0.0.1:{}/", server.port));
    request.headers_mut().insert(HOST, HeaderValue::from_static("api:6443"));
    let response = client(trusting(&keys.authority)).call(request, &LIMITS).await.unwrap();
    assert_eq!(response.into_body(), "HTTP/1.1 GET / api:6443 ");
}

#[tokio::test]
async fn ca_bundle_determines_trust() {
    let keys = Keys::new(&["127.0.0.1"]);
    let other = Keys::new(&["127.0.0.1"]);
    let server = Server::tls(&keys).await;
    let url = format!("https://127.0.0.1:{}/", server.port);
    let check = async |tls: Tls, expected: Result<(), &str>| {
        assert_eq!(call(&client(tls), &url).await.map(drop), expected.map_err(str::to_owned));
    };
    let verify = |cause: &str| format!("tls: failed to verify certificate: x509: {cause}");
    check(trusting(&keys.authority), Ok(())).await;
    // A certificate in the bundle needs no valid signature.
    check(trusting(&keys.certificate), Ok(())).await;
    check(trusting(&format!("{}{}", other.authority, keys.certificate)), Ok(())).await;
    check(trusting(&other.authority), Err(&verify("certificate signed by unknown authority"))).await;
    check(Tls::default(), Err(&verify("certificate signed by unknown authority"))).await;
    check(Tls { trust: Trust::Unverified, ..Tls::default() }, Ok(())).await;
    let wrong = Tls { server_name: Some("a.example".to_owned()), ..trusting(&keys.authority) };
    let named = "certificate is not valid for any names, but wanted to match a.example";
    check(wrong.clone(), Err(&verify(named))).await;
    check(Tls { trust: Trust::Bundle(inline(&keys.certificate)), ..wrong }, Err(&verify(named))).await;
}

#[test]
fn invalid_bundle_is_rejected_at_creation() {
    let error = Client::new(Options { tls: trusting("none"), ..Options::default() }).err().unwrap();
    assert_eq!(error.to_string(), "unable to load root certificates: unable to parse bytes as PEM block");
}

#[tokio::test]
async fn service_is_routed_and_verified_by_name() {
    let keys = Keys::new(&["hook.ns.svc"]);
    let server = Server::tls(&keys).await;
    let port = server.port;
    let route: Route = Arc::new(move |host, requested_port| match (host, requested_port) {
        ("hook.ns.svc", 443) => Ok(Address { host: "127.0.0.1".to_owned(), port }),
        _ => Err(crate::Error::credentials("services \"other\" not found".to_owned())),
    });
    let tls = trusting(&keys.authority);
    let client = Client::new(Options { tls, route: Some(route), ..Options::default() }).unwrap();
    let body = call(&client, "https://hook.ns.svc/x").await.unwrap();
    assert!(body.starts_with("HTTP/2.0 GET /x hook.ns.svc"), "{body}");
    let lost = call(&client, "https://other.ns.svc/x").await;
    assert_eq!(lost.unwrap_err(), "services \"other\" not found");
}

#[tokio::test]
async fn token_file_is_reloaded() {
    let keys = Keys::new(&["127.0.0.1"]);
    let server = Server::tls(&keys).await;
    let url = format!("https://127.0.0.1:{}/", server.port);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "one\n").unwrap();
    let bearer = Some(Source::File(file.path().to_owned()));
    let client =
        Client::new(Options { tls: trusting(&keys.authority), bearer, ..Options::default() }).unwrap();
    let later = async || {
        tokio::time::pause();
        tokio::time::advance(REFRESH).await;
        tokio::time::resume();
    };
    assert!(call(&client, &url).await.unwrap().ends_with("Bearer one"));
    std::fs::write(file.path(), "two").unwrap();
    assert!(call(&client, &url).await.unwrap().ends_with("Bearer one"));
    later().await;
    assert!(call(&client, &url).await.unwrap().ends_with("Bearer two"));
    // Old credentials had connections of their own.
    assert_eq!(server.accepted(), 2);
    std::fs::write(file.path(), "").unwrap();
    later().await;
    assert!(call(&client, &url).await.unwrap().ends_with("Bearer two"));
}

/// A plugin that prints `status`, where `$n` is the number of runs.
fn plugin(directory: &std::path::Path, status: &str) -> Option<crate::ExecPlugin> {
    let script = format!(
        "echo x >> n; n=$(wc -l < n); echo '{{kind: ExecCredential, apiVersion: client.authentication.k8s.io/v1, status: '\"{status}\"'}}'"
    );
    let exec = jsontree::json!({
        "apiVersion": "client.authentication.k8s.io/v1", "command": "sh", "interactiveMode": "Never",
        "args": ["-c", format!("cd {}; {script}", directory.display())],
    });
    let clock = Arc::<component_base::clock::TestClock>::default();
    Some(crate::ExecPlugin::new(jsontree::from_value(exec).unwrap(), clock).unwrap())
}

#[tokio::test]
async fn rejected_plugin_token_is_renewed() {
    let keys = Keys::new(&["127.0.0.1"]);
    let directory = tempfile::tempdir().unwrap();
    let server = Server::tls(&keys).await;
    let url = |path: &str| format!("https://127.0.0.1:{}/{path}", server.port);
    let plugin = plugin(directory.path(), "{token: t$n}");
    let client =
        Client::new(Options { tls: trusting(&keys.authority), plugin, ..Options::default() }).unwrap();
    assert!(call(&client, &url("a")).await.unwrap().ends_with("Bearer t1"));
    assert!(call(&client, &url("a")).await.unwrap().ends_with("Bearer t1"));
    let refused = client.call(get(&url("401")), &LIMITS).await.unwrap();
    assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
    assert!(call(&client, &url("a")).await.unwrap().ends_with("Bearer t2"));
    assert_eq!(server.accepted(), 1, "another token is no other client");
}

#[tokio::test]
async fn failing_plugin_prevents_request() {
    let keys = Keys::new(&["127.0.0.1"]);
    let directory = tempfile::tempdir().unwrap();
    let server = Server::tls(&keys).await;
    let plugin = plugin(directory.path(), "{}");
    let client =
        Client::new(Options { tls: trusting(&keys.authority), plugin, ..Options::default() }).unwrap();
    let failed = call(&client, &format!("https://127.0.0.1:{}/", server.port)).await.unwrap_err();
    assert_eq!(failed, "getting credentials: exec plugin didn't return a token or cert/key pair");
    assert_eq!(server.accepted(), 0);
}

#[tokio::test]
async fn redirects_need_permission_and_drop_token() {
    let keys = Keys::new(&["127.0.0.1"]);
    let first = Server::tls(&keys).await;
    let second = Server::tls(&keys).await;
    let options =
        Options { tls: trusting(&keys.authority), bearer: Some(inline("secret")), ..Options::default() };
    let client = Client::new(options).unwrap();
    let url = format!("https://127.0.0.1:{}/to/https://127.0.0.1:{}/x", first.port, second.port);
    assert_eq!(client.call(get(&url), &LIMITS).await.unwrap().status(), StatusCode::FOUND);
    let following = Limits { redirects_max: 1, ..LIMITS };
    let response = client.call(get(&url), &following).await.unwrap();
    assert_eq!(response.into_body(), "HTTP/2.0 GET /x 127.0.0.1 ");
    let round = format!("https://127.0.0.1:{}/to//to/x", first.port);
    let error = client.call(get(&round), &following).await.unwrap_err();
    assert_eq!(error, Error::redirect("stopped after 1 redirects".to_owned()));
    let posted = Request::post(&url).body(Bytes::new()).unwrap();
    assert_eq!(client.call(posted, &following).await.unwrap().status(), StatusCode::FOUND);
}

#[tokio::test]
async fn dedicated_connection_can_be_upgraded() {
    let keys = Keys::new(&["127.0.0.1"]);
    let server = Server::tls(&keys).await;
    let request = Request::get(format!("https://127.0.0.1:{}/", server.port));
    let request = request.header("connection", "Upgrade").header("upgrade", "echo");
    let client = client(trusting(&keys.authority));
    let mut response = client.send_dedicated(request.body(full("")).unwrap()).await.unwrap();
    assert_eq!(response.status(), StatusCode::SWITCHING_PROTOCOLS);
    let mut stream = hyper_util::rt::TokioIo::new(hyper::upgrade::on(&mut response).await.unwrap());
    stream.write_all(b"hello").await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    assert_eq!(text, "hello");
}

#[tokio::test]
async fn misbehaving_servers_hit_limits() {
    let check = async |server: Server, expected: Error| {
        let limits = Limits { total: Duration::from_secs(2), ..LIMITS };
        let url = format!("http://127.0.0.1:{}/", server.port);
        let result = client(Tls::default()).call(get(&url), &limits).await;
        assert_eq!(result.map(drop), Err(expected));
    };
    let too_large = Error::TooLarge(LIMITS.response_bytes_max);
    let endless = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    check(Server::start_misbehaving(endless, Some("1\r\nx\r\n")).await, too_large.clone()).await;
    let chunk = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffffffffffff\r\n";
    check(Server::start_misbehaving(chunk, Some("x")).await, too_large.clone()).await;
    check(Server::start_misbehaving("HTTP/1.1 200 OK\r\n\r\n", Some("x")).await, too_large).await;
    let heads = "net/http: server response headers exceeded their limit; aborted";
    check(
        Server::start_misbehaving("HTTP/1.1 200 OK\r\n", Some("a: b\r\n")).await,
        Error::http(heads.to_owned()),
    )
    .await;
    check(
        Server::start_misbehaving("HTTP/1.1 200 OK\r\na: ", Some("b")).await,
        Error::http(heads.to_owned()),
    )
    .await;
    check(Server::start_misbehaving("", None).await, Error::Closed).await;
    let short = "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx";
    check(Server::start_misbehaving(short, None).await, Error::http("unexpected EOF".to_owned())).await;
    check(Server::silent().await, Error::Timeout).await;
}

/// GOAWAY without an error; the last processed stream is none, or the first.
const GOAWAY_BEFORE: &[u8] = &[0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const GOAWAY_AFTER: &[u8] = &[0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
/// RST_STREAM of the first stream: refused, or an internal error.
const REFUSED: &[u8] = &[0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 7];
const FAILED: &[u8] = &[0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 2];

#[tokio::test]
async fn only_unprocessed_requests_are_retried() {
    let keys = Keys::new(&["127.0.0.1"]);
    let check = async |frames: &'static [u8], again: bool| {
        let server = Server::with_raw_frames(&keys, 1, frames).await;
        let url = format!("https://127.0.0.1:{}/", server.port);
        let request = Request::post(&url).body(Bytes::from_static(b"a body")).unwrap();
        let result = client(trusting(&keys.authority)).call(request, &LIMITS).await;
        assert_eq!(result.is_ok(), again, "{frames:?}: {result:?}");
        assert_eq!(server.accepted(), 1 + usize::from(again), "{frames:?}");
        if let Ok(response) = result {
            assert!(response.body().ends_with(b"a body"), "{response:?}");
        }
    };
    check(GOAWAY_BEFORE, true).await;
    check(REFUSED, true).await;
    check(GOAWAY_AFTER, false).await;
    check(FAILED, false).await;
    check(&[], false).await;
}

#[tokio::test]
async fn streaming_bodies_are_not_retried() {
    let keys = Keys::new(&["127.0.0.1"]);
    let check = async |body: Body, again: bool| {
        let server = Server::with_raw_frames(&keys, 1, GOAWAY_BEFORE).await;
        let url = format!("https://127.0.0.1:{}/", server.port);
        let request = Request::get(&url).body(body).unwrap();
        let result = client(trusting(&keys.authority)).send(request).await;
        assert_eq!(
            result.map(drop).map_err(|error| matches!(error, Error::NotProcessed(_))),
            if again { Ok(()) } else { Err(true) }
        );
    };
    check(full(""), true).await;
    check(full("read once"), false).await;
}

#[tokio::test(start_paused = true)]
async fn retries_are_bounded() {
    let keys = Keys::new(&["127.0.0.1"]);
    let server = Server::with_raw_frames(&keys, usize::MAX, GOAWAY_BEFORE).await;
    let url = format!("https://127.0.0.1:{}/", server.port);
    let limits = Limits { total: Duration::from_secs(600), ..LIMITS };
    let result = client(trusting(&keys.authority)).call(get(&url), &limits).await;
    assert!(matches!(result, Err(Error::NotProcessed(_))), "{result:?}");
    assert_eq!(server.accepted(), 1 + RETRIES_MAX);
}

#[tokio::test]
async fn idempotent_requests_survive_a_closed_reused_connection() {
    let check = async |method: Method, succeeds: bool, connections: usize| {
        let server = Server::closing_after(1).await;
        let client = client(Tls::default());
        let url = format!("http://127.0.0.1:{}/", server.port);
        assert!(call(&client, &url).await.is_ok());
        let request = Request::builder().method(method.clone()).uri(&url).body(Bytes::new()).unwrap();
        assert_eq!(client.call(request, &LIMITS).await.is_ok(), succeeds, "{method}");
        assert_eq!(server.accepted(), connections, "{method}");
    };
    check(Method::GET, true, 2).await;
    check(Method::HEAD, true, 2).await;
    check(Method::OPTIONS, true, 2).await;
    check(Method::POST, false, 1).await;
    check(Method::DELETE, false, 1).await;
}

#[tokio::test]
async fn lost_fresh_connections_are_not_retried() {
    let server = Server::closing_after(0).await;
    let url = format!("http://127.0.0.1:{}/", server.port);
    assert_eq!(call(&client(Tls::default()), &url).await, Err("EOF".to_owned()));
    assert_eq!(server.accepted(), 1);
}
