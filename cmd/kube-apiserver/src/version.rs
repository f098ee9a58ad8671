//! `--version`.

use controlplane::run::version;

/// Returns the output of `--version`, if requested. A version number as value requests that version, which
/// upstream supports for tests; it has no effect here.
pub(crate) fn version_output(flag: &str) -> Option<String> {
    match flag {
        "raw" => Some(version().go_syntax()),
        flag if crate::flags::switch(flag).unwrap_or(false) => {
            let version = version();
            Some(line(&version.git_version, version.git_commit, version.build_date))
        }
        _ => None,
    }
}

/// Returns upstream's line, followed by the commit and the date of a release build.
fn line(git_version: &str, commit: &str, date: &str) -> String {
    if commit.is_empty() {
        return format!("Kubernetes {git_version}");
    }
    format!("Kubernetes {git_version} (commit {commit}, {date})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_printed_on_request() {
        let check = |flag: &str, expected: Option<&str>| {
            let got = version_output(flag);
            match expected {
                None => assert_eq!(got, None, "{flag}"),
                Some(start) => assert!(got.is_some_and(|got| got.starts_with(start)), "{flag}"),
            }
        };
        check("true", Some("Kubernetes v1.37."));
        check("1", Some("Kubernetes v1.37."));
        check("raw", Some("version.Info{Major:\"1\", Minor:\"37\", EmulationMajor:\"1\""));
        check("false", None);
        check("v1.2.3", None);
    }

    #[test]
    fn release_build_names_commit_and_date() {
        assert_eq!(line("v1.2.3+x", "", ""), "Kubernetes v1.2.3+x");
        let expected = "Kubernetes v1.2.3+x (commit 0a1b, 2026-01-02T03:04:05Z)";
        assert_eq!(line("v1.2.3+x", "0a1b", "2026-01-02T03:04:05Z"), expected);
    }
}
