//! Tests of proxied requests.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use http::{HeaderMap, Method, Request, StatusCode, Uri};
use http_body_util::BodyExt;

use super::testing::TestNetwork;
use super::*;
use crate::response::full;

/// Request for a proxied URL, with the URL on the backend.
fn request_head(method: Method, uri: &str, headers: &[(&'static str, &'static str)]) -> Parts {
    let mut request = Request::new(());
    *request.method_mut() = method;
    *request.uri_mut() = uri.parse::<Uri>().unwrap();
    for (name, value) in headers {
        request.headers_mut().append(*name, HeaderValue::from_static(value));
    }
    request.into_parts().0
}

fn backend(path: &str) -> Url {
    let host = "10.0.0.1".to_owned();
    let port = "80".to_owned();
    let path = path.to_owned();
    Url { tls: false, trust: Trust::AnyServer, host, port, path, query: String::new() }
}

async fn pass(
    network: &TestNetwork,
    url: Url,
    parts: &Parts,
    body: &'static str,
) -> Result<Response, Box<Status>> {
    let shutdown = CancellationToken::new();
    let incoming = ProxyRequest {
        parts,
        path: parts.uri.path(),
        body: full(body),
        connection: None,
        peer: Some("192.0.2.7:5".parse().unwrap()),
        shutdown: &shutdown,
    };
    proxy_request(network, url, incoming).await
}

async fn text(response: Response) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

/// Backend that returns the received request.
fn mirror() -> TestNetwork {
    TestNetwork::answering(|request| {
        let names = ["x-forwarded-for", "x-forwarded-uri", "host", "x-mine", "connection", "content-length"];
        let header = |name: &&str| {
            let value = request.headers().get(*name)?.to_str().ok()?;
            Some(format!("{name}={value}"))
        };
        let headers: Vec<String> = names.iter().filter_map(header).collect();
        let summary = format!("{} {} {}", request.method(), request.uri(), headers.join(" "));
        let mut response = http::Response::new(full(summary));
        let headers = response.headers_mut();
        headers.insert("access-control-allow-origin", HeaderValue::from_static("*"));
        headers.insert("x-theirs", HeaderValue::from_static("1"));
        headers.insert("keep-alive", HeaderValue::from_static("timeout=5"));
        response
    })
}

#[tokio::test]
async fn backend_gets_own_path_and_client_address() {
    let check = async |method: Method, uri: &str, path: &str, expected: &str| {
        let parts =
            request_head(method, uri, &[("host", "api:6443"), ("x-mine", "1"), ("connection", "close")]);
        let response = pass(&mirror(), backend(path), &parts, "").await.unwrap();
        assert_eq!(text(response).await, expected, "{uri}");
    };
    let rest = "host=api:6443 x-mine=1";
    let from = "x-forwarded-for=192.0.2.7 x-forwarded-uri=";
    check(Method::GET, "/api/p/proxy/a?b=c", "/a", &format!("GET /a?b=c {from}/api/p/proxy/a {rest}")).await;
    check(Method::GET, "/api/p/proxy/", "/", &format!("GET / {from}/api/p/proxy/ {rest}")).await;
    check(Method::DELETE, "/api/p/proxy", "", &format!("DELETE / {from}/api/p/proxy {rest}")).await;
    check(Method::GET, "/api/p/proxy/a/", "/a", &format!("GET /a/ {from}/api/p/proxy/a/ {rest}")).await;
}

#[tokio::test]
async fn hop_by_hop_response_headers_are_removed() {
    let response = pass(&mirror(), backend("/a"), &request_head(Method::GET, "/p/a", &[]), "").await.unwrap();
    let headers: HeaderMap = response.headers().clone();
    assert_eq!(response.status(), StatusCode::OK);
    assert!(headers.contains_key("x-theirs"));
    assert!(!headers.contains_key("access-control-allow-origin") && !headers.contains_key("keep-alive"));
}

#[tokio::test]
async fn bodies_are_proxied_in_both_directions() {
    let echo = TestNetwork::answering(|request| {
        http::Response::new(request.into_body().map_err(Into::into).boxed_unsync())
    });
    let response =
        pass(&echo, backend("/a"), &request_head(Method::POST, "/p/a", &[]), "hello").await.unwrap();
    assert_eq!(text(response).await, "hello");
}

#[tokio::test]
async fn the_root_has_a_slash() {
    let check = async |method: Method, uri: &str, expected: Option<&str>| {
        let response = pass(&mirror(), backend(""), &request_head(method, uri, &[]), "").await.unwrap();
        let location = response.headers().get(LOCATION).map(|to| to.to_str().unwrap());
        assert_eq!(location, expected, "{uri}");
    };
    check(Method::GET, "/p/proxy", Some("/p/proxy/")).await;
    check(Method::HEAD, "/p/proxy?a=b", Some("/p/proxy/?a=b")).await;
    check(Method::POST, "/p/proxy", None).await;
}

