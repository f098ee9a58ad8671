//! Tests of the console, without a browser and a network.
#![allow(clippy::unwrap_used)]

use authorization::Mode;
use futures::StreamExt;
use http_body_util::BodyExt;
use tokio::time::timeout;

use super::*;
use crate::connection::peer::{Peer, Protocol};
use crate::testing::{PATIENCE, Script, chain, request};
use crate::{Chain, ChainOptions, DebugPages};

const MASTER: &str = "Authorization: Bearer master";

struct Setup {
    script: Arc<Script>,
    chain: Arc<Chain>,
    peer: Arc<Peer>,
}

fn setup_with(sections: Vec<Section>, disconnecting: CancellationToken) -> Setup {
    setup_of(DebugPages { sections, ..DebugPages::new(Arc::new(|_| {})) }, disconnecting)
}

fn setup_of(debugging: DebugPages, disconnecting: CancellationToken) -> Setup {
    let script = Arc::new(Script::default());
    let mut options = ChainOptions { disconnecting, ..ChainOptions::default() };
    options.pages.debugging = Some(debugging);
    let chain = chain(&script, &[Mode::Rbac], options);
    Setup { script, chain, peer: Peer::new("192.0.2.1:1".parse().unwrap(), Protocol::Http1, None) }
}

fn setup() -> Setup {
    setup_with(Vec::new(), CancellationToken::new())
}

impl Setup {
    async fn get(&self, target: &str, headers: &[&str]) -> (u16, http::HeaderMap, String) {
        let response = self.chain.serve(request("GET", target, headers), &self.peer).await;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        (parts.status.as_u16(), parts.headers, String::from_utf8(body.to_vec()).unwrap())
    }

