//! Tests of the chain, without a network.
#![allow(clippy::unwrap_used)]

mod retained;

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use authorization::Mode;
use endpoints::cpu_pool::{POOL_WRITE_BYTES_MIN, StartRequest, latest_start};
use endpoints::routing::dispatch::BoxError;
use http::HeaderMap;
use http_body_util::BodyExt;
use tokio::time::timeout;

use super::*;
use crate::connection::peer::Protocol;
use crate::limits::inflight::InflightLimits;
use crate::pages::options::PageOptions;
use crate::testing::{PATIENCE, Script, chain, request};

struct Setup {
    script: Arc<Script>,
    chain: Arc<Chain>,
    peer: Arc<Peer>,
}

fn setup_with(modes: &[Mode], options: ChainOptions) -> Setup {
    let script = Arc::new(Script::default());
    let chain = chain(&script, modes, options);
    Setup { script, chain, peer: Peer::new("192.0.2.1:1".parse().unwrap(), Protocol::Http1, None) }
}

fn setup() -> Setup {
    setup_with(&[Mode::AlwaysAllow], ChainOptions::default())
}

/// Chain that rejects all users except administrators.
fn strict() -> Setup {
    setup_with(&[Mode::Rbac], ChainOptions::default())
}

impl Setup {
    async fn send(
        &self,
        method: &str,
        target: &str,
        headers: &[&str],
    ) -> (u16, HeaderMap, Result<String, BoxError>) {
        let response = self.chain.serve(request(method, target, headers), &self.peer).await;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.map(|body| String::from_utf8(body.to_bytes().to_vec()).unwrap());
        (parts.status.as_u16(), parts.headers, body)
    }

    /// Sends a request. The expected text is the body, or the message of a Status.
    async fn check(&self, line: &str, headers: &[&str], code: u16, text: &str) {
        let (method, target) = line.split_once(' ').unwrap();
        let (got, _, body) = self.send(method, target, headers).await;
        let body = body.unwrap();
        let message = serde_json::from_str::<jsontree::Value>(&body)
            .ok()
            .and_then(|status| Some(status.get("message")?.as_str()?.to_owned()));
        assert_eq!((got, message.unwrap_or(body).as_str()), (code, text), "{line} {headers:?}");
    }
}

const MASTER: &str = "Authorization: Bearer master";

#[tokio::test]
async fn each_step_can_reject() {
    let strict = strict();
    strict.check("GET /livez", &["Authorization: Bearer nope"], 401, "Unauthorized").await;
    strict.check("GET /api", &["Authorization: Bearer nope"], 401, "Unauthorized").await;
    strict
        .check("GET /livez", &[], 403, "forbidden: User \"system:anonymous\" cannot get path \"/livez\"")
        .await;
    strict
        .check(
            "GET /nosuch",
            &["Authorization: Bearer ann"],
            403,
            "forbidden: User \"ann\" cannot get path \"/nosuch\"",
        )
        .await;
    strict.check("GET /api/v1/who", &[MASTER], 200, "root").await;
    assert_eq!(strict.script.started.load(SeqCst), 1);
}

#[tokio::test]
async fn credential_warnings_are_in_every_response() {
    let text = "299 - \"the provided Authorization header contains extra space before the bearer token, and is ignored\"";
    let check = async |headers: &[&str], target: &str, expected: &[&str]| {
        let (_, headers, _) = strict().send("GET", target, headers).await;
        let warnings: Vec<_> =
            headers.get_all("warning").iter().map(|value| value.to_str().unwrap()).collect();
        assert_eq!(warnings, expected, "{target}");
    };
    for target in ["/livez", "/api", "/api/v1/pods"] {
        check(&["Authorization: Bearer  master"], target, &[text]).await;
        check(&[MASTER], target, &[]).await;
    }
}

