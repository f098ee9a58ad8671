//! The paths that the server answers itself, and which ones belong to the API behind it.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, HeaderValue};
use serde_json::json;

use apimachinery::query::Query;
use endpoints::dispatch::Response;

use crate::chain::Chain;
use crate::respond;

/// What a path is.
pub(crate) enum Route {
    /// Answered here.
    Answered(Response),
    /// For the API.
    Api,
}

/// Paths, and the roots of trees of paths, that the API answers.
const API_ROOTS: [&str; 6] =
    ["/api", "/apis", "/openapi", "/version", "/openid/v1/jwks", "/.well-known/openid-configuration"];

/// Prometheus' text format, as upstream's library names it.
const METRICS_TYPE: HeaderValue =
    HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8; escaping=underscores");

/// Answers a path that is the server's own, whatever the method; a path that is nobody's is 404.
pub(crate) async fn route(chain: &Chain, path: &str, query: &Query, headers: &HeaderMap) -> Route {
    let under =
        |root: &str| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    if API_ROOTS.into_iter().any(under) {
        return Route::Api;
    }
    if let Some(response) = chain.health.answer(path, query).await {
        return Route::Answered(response);
    }
    Route::Answered(match path {
        "/" | "/index.html" => index(chain),
        "/metrics" => metrics(chain.metrics.render(chain.inflight.current()), headers),
        "/metrics/slis" => {
            let mut page = String::new();
            chain.health.write_slis(&mut page);
            chain.metrics.write_start_time(&mut page);
            metrics(page, headers)
        }
        _ => respond::not_found(),
    })
}

/// All paths there are, sorted, as indented JSON.
fn index(chain: &Chain) -> Response {
    let mut paths = (chain.api_paths)();
    paths.extend(chain.health.paths());
    paths.extend(["/metrics".to_owned(), "/metrics/slis".to_owned()]);
    paths.sort_unstable();
    paths.dedup();
    respond::json(200, serde_json::to_vec_pretty(&json!({ "paths": paths })).unwrap_or_default())
}

fn metrics(page: String, headers: &HeaderMap) -> Response {
    let accepts_gzip = headers
        .get_all(http::header::ACCEPT_ENCODING)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .any(|coding| coding.trim().split(';').next() == Some("gzip"));
    match accepts_gzip.then(|| gzip(page.as_bytes())).flatten() {
        Some(packed) => {
            let mut response = respond::response(200, METRICS_TYPE, packed);
            response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            response
        }
        None => respond::response(200, METRICS_TYPE, page),
    }
}

fn gzip(bytes: &[u8]) -> Option<Bytes> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

/// Counts a request that panicked, and answers it.
pub(crate) fn panicked(chain: &Arc<Chain>) -> apimachinery::status::Status {
    chain.metrics.panics.fetch_add(1, Relaxed);
    apimachinery::status::Status::failure(
        500,
        "InternalError",
        "This request caused apiserver to panic. Look in the logs for details.",
    )
}
