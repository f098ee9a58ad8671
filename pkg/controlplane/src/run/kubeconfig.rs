//! The administrator's kubeconfig.

use jsontree::json;

/// Renders a kubeconfig with one user. JSON is valid YAML, so no quoting rules are needed.
pub(super) fn render(server: &str, trust_base64: &str, certificate_base64: &str, key_base64: &str) -> String {
    let name = "mainstay";
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{
            "name": name,
            "cluster": { "server": server, "certificate-authority-data": trust_base64 },
        }],
        "users": [{
            "name": "admin",
            "user": { "client-certificate-data": certificate_base64, "client-key-data": key_base64 },
        }],
        "contexts": [{ "name": name, "context": { "cluster": name, "user": "admin" } }],
        "current-context": name,
    });
    let mut text = serde_json::to_string_pretty(&config).unwrap_or_default();
    text.push('\n');
    text
}