#[tokio::test]
async fn credentials_are_removed_after_authentication() {
    let headers = [
        MASTER,
        "X-Other: 1",
        "X-Remote-User: a",
        "X-Remote-Uid: b",
        "X-Remote-Group: c",
        "X-Remote-Extra-D: e",
        "Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.bWFzdGVy",
    ];
    let (_, _, body) = setup().send("GET", "/api/v1/headers", &headers).await;
    assert_eq!(body.unwrap(), "[\"x-other\"]");
}

#[tokio::test]
async fn invalid_utf8_token_is_unauthorized() {
    let mut request = request("GET", "/api", &[]);
    let token = HeaderValue::from_bytes(b"Bearer \xff").unwrap();
    request.headers_mut().insert(http::header::AUTHORIZATION, token);
    let setup = strict();
    assert_eq!(setup.chain.serve(request, &setup.peer).await.status(), 401);
}

#[tokio::test]
async fn paths_reach_their_handlers() {
    let setup = setup();
    for path in
        ["/api", "/api/", "/apis", "/apis/x", "/version", "/version/", "/openapi/v2", "/openid/v1/jwks"]
    {
        setup.check(&format!("GET {path}"), &[], 200, "dispatched").await;
    }
    for path in ["/apix", "/nosuch", "/livez/", "/metrics/", "//", "/debug/pprof", "/openid", "/*"] {
        setup.check(&format!("GET {path}"), &[], 404, "404 page not found\n").await;
    }
    for method in ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"] {
        setup.check(&format!("{method} /livez"), &[], 200, "ok").await;
    }
    setup
        .check("GET /readyz", &[], 500, "[+]ping ok\n[-]sick failed: reason withheld\nreadyz check failed\n")
        .await;
    setup.check("GET /a%zz", &[], 400, "400 Bad Request").await;
    // The authorized path is the one that is routed.
    setup.check("GET /%6Civez", &[], 200, "ok").await;
    setup.check("GET /livez%3Fverbose", &[], 404, "404 page not found\n").await;
    setup.check("GET /livez%00", &[], 404, "404 page not found\n").await;
}

#[tokio::test]
async fn watch_path_without_resource_is_unreadable() {
    let text = "Internal Server Error: \"/api/v1/watch?a=1&amp;b\": failed to create RequestInfo: unable to \
                determine kind and namespace from url, /api/v1/watch?a=1&amp;b\n";
    strict().check("GET /api/v1/watch?a=1&b", &[], 500, text).await;
}

#[tokio::test]
async fn optional_pages_are_off_by_default() {
    let flags = Some([("v".to_owned(), "0".to_owned())].into());
    let debugging = Some(crate::DebugPages::new(Arc::new(|_| {})));
    let pages = PageOptions { flags, statusz: true, debugging, ..PageOptions::default() };
    let all = setup_with(&[Mode::AlwaysAllow], ChainOptions { pages, ..ChainOptions::default() });
    for path in ["/flagz", "/statusz", "/debug/flags"] {
        assert_eq!(all.send("GET", path, &[]).await.0, 200, "{path}");
        setup().check(&format!("GET {path}"), &[], 404, "404 page not found\n").await;
    }
    let index = all.send("GET", "/", &[]).await.2.unwrap();
    for (path, listed) in [("\"/flagz\"", true), ("\"/statusz\"", true), ("/debug", false)] {
        assert_eq!(index.contains(path), listed, "{path} in {index}");
    }
}

#[tokio::test]
async fn the_root_lists_every_path() {
    for path in ["/", "/index.html"] {
        let (code, headers, body) = setup().send("GET", path, &[]).await;
        assert_eq!((code, headers["content-type"].to_str().unwrap()), (200, "application/json"));
        let listed: jsontree::Value = serde_json::from_str(&body.unwrap()).unwrap();
        let paths: Vec<&str> =
            listed["paths"].as_array().unwrap().iter().map(|path| path.as_str().unwrap()).collect();
        let expected = [
            "/api",
            "/healthz",
            "/healthz/ping",
            "/livez",
            "/livez/ping",
            "/metrics",
            "/metrics/slis",
            "/readyz",
            "/readyz/ping",
            "/readyz/sick",
            "/version",
        ];
        assert_eq!(paths, expected);
    }
}

