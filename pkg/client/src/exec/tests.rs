//! Credential plugins, as small shell scripts.
#![allow(clippy::unwrap_used)]

use component_base::clock::{Clock, TestClock};
use component_base::metrics::MetricsRegistry;
use jsontree::{Value, json};
use tempfile::TempDir;

use super::*;

/// A script, which may use the file `n` of its directory.
struct World {
    directory: TempDir,
    clock: Arc<TestClock>,
}

impl World {
    fn new(script: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("plugin");
        std::fs::write(&path, format!("cd {}\n{script}\n", directory.path().display())).unwrap();
        World { directory, clock: Arc::default() }
    }

    fn plugin(&self, more: &Value) -> ExecPlugin {
        let script = self.directory.path().join("plugin");
        let mut exec = json!({
            "apiVersion": credential::V1, "command": "sh", "args": [script, "a"], "interactiveMode": "Never",
        });
        exec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let exec: Exec = jsontree::from_value(exec).unwrap();
        ExecPlugin::new(exec.resolved_in(self.directory.path()), Arc::clone(&self.clock) as _).unwrap()
    }

    async fn token(&self, plugin: &ExecPlugin) -> Result<String, String> {
        let issued = plugin.credentials().await.map_err(|error| error.to_string())?;
        Ok(issued.token.clone().unwrap_or_default())
    }
}

/// A script that prints `status`, where `$n` is the number of runs.
fn plugin_with_status(status: &str) -> World {
    World::new(&format!(
        "echo x >> n\nn=$(wc -l < n)\necho '{{\"kind\":\"ExecCredential\",\"apiVersion\":\"{}\",\"status\":'\"{}\"'}}'",
        credential::V1,
        status.replace('"', "\\\"")
    ))
}

