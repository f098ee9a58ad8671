//! Webhook clients, tested against local servers.
#![allow(clippy::unwrap_used)]

use std::sync::Mutex;

use super::*;
use crate::client::Options;
use crate::kubeconfig::Credentials;
use crate::testing::Server;

fn webhook(port: u16) -> Webhook {
    let server = format!("http://127.0.0.1:{port}/judge").parse().unwrap();
    let kubeconfig = Kubeconfig { server, options: Options::default() };
    Webhook::new(kubeconfig, Duration::from_millis(1), Arc::new(|| 0.0)).unwrap()
}

/// Returns the result for a response, and the status codes of all attempts.
async fn outcome(head: &'static str) -> (Result<String, String>, Vec<Option<u16>>) {
    let server = Server::start_misbehaving(head, None).await;
    let codes = Mutex::new(Vec::new());
    let result = webhook(server.port)
        .call(Bytes::from_static(b"{}"), |attempt| codes.lock().unwrap().push(attempt.code))
        .await;
    let result = result.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()).map_err(|f| f.message);
    (result, codes.into_inner().unwrap())
}

#[test]
fn paths_are_cleaned() {
    for (path, expected) in [
        ("", "/"),
        ("/", "/"),
        ("//failing", "/failing"),
        ("/a/", "/a"),
        ("/a//b/./../c%2F", "/a/c%2F"),
        ("/../..", "/"),
    ] {
        assert_eq!(clean_path(path), expected, "{path}");
    }
}

#[tokio::test]
async fn success_needs_one_attempt() {
    let (result, codes) = outcome("HTTP/1.1 201 Created\r\ncontent-length: 2\r\n\r\n{}").await;
    assert_eq!((result.as_deref(), codes.as_slice()), (Ok("{}"), &[Some(201)][..]));
}

#[tokio::test]
async fn content_type_of_response_is_ignored() {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: 2\r\n\r\n{}";
    assert_eq!(outcome(head).await.0.as_deref(), Ok("{}"));
}

#[tokio::test]
async fn internal_error_is_tried_five_times() {
    let (result, codes) =
        outcome("HTTP/1.1 500 X\r\ncontent-type: text/plain\r\ncontent-length: 3\r\n\r\nbad").await;
    let expected = "an error on the server (\"bad\") has prevented the request from succeeding";
    assert_eq!((result.unwrap_err().as_str(), codes), (expected, vec![Some(500); 5]));
}

#[tokio::test]
async fn client_error_is_not_retried() {
    let (result, codes) = outcome("HTTP/1.1 401 X\r\ncontent-length: 0\r\n\r\n").await;
    let expected = "the server has asked for the client to provide credentials";
    assert_eq!((result.unwrap_err().as_str(), codes), (expected, vec![Some(401)]));
}

#[tokio::test(start_paused = true)]
async fn lossless_webhook_retries_any_failure() {
    let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let attempts = Mutex::new(0);
    let webhook = webhook(port).retrying_all_failures();
    let result = webhook.call(Bytes::new(), |_| *attempts.lock().unwrap() += 1).await;
    assert!(result.is_err());
    assert_eq!(attempts.into_inner().unwrap(), 5);
}

#[tokio::test]
async fn status_message_is_the_error() {
    let head = "HTTP/1.1 403 X\r\ncontent-length: 33\r\n\r\n{\"kind\":\"Status\",\"message\":\"no.\"}";
    assert_eq!(outcome(head).await.0.unwrap_err(), "no.");
}

/// The limit of text from a webhook in an error.
const TEXT_BYTES: usize = 2048;

