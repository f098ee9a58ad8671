//! Tests of requests for aggregated API servers.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::sync::Arc;

use api::catalog::{Catalog, ProxiedApiService, ProxiedVersion};
use apimachinery::request_info::RequestInfo;
use http::{Method, Request, Uri};
use http_body_util::BodyExt;

use super::*;
use crate::proxy::testing::TestNetwork;
use crate::response::full;

/// A single server, or an error.
struct One(Result<Arc<dyn Network>, ErrorResponse>);

#[async_trait]
impl ServerResolver for One {
    async fn resolve(&self, api_service: &str) -> Result<BackendAddress, ErrorResponse> {
        assert_eq!(api_service, "v1.example.com");
        Ok(BackendAddress { network: self.0.clone()?, host: "10.0.0.1".to_owned(), port: 443 })
    }
}

async fn forward(servers: One, uri: &str, headers: &[(&'static str, &'static str)]) -> (u16, String) {
    let mut request = Request::new(());
    *request.method_mut() = Method::GET;
    *request.uri_mut() = uri.parse::<Uri>().unwrap();
    for (name, value) in headers {
        request.headers_mut().append(*name, HeaderValue::from_static(value));
    }
    let parts = request.into_parts().0;
    let context = RequestContext {
        info: RequestInfo { path: parts.uri.path().to_owned(), ..RequestInfo::default() },
        query: apimachinery::query::Query::parse(parts.uri.query().unwrap_or_default()),
        peer: Some("192.0.2.7:5".parse().unwrap()),
        ..RequestContext::default()
    };
    let user = UserInfo { name: "jane".to_owned(), uid: "7".to_owned(), ..UserInfo::default() };
    let aggregation = Aggregation { servers: Arc::new(servers), send_uid: false, forward_redirects: false };
    let shutdown = CancellationToken::new();
    let request = ForwardedRequest {
        parts,
        body: full("hello"),
        context: &context,
        user: &user,
        connection: None,
        shutdown: &shutdown,
    };
    let response = aggregation.forward("v1.example.com", request).await;
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, String::from_utf8(body.to_vec()).unwrap())
}

fn any_server(
    respond: impl Fn(Request<hyper::body::Incoming>) -> Response + Send + Sync + 'static,
) -> Arc<dyn Network> {
    Arc::new(TestNetwork::answering(respond))
}

/// Server that returns the received request.
fn mirror() -> One {
    One(Ok(any_server(|request| {
        let mut headers: Vec<String> = request
            .headers()
            .iter()
            .map(|(name, value)| format!("{name}={}", value.to_str().unwrap()))
            .collect();
        headers.sort();
        http::Response::new(full(format!("{} {}", request.uri(), headers.join(" "))))
    })))
}

#[tokio::test]
async fn server_receives_authorized_request() {
    let sent = [
        ("authorization", "Bearer secret"),
        ("impersonate-user", "root"),
        ("x-remote-user", "root"),
        ("host", "api:6443"),
        ("x-mine", "1"),
    ];
    let (code, received) = forward(mirror(), "/apis/example.com/v1/x%20y?watch=1&a=b", &sent).await;
    assert_eq!(code, 200);
    let expected = "/apis/example.com/v1/x%2520y?a=b&watch=1 content-length=5 host=10.0.0.1:443";
    assert!(received.starts_with(expected), "{received}");
    assert!(
        received.contains("x-forwarded-for=192.0.2.7 x-forwarded-host=10.0.0.1:443 x-forwarded-proto=https")
    );
    assert!(received.ends_with("x-mine=1 x-remote-user=jane"), "{received}");
    assert!(!received.contains("secret") && !received.contains("root"), "{received}");
}

#[tokio::test]
async fn client_cannot_remove_user_headers() {
    let sent = [("connection", "close, x-remote-user, x-remote-group, x-mine"), ("x-mine", "1")];
    let (_, received) = forward(mirror(), "/apis/example.com/v1/a", &sent).await;
    assert!(received.ends_with("x-remote-user=jane") && !received.contains("x-mine"), "{received}");
}

/// Never responds.
struct Silent;

#[async_trait]
impl Network for Silent {
    async fn send(&self, _: Trust, _: http::Request<Body>) -> Result<Response, proxy::NetworkError> {
        std::future::pending().await
    }

    async fn send_dedicated(
        &self,
        _: Trust,
        _: http::Request<Body>,
    ) -> Result<Response, proxy::NetworkError> {
        std::future::pending().await
    }

    async fn addresses(&self, _: &str) -> Result<Vec<std::net::IpAddr>, proxy::NetworkError> {
        std::future::pending().await
    }
}

#[tokio::test(start_paused = true)]
async fn slow_discovery_times_out() {
    let response = forward(One(Ok(Arc::new(Silent))), "/apis/example.com/v1", &[]).await;
    let text = "error trying to reach service: context deadline exceeded\n";
    assert_eq!(response, (503, text.to_owned()));
}

#[tokio::test]
async fn redirect_is_rejected() {
    let redirecting = One(Ok(any_server(|_| {
        let mut response = http::Response::new(full("elsewhere"));
        *response.status_mut() = StatusCode::FOUND;
        response.headers_mut().insert(LOCATION, HeaderValue::from_static("https://elsewhere/"));
        response
    })));
    let text = "the backend attempted to redirect this request, which is not permitted";
    assert_eq!(forward(redirecting, "/apis/example.com/v1/a", &[]).await, (502, text.to_owned()));
}

#[tokio::test]
async fn unavailable_server_is_plain_text_error() {
    let refusal = ErrorResponse { code: 503, message: "service unavailable".to_owned() };
    let response = forward(One(Err(refusal)), "/apis/example.com/v1/a", &[]).await;
    assert_eq!(response, (503, "service unavailable\n".to_owned()));
}

#[test]
fn paths_below_proxied_version_are_proxied() {
    let proxied = Arc::new(ProxiedApiService {
        api_service: "v1.example.com".to_owned(),
        ..ProxiedApiService::default()
    });
    let version = ProxiedVersion { name: "v1".to_owned(), group_priority: 1, priority: 1, proxied };
    let catalog = Catalog::builtin(|_| true).with_proxied("example.com", vec![version]);
    let check = |path: &str, expected: bool| {
        assert_eq!(super::find_proxied(&catalog, path).is_some(), expected, "{path}");
    };
    check("/apis/example.com/v1", true);
    check("/apis/example.com/v1/", true);
    check("/apis/example.com/v1/namespaces/a/x/y/z/proxy/w", true);
    check("/apis/example.com", false);
    check("/apis/example.com/v2/x", false);
    check("/apis/apps/v1/deployments", false);
    check("/apis//v1", false);
    check("/api/v1", false);
    check("/", false);
}

#[test]
fn proxied_core_group_covers_all_of_api() {
    let proxied =
        Arc::new(ProxiedApiService { api_service: "v1.".to_owned(), ..ProxiedApiService::default() });
    let version = ProxiedVersion { name: "v1".to_owned(), group_priority: 1, priority: 1, proxied };
    let catalog = Catalog::builtin(|_| true).with_proxied("", vec![version]);
    for path in ["/api", "/api/", "/api/v1", "/api/v1/pods", "/api/v2"] {
        assert!(super::find_proxied(&catalog, path).is_some(), "{path}");
    }
    assert!(super::find_proxied(&catalog, "/apis").is_none());
}
