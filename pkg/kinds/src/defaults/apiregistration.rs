//! apiregistration.k8s.io: API services of aggregated APIs.

use super::Rule;
use super::admissionregistration::service_reference;
use super::fill::if_present;

pub(super) fn rule(version: &str, kind: &str) -> Option<Rule> {
    Some(match (version, kind) {
        ("v1" | "v1beta1", "APIService") => |service| if_present(service, "spec", service_reference),
        _ => return None,
    })
}