    async fn section(&self, name: &str) -> Value {
        let (code, _, body) = self.get(&format!("/debug/console/state/{name}"), &[MASTER]).await;
        assert_eq!(code, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }
}

#[tokio::test]
async fn console_requires_permission() {
    let setup = setup();
    let paths = ["", "/page.js", "/state", "/state/requests", "/history", "/stream"];
    for (path, headers) in
        paths.iter().flat_map(|path| [(path, &[][..]), (path, &["Authorization: Bearer ann"][..])])
    {
        let (code, _, body) = setup.get(&format!("/debug/console{path}"), headers).await;
        assert_eq!(code, 403, "{path}: {body}");
        assert!(!body.contains("underWay") && !body.contains("<html"), "{path}: {body}");
    }
}

#[tokio::test]
async fn page_is_self_contained() {
    let setup = setup();
    let (code, headers, page) = setup.get("/debug/console", &[MASTER]).await;
    assert_eq!((code, headers["content-type"].to_str().unwrap()), (200, "text/html; charset=utf-8"));
    assert!(headers["content-security-policy"].to_str().unwrap().starts_with("default-src 'none'"));
    assert!(!page.contains("://"), "{page}");
    for part in ["console/page.css", "console/page.js", "console/icon.svg"] {
        assert!(page.contains(&format!("\"{part}\"")), "{part} in {page}");
        let (code, _, text) = setup.get(&format!("/debug/{part}"), &[MASTER]).await;
        assert!(
            code == 200 && !text.is_empty() && !text.contains("url(") && !text.contains("import"),
            "{part}"
        );
    }
    assert_eq!(setup.get("/debug/console/nosuch", &[MASTER]).await.0, 404);
    assert_eq!(setup.get("/debug/console/state/nosuch", &[MASTER]).await.0, 404);
}

#[tokio::test]
async fn without_profiling_there_is_no_console() {
    let script = Arc::new(Script::default());
    let chain = chain(&script, &[Mode::Rbac], ChainOptions::default());
    let setup = Setup { script, chain, peer: setup().peer };
    for path in ["/debug/console", "/debug/console/state", "/debug/console/stream", "/debug/pprof/"] {
        assert_eq!(setup.get(path, &[MASTER]).await.0, 404, "{path}");
    }
}

#[tokio::test]
async fn active_request_is_listed() {
    let setup = setup();
    let request = setup.get("/api/v1/wait", &[MASTER]);
    let inspect = async {
        setup.script.entered.notified().await;
        let requests = setup.section("requests").await;
        setup.script.release.notify_one();
        requests
    };
    let (_, during) = tokio::join!(request, inspect);
    let row =
        |path: &str| during["underWay"].as_array().unwrap().iter().find(|row| row["path"] == path).cloned();
    let row = row("/api/v1/wait").unwrap();
    assert_eq!((&row["user"], &row["stage"], &row["verb"]), (&json!("root"), &json!("work"), &json!("list")));
    let after = setup.section("requests").await;
    // The console request itself.
    assert_eq!(
        (&after["total"], &after["underWay"][0]["path"]),
        (&json!(1), &json!("/debug/console/state/requests"))
    );
}

#[tokio::test]
async fn recent_failures_are_listed_up_to_limit() {
    let setup = setup();
    assert_eq!(setup.section("failures").await, json!({ "rows": [], "rejected": [] }));
    for _ in 0..ROWS_MAX + 5 {
        setup.get("/api/v1/panic", &[MASTER]).await;
    }
    let failures = setup.section("failures").await;
    let rows = failures["rows"].as_array().unwrap();
    assert_eq!(rows.len(), ROWS_MAX);
    assert_eq!((&rows[0]["path"], &rows[0]["code"]), (&json!("/api/v1/panic"), &json!(500)));
    let server = setup.section("server").await;
    assert_eq!(
        (&server["panics"], &server["recent"]["failed"]),
        (&json!(ROWS_MAX + 5), &json!(ROWS_MAX + 5))
    );
}

#[tokio::test(start_paused = true)]
async fn history_is_recorded_without_viewer() {
    let setup = setup();
    let chain = Arc::clone(&setup.chain);
    let recording = tokio::spawn(async move { chain.record_history().await });
    tokio::time::sleep(2 * history::INTERVAL + history::INTERVAL / 2).await;
    recording.abort();
    let (code, _, body) = setup.get("/debug/console/history", &[MASTER]).await;
    let history: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((code, history["at"].as_array().map(Vec::len)), (200, Some(2)), "{body}");
}

#[tokio::test]
async fn server_section_names_the_replica() {
    let debugging =
        DebugPages { replica: "node-1 (10.0.0.1:6443)".to_owned(), ..DebugPages::new(Arc::new(|_| {})) };
    let setup = setup_of(debugging, CancellationToken::new());
    assert_eq!(setup.section("server").await["replica"], json!("node-1 (10.0.0.1:6443)"));
}

#[tokio::test]
async fn state_has_every_section_once() {
    let state_fn: StateFn = Arc::new(|| json!({ "x": 1 }));
    let setup = setup_with(vec![Section { name: "other", state: state_fn }], CancellationToken::new());
    let (_, _, body) = setup.get("/debug/console/state", &[MASTER]).await;
    let state: Value = serde_json::from_str(&body).unwrap();
    let mut names: Vec<_> = state.as_object().unwrap().keys().map(jsontree::Key::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["failures", "flowControl", "other", "requests", "server", "time", "watchers"]);
    assert_eq!(setup.section("other").await, json!({ "x": 1 }));
    assert!(setup.get("/debug/console/state?pretty=1", &[MASTER]).await.2.contains("\n  \"time\""));
}

#[tokio::test(start_paused = true)]
async fn stream_has_two_events_per_second_until_shutdown() {
    let disconnecting = CancellationToken::new();
    let setup = setup_with(Vec::new(), disconnecting.clone());
    let response = setup.chain.serve(request("GET", "/debug/console/stream", &[MASTER]), &setup.peer).await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut body = response.into_body().into_data_stream();
    let start = tokio::time::Instant::now();
    for _ in 0..3 {
        let event = body.next().await.unwrap().unwrap();
        let text = std::str::from_utf8(&event).unwrap();
        let state = text.strip_prefix("data: ").unwrap().strip_suffix("\n\n").unwrap();
        assert!(serde_json::from_str::<Value>(state).unwrap()["requests"]["total"].is_number());
    }
    assert_eq!(start.elapsed().as_millis() / 100, 10);
    disconnecting.cancel();
    assert!(timeout(PATIENCE, body.next()).await.unwrap().is_none());
}

#[tokio::test]
async fn number_of_streams_is_limited() {
    let setup = setup();
    let open = || setup.chain.serve(request("GET", "/debug/console/stream", &[MASTER]), &setup.peer);
    let mut streams = Vec::new();
    for _ in 0..stream::STREAMS_MAX {
        streams.push(open().await);
    }
    assert!(streams.iter().all(|response| response.status() == 200));
    assert_eq!(open().await.status(), 429);
    streams.pop();
    assert_eq!(open().await.status(), 200);
}

#[test]
fn client_texts_are_truncated() {
    assert_eq!(text("short"), json!("short"));
    assert_eq!(text(&"ä".repeat(300)).as_str().unwrap().chars().count(), TEXT_CHARS_MAX + 1);
}