#[tokio::test]
async fn endless_error_page_is_not_read() {
    let check = async |head, piece, expected: &str| {
        let server = Server::start_misbehaving(head, Some(piece)).await;
        let url = WebhookAddress::Url(format!("http://127.0.0.1:{}/", server.port));
        let dialers = Dialers::direct(Arc::new(|_: &str, _: &str, _| Err(Error::Closed)));
        let webhook = Webhook::for_webhook(&url, b"", Credentials::default(), &dialers, 16 << 20).unwrap();
        let error = webhook.call_once(Bytes::new(), &|_| {}).await.unwrap_err();
        assert_eq!(error.into_message(), expected);
    };
    let page = "HTTP/1.1 403 X\r\ncontent-type: text/html; charset=utf-8\r\n\r\n";
    check(page, "x", &"x".repeat(TEXT_BYTES)).await;
    let page = "HTTP/1.1 500 X\r\ncontent-type: text/plain\r\n\r\n";
    let quoted = "\\x01".repeat(TEXT_BYTES / 4);
    let expected = format!("an error on the server (\"{quoted}\") has prevented the request from succeeding");
    check(page, "\u{1}", &expected).await;
}

#[test]
fn message_of_long_status_is_cut() {
    let body = format!(r#"{{"kind":"Status","message":"{}"}}"#, "x".repeat(12 << 20));
    let error = response_error(&Response::builder().status(403).body(Bytes::from(body)).unwrap());
    assert_eq!(error.into_message().len(), TEXT_BYTES);
}

#[tokio::test]
async fn connect_error_contains_the_url() {
    let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let failure = webhook(port).call(Bytes::new(), |_| {}).await.unwrap_err();
    let expected = format!(
        "Post \"http://127.0.0.1:{port}/judge?timeout=30s\": dial tcp 127.0.0.1:{port}: connect: connection refused"
    );
    assert_eq!((failure.message, failure.code), (expected, None));
}

#[tokio::test]
async fn timeout_is_sent_and_enforced() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let attempts = Mutex::new(Vec::new());
    let webhook = webhook(port).with_timeout(Duration::from_millis(20));
    let failure =
        webhook.call(Bytes::new(), |attempt| attempts.lock().unwrap().push(attempt)).await.unwrap_err();
    let expected = format!("Post \"http://127.0.0.1:{port}/judge?timeout=20ms\": context deadline exceeded");
    assert_eq!((failure.message, failure.code), (expected, None));
    assert_eq!(
        attempts.into_inner().unwrap().iter().map(|attempt| attempt.timed_out).collect::<Vec<_>>(),
        [true]
    );
}

/// A dialer that always fails.
#[derive(Debug)]
struct Nowhere(&'static str);

impl crate::Dial for Nowhere {
    fn dial<'d>(&'d self, address: &'d crate::Address) -> crate::DialFuture<'d> {
        Box::pin(async move {
            Err(crate::Error::connect(format!("{} to {}:{}", self.0, address.host, address.port)))
        })
    }
}

#[tokio::test]
async fn dialer_depends_on_target() {
    let service_resolver =
        Arc::new(|_: &str, _: &str, _| Ok(crate::Address { host: "10.0.0.1".to_owned(), port: 8443 }));
    let dialers = Dialers {
        services: service_resolver,
        to_services: Some(Arc::new(Nowhere("cluster"))),
        to_urls: Some(Arc::new(Nowhere("controlplane"))),
    };
    let check = async |place: WebhookAddress, credentials: Credentials, expected: &str| {
        let webhook = Webhook::for_webhook(&place, b"", credentials, &dialers, 1024).unwrap();
        let message = webhook.call_once(Bytes::new(), &|_| {}).await.unwrap_err().message;
        assert!(message.contains(expected), "{message}");
    };
    let nobody = Credentials::default;
    let service = |name: &str| {
        let namespace = "default".to_owned();
        let name = name.to_owned();
        WebhookAddress::Service { namespace, name, port: 443, path: String::new() }
    };
    check(service("hook"), nobody(), "cluster to 10.0.0.1:8443").await;
    let url = WebhookAddress::Url("https://hook.example.com/judge".to_owned());
    check(url, nobody(), "controlplane to hook.example.com:443").await;
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let keys = crate::testing::Keys::new(&["kubernetes"]);
    let authorities = keys.authority.as_bytes().into();
    let expected = crate::kubeconfig::ServerIdentity { name: "kubernetes".to_owned(), authorities };
    let itself = Credentials { expected: Some(expected), ..Credentials::default() };
    check(WebhookAddress::Url(format!("https://{closed}/")), itself, "connection refused").await;
}
