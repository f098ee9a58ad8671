//! certificates.k8s.io: pod certificates, and signing requests before v1. Signing requests have no defaults
//! in v1.

use super::Rule;
use super::fill::{each, if_nil, if_present, if_zero, within};
use super::object::Object;
use jsontree::json;

/// Maximum validity of a pod certificate in seconds: a day.
const CERTIFICATE_SECONDS: i64 = 86_400;

pub(super) fn rule(version: &str, kind: &str) -> Option<Rule> {
    Some(match (version, kind) {
        ("v1beta1", "PodCertificateRequest") => |request| {
            within(request, "spec", |spec| if_nil(spec, "maxExpirationSeconds", CERTIFICATE_SECONDS))
        },
        ("v1beta1", "CertificateSigningRequest") => signing_request_v1beta1,
        _ => return None,
    })
}

/// Upstream detects requests of kubelets and sets their signers. Such requests live for at most a day, so
/// they get no special treatment here.
fn signing_request_v1beta1(request: &mut Object) {
    within(request, "spec", |spec| {
        if_nil(spec, "usages", json!(["digital signature", "key encipherment"]));
        if_nil(spec, "signerName", "kubernetes.io/legacy-unknown");
    });
    if_present(request, "status", |status| {
        each(status, "conditions", |condition| if_zero(condition, "status", "True"));
    });
}
