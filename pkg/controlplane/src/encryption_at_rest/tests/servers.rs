//! Tests of encryption with complete servers.

use std::path::PathBuf;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jsontree::{Value, json};

use super::*;
use crate::config::StorageConfig;
use crate::test_client::Client;
use crate::test_cluster::TestServer;

const SECRETS: &str = "/api/v1/namespaces/default/secrets";

struct Server {
    server: TestServer,
    client: Client,
    file: PathBuf,
    _dir: TestDir,
}

async fn started(resources: &str, embedded: bool) -> Server {
    started_with(resources, embedded, |_| {}).await
}

async fn started_with(resources: &str, embedded: bool, change: impl FnOnce(&mut Config)) -> Server {
    let dir = TestDir::new().unwrap();
    let file = dir.path().join("encryption.yaml");
    std::fs::write(&file, text(resources, &["old"])).unwrap();
    let server = TestServer::start_with(|config| {
        config.encryption = Some(EncryptionConfig { file: file.clone(), automatic_reload: true });
        if embedded {
            let dir = dir.path().join("store");
            config.storage = StorageConfig::Embedded { dir, compaction_interval: None, from: None };
        }
        change(config);
    });
    let server = server.await.unwrap();
    Server { client: Client::of(&server), server, file, _dir: dir }
}

fn secret(name: &str) -> Value {
    let data = json!({"key": STANDARD.encode("plain text")});
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data})
}

impl Server {
    async fn raw(&self, key: &str) -> Bytes {
        self.server.storage().get(key).await.unwrap().kv.unwrap().value
    }

    async fn made(&self, name: &str) -> Value {
        self.client.ok("POST", SECRETS, secret(name)).await
    }

