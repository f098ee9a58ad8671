//! The console page in a real browser, through `kubectl proxy`.

use std::time::Duration;

use e2e::Kubectl;
use e2e::process::Lines;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::incident::{IncidentFixture, PATIENCE, StuckWebhook};

/// Starts `kubectl proxy` and returns the console's URL.
fn proxy(kubectl: &Kubectl) -> (Lines, String) {
    let proxy = kubectl.start("proxy --port=0");
    let line = proxy.find(PATIENCE, |line| line.starts_with("Starting to serve on ")).unwrap();
    let url = format!("http://{}/debug/console", line.trim_start_matches("Starting to serve on ").trim());
    (proxy, url)
}

/// Maximum height of the page on a phone, in CSS pixels.
const PHONE_HEIGHT_MAX: f64 = 4000.0;

fn phone() -> Value {
    json!({ "width": 390, "height": 1600, "deviceScaleFactor": 2, "mobile": true })
}

#[tokio::test(flavor = "multi_thread")]
async fn page_satisfies_wcag_aa() {
    let Some(browser) = Browser::open(1280, 1400).await else { return };
    let scene = IncidentFixture::begin();
    let client = scene.server.client().await;
    let (_proxy, url) = proxy(&scene.server.kubectl());
    let _watch = scene.slow_watcher(&client).await;
    for scheme in ["light", "dark"] {
        let features = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        browser.command("Emulation.setEmulatedMedia", features).await;
        for metrics in
            [json!({ "width": 1280, "height": 1400, "deviceScaleFactor": 1, "mobile": false }), phone()]
        {
            browser.command("Emulation.setDeviceMetricsOverride", metrics.clone()).await;
            browser.go(&url).await;
            browser.reads("Slow watcher: ").await;
            let open = "document.querySelectorAll('details').forEach((fold) => { fold.open = true; })";
            browser.run(open).await;
            let Some(violations) = browser.accessibility_violations().await else { return };
            assert_eq!(violations, json!([]), "{scheme} {metrics}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn phone_page_is_short_with_many_resources() {
    let Some(browser) = Browser::open(390, 1600).await else { return };
    let scene = IncidentFixture::begin();
    let definition = |n: usize| {
        let names = json!({ "plural": format!("things{n}"), "singular": format!("thing{n}"), "kind": format!("Thing{n}") });
        let schema = json!({ "openAPIV3Schema": { "type": "object" } });
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": { "name": format!("things{n}.example.com") },
            "spec": { "group": "example.com", "scope": "Namespaced", "names": names,
                "versions": [{ "name": "v1", "served": true, "storage": true, "schema": schema }] },
        })
    };
    let items: Vec<Value> = (0..55).map(definition).collect();
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
    scene.server.kubectl().ok_with("create -f -", &list.to_string());
    let (_proxy, url) = proxy(&scene.server.kubectl());
    browser.command("Emulation.setDeviceMetricsOverride", phone()).await;
    browser.go(&url).await;
    browser.reads("live").await;
    let height = browser.run("return document.documentElement.scrollHeight").await;
    assert!(height.as_f64().is_some_and(|height| height < PHONE_HEIGHT_MAX), "{height}");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_filtered_and_sorted() {
    let Some(browser) = Browser::open(1280, 1400).await else { return };
    let scene = IncidentFixture::begin();
    let (_proxy, url) = proxy(&scene.server.kubectl());
    browser.go(&url).await;
    browser.reads("live").await;
    let resources =
        "return [...document.querySelectorAll('#caches-body td:first-child')].map((td) => td.textContent)";
    let sort = "document.querySelector('#caches-body .sort').click()";
    browser.run(sort).await;
    let names = browser.run(resources).await;
    let names: Vec<&str> = names.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(names.len() > 10 && names.is_sorted(), "{names:?}");
    let ordered = "return document.querySelector('#caches-body th').getAttribute('aria-sort')";
    assert_eq!(browser.run(ordered).await, "ascending");
    let filter = "const input = document.getElementById('filter'); input.value = 'clusterrolebind'; \
                  input.dispatchEvent(new Event('input'))";
    browser.run(filter).await;
    assert_eq!(browser.run(resources).await.as_array().map(Vec::len), Some(1));
    assert!(browser.text().await.contains("(1 of "));
}

#[tokio::test(flavor = "multi_thread")]
async fn flame_graph_is_shown_in_the_page() {
    let Some(browser) = Browser::open(1280, 1400).await else { return };
    let scene = IncidentFixture::begin();
    let (_proxy, url) = proxy(&scene.server.kubectl());
    browser.go(&url).await;
    browser.reads("live").await;
    browser.run("document.getElementById('record').click()").await;
    browser.reads("Widths are shares of CPU time").await;
    let frames = browser.run("return document.querySelectorAll('#profile-image svg title').length").await;
    assert!(frames.as_u64() > Some(5), "{frames}");
    browser.picture("flame-graph").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn page_shows_slow_watcher_and_stuck_webhook() {
    let Some(browser) = Browser::open(1280, 1400).await else { return };
    let scene = IncidentFixture::begin();
    let client = scene.server.client().await;
    let (_proxy, url) = proxy(&scene.server.kubectl());
    browser.go(&url).await;
    browser.reads("live").await;
    browser.reads("None: no queues").await;
    browser.picture("quiet").await;

    let _watch = scene.slow_watcher(&client).await;
    let slow = browser.reads("Slow watcher: ").await;
    let text = browser.text().await;
    assert!(text.contains("/api/v1/namespaces/default/configmaps"), "{text}");

    let webhook = StuckWebhook::configure(&scene.server);
    let stuck_since = tokio::time::Instant::now();
    let mut asking = webhook.ask(&scene.server);
    while scene.state(&client, "webhooks").await["underWay"] == json!([]) {
        assert!(stuck_since.elapsed() < PATIENCE, "nobody asks the webhook");
        if asking.ended(Duration::from_millis(20)).is_some() {
            asking = webhook.ask(&scene.server);
        }
    }
    let stuck = browser.reads(&format!("{}/judge has not responded for", webhook.host)).await;
    eprintln!("shown after: slow watcher {slow:?}, stuck webhook {stuck:?}");
    browser.picture("incident").await;

    browser
        .command(
            "Emulation.setEmulatedMedia",
            json!({
                "features": [{ "name": "prefers-color-scheme", "value": "dark" }],
            }),
        )
        .await;
    browser.picture("incident-dark").await;
    browser.command("Emulation.setDeviceMetricsOverride", phone()).await;
    browser.reads("Slow watcher: ").await;
    browser.picture("phone-dark").await;
    let beyond = "return [...document.querySelectorAll('main *')] \
                  .filter(e => e.getBoundingClientRect().right > window.innerWidth + 1).map(e => e.outerHTML)";
    assert_eq!(browser.run(beyond).await, json!([]), "something is wider than a phone");
}

#[tokio::test(flavor = "multi_thread")]
async fn page_is_accessible_by_keyboard_and_screen_reader() {
    let Some(browser) = Browser::open(1000, 900).await else { return };
    let scene = IncidentFixture::begin();
    let (_proxy, url) = proxy(&scene.server.kubectl());
    browser.go(&url).await;
    browser.reads("live").await;
    let press = async |key: &str| {
        let script = format!("document.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}' }}))");
        browser.run(&script).await;
    };
    press("3").await;
    assert_eq!(browser.run("return document.activeElement.id").await, "flow");
    press("p").await;
    browser.reads("paused").await;
    assert_eq!(
        browser.run("return document.getElementById('pause').getAttribute('aria-pressed')").await,
        "true"
    );
    press("p").await;
    browser.reads("live").await;
    let nameless = "return [...document.querySelectorAll('section, [role=region], [role=img], button, a')].filter(e => \
                    !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.textContent.trim())).length";
    assert_eq!(browser.run(nameless).await, 0);
    let loaded = "return performance.getEntriesByType('resource').map(e => new URL(e.name).origin) \
                  .filter(origin => origin !== location.origin).length";
    assert_eq!(browser.run(loaded).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn page_is_forbidden_without_permission() {
    let Some(browser) = Browser::open(800, 600).await else { return };
    let scene = IncidentFixture::begin();
    let (_proxy, url) = proxy(&scene.nobody());
    browser.go(&url).await;
    browser.reads("cannot get path").await;
    let text = browser.text().await;
    assert!(text.contains("Forbidden") && !text.contains("Requests per second"), "{text}");
}
