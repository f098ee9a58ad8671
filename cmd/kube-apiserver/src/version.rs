//! `--version`.

use controlplane::run::version;

/// Returns the output of `--version`, if requested. A version number as value requests that version, which
/// upstream supports for tests; it has no effect here.
pub(crate) fn version_output(flag: &str) -> Option<String> {
    match flag {
        "raw" => Some(format!("{:?}", version())),
        flag if crate::flags::switch(flag).unwrap_or(false) => {
            Some(format!("Kubernetes {}", version().git_version))
        }
        _ => None,
    }
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
        check("raw", Some("VersionInfo {"));
        check("false", None);
        check("v1.2.3", None);
    }
}
