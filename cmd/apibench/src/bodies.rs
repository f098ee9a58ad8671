//! Objects that the workloads write.

use std::fmt::Write as _;

pub(crate) use crate::args::APPS;
use crate::args::Settings;

/// Returns the name of pod `i`.
pub(crate) fn pod_name(i: u64) -> String {
    format!("pod-{i:06}")
}

/// Returns the node name of pod `i`.
pub(crate) fn node_of(i: u64, settings: &Settings) -> String {
    format!("node-{}", i % settings.nodes())
}

/// Returns a pod like a Deployment's: 2 KB as sent, about 5 KB as served with defaults and managed fields.
pub(crate) fn pod(name: &str, app: u64, node: &str) -> String {
    pod_of_variables(name, app, node, 12)
}

/// Returns such a pod with this number of environment variables, each of 140 bytes as served.
pub(crate) fn pod_of_variables(name: &str, app: u64, node: &str, variables: u64) -> String {
    let mut env = String::new();
    for i in 0..variables {
        let comma = if i == 0 { "" } else { "," };
        // Writing to a String cannot fail.
        let _ = write!(env, r#"{comma}{{"name":"VARIABLE_{i}","value":"some-configuration-value-{i}"}}"#);
    }
    format!(
        r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}","labels":{{"app":"app-{app}","shard":"{shard}","pod-template-hash":"7d4b9c6f5"}},"annotations":{{"example.com/checksum":"0123456789abcdef0123456789abcdef"}}}},"spec":{{"nodeName":"{node}","containers":[{{"name":"main","image":"registry.example.com/team/app:v1.2.3","args":["--listen=:8080","--log-level=info"],"env":[{env}],"ports":[{{"containerPort":8080,"name":"http"}}],"resources":{{"requests":{{"cpu":"100m","memory":"128Mi"}},"limits":{{"memory":"256Mi"}}}},"readinessProbe":{{"httpGet":{{"path":"/ready","port":8080}}}},"volumeMounts":[{{"name":"config","mountPath":"/etc/app"}}]}}],"volumes":[{{"name":"config","configMap":{{"name":"app"}}}}]}}}}"#,
        shard = app % 7,
    )
}

/// Returns pod `i` of the measured set.
pub(crate) fn nth_pod(i: u64, settings: &Settings) -> String {
    pod(&pod_name(i), i % APPS, &node_of(i, settings))
}

/// Returns a ConfigMap with a unique value and about 1 KB of filler.
pub(crate) fn config_map(name: &str, value: &str) -> String {
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{"value":"{value}","filler":"{}"}}}}"#,
        filler()
    )
}

/// Returns a ConfigMap with a unique value and further keys of 64 bytes each.
pub(crate) fn config_map_of_keys(name: &str, value: &str, keys: u64) -> String {
    let mut data = String::new();
    for i in 0..keys {
        // Writing to a String cannot fail.
        let _ = write!(data, r#","key-{i:06}":"a value of an application's settings {i:010}""#);
    }
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}"}},"data":{{"value":"{value}"{data}}}}}"#
    )
}

/// 1000 bytes.
pub(crate) fn filler() -> String {
    "x".repeat(1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_json_with_selectable_labels() {
        let pod: serde_json::Value = serde_json::from_str(&pod("p", 7, "node-3")).unwrap();
        assert_eq!(pod.pointer("/metadata/labels/app").unwrap(), "app-7");
        assert_eq!(pod.pointer("/spec/nodeName").unwrap(), "node-3");
        assert_eq!(pod.pointer("/spec/containers/0/env").unwrap().as_array().unwrap().len(), 12);
        for map in [config_map("m", "v"), config_map_of_keys("m", "v", 3)] {
            let map: serde_json::Value = serde_json::from_str(&map).unwrap();
            assert_eq!(map.pointer("/data/value").unwrap(), "v");
        }
    }
}
