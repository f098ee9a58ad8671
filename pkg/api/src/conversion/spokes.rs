//! The versions that differ from the hub's form.

use super::{
    access_review, certificate_signing_request, custom_resource_definition, device, endpoint_slice, event,
    horizontal_pod_autoscaler, ingress, pod_disruption_budget, priority_level_configuration, role_binding,
    runtime_class, workload,
};
use schema::object::Object;

/// Version of a kind, with its conversions to and from the hub version.
pub(super) struct Spoke {
    pub(super) kind: &'static str,
    pub(super) version: &'static str,
    pub(super) to_hub: fn(&mut Object),
    pub(super) from_hub: fn(&mut Object),
}

/// Finds the spoke of a version. Returns `None` if its form is the hub's.
pub(super) fn spoke(version: &str, kind: &str) -> Option<&'static Spoke> {
    SPOKES.iter().find(|spoke| spoke.kind == kind && spoke.version == version)
}

const fn of(
    kind: &'static str,
    version: &'static str,
    to_hub: fn(&mut Object),
    from_hub: fn(&mut Object),
) -> Spoke {
    Spoke { kind, version, to_hub, from_hub }
}

#[rustfmt::skip] // A table: one row, one line.
pub(super) const SPOKES: &[Spoke] = &[
    of("CertificateSigningRequest", "certificates.k8s.io/v1beta1", certificate_signing_request::to_hub, certificate_signing_request::from_hub),
    of("ClusterRoleBinding", "rbac.authorization.k8s.io/v1alpha1", role_binding::to_hub, role_binding::from_hub),
    of("CustomResourceDefinition", "apiextensions.k8s.io/v1beta1", custom_resource_definition::v1beta1_to_v1, custom_resource_definition::v1_to_v1beta1),
    of("DaemonSet", "extensions/v1beta1", workload::daemon_set_to_hub, workload::daemon_set_from_hub),
    of("Deployment", "apps/v1beta1", workload::deployment_to_hub, workload::deployment_from_hub),
    of("Deployment", "extensions/v1beta1", workload::deployment_to_hub, workload::deployment_from_hub),
    of("EndpointSlice", "discovery.k8s.io/v1beta1", endpoint_slice::to_hub, endpoint_slice::from_hub),
    of("Event", "events.k8s.io/v1", event::to_hub, event::from_hub),
    of("Event", "events.k8s.io/v1beta1", event::to_hub, event::from_hub),
    of("HorizontalPodAutoscaler", "autoscaling/v1", horizontal_pod_autoscaler::v1_to_v2, horizontal_pod_autoscaler::v2_to_v1),
    of("Ingress", "extensions/v1beta1", ingress::to_hub, ingress::from_hub),
    of("Ingress", "networking.k8s.io/v1beta1", ingress::to_hub, ingress::from_hub),
    of("LocalSubjectAccessReview", "authorization.k8s.io/v1beta1", access_review::to_hub, access_review::from_hub),
    of("PodDisruptionBudget", "policy/v1beta1", pod_disruption_budget::to_hub, pod_disruption_budget::from_hub),
    of("PriorityLevelConfiguration", "flowcontrol.apiserver.k8s.io/v1beta1", priority_level_configuration::v1beta2_to_hub, priority_level_configuration::v1beta2_from_hub),
    of("PriorityLevelConfiguration", "flowcontrol.apiserver.k8s.io/v1beta2", priority_level_configuration::v1beta2_to_hub, priority_level_configuration::v1beta2_from_hub),
    of("PriorityLevelConfiguration", "flowcontrol.apiserver.k8s.io/v1beta3", priority_level_configuration::v1beta3_to_hub, priority_level_configuration::v1beta3_from_hub),
    of("ResourceClaim", "resource.k8s.io/v1beta1", device::claim_to_hub, device::claim_from_hub),
    of("ResourceClaimTemplate", "resource.k8s.io/v1beta1", device::claim_template_to_hub, device::claim_template_from_hub),
    of("ResourceSlice", "resource.k8s.io/v1beta1", device::slice_to_hub, device::slice_from_hub),
    of("RoleBinding", "rbac.authorization.k8s.io/v1alpha1", role_binding::to_hub, role_binding::from_hub),
    of("RuntimeClass", "node.k8s.io/v1alpha1", runtime_class::to_hub, runtime_class::from_hub),
    of("StatefulSet", "apps/v1beta1", workload::stateful_set_to_hub, workload::stateful_set_from_hub),
    of("SubjectAccessReview", "authorization.k8s.io/v1beta1", access_review::to_hub, access_review::from_hub),
];