#[tokio::test]
async fn every_answer_has_its_headers() {
    let hsts = Some(HeaderValue::from_static("max-age=1"));
    let setup = setup_with(&[Mode::Rbac], ChainOptions { hsts, ..ChainOptions::default() });
    for headers in [[MASTER, "X: 1"], ["Authorization: Bearer nope", "X: 1"]] {
        let (_, headers, _) = setup.send("GET", "/livez", &headers).await;
        assert_eq!(headers["cache-control"], "no-cache, private");
        assert_eq!(headers["audit-id"], "07070707-0707-4707-8707-070707070707");
        assert_eq!(headers["strict-transport-security"], "max-age=1");
    }
    let (_, headers, _) = setup.send("GET", "/api/v1/watch", &[MASTER]).await;
    assert_eq!(headers["audit-id"], "07070707-0707-4707-8707-070707070707");
    assert!(!headers.contains_key("cache-control") && !headers.contains_key("strict-transport-security"));
    let (_, headers, _) = setup.send("GET", "/livez", &[MASTER, "Audit-Id: mine"]).await;
    assert_eq!(headers["audit-id"], "mine");
}

#[tokio::test]
async fn head_response_has_no_body() {
    let (code, headers, body) = setup().send("HEAD", "/livez", &[]).await;
    assert_eq!((code, headers["content-length"].to_str().unwrap(), body.unwrap().as_str()), (200, "2", ""));
}

#[tokio::test]
async fn panic_is_a_counted_500() {
    let setup = setup();
    let text = "This request caused apiserver to panic. Look in the logs for details.";
    setup.check("GET /api/v1/panic", &[], 500, text).await;
    setup.check("POST /api/v1/panic", &[], 500, text).await;
    let (code, _, body) = setup.send("GET", "/api/v1/panic-body", &[]).await;
    assert_eq!(
        (code, body.map_err(|error| error.to_string())),
        (200, Err("panic while the answer was made".to_owned()))
    );
    assert_eq!(setup.chain.metrics().panics.get(), 3);
    setup.check("GET /api/v1/who", &[], 200, "system:anonymous").await;
}

#[tokio::test(start_paused = true)]
async fn request_times_out() {
    let setup = setup();
    let check = async |line: &str, seconds: u64| {
        let start = Instant::now();
        setup.check(line, &[], 504, "Timeout: request did not complete within the allotted timeout").await;
        assert_eq!(start.elapsed(), Duration::from_secs(seconds), "{line}");
    };
    check("GET /api/v1/hang", 60).await;
    check("POST /api/v1/hang", 60).await;
    check("GET /api/v1/hang?timeout=7s", 7).await;
    check("GET /api/v1/hang?timeout=0", 60).await;
    check("GET /api/v1/hang?timeout=-1s", 60).await;
    check("GET /api/v1/hang?timeout=2m", 60).await;
    setup
        .check(
            "GET /api?timeout=x",
            &[],
            400,
            "invalid timeout specified in the request URL - time: invalid duration \"x\"",
        )
        .await;
    assert_eq!(setup.chain.metrics().timeouts.get(), 6);
}

#[tokio::test(start_paused = true)]
async fn response_is_cut_at_deadline() {
    let (code, _, body) = setup().send("GET", "/api/v1/slow-body", &[]).await;
    assert_eq!(
        (code, body.map_err(|error| error.to_string())),
        (200, Err("the request ran out of time while its answer was sent".to_owned()))
    );
}

#[tokio::test(start_paused = true)]
async fn watch_has_no_deadline() {
    let setup = setup();
    let watch = setup.send("GET", "/api/v1/watch/hang", &[]);
    assert!(timeout(Duration::from_secs(1_000_000), watch).await.is_err());
    let stream = setup.send("GET", "/api/v1/slow-body?watch=1", &[]);
    assert!(timeout(Duration::from_secs(1_000_000), stream).await.is_err());
}

