//! Rules for crate manifests: they inherit the workspace's lints and dependency versions, and libraries carry the project's
//! prefix in their package name.

use super::workspace::PREFIX;

/// Returns the violations of a manifest.
pub(crate) fn findings(path: &str, text: &str) -> Vec<String> {
    let mut findings = Vec::new();
    let mut lints = false;
    for (section, line) in entries(text) {
        lints |= section == "lints" && line.replace(' ', "") == "workspace=true";
        if is_dependencies(section) && !inherits(line) {
            findings.push(format!("{path}: `{line}` must be inherited (workspace = true)"));
        }
        if let Some((_, name)) = section.rsplit_once("dependencies.")
            && line.starts_with("version")
        {
            findings.push(format!("{path}: the version of {name} must be inherited (workspace = true)"));
        }
    }
    if path.starts_with("pkg/") && !text.contains(&format!("name = \"{PREFIX}")) {
        findings.push(format!("{path}: the package name must start with {PREFIX}"));
    }
    if !lints {
        findings.push(format!("{path}: no `[lints] workspace = true`"));
    }
    findings
}

/// Returns every assignment with its section.
fn entries(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut section = "";
    text.lines().map(str::trim).filter_map(move |line| {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
            return None;
        }
        (!line.is_empty() && !line.starts_with('#')).then_some((section, line))
    })
}

fn is_dependencies(section: &str) -> bool {
    let last = section.rsplit('.').next().unwrap_or_default();
    matches!(last, "dependencies" | "dev-dependencies" | "build-dependencies")
}

fn inherits(line: &str) -> bool {
    line.replace(' ', "").contains("workspace=true")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(manifest: &str, expected: &[&str]) {
        let text = format!("[package]\nname = \"x\"\nversion.workspace = true\n{manifest}");
        let actual = findings("x/Cargo.toml", &text);
        assert_eq!(actual.len(), expected.len(), "{actual:?}");
        for (actual, expected) in actual.iter().zip(expected) {
            assert!(actual.contains(expected), "{actual}");
        }
    }

    #[test]
    fn own_version_is_found() {
        let lints = "[lints]\nworkspace = true\n";
        check(
            &format!(
                "{lints}[dependencies]\na.workspace = true\nb = {{ workspace = true, features = [] }}\n"
            ),
            &[],
        );
        check(&format!("{lints}[dependencies]\na = \"1\"\n"), &["`a = \"1\"`"]);
        check(&format!("{lints}[dev-dependencies]\n# why\na = {{ version = \"1\" }}\n"), &["`a = "]);
        check(
            &format!("{lints}[target.'cfg(unix)'.build-dependencies]\na = {{ path = \"../a\" }}\n"),
            &["`a = "],
        );
        check(&format!("{lints}[dependencies.a]\nversion = \"1\"\n"), &["version of a"]);
    }

    #[test]
    fn library_without_prefix_is_found() {
        let manifest = |name: &str| format!("[package]\nname = \"{name}\"\n[lints]\nworkspace = true\n");
        assert_eq!(findings("pkg/cel/Cargo.toml", &manifest("mainstay-cel")), Vec::<String>::new());
        assert_eq!(findings("pkg/cel/Cargo.toml", &manifest("cel")).len(), 1);
    }

    #[test]
    fn missing_lints_are_found() {
        check("", &["no `[lints]"]);
        check("[lints]\n[lints.rust]\nworkspace = true\n", &["no `[lints]"]);
    }
}