#[tokio::test]
async fn token_is_cached_until_expiry_or_rejection() {
    let world = plugin_with_status(r#"{"token":"t$n","expirationTimestamp":"1970-01-01T00:01:00Z"}"#);
    let plugin = world.plugin(&json!({}));
    assert_eq!(world.token(&plugin).await.unwrap(), "t1");
    world.clock.advance_seconds(60);
    assert_eq!(world.token(&plugin).await.unwrap(), "t1");
    let shown = plugin.credentials().await.unwrap();
    plugin.handle_rejection(&shown).await.unwrap();
    plugin.handle_rejection(&shown).await.unwrap();
    assert_eq!(world.token(&plugin).await.unwrap(), "t2", "asked anew once");
    world.clock.advance_seconds(1);
    assert_eq!(world.token(&plugin).await.unwrap(), "t3");
}

#[tokio::test]
async fn concurrent_requests_share_one_run() {
    let world = plugin_with_status(r#"{"token":"t$n"}"#);
    let plugin = world.plugin(&json!({}));
    let (one, other) = tokio::join!(plugin.credentials(), plugin.credentials());
    assert!(Arc::ptr_eq(&one.unwrap(), &other.unwrap()));
}

#[tokio::test]
async fn plugin_receives_cluster_info() {
    let world = World::new(&format!(
        "printf %s \"$KUBERNETES_EXEC_INFO\" > info\necho \"kind: ExecCredential\napiVersion: {}\nstatus: {{token: $1$MORE}}\"",
        credential::V1
    ));
    let configuration = json!({"provideClusterInfo": true, "env": [{"name": "MORE", "value": "b"}]});
    let cluster = Cluster {
        server: "https://h:1".to_owned(),
        authorities: b"pem".to_vec(),
        config: json!({"x": 1}),
        ..Cluster::default()
    };
    let plugin = world.plugin(&configuration).of_cluster(|| cluster);
    assert_eq!(world.token(&plugin).await.unwrap(), "ab", "which it may say in YAML");
    let info = std::fs::read(world.directory.path().join("info")).unwrap();
    let expected = json!({
        "kind": "ExecCredential", "apiVersion": credential::V1,
        "spec": {
            "cluster": {"server": "https://h:1", "certificate-authority-data": "cGVt", "config": {"x": 1}},
            "interactive": false,
        },
    });
    assert_eq!(serde_json::from_slice::<Value>(&info).unwrap(), expected);
    let shared = world.plugin(&json!({}));
    assert_eq!(
        shared.clone().of_cluster(Cluster::default),
        shared,
        "who does not want to know is asked once for all"
    );
}

#[tokio::test]
async fn errors_equal_upstreams() {
    let check = async |world: World, expected: &str| {
        let failed = world.token(&world.plugin(&json!({}))).await.unwrap_err();
        assert_eq!(failed, expected);
    };
    check(World::new("exit 3"), "exec: executable sh failed with exit code 3").await;
    check(World::new("kill $$"), "exec: executable sh failed with exit code -1").await;
    check(plugin_with_status("null"), "exec plugin didn't return a status field").await;
    check(plugin_with_status("{}"), "exec plugin didn't return a token or cert/key pair").await;
    let half = plugin_with_status(r#"{"clientKeyData":"k"}"#);
    check(half, "exec plugin returned only certificate or key, not both").await;
    let invalid_pair = plugin_with_status(r#"{"clientKeyData":"k","clientCertificateData":"c"}"#);
    check(
        invalid_pair,
        "failed parsing client key/certificate: tls: failed to find any PEM data in certificate input",
    )
    .await;
    let other =
        "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1beta1\"}'";
    check(
        World::new(other),
        "exec plugin is configured to use API version client.authentication.k8s.io/v1, plugin returned version client.authentication.k8s.io/v1beta1",
    )
    .await;
    let endless =
        World::new("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done");
    check(endless, "decoding stdout: larger than 1048576 bytes").await;
    let missing = World::new("");
    let plugin = missing.plugin(&json!({"command": "no-such-program"}));
    assert_eq!(missing.token(&plugin).await.unwrap_err(), "exec: executable no-such-program not found");
    let plugin = missing.plugin(&json!({"command": "./none"}));
    let directory = missing.directory.path().display();
    let expected = format!("exec: fork/exec {directory}/none: no such file or directory");
    assert_eq!(missing.token(&plugin).await.unwrap_err(), expected, "beside the kubeconfig");
}

#[tokio::test]
async fn interactive_plugin_without_terminal_does_not_run() {
    let world = plugin_with_status(r#"{"token":"t"}"#);
    if std::io::stdin().is_terminal() {
        return;
    }
    let failed = world.token(&world.plugin(&json!({"interactiveMode": "Always"}))).await.unwrap_err();
    assert_eq!(failed, "exec plugin cannot support interactive mode: standard input is not a terminal");
    assert_eq!(world.token(&world.plugin(&json!({"interactiveMode": "IfAvailable"}))).await.unwrap(), "t");
}

#[tokio::test]
async fn runs_are_counted_by_result() {
    let registry = MetricsRegistry::default();
    let clock: Arc<dyn Clock> = Arc::<TestClock>::default();
    let metrics = Arc::new(ExecMetrics::new(&registry, &clock));
    let worlds = [plugin_with_status(r#"{"token":"t"}"#), World::new("exit 3"), World::new("kill $$")];
    for world in &worlds {
        let plugin = world.plugin(&json!({}));
        plugin.count(&metrics);
        plugin.count(&metrics);
        let _ = plugin.credentials().await;
    }
    let missing = worlds[0].plugin(&json!({"command": "no-such-program"}));
    missing.count(&metrics);
    for _ in 0..2 {
        let _ = missing.credentials().await;
    }
    let page = registry.to_string();
    let calls = page.lines().filter(|line| line.starts_with("rest_client_exec_plugin_call_total"));
    let labels = |line: &str| line.trim_start_matches("rest_client_exec_plugin_call_total").to_owned();
    assert_eq!(
        calls.map(labels).collect::<Vec<_>>(),
        [
            "{call_status=\"no_error\",code=\"0\"} 1",
            "{call_status=\"plugin_execution_error\",code=\"-1\"} 1",
            "{call_status=\"plugin_execution_error\",code=\"3\"} 1",
            "{call_status=\"plugin_not_found_error\",code=\"1\"} 2",
        ]
    );
}
