//! `ValidatingAdmissionPolicy` and `MutatingAdmissionPolicy`: rules in expressions that are objects of the API
//! (upstream's `plugin/policy`). What a policy means for a request is here; who knows which policies and params there
//! are is the host.

mod apply_change;
mod catalog;
mod figures;
mod index;
mod json_converter;
mod matching;
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
pub use figures::PolicyFigures;
pub use model::{Binding, ParamKind, Policy, Rules};
pub use mutating::MutatingAdmissionPolicy;
pub use mutations::Mutations;
pub use params::{Param, ParamFailure, Params};
pub use validating::ValidatingAdmissionPolicy;
pub use validations::Validations;

/// What all expressions of a policy may cost together, for one binding and one of its params.
const BUDGET: u64 = 10_000_000;

/// The policies that there are now, with their bindings; `None` as long as that is not known.
pub trait PolicySource: Send + Sync + 'static {
    /// `ValidatingAdmissionPolicy`s.
    fn validating(&self) -> Option<Arc<Policies<Validations>>>;

    /// `MutatingAdmissionPolicy`s.
    fn mutating(&self) -> Option<Arc<Policies<Mutations>>>;

    /// Those of [`validating`](Self::validating) that are from manifests on the server's disk. Requests about policies
    /// are theirs, too: they cannot keep anybody from mending them.
    fn validating_manifests(&self) -> Option<Arc<Policies<Validations>>> {
        None
    }

    /// Those of [`mutating`](Self::mutating) that are from manifests.
    fn mutating_manifests(&self) -> Option<Arc<Policies<Mutations>>> {
        None
    }
}

/// What the two plugins are made of.
#[derive(Clone)]
pub struct PolicyParts {
    /// Which policies there are.
    pub configured: Arc<dyn PolicySource>,
    /// The objects that bindings refer to.
    pub params: Arc<dyn Params>,
    /// What they need as webhooks do.
    pub around: DynamicAdmissionDeps,
    /// What is counted.
    pub figures: Arc<PolicyFigures>,
}

/// The policies of one kind that may be about a request; `None` as long as that is not known. Requests about policies
/// are for those from manifests alone, and some are for none: authentication and authorization of other servers depend
/// on them.
fn applicable<E>(
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