#[tokio::test]
async fn write_continues_after_disconnect_but_read_stops() {
    let setup = setup();
    for (method, finished) in [("POST", 1), ("GET", 0)] {
        let before = setup.script.finished.load(SeqCst);
        let sending = setup.chain.serve(request(method, "/api/v1/namespaces/a/pods/wait", &[]), &setup.peer);
        tokio::select! {
            _ = sending => unreachable!("nothing lets it go on yet"),
            () = setup.script.entered.notified() => {}
        }
        setup.script.release.notify_one();
        timeout(PATIENCE, setup.chain.wait_for_writes()).await.unwrap();
        assert_eq!(setup.script.finished.load(SeqCst) - before, finished, "{method}");
        setup.chain.writes.reopen();
    }
    assert_eq!(setup.script.abandoned.load(SeqCst), 1);
}

#[tokio::test]
async fn full_limit_returns_429_until_seat_is_free() {
    let inflight = InflightLimits { reading_max: 1, mutating_max: 1 };
    let setup = setup_with(&[Mode::AlwaysAllow], ChainOptions { inflight, ..ChainOptions::default() });
    let first = setup.chain.serve(request("GET", "/api/v1/slow-body", &[]), &setup.peer).await;
    let (code, headers, body) = setup.send("GET", "/api/v1/who", &[]).await;
    assert_eq!((code, headers["retry-after"].to_str().unwrap()), (429, "1"));
    assert_eq!(body.unwrap(), "Too many requests, please try again later.\n");
    setup.check("POST /api/v1/who", &[], 200, "system:anonymous").await;
    setup.check("GET /api/v1/watch/who", &[], 200, "system:anonymous").await;
    setup.check("GET /api/v1/who", &[MASTER], 200, "root").await;
    drop(first);
    setup.check("GET /api/v1/who", &[], 200, "system:anonymous").await;
    assert_eq!(setup.chain.metrics().dropped.get(), 1);
}

/// Request for a start in the pool that no request of a test competes with.
fn other_user() -> StartRequest<'static> {
    StartRequest { user: "other", retained_bytes: 0, start_by: latest_start(None) }
}

#[tokio::test]
async fn expensive_writes_run_in_cpu_pool() {
    let setup = setup();
    let (gate, shut) = std::sync::mpsc::channel::<()>();
    let pool = setup.chain.cpu_pool.clone();
    let busy = tokio::spawn(async move { pool.run(other_user(), async move { shut.recv() }).await });
    tokio::task::yield_now().await;
    let long = "x".repeat(POOL_WRITE_BYTES_MIN + 1);
    let heavy = [("PUT", "large", ""), ("POST", "echo", &*long)].map(|(method, last, body)| {
        let request = request(method, &format!("/api/v1/namespaces/a/pods/{last}"), &[]);
        let request = request.map(|_| respond::full(body.to_owned()));
        Box::pin(setup.chain.serve(request, &setup.peer))
    });
    let mut heavy = futures::future::join_all(heavy);
    assert!((&mut heavy).now_or_never().is_none());
    for line in ["GET /livez", "GET /api/v1/pods", "GET /api/v1/pods?watch=1", "POST /api/v1/pods"] {
        let (method, target) = line.split_once(' ').unwrap();
        assert_eq!(setup.send(method, target, &[]).await.0, 200, "{line}");
    }
    assert!((&mut heavy).now_or_never().is_none());
    assert_eq!(setup.script.started.load(SeqCst), 3, "no heavy one has begun");
    drop(gate);
    let answers = heavy.await;
    assert!(busy.await.unwrap().is_ok());
    assert_eq!(answers.iter().map(|answer| answer.status().as_u16()).collect::<Vec<_>>(), [200, 200]);
    let echo = answers.into_iter().nth(1).unwrap().into_body().collect().await;
    assert_eq!(echo.unwrap().to_bytes(), long);
}

