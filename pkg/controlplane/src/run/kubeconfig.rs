//! The administrator's kubeconfig.

use std::path::Path;

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

/// Returns the shell command that selects a kubeconfig. A path with special characters is quoted.
pub(super) fn export(path: &Path) -> String {
    let path = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@%,".contains(c);
    if path.chars().all(is_plain) {
        return format!("export KUBECONFIG={path}");
    }
    format!("export KUBECONFIG='{}'", path.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_characters_are_quoted() {
        let check = |path: &str, expected: &str| assert_eq!(export(Path::new(path)), expected);
        check("/home/a/.local/share/mainstay/c", "export KUBECONFIG=/home/a/.local/share/mainstay/c");
        check("/home/a b/it's", "export KUBECONFIG='/home/a b/it'\\''s'");
    }
}
