//! `get -w` and `wait`.

use std::time::Duration;

use e2e::Server;

e2e::on_forks_and_etcd!(
    watch_shows_existing_objects_and_changes,
    watch_only_omits_existing_objects,
    wait_ends_when_the_condition_is_met,
    wait_ends_when_the_object_is_gone,
    wait_ends_at_its_timeout,
);

const LIMIT: Duration = Duration::from_secs(30);

fn watch_shows_existing_objects_and_changes(server: &Server) {
    let kubectl = server.kubectl();
    kubectl.ok("create configmap first");
    let watch = kubectl.start("get configmaps --no-headers --watch --output-watch-events");
    let next = |expected: &str| {
        let line = watch.find(LIMIT, |_| true).expect("a line");
        let words: Vec<&str> = line.split_whitespace().take(2).collect();
        assert_eq!(words.join(" "), expected, "{line}");
    };
    next("ADDED first");
    kubectl.ok("create configmap second");
    next("ADDED second");
    kubectl.ok("label configmap first a=b");
    next("MODIFIED first");
    kubectl.ok("delete configmap first");
    next("DELETED first");
}

fn watch_only_omits_existing_objects(server: &Server) {
    let kubectl = server.kubectl();
    kubectl.ok("create configmap first");
    let old = kubectl.ok("get --raw /api/v1/namespaces/default/configmaps?limit=1");
    let list: serde_json::Value = serde_json::from_str(&old).unwrap();
    let revision = list["metadata"]["resourceVersion"].as_str().unwrap();
    kubectl.ok("create configmap second");
    let path = format!("/api/v1/namespaces/default/configmaps?watch=1&resourceVersion={revision}");
    let watch = kubectl.start(&format!("get --raw {path}"));
    let line = watch.find(LIMIT, |_| true).expect("an event");
    let event: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((&event["type"], &event["object"]["metadata"]["name"]), (&"ADDED".into(), &"second".into()));
}

fn wait_ends_when_the_condition_is_met(server: &Server) {
    let kubectl = server.kubectl();
    kubectl.ok("create configmap c --from-literal=k=before");
    kubectl.ok("wait configmap/c --for=jsonpath={.data.k}=before --timeout=30s");
    let waiting = kubectl.start("wait configmap/c --for=jsonpath={.data.k}=after --timeout=30s");
    kubectl.ok(r#"patch configmap c --type=merge -p {"data":{"k":"after"}}"#);
    assert_eq!(waiting.find(LIMIT, |_| true).as_deref(), Some("configmap/c condition met"));
}

fn wait_ends_when_the_object_is_gone(server: &Server) {
    let kubectl = server.kubectl();
    kubectl.ok("create configmap c");
    let mut waiting = kubectl.start("wait configmap/c --for=delete --timeout=30s");
    kubectl.ok("delete configmap c");
    assert!(waiting.ended(LIMIT).is_some_and(|status| status.success()));
}

fn wait_ends_at_its_timeout(server: &Server) {
    let kubectl = server.kubectl();
    kubectl.ok("create configmap c --from-literal=k=v");
    let output = kubectl.fails("wait configmap/c --for=jsonpath={.data.k}=never --timeout=1s");
    assert!(output.contains("timed out waiting for the condition"), "{output}");
}