#[tokio::test]
async fn pool_task_never_waits_for_pool() {
    let setup = setup();
    let (gate, shut) = std::sync::mpsc::channel::<()>();
    let pool = setup.chain.cpu_pool.clone();
    let busy = tokio::spawn(async move { pool.run(other_user(), async move { shut.recv() }).await });
    tokio::task::yield_now().await;
    let long = "x".repeat(POOL_WRITE_BYTES_MIN + 1);
    let request = request("POST", "/openapi/v2", &[]).map(|_| respond::full(long));
    // The pool builds the document, so the request itself must not run there.
    assert_eq!(timeout(PATIENCE, setup.chain.serve(request, &setup.peer)).await.unwrap().status(), 200);
    drop(gate);
    assert!(busy.await.unwrap().is_ok());
}

#[tokio::test]
async fn expensive_writes_beyond_queue_are_rejected() {
    let setup = setup();
    let (gate, shut) = std::sync::mpsc::channel::<()>();
    let pool = setup.chain.cpu_pool.clone();
    let busy = tokio::spawn(async move { pool.run(other_user(), async move { shut.recv() }).await });
    tokio::task::yield_now().await;
    let send = || {
        let request = request("PUT", "/api/v1/namespaces/a/pods/large", &[MASTER]);
        Box::pin(setup.chain.serve(request, &setup.peer))
    };
    let mut waiting = Vec::new();
    let refused = loop {
        let mut sent = send();
        match (&mut sent).now_or_never() {
            Some(response) => break response,
            None => waiting.push(sent),
        }
    };
    assert_eq!((refused.status().as_u16(), &refused.headers()["retry-after"]), (429, &HeaderValue::from(1)));
    drop(waiting);
    let mut next = send();
    assert!((&mut next).now_or_never().is_none(), "there is room again");
    drop(gate);
    assert!(busy.await.unwrap().is_ok());
    assert_eq!(next.await.status(), 200);
}

#[tokio::test]
async fn impersonation_headers_are_never_ignored() {
    let strict = strict();
    strict
        .check(
            "GET /api",
            &["Authorization: Bearer ann", "Impersonate-User: root"],
            403,
            "forbidden: User \"ann\" cannot impersonate-on:user-info:get path \"/api\"",
        )
        .await;
    strict
        .check(
            "POST /apis/authentication.k8s.io/v1/selfsubjectreviews",
            &["Authorization: Bearer bob", "Impersonate-User: zed"],
            403,
            "selfsubjectreviews.authentication.k8s.io is forbidden: User \"bob\" cannot impersonate-on:user-info:create resource \"selfsubjectreviews\" in API group \"authentication.k8s.io\" at the cluster scope",
        )
        .await;
    strict
        .check(
            "GET /api",
            &[MASTER, "Impersonate-Group: dev"],
            400,
            "requested &user.DefaultInfo{Name:\"\", UID:\"\", Groups:[]string{\"dev\"}, Extra:map[string][]string(nil)} without impersonating a user name",
        )
        .await;
    strict
        .check(
            "GET /api/v1/who",
            &[MASTER, "Impersonate-User: ann"],
            403,
            "who is forbidden: User \"ann\" cannot list resource \"who\" in API group \"\" at the cluster scope",
        )
        .await;
    assert_eq!(strict.script.started.load(SeqCst), 0);
}

#[tokio::test]
async fn later_steps_use_impersonated_user() {
    let setup = setup();
    setup.check("GET /api/v1/who", &[MASTER, "Impersonate-User: ann"], 200, "ann").await;
    let headers = [MASTER, "Impersonate-User: ann", "Impersonate-Extra-A: b", "Impersonate-Other: c"];
    setup.check("GET /api/v1/headers", &headers, 200, "[\"impersonate-other\"]").await;
}

