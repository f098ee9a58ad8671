//! Dispatch of conversions by kind. The build script generates it from the declarations of the groups
//! (`kinds!` in `src/resources`), without a wildcard.

use super::kind::{Conversion, NONE, Spoke};
use super::{
    access_review, certificate_signing_request, custom_resource_definition, device, endpoint_slice, event,
    horizontal_pod_autoscaler, ingress, node, pod, pod_certificate_request, pod_disruption_budget, pod_group,
    priority_level_configuration, role_binding, runtime_class, secret, workload,
};
use crate::resources::Builtin;

include!(concat!(env!("OUT_DIR"), "/conversions.rs"));

/// Finds the spoke of a version. Returns `None` if its form is the hub's.
pub(super) fn spoke(version: &str, kind: &str) -> Option<&'static Spoke> {
    conversion(Builtin::from_name(kind)?).spokes.iter().find(|spoke| spoke.version == version)
}
