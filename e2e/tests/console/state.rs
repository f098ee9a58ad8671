//! The console state as JSON.

use serde_json::{Value, json};

use crate::incident::{IncidentFixture, PATIENCE, StuckWebhook, get};

#[tokio::test(flavor = "multi_thread")]
async fn stalled_watcher_is_shown_with_lag() {
    let scene = IncidentFixture::begin();
    let client = scene.server.client().await;
    let _watch = scene.slow_watcher(&client).await;
    let state = scene.state(&client, "watchers").await;
    let row = &state["rows"][0];
    assert_eq!(row["path"], "/api/v1/namespaces/default/configmaps", "{state:#}");
    assert!(row["behindSeconds"].as_f64() > Some(0.0), "{state:#}");
    assert!(state["total"].as_u64() > Some(0) && state["behind"] == 1, "{state:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_webhook_call_is_shown() {
    let scene = IncidentFixture::begin();
    let client = scene.server.client().await;
    let webhook = StuckWebhook::configure(&scene.server);
    let mut asking = webhook.ask(&scene.server);
    let state = loop {
        let state = scene.state(&client, "webhooks").await;
        if state["underWay"] != json!([]) {
            break state;
        }
        // The server had not observed the configuration yet.
        if asking.ended(std::time::Duration::from_millis(50)).is_some() {
            asking = webhook.ask(&scene.server);
        }
    };
    let row = &state["underWay"][0];
    assert_eq!(
        (&row["host"], &row["path"], &row["calls"]),
        (&json!(webhook.host), &json!("/judge"), &json!(1))
    );
    let requests = scene.state(&client, "requests").await;
    let waiting = requests["underWay"].as_array().unwrap().iter();
    let waiting = waiting.clone().find(|row| row["verb"] == "create");
    assert!(waiting.is_some_and(|row| row["stage"] == "work"), "{requests:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn failing_open_is_logged_counted_and_shown() {
    let scene = IncidentFixture::begin();
    let client = scene.server.client().await;
    // The port is closed afterwards.
    drop(StuckWebhook::configure(&scene.server));
    let row = loop {
        // Succeeds also without the webhook. The server observes the configuration after a moment.
        scene.server.kubectl().ok("create configmap judged --dry-run=server");
        let state = scene.state(&client, "weakened").await;
        if state["total"] != 0 {
            break state["rows"][0].clone();
        }
    };
    assert_eq!((&row["kind"], &row["name"]), (&json!("webhook_fail_open"), &json!("stuck.example.com")));
    let cause = row["cause"].as_str().unwrap();
    assert!(cause.contains("failed to call webhook") && cause.contains("refused"), "{cause}");
    let (_, page) = get(&client, "/metrics").await;
    let page = String::from_utf8(page).unwrap();
    let count = "mainstay_weakened_decisions_total{kind=\"webhook_fail_open\"} ";
    let count = page.lines().find_map(|line| line.strip_prefix(count)).unwrap();
    assert!(count.parse::<u64>().unwrap() > 0);
    let log = scene.server.log();
    let line = log.lines().find(|line| line.contains("failing open")).unwrap();
    assert!(line.contains("stuck.example.com") && line.contains("refused"), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn state_contains_caches_memory_and_store() {
    let scene = IncidentFixture::begin();
    let client = scene.server.client().await;
    let state = scene.state(&client, "").await;
    for section in [
        "server",
        "requests",
        "watchers",
        "flowControl",
        "failures",
        "caches",
        "webhooks",
        "store",
        "memory",
        "weakened",
        "log",
    ] {
        assert!(state[section].is_object(), "{section} in {state:#}");
        assert!(scene.state(&client, section).await.is_object());
    }
    let rows = state["caches"]["rows"].as_array().unwrap();
    let roles = rows.iter().find(|row| row["resource"] == "clusterroles").unwrap();
    assert!(roles["objects"].as_u64() > Some(50) && roles["bytes"].as_u64() > Some(10_000), "{roles:#}");
    assert!(roles["logEnd"].as_u64() >= roles["logFirst"].as_u64(), "{roles:#}");
    let levels = state["flowControl"]["levels"].as_array().unwrap();
    assert!(levels.iter().any(|level| level["name"] == "exempt" && level["dispatched"].as_u64() > Some(0)));
    assert!(state["memory"]["residentBytes"].as_u64() > Some(1 << 20), "{:#}", state["memory"]);
    assert_eq!(state["store"]["kind"], "embedded");
}

#[tokio::test(flavor = "multi_thread")]
async fn state_is_forbidden_without_permission() {
    let scene = IncidentFixture::begin();
    let kubectl = scene.nobody();
    for path in ["/debug/console", "/debug/console/page.js", "/debug/console/state", "/debug/console/stream"]
    {
        let output = kubectl.fails(&format!("get --raw {path}"));
        assert!(output.contains("forbidden"), "{path}: {output}");
    }
    assert_eq!(get(&scene.server.client().await, "/debug/console").await.0, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn role_grants_access() {
    let scene = IncidentFixture::begin();
    let admin = scene.server.kubectl();
    admin.ok("create clusterrole looks --verb=get --non-resource-url=/debug/console,/debug/console/*");
    admin.ok("create clusterrolebinding looks --clusterrole=looks --user=nobody");
    scene
        .until(&scene.server.client().await, "requests", |_| {
            scene.nobody().run("get --raw /debug/console/state", "").status.success()
        })
        .await;
    assert!(scene.nobody().fails("get --raw /debug/pprof/").contains("forbidden"));
}

#[tokio::test(flavor = "multi_thread")]
async fn history_is_recorded_without_viewer() {
    let scene = IncidentFixture::begin();
    let client = scene.server.client().await;
    let has_points = |history: &Value| history["at"].as_array().is_some_and(|points| points.len() > 1);
    let start = std::time::Instant::now();
    let history = loop {
        assert!(start.elapsed() < PATIENCE, "no point was recorded");
        let (code, body) = get(&client, "/debug/console/history").await;
        assert_eq!(code, 200);
        let history: Value = serde_json::from_slice(&body).unwrap();
        if has_points(&history) {
            break history;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    };
    assert!(history["residentBytes"][0].as_u64() > Some(1 << 20), "{history:#}");
    assert!(history["requestsPerSecond"][0].as_f64() > Some(0.0), "{history:#}");
    let state = scene.state(&client, "server").await;
    assert!(state["recent"]["p99"].as_f64() > Some(0.0), "{state:#}");
    assert!(state["replica"].as_str().is_some_and(|replica| replica.contains("127.0.0.1:")), "{state:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_request_log_names_the_webhook() {
    let scene = IncidentFixture::begin();
    let client = scene.server.client().await;
    let webhook = StuckWebhook::configure(&scene.server);
    let mut asking = webhook.ask(&scene.server);
    let start = std::time::Instant::now();
    while scene.state(&client, "webhooks").await["underWay"] == json!([]) {
        assert!(start.elapsed() < PATIENCE, "the webhook is never called");
        // The server had not observed the configuration yet.
        if asking.ended(std::time::Duration::from_millis(50)).is_some() {
            asking = webhook.ask(&scene.server);
        }
    }
    scene
        .until(&client, "webhooks", |state| state["underWay"][0]["oldestSeconds"].as_f64() > Some(0.6))
        .await;
    // The closed listener resets the connection of the call.
    drop(webhook);
    asking.ended(std::time::Duration::from_secs(60)).unwrap();
    // The server logs a request after its response.
    let is_slow = |line: &&str| line.contains("slow request") && line.contains("configmaps");
    let line = loop {
        assert!(start.elapsed() < PATIENCE, "no line of a slow request");
        if let Some(line) = scene.server.log().lines().find(is_slow) {
            break line.to_owned();
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    };
    let name = "longest_call=\"webhook stuck.example.com of configuration stuck\"";
    assert!(line.contains(name) && line.contains("validating-webhook="), "{line}");
}