#[tokio::test]
async fn answers_are_counted() {
    let setup = strict();
    let mut bytes = 0;
    for (headers, expected) in [([MASTER].as_slice(), 200), (&[], 403)] {
        let (code, _, body) = setup.send("GET", "/api/v1/pods", headers).await;
        assert_eq!(code, expected);
        bytes += body.unwrap().len();
    }
    let (_, headers, page) = setup.send("GET", "/metrics", &[MASTER]).await;
    let page = page.unwrap();
    let rest = "group=\"\",resource=\"pods\",scope=\"cluster\",subresource=\"\",verb=\"LIST\",version=\"v1\"";
    for line in [
        format!("apiserver_request_total{{code=\"200\",component=\"apiserver\",dry_run=\"\",{rest}}} 1\n"),
        format!("apiserver_request_total{{code=\"403\",component=\"apiserver\",dry_run=\"\",{rest}}} 1\n"),
        format!("apiserver_response_sizes_sum{{component=\"apiserver\",{rest}}} {bytes}\n"),
    ] {
        assert!(page.contains(&line), "no {line} in {page}");
    }
    assert_eq!(headers["content-type"], "text/plain; version=0.0.4; charset=utf-8; escaping=underscores");
    let response = setup
        .chain
        .serve(request("GET", "/metrics", &[MASTER, "Accept-Encoding: br, gzip"]), &setup.peer)
        .await;
    assert_eq!(response.headers()["content-encoding"], "gzip");
}

#[tokio::test]
async fn delete_resets_metrics_only_with_profiling() {
    let debugging = Some(crate::DebugPages::new(Arc::new(|_| {})));
    let pages = PageOptions { debugging, ..PageOptions::default() };
    let profiled = setup_with(&[Mode::AlwaysAllow], ChainOptions { pages, ..ChainOptions::default() });
    for (setup, resets) in [(profiled, true), (setup(), false)] {
        for (path, count) in [
            ("/metrics", "subresource=\"\",verb=\"LIST\",version=\"v1\"} 1\n"),
            ("/metrics/slis", "kubernetes_healthchecks_total{"),
        ] {
            for counted in ["/api/v1/pods", "/livez"] {
                assert_eq!(setup.send("GET", counted, &[MASTER]).await.0, 200);
            }
            let (code, _, body) = setup.send("DELETE", path, &[MASTER]).await;
            assert_eq!((code, body.unwrap() == "metrics reset\n"), (200, resets), "{path}");
            let page = setup.send("GET", path, &[MASTER]).await.2.unwrap();
            assert_eq!(page.contains(count), !resets, "{path}");
        }
    }
}

#[tokio::test]
async fn a_watch_is_counted_when_it_ends() {
    let setup = strict();
    let count = |page: &str, family: &str| {
        let line = page.lines().find(|line| line.starts_with(family) && line.contains("\"WATCH\""));
        line.and_then(|line| line.rsplit_once(' ')?.1.parse::<u64>().ok())
    };
    let page = async || setup.send("GET", "/metrics", &[MASTER]).await.2.unwrap();
    let watch = setup.chain.serve(request("GET", "/api/v1/pods?watch=1", &[MASTER]), &setup.peer).await;
    let during = page().await;
    assert_eq!(count(&during, "apiserver_longrunning_requests"), Some(1));
    assert_eq!(count(&during, "apiserver_request_total"), None);
    drop(watch);
    let after = page().await;
    assert_eq!(count(&after, "apiserver_longrunning_requests"), Some(0));
    assert_eq!(count(&after, "apiserver_request_total"), Some(1));
}

#[tokio::test]
async fn abandoned_request_is_not_counted() {
    let setup = setup();
    let sending = setup.chain.serve(request("GET", "/api/v1/watch/hang", &[]), &setup.peer);
    tokio::select! {
        _ = sending => unreachable!("nothing lets it go on"),
        () = setup.script.entered.notified() => {}
    }
    let (_, _, page) = setup.send("GET", "/metrics", &[]).await;
    let page = page.unwrap();
    assert!(!page.contains("\napiserver_request_total{"), "{page}");
    assert!(
        page.lines().any(|line| line.starts_with("apiserver_longrunning_requests{") && line.ends_with(" 0")),
        "{page}"
    );
}

#[test]
fn response_body_is_small() {
    // There may be a hundred thousand watches. See also `connection::serve`, which boxes the rest.
    assert!(std::mem::size_of::<ResponseBody>() <= 168, "{}", std::mem::size_of::<ResponseBody>());
}
