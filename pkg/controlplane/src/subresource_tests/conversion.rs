//! Tests of custom resources with a conversion webhook, with a complete server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jsontree::{Value, json};
use tokio::time::timeout;

use super::{definitions, started};
use crate::test_client::Client;
use crate::test_https::Https;

const V1: &str = "/apis/example.com/v1/namespaces/default/points";
const V2: &str = "/apis/example.com/v2/namespaces/default/points";
/// Timeout for a webhook to take effect.
const EDITED_MAX: Duration = Duration::from_secs(20);
const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/points.example.com";

/// Webhook that converts points: v1 has `spec.at` as `x,y`, v2 has `spec.x` and `spec.y`, and a label marks
/// v2.
struct Hook {
    server: Https,
    down: Arc<AtomicBool>,
    questions: Arc<AtomicUsize>,
}

impl Hook {
    async fn start() -> Self {
        let down = Arc::new(AtomicBool::new(false));
        let questions = Arc::new(AtomicUsize::new(0));
        let is_down = Arc::clone(&down);
        let counter = Arc::clone(&questions);
        let server = Https::start(&["127.0.0.1", "hook.default.svc"], move |path, body| {
            assert_eq!(path, "/convert");
            counter.fetch_add(1, SeqCst);
            (!is_down.load(SeqCst)).then(|| review_response(&serde_json::from_slice(body).unwrap()))
        });
        Hook { server: server.await, down, questions }
    }

    fn conversion(&self) -> Value {
        let config = json!({
            "url": format!("https://127.0.0.1:{}/convert", self.server.port),
            "caBundle": STANDARD.encode(&self.server.authority),
        });
        json!({"strategy": "Webhook", "webhook": {
            "clientConfig": config, "conversionReviewVersions": ["v2", "v1", "v1beta1"],
        }})
    }
}

fn review_response(review: &Value) -> String {
    let request = &review["request"];
    let to = request["desiredAPIVersion"].as_str().unwrap();
    let objects = request["objects"].as_array().unwrap();
    let converted: Vec<Value> = objects.iter().map(|object| converted(object.clone(), to)).collect();
    let response =
        json!({"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": converted});
    json!({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}).to_string()
}

fn converted(mut object: Value, to: &str) -> Value {
    assert_ne!(object["apiVersion"], to, "nothing is asked about that is there");
    assert_eq!(object["metadata"]["resourceVersion"], Value::Null);
    object["apiVersion"] = json!(to);
    let spec = &object["spec"];
    if to == "example.com/v2" {
        let (x, y) = spec["at"].as_str().unwrap().split_once(',').unwrap();
        object["spec"] = json!({"x": x, "y": y});
        object["metadata"]["labels"] = json!({"form": "split"});
    } else {
        let at = format!("{},{}", spec["x"].as_str().unwrap(), spec["y"].as_str().unwrap());
        object["spec"] = json!({"at": at});
        object["metadata"].as_object_mut().unwrap().remove("labels");
    }
    object
}

