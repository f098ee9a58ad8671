//! Which Kubernetes this is.

use server::metrics::BuildInfo;

/// The version of Kubernetes whose behaviour this server has.
const KUBERNETES: (&str, &str, &str) = ("1", "36", "2");

/// What `/version` and the metrics say: the Kubernetes version, and ours behind the `+`.
pub(crate) fn build_info() -> BuildInfo {
    let (major, minor, patch) = KUBERNETES;
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    BuildInfo {
        major: major.to_owned(),
        minor: minor.to_owned(),
        git_version: format!("v{major}.{minor}.{patch}+mainstay-{}", env!("CARGO_PKG_VERSION")),
        compiler: "rustc".to_owned(),
        platform: format!("{}/{arch}", std::env::consts::OS),
    }
}

/// The answer to `--version`, if it was asked for. Any version number is taken for a wish to report
/// that version, which upstream allows in tests; it changes nothing here.
pub(crate) fn wanted(flag: &str) -> Option<String> {
    let build = build_info();
    match flag {
        "true" => Some(format!("Kubernetes {}", build.git_version)),
        "raw" => Some(format!("{build:?}")),
        _ => None,
    }
}
