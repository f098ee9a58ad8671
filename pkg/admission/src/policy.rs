//! `ValidatingAdmissionPolicy` and `MutatingAdmissionPolicy`: rules in expressions that are objects of the API
//! (upstream's `plugin/policy`). What a policy means for a request is here; who knows which policies and params there
//! are is the host.

mod about;
mod applied;
mod catalog;
mod figures;
mod index;
mod matching;
mod model;
mod mutating;
mod mutations;
mod native;
mod params;
#[cfg(test)]
mod tests;
mod validating;
mod validations;

use std::sync::Arc;

use crate::dynamic::Versions;
use crate::{Attributes, Now, Objects};
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
pub trait Configured: Send + Sync + 'static {
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
    pub configured: Arc<dyn Configured>,
    /// The objects that bindings refer to.
    pub params: Arc<dyn Params>,
    /// In which version objects are seen.
    pub versions: Arc<dyn Versions>,
    /// Where namespaces are.
    pub objects: Arc<dyn Objects>,
    /// Whom expressions may ask.
    pub authorizer: Arc<dyn authorization::Authorizer>,
    /// What is counted.
    pub figures: Arc<PolicyFigures>,
    /// What time it is, to count how long expressions take.
    pub now: Arc<Now>,
}

/// Which policies may be about a request.
enum Reach {
    /// All there are.
    All,
    /// Those from manifests: it is about policies themselves.
    Manifests,
    /// None: authentication and authorization of other servers depend on it.
    None,
}

fn reach(a: &Attributes<'_>) -> Reach {
    match (a.resource.group, a.resource.plural) {
        (
            "admissionregistration.k8s.io",
            "validatingadmissionpolicies"
            | "validatingadmissionpolicybindings"
            | "mutatingadmissionpolicies"
            | "mutatingadmissionpolicybindings",
        ) => Reach::Manifests,
        ("authentication.k8s.io", "selfsubjectreviews" | "tokenreviews") => Reach::None,
        (
            "authorization.k8s.io",
            "localsubjectaccessreviews"
            | "selfsubjectaccessreviews"
            | "selfsubjectrulesreviews"
            | "subjectaccessreviews",
        ) => Reach::None,
        _ => Reach::All,
    }
}
