//! Paths that the server handles itself, and the paths of the API behind it.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, HeaderValue};
use http::{HeaderMap, Method};
use jsontree::json;

use apimachinery::status::{Reason, Status};
use component_base::metrics::Page;
use endpoints::header::texts;
use endpoints::routing::dispatch::Response;

use crate::chain::services::{ChainOptions, Services};
use crate::env::Env;
use crate::limits::flow;
use crate::limits::limiter::RequestLimiter;
use crate::metrics::{Metrics, register_watermarks};
use crate::pages::Pages;
use crate::pages::console::{self, Console, Requests, Sources};
use crate::pages::debugging;
use crate::pages::snapshots;
use crate::pages::zpages::{self, Statusz};
use crate::{process, respond};

const METRICS_RESET: &str = "metrics reset\n";
/// Prometheus text format, as upstream's library spells it.
const METRICS_TYPE: HeaderValue =
    HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8; escaping=underscores");

/// All pages of a server. The page at `/` lists the others and the paths of the API.
pub(crate) fn pages(
    services: &Services,
    limiter: &Arc<RequestLimiter>,
    requests: Option<&Arc<Requests>>,
    chain: &ChainOptions,
    env: &Env,
) -> Pages {
    let options = &chain.pages;
    let Services { health, metrics, registry, api_paths, fairness, .. } = services;
    let mut pages = Pages::default().merge(health.pages());
    let watched = Arc::clone(limiter);
    register_watermarks(registry, move || watched.watermarks());
    let selection = Arc::new(options.metrics.clone());
    let rendered = registry.clone();
    let selected = Arc::clone(&selection);
    // Upstream's `MetricsWithReset`, which it serves only with profiling.
    let resettable = options.debugging.is_some();
    pages = pages.add_listed("/metrics", async move |method: Method, headers: HeaderMap| {
        if resettable && method == Method::DELETE {
            rendered.reset();
            return respond::text(200, METRICS_RESET);
        }
        page_of_metrics(rendered.render(&selected), &headers)
    });
    let checked = Arc::clone(health);
    let (started, _) = metrics.started();
    pages = pages.add_listed("/metrics/slis", async move |method: Method, headers: HeaderMap| {
        if resettable && method == Method::DELETE {
            checked.reset_slis();
            return respond::text(200, METRICS_RESET);
        }
        let mut page = Page::new(&selection);
        checked.write_slis(&mut page);
        page.family(&process::START).add([], started);
        page_of_metrics(page.into_text(), &headers)
    });
    if let Some((debugging, requests)) = options.debugging.as_ref().zip(requests) {
        let fairness = fairness.as_ref();
        let disconnecting = chain.disconnecting.clone();
        let replica = debugging.replica.as_str();
        let sources = Sources { requests, metrics, limiter, fairness, replica, disconnecting };
        let console = Console::new(sources, &debugging.sections, env);
        pages = pages.merge(debugging::pages(debugging)).merge(console::pages(&console));
    }
    if let Some(snapshot) = &options.snapshot {
        pages = pages.merge(snapshots::pages(Arc::clone(snapshot)));
    }
    if let Some(fairness) = fairness {
        pages = pages.merge(flow::pages(fairness));
    }
    if let Some(flags) = &options.flags {
        pages = pages.merge(zpages::flagz(Arc::clone(flags), options.cbor, env));
    }
    if options.statusz {
        // The page lists itself too.
        let listed = pages.paths().iter().cloned().chain(["/statusz".to_owned()]);
        let paths = listed.chain(api_paths()).collect();
        pages = pages.merge(zpages::statusz(Statusz::of(metrics, paths, options.cbor, env.clone())));
    }
    with_index(pages, Arc::clone(api_paths))
}

/// Adds the page `/`: all paths, sorted, as indented JSON.
fn with_index(pages: Pages, api_paths: Arc<dyn Fn() -> Vec<String> + Send + Sync>) -> Pages {
    let listed = pages.paths().to_vec();
    let index = async move || {
        let mut paths = api_paths();
        paths.extend(listed.iter().cloned());
        paths.sort_unstable();
        paths.dedup();
        respond::json(200, serde_json::to_vec_pretty(&json!({ "paths": paths })).unwrap_or_default())
    };
    pages.add_unlisted("/", index.clone()).add_unlisted("/index.html", index).with_fallback()
}

fn page_of_metrics(page: String, headers: &HeaderMap) -> Response {
    let accepts_gzip = texts(headers, http::header::ACCEPT_ENCODING)
        .any(|value| value.split(',').any(|coding| coding.trim().split(';').next() == Some("gzip")));
    match accepts_gzip.then(|| gzip(page.as_bytes())).flatten() {
        Some(compressed) => {
            let mut response = respond::response(200, METRICS_TYPE, compressed);
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

/// Counts a request that panicked and returns its Status.
pub(crate) fn panicked(metrics: &Metrics) -> Status {
    metrics.panics.increment();
    let text = "This request caused apiserver to panic. Look in the logs for details.";
    Status::failure(500, Reason::InternalError, text)
}
