//! Versions in files that cannot read them from their sources, `Cargo.toml` and `component_base`.

/// A file, and the line that it must contain. `OWN` stands for this program's version, `TAG` for the image's.
struct Place {
    path: &'static str,
    line: &'static str,
}

const PLACES: [Place; 10] = [
    Place { path: "clients/python/pyproject.toml", line: "version = \"OWN\"" },
    Place { path: "clients/rust/Cargo.toml", line: "version = \"OWN\"" },
    Place { path: "clients/javascript/package.json", line: "\"version\": \"OWN\"," },
    Place { path: "deploy/action/action.yml", line: "default: \"OWN\"" },
    Place { path: "deploy/compose/compose.yaml", line: "image: ${IMAGE:-kube-apiserver:TAG}" },
    Place { path: "deploy/helm/mainstay/Chart.yaml", line: "version: OWN" },
    Place { path: "deploy/helm/mainstay/Chart.yaml", line: "appVersion: TAG" },
    Place { path: "deploy/kind/README.md", line: "kind load docker-image kube-apiserver:TAG" },
    Place {
        path: "deploy/kubeadm/patches/kube-apiserver+json.yaml",
        line: "value: registry.example.com/kube-apiserver:TAG",
    },
    Place { path: "deploy/kustomize/base/kustomization.yaml", line: "newTag: TAG" },
];

/// Returns the files without their line. `text` returns the text of a file.
pub(crate) fn findings(own: &str, kubernetes: &str, text: impl Fn(&str) -> String) -> Vec<String> {
    let tag = format!("v{kubernetes}-mainstay.{own}");
    let missing = PLACES.iter().filter_map(|place| {
        let line = place.line.replace("OWN", own).replace("TAG", &tag);
        let found = text(place.path).lines().any(|found| found.trim() == line);
        (!found).then(|| format!("{}: no line `{line}`", place.path))
    });
    missing.collect()
}

#[test]
fn outdated_version_is_found() {
    let text = |path: &str| {
        let lines = PLACES.iter().filter(|place| place.path == path).map(|place| place.line);
        lines.collect::<Vec<_>>().join("\n").replace("OWN", "0.4.0").replace("TAG", "v1.37.2-mainstay.0.4.0")
    };
    assert_eq!(findings("0.4.0", "1.37.2", text), Vec::<String>::new());
    let outdated = findings("0.5.0", "1.37.2", text);
    assert_eq!(outdated.len(), PLACES.len());
    assert!(outdated[0].starts_with("clients/python/pyproject.toml: no line `version = \"0.5.0\"`"));
}
