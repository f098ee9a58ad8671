//! Names of signers of certificates: a domain, a slash and a path (`example.com/signer`).

use crate::validation::value::invalid_each;
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::go_quote::quote;
use apimachinery::names;

/// Length limit of the path in bytes: the name of a namespaced object.
const PATH_BYTES_MAX: usize = names::DNS1123_SUBDOMAIN_BYTES_MAX + names::DNS1123_LABEL_BYTES_MAX + 1;
/// Length limit of the name in bytes.
const NAME_BYTES_MAX: usize = names::DNS1123_SUBDOMAIN_BYTES_MAX + PATH_BYTES_MAX + 1;

/// True for a signer name that is reserved for the Kubernetes project.
pub(crate) fn is_kubernetes_signer(name: &str) -> bool {
    let host = name.split('/').next().unwrap_or_default();
    host == "kubernetes.io" || host.ends_with(".kubernetes.io")
}

/// Validates the name of a signer. `path` is that of the name.
pub(crate) fn signer_name(path: &Path<'_>, name: &str, errors: &mut ErrorList) {
    if name.is_empty() {
        errors.push(Error::required(path, ""));
        return;
    }
    let Some((domain, rest)) = name.split_once('/').filter(|(_, rest)| !rest.contains('/')) else {
        let detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        errors.push(Error::invalid(path, name, detail));
        return;
    };
    if domain.len() > names::DNS1123_SUBDOMAIN_BYTES_MAX {
        errors.push(Error::too_long(path, Some(names::DNS1123_SUBDOMAIN_BYTES_MAX)));
    }
    segments(path, domain, names::is_dns1123_label, errors);
    if !domain.contains('.') {
        let detail = "should be a domain with at least two segments separated by dots";
        errors.push(Error::invalid(path, domain, detail));
    }
    segments(path, rest, names::is_dns1123_subdomain, errors);
    if name.len() > NAME_BYTES_MAX {
        errors.push(Error::too_long(path, Some(NAME_BYTES_MAX)));
    }
}

/// Checks the dot-separated segments and reports the errors of the first bad one.
fn segments(path: &Path<'_>, text: &str, check: fn(&str) -> Vec<String>, errors: &mut ErrorList) {
    let bad =
        text.split('.').map(|segment| (segment, check(segment))).find(|(_, problems)| !problems.is_empty());
    if let Some((segment, messages)) = bad {
        let segment = quote(segment);
        let messages = messages.into_iter().map(|message| format!("validating label {segment}: {message}"));
        invalid_each(path, text, messages.collect(), errors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: &[&str]) {
        let mut errors = ErrorList::new();
        signer_name(&Path::root("s"), name, &mut errors);
        let heads: Vec<String> = errors.iter().map(|error| error.body()).collect();
        assert_eq!(heads.len(), expected.len(), "{heads:?}");
        assert!(
            heads.iter().zip(expected).all(|(got, expected_start)| got.contains(expected_start)),
            "{heads:?}"
        );
    }

    #[test]
    fn a_signer_has_a_domain_and_a_path() {
        check("example.com/signer", &[]);
        check("example.com/ns.name", &[]);
        check("", &["Required"]);
        check("example.com", &["fully qualified"]);
        check("a.b/c/d", &["fully qualified"]);
        check("example/x", &["two segments"]);
        check("Ex.com/-", &["validating label \"Ex\"", "validating label \"-\""]);
        assert!(
            is_kubernetes_signer("kubernetes.io/kubelet-serving")
                && !is_kubernetes_signer("xkubernetes.io/a")
        );
    }
}
