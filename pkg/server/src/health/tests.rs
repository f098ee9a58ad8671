//! Tests of the texts and codes at the health paths.
#![allow(clippy::unwrap_used)]

use super::*;
use apimachinery::request_context::RequestContext;
use apimachinery::request_info::RequestInfo;
use http_body_util::BodyExt;

struct Sick;

#[async_trait]
impl Check for Sick {
    fn name(&self) -> &str {
        "etcd"
    }

    async fn check(&self) -> Result<(), CheckError> {
        Err(CheckError::new("no leader"))
    }
}

fn text(result: Result<(), CheckError>) -> Option<String> {
    result.err().map(|error| error.to_string())
}

fn group(checks: &[&'static str]) -> CheckGroup {
    let well =
        |&name: &&'static str| Arc::new(NamedCheck(name.into(), || async { Ok(()) })) as Arc<dyn Check>;
    CheckGroup::new(checks.iter().map(well).collect())
}

fn health() -> Health {
    Health {
        healthz: group(&["ping", "poststarthook/a"]),
        livez: group(&["ping", "log", "etcd"]),
        readyz: CheckGroup::new(vec![Arc::new(Ping), Arc::new(Sick)]),
    }
}

async fn response(health: &Arc<Health>, path: &str, query: &str) -> Response {
    let info = RequestInfo { path: path.to_owned(), ..RequestInfo::default() };
    let context = RequestContext { info, query: Query::parse(query), ..RequestContext::default() };
    let parts = http::Request::new(()).into_parts().0;
    health.pages().handle(parts, respond::empty(), Arc::new(context)).await
}

async fn check(target: &str, expected: Option<(u16, &str)>) {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let response = response(&Arc::new(health()), path, query).await;
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let got = (code != 404).then(|| (code, String::from_utf8(body.to_vec()).unwrap()));
    let expected = expected.map(|(code, text)| (code, text.to_owned()));
    assert_eq!(got, expected, "{target}");
}

#[tokio::test]
async fn healthy_group_returns_ok_or_details() {
    check("/livez", Some((200, "ok"))).await;
    check("/livez?exclude=nosuch", Some((200, "ok"))).await;
    let all = "[+]ping ok\n[+]log ok\n[+]etcd ok\nlivez check passed\n";
    check("/livez?verbose", Some((200, all))).await;
    check("/livez?verbose=false", Some((200, all))).await;
    check(
        "/livez?verbose&exclude=etcd&exclude=ping",
        Some((200, "[+]ping excluded: ok\n[+]log ok\n[+]etcd excluded: ok\nlivez check passed\n")),
    )
    .await;
    check(
        "/healthz?verbose&exclude=y&exclude=x",
        Some((200, "[+]ping ok\n[+]poststarthook/a ok\nwarn: some health checks cannot be excluded: no matches for \"x\",\"y\"\nhealthz check passed\n")),
    )
    .await;
}

#[tokio::test]
async fn failed_group_omits_reasons() {
    let text = "[+]ping ok\n[-]etcd failed: reason withheld\nreadyz check failed\n";
    check("/readyz", Some((500, text))).await;
    check("/readyz?exclude=etcd", Some((200, "ok"))).await;
}

#[tokio::test]
async fn single_check_returns_reason() {
    check("/readyz/etcd", Some((500, "internal server error: no leader\n"))).await;
    check("/readyz/etcd?verbose", Some((500, "internal server error: no leader\n"))).await;
    check("/livez/etcd", Some((200, "ok"))).await;
    check("/healthz/poststarthook/a", Some((200, "ok"))).await;
}

#[tokio::test]
async fn other_paths_are_not_health() {
    for path in ["/livez/", "/livez/nosuch", "/healthz/poststarthook", "/live", "/", "livez", "/livezz"] {
        check(path, None).await;
    }
}

#[tokio::test]
async fn hook_fails_until_done_and_shutdown_afterwards() {
    let hook = Hook::new("bootstrap-controller");
    let token = CancellationToken::new();
    let shutdown = Shutdown(token.clone());
    assert_eq!(hook.name(), "poststarthook/bootstrap-controller");
    assert_eq!(
        (text(hook.check().await), text(shutdown.check().await)),
        (Some("not finished".to_owned()), None)
    );
    hook.done();
    token.cancel();
    assert_eq!(
        (text(hook.check().await), text(shutdown.check().await)),
        (None, Some("process is shutting down".to_owned()))
    );
}

#[tokio::test(start_paused = true)]
async fn grace_period_ignores_failures() {
    let grace = GracePeriodCheck::new(Arc::new(Sick), Duration::from_secs(5));
    assert_eq!(text(grace.check().await), None);
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_eq!(text(grace.check().await).as_deref(), Some("no leader"));
}

#[tokio::test]
async fn outcomes_are_counted() {
    let health = Arc::new(health());
    for _ in 0..2 {
        response(&health, "/readyz", "").await;
    }
    let selection = component_base::metrics::Selection::default();
    let mut page = Page::new(&selection);
    health.write_slis(&mut page);
    let out = page.into_text();
    for line in [
        "kubernetes_healthcheck{name=\"etcd\",type=\"readyz\"} 0\n",
        "kubernetes_healthcheck{name=\"ping\",type=\"readyz\"} 1\n",
        "kubernetes_healthchecks_total{name=\"etcd\",status=\"error\",type=\"readyz\"} 2\n",
    ] {
        assert!(out.contains(line), "{out}");
    }
    assert!(!out.contains("livez"), "{out}");
}

#[tokio::test]
async fn the_log_can_be_written_to() {
    assert!(Log::default().check().await.is_ok());
}

/// Check that takes a second, fails every other time, and counts its runs.
#[derive(Default)]
struct AlternatingCheck(AtomicU64);

#[async_trait]
impl Check for AlternatingCheck {
    fn name(&self) -> &str {
        "etcd"
    }

    async fn check(&self) -> Result<(), CheckError> {
        let before = self.0.fetch_add(1, Relaxed);
        tokio::time::sleep(Duration::from_secs(1)).await;
        if before.is_multiple_of(2) { Ok(()) } else { Err(CheckError::new("moody")) }
    }
}

#[tokio::test(start_paused = true)]
async fn check_runs_once_per_interval() {
    let check = Arc::new(AlternatingCheck::default());
    let throttled = ThrottledCheck::new(check.clone(), Duration::from_secs(3));
    let count_ok = async |times: u32| {
        let results = futures::future::join_all((0..times).map(|_| throttled.check())).await;
        (results.iter().filter(|result| result.is_ok()).count(), check.0.load(Relaxed))
    };
    assert_eq!(count_ok(100).await, (100, 1));
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(count_ok(100).await, (100, 1));
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(count_ok(100).await, (0, 2));
    // Callers that do not wait for the result cost the same.
    tokio::time::advance(Duration::from_secs(3)).await;
    for _ in 0..100 {
        _ = tokio::time::timeout(Duration::from_millis(1), throttled.check()).await;
    }
    assert_eq!(check.0.load(Relaxed), 3);
}