/// Two versions; the first is the storage version.
fn spec(hook: &Hook) -> Value {
    let text = json!({"type": "string"});
    let version = |name: &str, storage: bool, spec: Value| {
        let required: Vec<&jsontree::Key> = spec.as_object().unwrap().keys().collect();
        let schema = json!({"type": "object", "properties": {
            "spec": {"type": "object", "properties": spec.clone(), "required": required},
            "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        }});
        let selectable: Vec<Value> =
            required.iter().map(|name| json!({"jsonPath": format!(".spec.{name}")})).collect();
        json!({
            "name": name, "served": true, "storage": storage, "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}}, "selectableFields": selectable,
        })
    };
    let versions =
        [version("v1", true, json!({"at": text})), version("v2", false, json!({"x": text, "y": text}))];
    json!({"versions": versions, "conversion": hook.conversion()})
}

fn point(version: &str, name: &str, spec: Value) -> Value {
    json!({
        "apiVersion": format!("example.com/{version}"), "kind": "Point",
        "metadata": {"name": name}, "spec": spec,
    })
}

async fn listed(client: &Client, path: &str) -> Vec<Value> {
    let list = client.get(path).await;
    list["items"].as_array().unwrap().iter().map(|item| item["spec"].clone()).collect()
}

#[tokio::test]
async fn every_verb_uses_version_of_path() {
    let (server, client) = started().await;
    let hook = Hook::start().await;
    definitions::define(&client, "points", "Point", spec(&hook)).await;

    let created = client.ok("POST", V2, point("v2", "a", json!({"x": "1", "y": "2"}))).await;
    assert_eq!(
        (&created["apiVersion"], &created["spec"]),
        (&json!("example.com/v2"), &json!({"x": "1", "y": "2"}))
    );
    client.ok("POST", V1, point("v1", "b", json!({"at": "3,4"}))).await;
    assert_eq!(listed(&client, V1).await, [json!({"at": "1,2"}), json!({"at": "3,4"})]);
    assert_eq!(listed(&client, V2).await, [json!({"x": "1", "y": "2"}), json!({"x": "3", "y": "4"})]);

    let path = format!("{V2}/a");
    let patched = client.ok("PATCH", &path, json!({"spec": {"y": "5"}})).await;
    assert_eq!(
        (&patched["spec"], &patched["metadata"]["generation"]),
        (&json!({"x": "1", "y": "5"}), &json!(2))
    );
    let status = client.ok("PATCH", &format!("{path}/status"), json!({"status": {"ok": true}})).await;
    assert_eq!((&status["spec"]["y"], &status["status"]), (&json!("5"), &json!({"ok": true})));
    let mut replaced = client.get(&format!("{V1}/a")).await;
    assert_eq!(replaced["spec"], json!({"at": "1,5"}));
    replaced["spec"]["at"] = json!("6,7");
    client.ok("PUT", &format!("{V1}/a"), replaced).await;
    assert_eq!(client.get(&path).await["spec"], json!({"x": "6", "y": "7"}));

    let (code, status) = client.send("POST", V2, point("v2", "c", json!({"x": "1"}))).await;
    assert_eq!((code, &status["details"]["causes"][0]["field"]), (422, &json!("spec.y")));
    let deleted = client.ok("DELETE", &path, Value::Null).await;
    assert_eq!(deleted["status"], "Success");
    assert_eq!(listed(&client, V2).await.len(), 1);
    server.stop().await;
}

#[tokio::test]
async fn selectors_apply_to_requested_version() {
    let (server, client) = started().await;
    let hook = Hook::start().await;
    definitions::define(&client, "points", "Point", spec(&hook)).await;
    for (name, at) in [("a", "1,1"), ("b", "1,2"), ("c", "2,1"), ("d", "1,3")] {
        client.ok("POST", V1, point("v1", name, json!({"at": at}))).await;
    }
    let of = |query: &str| format!("{V2}?{query}");
    assert_eq!(listed(&client, &of("fieldSelector=spec.x%3D2")).await, [json!({"x": "2", "y": "1"})]);
    assert_eq!(listed(&client, &of("labelSelector=form%3Dsplit")).await.len(), 4);
    assert_eq!(listed(&client, &of("labelSelector=form%3Dother")).await.len(), 0);
    let page = client.get(&of("limit=2&fieldSelector=spec.x%3D1")).await;
    assert_eq!(page["items"].as_array().unwrap().len(), 2);
    let token = page["metadata"]["continue"].as_str().unwrap().to_owned();
    let rest = client.get(&of(&format!("limit=2&fieldSelector=spec.x%3D1&continue={token}"))).await;
    let names: Vec<&Value> =
        rest["items"].as_array().unwrap().iter().map(|item| &item["metadata"]["name"]).collect();
    assert_eq!((names, &rest["metadata"]["continue"]), (vec![&json!("d")], &json!("")));
    server.stop().await;
}

#[tokio::test]
async fn managers_of_different_versions_own_their_fields() {
    let (server, client) = started().await;
    let hook = Hook::start().await;
    definitions::define(&client, "points", "Point", spec(&hook)).await;
    let apply = async |version: &str, manager: &str, spec: Value| {
        let path = if version == "v1" { V1 } else { V2 };
        let path = format!("{path}/a?fieldManager={manager}");
        client.send("APPLY", &path, point(version, "a", spec)).await
    };
    let (code, _) = apply("v1", "one", json!({"at": "1,2"})).await;
    assert_eq!(code, 201);
    let (code, applied) = apply("v2", "two", json!({"x": "1", "y": "2"})).await;
    assert_eq!((code, &applied["spec"]), (200, &json!({"x": "1", "y": "2"})), "{applied}");
    let managers: Vec<(&str, &str)> = applied["metadata"]["managedFields"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| (entry["manager"].as_str().unwrap(), entry["apiVersion"].as_str().unwrap()))
        .collect();
    // The second manager changed nothing, so its entry has no time and comes first.
    assert_eq!(managers, [("two", "example.com/v2"), ("one", "example.com/v1")]);
    let (code, conflict) = apply("v2", "two", json!({"x": "5", "y": "2"})).await;
    assert_eq!((code, conflict["reason"].as_str()), (409, Some("Conflict")), "{conflict}");
    server.stop().await;
}

#[tokio::test]
async fn watch_converts_and_applies_selector() {
    let (server, client) = started().await;
    let hook = Hook::start().await;
    definitions::define(&client, "points", "Point", spec(&hook)).await;
    let begin = client.get(V2).await["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
    client.ok("POST", V1, point("v1", "a", json!({"at": "1,1"}))).await;
    let path = format!("{V1}/a");
    for at in ["2,1", "2,2", "1,2"] {
        client.ok("PATCH", &path, json!({"spec": {"at": at}})).await;
    }
    client.ok("DELETE", &path, Value::Null).await;
    let watch = |selector: &str| {
        format!("{V2}?watch=1&resourceVersion={begin}&timeoutSeconds=1&fieldSelector={selector}")
    };
    let events = async |path: String| -> Vec<(String, String)> {
        let (_, text) = client.text("GET", &path).await;
        let events = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let summaries = events.map(|event| {
            let spec = &event["object"]["spec"];
            let point = format!("{},{}", spec["x"].as_str().unwrap(), spec["y"].as_str().unwrap());
            (event["type"].as_str().unwrap().to_owned(), point)
        });
        summaries.collect()
    };
    let expect = |events: &[(&str, &str)]| -> Vec<(String, String)> {
        events.iter().map(|(kind, point)| ((*kind).to_owned(), (*point).to_owned())).collect()
    };
    let all =
        [("ADDED", "1,1"), ("MODIFIED", "2,1"), ("MODIFIED", "2,2"), ("MODIFIED", "1,2"), ("DELETED", "1,2")];
    assert_eq!(events(watch("")).await, expect(&all));
    let selected = [("ADDED", "2,1"), ("MODIFIED", "2,2"), ("DELETED", "2,2")];
    assert_eq!(events(watch("spec.x%3D2")).await, expect(&selected));
    server.stop().await;
}

#[tokio::test]
async fn objects_are_converted_in_one_cached_call() {
    let (server, client) = started().await;
    let hook = Hook::start().await;
    definitions::define(&client, "points", "Point", spec(&hook)).await;
    for number in 0..20 {
        client.ok("POST", V1, point("v1", &format!("p{number}"), json!({"at": "1,1"}))).await;
    }
    assert_eq!(hook.questions.load(SeqCst), 0, "what is stored needs no question");
    for _ in 0..3 {
        assert_eq!(listed(&client, V2).await.len(), 20);
    }
    assert_eq!(hook.questions.load(SeqCst), 1);
    // A read of the latest state shows at once that a webhook fails.
    assert_eq!(client.get(&format!("{V2}/p1")).await["spec"]["x"], "1");
    assert_eq!(hook.questions.load(SeqCst), 2);
    server.stop().await;
}

#[tokio::test]
async fn watches_share_conversions() {
    let (server, client) = started().await;
    let hook = Hook::start().await;
    definitions::define(&client, "points", "Point", spec(&hook)).await;
    for number in 0..5 {
        client.ok("POST", V1, point("v1", &format!("p{number}"), json!({"at": "1,1"}))).await;
    }
    let path = format!("{V2}?watch=1&timeoutSeconds=1&resourceVersion=0");
    futures::future::join_all((0..8).map(|_| client.text("GET", &path))).await;
    assert_eq!(hook.questions.load(SeqCst), 1, "the first one asks about all five");
    server.stop().await;
}

#[tokio::test]
async fn unavailable_webhook_fails_only_dependent_requests() {
    let (server, client) = started().await;
    let hook = Hook::start().await;
    definitions::define(&client, "points", "Point", spec(&hook)).await;
    client.ok("POST", V1, point("v1", "a", json!({"at": "1,1"}))).await;
    hook.down.store(true, SeqCst);
    assert_eq!(client.get(&format!("{V1}/a")).await["spec"]["at"], "1,1");
    let url = format!("https://127.0.0.1:{}/convert?timeout=30s", hook.server.port);
    let why = format!("conversion webhook for example.com/v1, Kind=Point failed: Post \"{url}\": EOF");
    for path in [format!("{V2}/a"), V2.to_owned()] {
        let (code, status) = client.send("GET", &path, Value::Null).await;
        assert_eq!((code, status["message"].as_str()), (500, Some(&*why)), "{path}");
    }
    let (code, _) = client.send("POST", V2, point("v2", "b", json!({"x": "1", "y": "1"}))).await;
    assert_eq!(code, 500);
    hook.down.store(false, SeqCst);
    assert_eq!(listed(&client, V2).await, [json!({"x": "1", "y": "1"})], "nothing was half written");
    server.stop().await;
}

#[tokio::test]
async fn old_storage_version_is_converted_and_rewritten() {
    let (server, client) = started().await;
    let hook = Hook::start().await;
    definitions::define(&client, "points", "Point", spec(&hook)).await;
    client.ok("POST", V1, point("v1", "a", json!({"at": "1,2"}))).await;

    let mut definition = client.get(DEFINITION).await;
    definition["spec"]["versions"][0]["storage"] = json!(false);
    definition["spec"]["versions"][1]["storage"] = json!(true);

    client.ok("PUT", DEFINITION, definition).await;
    definitions::until(&client, "points", |definition| {
        definition.is_some_and(|definition| definition["status"]["storedVersions"] == json!(["v1", "v2"]))
    })
    .await;
    assert_eq!(client.get(&format!("{V2}/a")).await["spec"], json!({"x": "1", "y": "2"}));
    let before = client.get(&format!("{V1}/a")).await;
    let after = client.ok("PUT", &format!("{V1}/a"), before.clone()).await;
    assert_ne!(before["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"], "migrated");
    let again = client.ok("PUT", &format!("{V1}/a"), after.clone()).await;
    assert_eq!(after["metadata"]["resourceVersion"], again["metadata"]["resourceVersion"]);
    server.stop().await;
}

/// Mutating webhook that requests points in v1 and adds a digit.
async fn editor() -> (Https, Value) {
    let server = Https::start(&["127.0.0.1"], |_, body| {
        let review: Value = serde_json::from_slice(body).unwrap();
        let request = &review["request"];
        assert_eq!(request["object"]["apiVersion"], "example.com/v1", "{request}");
        let at = format!("{}0", request["object"]["spec"]["at"].as_str().unwrap());
        let patch = json!([{"op": "replace", "path": "/spec/at", "value": at}]).to_string();
        let response = json!({
            "uid": request["uid"], "allowed": true, "patchType": "JSONPatch", "patch": STANDARD.encode(patch),
        });
        let kind = (&review["apiVersion"], &review["kind"]);
        Some(json!({"apiVersion": kind.0, "kind": kind.1, "response": response}).to_string())
    })
    .await;
    let rule = json!({
        "apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["points"], "operations": ["CREATE"],
    });
    let config = json!({
        "url": format!("https://127.0.0.1:{}/edit", server.port), "caBundle": STANDARD.encode(&server.authority),
    });
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": "edit"},
        "webhooks": [{
            "name": "edit.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "rules": [rule], "clientConfig": config,
        }],
    });
    (server, configuration)
}

#[tokio::test]
async fn object_edited_in_other_version_is_converted_back() {
    let (server, client) = started().await;
    let hook = Hook::start().await;
    definitions::define(&client, "points", "Point", spec(&hook)).await;
    let (_editor, configuration) = editor().await;
    let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
    client.ok("POST", path, configuration).await;
    let edited = async {
        loop {
            let sent = point("v2", "a", json!({"x": "1", "y": "2"}));
            let created = client.ok("POST", &format!("{V2}?dryRun=All"), sent.clone()).await;
            if created["spec"] != sent["spec"] {
                return created;
            }
        }
    };
    let created = timeout(EDITED_MAX, edited).await.expect("the webhook is not asked in time");
    let actual = (&created["apiVersion"], &created["spec"]);
    assert_eq!(actual, (&json!("example.com/v2"), &json!({"x": "1", "y": "20"})));
    server.stop().await;
}

#[tokio::test]
async fn webhook_is_reached_through_service() {
    let (server, client) = started().await;
    let hook = Hook::start().await;
    // An ExternalName Service leads to its external host, as in upstream.
    let port = hook.server.port;
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "hook"},
        "spec": {"type": "ExternalName", "externalName": "127.0.0.1", "ports": [{"port": port}]},
    });
    client.ok("POST", "/api/v1/namespaces/default/services", service).await;
    let mut spec = spec(&hook);
    let config = &mut spec["conversion"]["webhook"]["clientConfig"];
    config.as_object_mut().unwrap().remove("url");
    config["service"] = json!({"namespace": "default", "name": "hook", "port": port, "path": "/convert"});
    definitions::define(&client, "points", "Point", spec).await;
    client.ok("POST", V1, point("v1", "a", json!({"at": "1,2"}))).await;
    client.eventually(&format!("{V2}/a"), 200).await;
    server.stop().await;
}
