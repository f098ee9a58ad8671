//! certificates.k8s.io: pod certificates. Signing requests have no defaults since v1.

use super::Rule;
use super::fill::{if_nil, within};

/// How long a pod certificate is valid at most, in seconds: a day.
const CERTIFICATE_SECONDS: i64 = 86_400;

pub(super) fn rule(version: &str, kind: &str) -> Option<Rule> {
    Some(match (version, kind) {
        ("v1beta1", "PodCertificateRequest") => |request| {
            within(request, "spec", |spec| if_nil(spec, "maxExpirationSeconds", CERTIFICATE_SECONDS))
        },
        _ => return None,
    })
}