#[tokio::test]
async fn unreachable_backend_is_503() {
    let url = Url { port: "1".to_owned(), ..backend("/a") };
    let status = pass(&mirror(), url, &request_head(Method::GET, "/p/a", &[]), "").await.err().unwrap();
    let message = "error trying to reach service: dial tcp 10.0.0.1:1: connect: connection refused";
    assert_eq!((status.code, status.reason.as_str(), &*status.message), (503, "ServiceUnavailable", message));
}

#[tokio::test]
async fn rejected_upgrade_returns_backend_response() {
    let check = async |code: u16, expected: Result<u16, &str>| {
        let network = TestNetwork::answering(move |_| {
            let mut response = http::Response::new(full("why"));
            *response.status_mut() = StatusCode::from_u16(code).unwrap();
            response
        });
        let parts = request_head(Method::POST, "/p/a", &[("connection", "Upgrade"), ("upgrade", "SPDY/3.1")]);
        let actual = pass(&network, backend("/a"), &parts, "").await;
        let actual =
            actual.map(|response| response.status().as_u16()).map_err(|status| status.message.clone());
        assert_eq!(actual, expected.map_err(str::to_owned));
    };
    check(403, Ok(403)).await;
    check(200, Err("invalid upgrade response: status code 200")).await;
    // The backend accepts, but the client's HTTP/2 connection cannot be upgraded.
    check(101, Err("request connection cannot be hijacked")).await;
}

#[tokio::test]
async fn accepted_upgrade_forwards_backend_headers() {
    let network = TestNetwork::answering(|_| {
        let mut response = http::Response::new(full(""));
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        for (name, value) in
            [("connection", "upgrade"), ("upgrade", "x"), ("keep-alive", "5"), ("x-theirs", "1")]
        {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response
    });
    let parts = request_head(Method::GET, "/p/a", &[("connection", "Upgrade"), ("upgrade", "x")]);
    let shutdown = CancellationToken::new();
    let incoming = ProxyRequest {
        parts: &parts,
        path: "/p/a",
        body: full(""),
        connection: Some(hyper::upgrade::on(http::Request::new(()))),
        peer: None,
        shutdown: &shutdown,
    };
    let mut response = proxy_request(&network, backend("/a"), incoming).await.unwrap();
    response.headers_mut().remove("date");
    let expected = ["connection: upgrade", "keep-alive: 5", "upgrade: x", "x-theirs: 1"];
    assert_eq!(lines(response.headers()), expected);
    assert!(response.extensions().get::<crate::routing::dispatch::UnchangedHead>().is_some());
}

#[tokio::test]
async fn html_links_stay_behind_the_proxy() {
    let network = TestNetwork::answering(|_| {
        let mut response = http::Response::new(full("<a href=/x>"));
        response.headers_mut().insert("content-type", HeaderValue::from_static("text/html"));
        response
    });
    let parts = request_head(Method::GET, "/api/p/proxy/a", &[("host", "api")]);
    let response = pass(&network, backend("/a"), &parts, "").await.unwrap();
    assert!(!response.headers().contains_key("content-length"));
    assert_eq!(text(response).await, "<a href=\"/api/p/proxy/x\">");
}

#[tokio::test]
async fn head_of_html_has_no_length() {
    let network = TestNetwork::answering(|_| {
        let mut response = http::Response::new(full(""));
        response.headers_mut().insert("content-type", HeaderValue::from_static("text/html"));
        response.headers_mut().insert("content-length", HeaderValue::from_static("100"));
        response
    });
    let parts = request_head(Method::HEAD, "/api/p/proxy/a", &[("host", "api")]);
    let response = pass(&network, backend("/a"), &parts, "").await.unwrap();
    assert!(!response.headers().contains_key("content-length"));
    assert_eq!(http_body::Body::size_hint(response.body()).exact(), None);
}

#[tokio::test]
async fn redirect_stays_behind_the_proxy() {
    let redirect = |to: &'static str| {
        TestNetwork::answering(move |_| {
            let mut response = http::Response::new(full(""));
            *response.status_mut() = StatusCode::FOUND;
            response.headers_mut().insert(LOCATION, HeaderValue::from_static(to));
            response
        })
    };
    let parts = request_head(Method::GET, "/api/p/proxy/a", &[("host", "api")]);
    let response = pass(&redirect("http://10.0.0.1:80/x"), backend("/a"), &parts, "").await.unwrap();
    assert_eq!(response.headers()[LOCATION], "/api/p/proxy/x");
    let status = pass(&redirect("http://[/"), backend("/a"), &parts, "").await.err().unwrap();
    let message = "Internal error occurred: error trying to parse Location header: parse \"http://[/\": missing ']' in host";
    assert_eq!((status.code, &*status.message), (500, message));
}

