//! `/version`: public build information (`version.Info`).

use apimachinery::go_quote::Quoted;
use component_base::features::{Effective, Release};
use serde::Serialize;

/// Version of the Kubernetes API and of this program.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct VersionInfo {
    /// Major version of Kubernetes; clients compare it with their own.
    pub major: String,
    /// Minor version of Kubernetes.
    pub minor: String,
    /// Emulated major version.
    pub emulation_major: String,
    /// Emulated minor version.
    pub emulation_minor: String,
    /// Major version of the oldest release that can share the cluster with this one.
    pub min_compatibility_major: String,
    /// Minor version of the oldest release that can share the cluster with this one.
    pub min_compatibility_minor: String,
    /// Semantic version: the Kubernetes release, then `+mainstay.` and this program's version.
    pub git_version: String,
    /// Commit of the build; empty when unknown.
    pub git_commit: &'static str,
    /// `clean`, `dirty`, or empty when unknown.
    pub git_tree_state: &'static str,
    /// RFC 3339 time of the build; empty when unknown.
    pub build_date: &'static str,
    /// Version of this program's tool chain, in a field that upstream defined for Go.
    pub go_version: &'static str,
    pub compiler: &'static str,
    /// Operating system and architecture, in Go's names.
    pub platform: String,
}

impl VersionInfo {
    /// Version of this build, without emulation.
    pub fn of_this_build() -> Self {
        VersionInfo::with_emulation(Effective::default())
    }

    /// Version with emulation. Release builds set the commit and the date (`tools/static-build.sh`).
    pub fn with_emulation(Effective { emulation, min_compatibility }: Effective) -> Self {
        VersionInfo {
            major: Release::THIS.major.to_string(),
            minor: Release::THIS.minor.to_string(),
            emulation_major: emulation.major.to_string(),
            emulation_minor: emulation.minor.to_string(),
            min_compatibility_major: min_compatibility.major.to_string(),
            min_compatibility_minor: min_compatibility.minor.to_string(),
            git_version: format!("v{}+mainstay.{}", Release::THIS_WITH_PATCH, env!("CARGO_PKG_VERSION")),
            git_commit: option_env!("MAINSTAY_GIT_COMMIT").unwrap_or(""),
            git_tree_state: option_env!("MAINSTAY_GIT_TREE_STATE").unwrap_or(""),
            build_date: option_env!("MAINSTAY_BUILD_DATE").unwrap_or(""),
            go_version: concat!("rust", env!("CARGO_PKG_RUST_VERSION")),
            compiler: "rustc",
            platform: format!("{}/{}", std::env::consts::OS, go_architecture(std::env::consts::ARCH)),
        }
    }

    /// Returns all fields in the syntax of Go's `%#v`, as `--version=raw` prints them.
    #[must_use]
    pub fn go_syntax(&self) -> String {
        let fields = [
            ("Major", self.major.as_str()),
            ("Minor", &self.minor),
            ("EmulationMajor", &self.emulation_major),
            ("EmulationMinor", &self.emulation_minor),
            ("MinCompatibilityMajor", &self.min_compatibility_major),
            ("MinCompatibilityMinor", &self.min_compatibility_minor),
            ("GitVersion", &self.git_version),
            ("GitCommit", self.git_commit),
            ("GitTreeState", self.git_tree_state),
            ("BuildDate", self.build_date),
            ("GoVersion", self.go_version),
            ("Compiler", self.compiler),
            ("Platform", &self.platform),
        ];
        let fields = fields.map(|(name, value)| format!("{name}:{}", Quoted(value)));
        format!("version.Info{{{}}}", fields.join(", "))
    }
}

fn go_architecture(name: &str) -> &str {
    match name {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        "powerpc64" => "ppc64le",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_version_is_in_go_syntax() {
        let raw = VersionInfo::of_this_build().go_syntax();
        let expected = "version.Info{Major:\"1\", Minor:\"37\", EmulationMajor:\"1\", ";
        assert!(raw.starts_with(expected), "{raw}");
        assert!(raw.contains(", GoVersion:\"rust1."), "{raw}");
    }

    #[test]
    fn git_version_has_both_versions() {
        let version = VersionInfo::of_this_build().git_version;
        let own = version.strip_prefix("v").and_then(|text| text.strip_prefix(Release::THIS_WITH_PATCH));
        assert_eq!(own, Some(concat!("+mainstay.", env!("CARGO_PKG_VERSION"))));
    }

    #[test]
    fn architectures_have_go_names() {
        assert_eq!(go_architecture("x86_64"), "amd64");
        assert_eq!(go_architecture("aarch64"), "arm64");
        assert_eq!(go_architecture("s390x"), "s390x");
    }
}