    async fn metrics_say(&self, line: &str) {
        let polling = async {
            while !self.client.text("GET", "/metrics").await.1.contains(line) {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), polling).await.unwrap_or_else(|_| panic!("{line}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_are_encrypted_and_rotated_by_updates() {
    for embedded in [false, true] {
        let server = started("[secrets]", embedded).await;
        let created = server.made("a").await;
        let stored = server.raw(KEY).await;
        assert!(stored.starts_with(b"k8s:enc:aesgcm:v1:old:"), "{stored:?}");
        assert!(!stored.windows(10).any(|window| window == b"plain text"));
        let path = format!("{SECRETS}/a");
        assert_eq!(server.client.get(&path).await, created);

        std::fs::write(&server.file, text("[secrets]", &["new", "old"])).unwrap();
        server.metrics_say("automatic_reloads_total{apiserver_id_hash").await;
        let updated = server.client.ok("PUT", &path, created.clone()).await;
        assert_ne!(updated["metadata"]["resourceVersion"], created["metadata"]["resourceVersion"]);
        assert!(server.raw(KEY).await.starts_with(b"k8s:enc:aesgcm:v1:new:"));
        let again = server.client.ok("PUT", &path, updated.clone()).await;
        assert_eq!(again, updated);
        server.metrics_say("transformation_operations_total{resource=\"secrets\",status=\"OK\",").await;
        assert_eq!(server.client.text("GET", "/readyz/kms-providers").await, (200, "ok".to_owned()));
        server.server.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn undecryptable_value_affects_one_object() {
    let server = started("[secrets]", false).await;
    server.made("b").await;
    write(&*server.server.storage(), KEY, "k8s:enc:aesgcm:v1:lost:xxx").await;
    let why = "no matching key was found for the provided AES transformer";
    let fails_to_decrypt = async |path: &str| {
        let (code, status) = server.client.send("GET", path, Value::Null).await;
        code == 500 && status["message"].as_str().is_some_and(|message| message.ends_with(why))
    };
    assert!(fails_to_decrypt(&format!("{SECRETS}/a")).await);
    assert_eq!(server.client.get(&format!("{SECRETS}/b")).await["metadata"]["name"], "b");
    assert!(fails_to_decrypt(SECRETS).await);
    let (code, _) = server.client.send("PUT", &format!("{SECRETS}/a"), secret("a")).await;
    assert_eq!(code, 500);
    assert_eq!(server.raw(KEY).await, "k8s:enc:aesgcm:v1:lost:xxx");
    server.made("c").await;
    server.client.get("/api/v1/namespaces/default/configmaps").await;
    // The object is readable again when the key is restored.
    assert_eq!(server.client.text("GET", "/readyz").await.0, 200);
    server.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wildcard_encrypts_all_resources() {
    let server = started("['*.*']", false).await;
    server.made("a").await;
    let all = server.server.storage().list("/registry/", ListOptions::default()).await.unwrap().kvs;
    assert!(all.len() > 50, "{}", all.len());
    for kv in all {
        let without_api = ["/registry/masterleases/", "/registry/peerserverleases/", "/registry/ranges/"]
            .iter()
            .any(|begin| kv.key.starts_with(begin));
        let encrypted = kv.value.starts_with(b"k8s:enc:aesgcm:v1:old:");
        assert_eq!(encrypted, !without_api, "{}", kv.key);
    }
    server.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_reload_is_ignored_and_counted() {
    let server = started("[secrets]", false).await;
    std::fs::write(&server.file, "kind: EncryptionConfiguration").unwrap();
    server.metrics_say("status=\"failure\"} 1").await;
    server.metrics_say("mainstay_weakened_decisions_total{kind=\"stale_configuration\"} 1").await;
    server.made("a").await;
    assert!(server.raw(KEY).await.starts_with(b"k8s:enc:aesgcm:v1:old:"));
    server.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn removed_key_fails_single_reads_immediately() {
    let server = started("[secrets, configmaps]", false).await;
    server.made("a").await;
    let path = format!("{SECRETS}/a");
    let bare = format!("{SECRETS}?resourceVersion=0");
    server.client.get(&path).await;
    std::fs::write(&server.file, text("[secrets]", &["new"])).unwrap();
    server.metrics_say("automatic_reloads_total{apiserver_id_hash").await;
    let why = "no matching key was found for the provided AES transformer";
    let (code, status) = server.client.send("GET", &path, Value::Null).await;
    let message = status["message"].as_str().unwrap();
    assert!(code == 500 && message.ends_with(why), "{code} {message}");
    let (code, _) = server.client.send("DELETE", &path, Value::Null).await;
    assert_eq!(code, 500);
    // Cached objects remain readable.
    assert_eq!(server.client.get(&bare).await["items"].as_array().unwrap().len(), 1);
    server.made("b").await;
    assert_eq!(server.client.get(&format!("{SECRETS}/b")).await["metadata"]["name"], "b");
    server.server.stop().await;
}

/// Starts a server with one unreadable object.
async fn with_a_corrupt_object() -> Server {
    let server = started("[secrets]", false).await;
    write(&*server.server.storage(), KEY, "k8s:enc:aesgcm:v1:lost:xxx").await;
    server
}

const IGNORE: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_object_is_reported() {
    let server = with_a_corrupt_object().await;
    let message_for = |key: &str| {
        format!(
            "StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: data from the \
             storage is not transformable revision=0: no matching key was found for the provided AES transformer"
        )
    };
    for method in ["GET", "DELETE"] {
        let (code, status) = server.client.send(method, &format!("{SECRETS}/a"), Value::Null).await;
        let message = format!("Internal error occurred: {}", message_for("/secrets/default/a"));
        assert_eq!((code, &status["message"]), (500, &json!(message)), "{method}");
    }
    let reason = "data from the storage is not transformable revision=0: no matching key was found for the provided \
                  AES transformer";
    for (query, message) in [("", reason), ("?dryRun=All", &*message_for("/secrets/default/a"))] {
        let (code, status) = server.client.send("PUT", &format!("{SECRETS}/a{query}"), secret("a")).await;
        assert_eq!((code, &status["message"]), (500, &json!(format!("Internal error occurred: {message}"))));
    }
    let malformed = "/registry/secrets/default/m";
    let revision = write(&*server.server.storage(), malformed, "k8s\0xx").await;
    let damage = format!("object not decodable revision={revision}: ");
    let (code, status) = server.client.send("PUT", &format!("{SECRETS}/m"), secret("m")).await;
    assert_eq!((code, status["message"].as_str().unwrap().starts_with(&damage)), (500, true));
    server.made("b").await;
    let (code, status) = server.client.send("GET", SECRETS, Value::Null).await;
    assert_eq!((code, &status["reason"]), (500, &json!("StorageReadError")));
    let message =
        format!("failed to read one or more secrets from the storage: {} (and 1 more)", message_for(KEY));
    assert_eq!(status["message"], message);
    let details = &status["details"];
    assert_eq!((&details["name"], &details["kind"]), (&json!("list"), &json!("secrets")));
    let causes = details["causes"].as_array().unwrap();
    let first = json!({"reason": "UnexpectedServerResponse", "message": message_for(KEY), "field": KEY});
    assert_eq!((causes.len(), &causes[0], &causes[1]["field"]), (2, &first, &json!(malformed)));
    let second = causes[1]["message"].as_str().unwrap();
    assert!(second.contains(&damage), "{second}");
    server.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unreadable_object_can_be_deleted() {
    let server = with_a_corrupt_object().await;
    let path = format!("{SECRETS}/a");
    let options = |more: Value| {
        let mut options = json!({"kind": "DeleteOptions", "apiVersion": "v1", IGNORE: true});
        options.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        options
    };
    let refused = async |path: &str, options: Value, message: String| {
        let (code, status) = server.client.send("DELETE", path, options).await;
        assert_eq!((code, &status["message"]), (422, &json!(message)));
    };
    let invalid = format!("DeleteOptions.meta.k8s.io \"\" is invalid: {IGNORE}: Invalid value: true: ");
    let together = format!("{invalid}cannot be set together with .gracePeriodSeconds");
    refused(&path, options(json!({"gracePeriodSeconds": 1})), together).await;
    let collection =
        format!("{invalid}is not allowed with DELETECOLLECTION, try again after removing the option");
    refused(SECRETS, options(json!({})), collection).await;
    server.made("b").await;
    let readable = "Operation cannot be fulfilled on secrets \"b\": StorageError: invalid object, Code: 4, Key: \
                    /registry/secrets/default/b, ResourceVersion: 0, AdditionalErrorMsg: unsafe deletion is not \
                    allowed because the object is decodable from storage";
    let (code, status) = server.client.send("DELETE", &format!("{SECRETS}/b"), options(json!({}))).await;
    assert_eq!((code, &status["message"]), (409, &json!(readable)));
    let missing = server.client.send("DELETE", &format!("{SECRETS}/c"), options(json!({}))).await;
    assert_eq!(missing.0, 404);
    let dry_run = server.client.send("DELETE", &path, options(json!({"dryRun": ["All"]}))).await;
    assert_eq!(dry_run.0, 200);
    assert!(server.server.storage().get(KEY).await.unwrap().kv.is_some());
    let (code, status) = server.client.send("DELETE", &path, options(json!({}))).await;
    let expected = json!({"name": "a", "kind": "Secret"});
    assert_eq!((code, &status["status"], &status["details"]), (200, &json!("Success"), &expected));
    assert_eq!(status["code"], 200);
    let (code, _) = server.client.send("GET", &path, Value::Null).await;
    assert_eq!(code, 404);
    assert_eq!(server.client.get(SECRETS).await["items"].as_array().unwrap().len(), 1);
    server.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unsafe_deletion_needs_separate_permission() {
    let server = with_a_corrupt_object().await;
    let rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let rule = |verbs: Value| json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": verbs}]);
    let mut role = json!({"metadata": {"name": "croc"}, "rules": rule(json!(["delete", "get"]))});
    server.client.make(&format!("{rbac}/roles"), role.clone()).await;
    let subjects = json!([{"kind": "User", "name": "croc", "apiGroup": "rbac.authorization.k8s.io"}]);
    let reference = json!({"kind": "Role", "name": "croc", "apiGroup": "rbac.authorization.k8s.io"});
    let binding = json!({"metadata": {"name": "croc"}, "subjects": subjects, "roleRef": reference});
    server.client.make(&format!("{rbac}/rolebindings"), binding).await;
    let croc = Client::of(&server.server).with_header("impersonate-user", "croc");
    let path = format!("{SECRETS}/a");
    croc.eventually(&path, 500).await;
    let remove = format!("{path}?{IGNORE}=true");
    let (code, status) = croc.send("DELETE", &remove, Value::Null).await;
    let message = status["message"].as_str().unwrap();
    let begin =
        "secrets \"a\" is forbidden: not permitted to do \"unsafe-delete-ignore-read-errors\", reason: ";
    assert!(code == 403 && message.starts_with(begin), "{code} {message}");
    role["rules"] = rule(json!(["delete", "get", "unsafe-delete-ignore-read-errors"]));
    server.client.ok("PUT", &format!("{rbac}/roles/croc"), role).await;
    let removed = async {
        while croc.send("DELETE", &remove, Value::Null).await.0 == 403 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), removed).await.unwrap();
    croc.eventually(&path, 404).await;
    server.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unsafe_deletion_option_needs_gate() {
    let server = started_with("[secrets]", false, |config| {
        config.gates = config.gates.with(Gate::AllowUnsafeMalformedObjectDeletion, false);
    });
    let server = server.await;
    write(&*server.server.storage(), KEY, "k8s:enc:aesgcm:v1:lost:xxx").await;
    let remove = format!("{SECRETS}/a?{IGNORE}=true");
    let (code, status) = server.client.send("DELETE", &remove, Value::Null).await;
    let message = "Internal error occurred: no matching key was found for the provided AES transformer";
    assert_eq!((code, &status["message"]), (500, &json!(message)));
    server.made("b").await;
    server.client.ok("DELETE", &format!("{SECRETS}/b?{IGNORE}=true"), Value::Null).await;
    server.server.stop().await;
}
