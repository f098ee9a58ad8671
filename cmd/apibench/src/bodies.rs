//! Objects that the workloads write.

use std::fmt::Write as _;

pub(crate) use crate::args::APPS;
use crate::args::Settings;
use crate::realistic::{Pod, Write};

/// Returns the name of pod `i`.
pub(crate) fn pod_name(i: u64) -> String {
    format!("pod-{i:06}")
}

/// Returns the node name of pod `i`.
pub(crate) fn node_of(i: u64, settings: &Settings) -> String {
    format!("node-{}", i % settings.nodes())
}

/// Returns the writes that create pod `i` of the measured set.
pub(crate) fn nth_pod(i: u64, settings: &Settings) -> [Write; 5] {
    let name = pod_name(i);
    let node = node_of(i, settings);
    Pod { name: &name, app: i % APPS, node: &node, kilobytes: settings.pod_kb }.writes()
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
    fn bodies_are_json_with_their_value() {
        for map in [config_map("m", "v"), config_map_of_keys("m", "v", 3)] {
            let map: serde_json::Value = serde_json::from_str(&map).unwrap();
            assert_eq!(map.pointer("/data/value").unwrap(), "v");
        }
    }
}