/// Header fields as lines, sorted.
fn lines(headers: &HeaderMap) -> Vec<String> {
    let mut lines: Vec<String> =
        headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
    lines.sort();
    lines
}

/// Every header that belongs to one connection.
const OF_CONNECTION: &[(&str, &str)] = &[
    ("keep-alive", "timeout=5"),
    ("proxy-authenticate", "Basic"),
    ("proxy-authentication-info", "x"),
    ("proxy-authorization", "Basic x"),
    ("proxy-connection", "close"),
    ("http2-settings", "AAMAAABk"),
    ("te", "gzip"),
    ("trailer", "x-nominated"),
    ("upgrade", "h2c"),
    ("x-nominated", "1"),
];

#[tokio::test]
async fn connection_headers_end_at_the_proxy() {
    let network = TestNetwork::answering(|request| {
        let mut response = http::Response::new(full(lines(request.headers()).join("\n")));
        for (name, value) in OF_CONNECTION {
            response.headers_mut().append(*name, HeaderValue::from_static(value));
        }
        response.headers_mut().append("connection", HeaderValue::from_static("x-nominated"));
        response
    });
    let end_to_end = [("connection", "x-nominated, keep-alive"), ("host", "api"), ("accept", "a")];
    let headers = [&end_to_end[..], OF_CONNECTION].concat();
    let response =
        pass(&network, backend("/a"), &request_head(Method::GET, "/p/a", &headers), "").await.unwrap();
    let names: Vec<&str> = response.headers().keys().map(|name| name.as_str()).collect();
    assert!(names.iter().all(|name| matches!(*name, "content-length" | "date")), "{names:?}");
    let expected = ["accept: a", "host: api", "x-forwarded-for: 192.0.2.7", "x-forwarded-uri: /p/a"];
    assert_eq!(text(response).await.lines().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn upgrade_headers_are_those_of_the_proxy() {
    let network = TestNetwork::answering(|request| {
        let mut response = http::Response::new(full(lines(request.headers()).join("\n")));
        *response.status_mut() = StatusCode::FORBIDDEN;
        response
    });
    let end_to_end =
        [("connection", "keep-alive, Upgrade, x-nominated"), ("host", "api"), ("sec-websocket-key", "k")];
    let headers = [&end_to_end[..], OF_CONNECTION, &[("transfer-encoding", "chunked")]].concat();
    let response =
        pass(&network, backend("/a"), &request_head(Method::GET, "/p/a", &headers), "").await.unwrap();
    let expected = [
        "connection: Upgrade",
        "host: api",
        "sec-websocket-key: k",
        "upgrade: h2c",
        "x-forwarded-for: 192.0.2.7",
    ];
    assert_eq!(text(response).await.lines().collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn backend_gets_one_content_length() {
    let network =
        TestNetwork::answering(|request| http::Response::new(full(lines(request.headers()).join("\n"))));
    for upgrade in [&[][..], &[("connection", "Upgrade"), ("upgrade", "x")]] {
        let ambiguous = [upgrade, &[("content-length", "5"), ("content-length", "6")]].concat();
        let error =
            pass(&network, backend("/a"), &request_head(Method::POST, "/p/a", &ambiguous), "hello").await;
        assert_eq!(error.err().unwrap().code, 400);
    }
    let equal = [("host", "api"), ("content-length", "5"), ("content-length", "5")];
    let response =
        pass(&network, backend("/a"), &request_head(Method::POST, "/p/a", &equal), "hello").await.unwrap();
    assert_eq!(text(response).await.matches("content-length: 5").count(), 1);
}

#[tokio::test]
async fn backend_gets_one_host() {
    let network =
        TestNetwork::answering(|request| http::Response::new(full(lines(request.headers()).join("\n"))));
    let check = async |uri: &str, hosts: &[(&'static str, &'static str)], expected: &str| {
        let response =
            pass(&network, backend("/a"), &request_head(Method::GET, uri, hosts), "").await.unwrap();
        let text = text(response).await;
        let host_lines: Vec<&str> = text.lines().filter(|line| line.starts_with("host:")).collect();
        assert_eq!(host_lines, [format!("host: {expected}")]);
    };
    check("/p/a", &[("host", "a"), ("host", "b")], "a").await;
    check("https://c/p/a", &[("host", "a"), ("host", "b")], "c").await;
    check("/p/a", &[], "10.0.0.1:80").await;
}
