//! `ValidatingAdmissionPolicy` and `MutatingAdmissionPolicy`: CEL rules that are API objects (upstream's
//! `plugin/policy`). This module evaluates policies for a request. The host supplies the current policies and
//! params.

mod apply_change;
mod catalog;
mod error;
mod index;
mod json_converter;
mod matching;
mod metrics;
mod model;
mod mutating;
mod mutations;
mod params;
mod policy_request;
#[cfg(test)]
mod tests;
mod validating;
mod validations;

use std::sync::Arc;

use crate::Attributes;
use crate::dynamic::DynamicAdmissionDeps;
pub use catalog::Policies;
pub use error::ParamError;
pub use metrics::PolicyMetrics;
pub use model::{Binding, ParamKind, Policy, Rules};
pub use mutating::MutatingAdmissionPolicy;
pub use mutations::Mutations;
pub use params::{Param, Params};
pub use validating::ValidatingAdmissionPolicy;
pub use validations::Validations;

/// CEL cost limit for all expressions of a policy, per binding and param.
const BUDGET: u64 = 10_000_000;

/// The current policies with their bindings. `None` until they are loaded.
pub trait PolicySource: Send + Sync + 'static {
    fn validating(&self) -> Option<Arc<Policies<Validations>>>;

    fn mutating(&self) -> Option<Arc<Policies<Mutations>>>;

    /// The policies of [`validating`](Self::validating) that come from manifests on the server's disk. They
    /// apply to requests about policies too: they cannot lock out their own repair, because they are changed on disk
    /// and not through the API.
    fn validating_manifests(&self) -> Option<Arc<Policies<Validations>>> {
        None
    }

    /// The policies of [`mutating`](Self::mutating) that come from manifests.
    fn mutating_manifests(&self) -> Option<Arc<Policies<Mutations>>> {
        None
    }
}

/// Dependencies of the two policy plugins.
#[derive(Clone)]
pub struct PolicyDeps {
    pub source: Arc<dyn PolicySource>,
    /// The param objects of bindings.
    pub params: Arc<dyn Params>,
    /// Dependencies shared with webhooks.
    pub deps: DynamicAdmissionDeps,
    pub metrics: Arc<PolicyMetrics>,
}

/// Returns the policies of one kind that may match a request; `None` until they are loaded. Only policies
/// from manifests apply to requests about policies. No policy applies to token reviews and access reviews,
/// because authentication and authorization of other servers depend on them.
fn applicable_policies<E>(
    a: &Attributes<'_>,
    all: impl FnOnce() -> Option<Arc<Policies<E>>>,
    manifests: impl FnOnce() -> Option<Arc<Policies<E>>>,
) -> Option<Arc<Policies<E>>> {
    match (a.resource.group, a.resource.plural) {
        (
            "admissionregistration.k8s.io",
            "validatingadmissionpolicies"
            | "validatingadmissionpolicybindings"
            | "mutatingadmissionpolicies"
            | "mutatingadmissionpolicybindings",
        ) => Some(manifests().unwrap_or_default()),
        ("authentication.k8s.io", "selfsubjectreviews" | "tokenreviews") => Some(Arc::default()),
        (
            "authorization.k8s.io",
            "localsubjectaccessreviews"
            | "selfsubjectaccessreviews"
            | "selfsubjectrulesreviews"
            | "subjectaccessreviews",
        ) => Some(Arc::default()),
        _ => all(),
    }
}
