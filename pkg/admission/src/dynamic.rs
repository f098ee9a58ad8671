//! Dynamic admission control: what webhooks and policies have in common. Which requests they match, in which version
//! they see objects, and how they are told of a request.

mod figures;
mod match_cache;
mod matching;
mod request;
mod rules;
#[cfg(test)]
mod tests;
mod versions;

pub use figures::ConditionFigures;
pub(crate) use figures::Whose;
pub(crate) use match_cache::MatchCache;
pub use matching::{Criteria, NamespaceOf};
pub use request::admission_request;
pub use rules::{Place, Rule};
pub use versions::{EditedObject, Invocation, Versioned, Versions};

use std::sync::Arc;

use crate::{Attributes, Now, Objects};

/// What webhooks and policies need of the server that they are in.
#[derive(Clone)]
pub struct DynamicAdmissionDeps {
    /// In which versions objects are seen.
    pub versions: Arc<dyn Versions>,
    /// Where namespaces are.
    pub objects: Arc<dyn Objects>,
    /// Whom expressions may ask.
    pub authorizer: Arc<dyn authorization::Authorizer>,
    /// What time it is: to count how long things take, and to know when requests are over.
    pub now: Arc<Now>,
    /// Where what takes long is done.
    pub aside: Arc<RunBlocking<'static>>,
    /// What is counted of match conditions.
    pub conditions: Arc<ConditionFigures>,
}

/// Does some work before it returns, and lets the thread's other tasks go on elsewhere meanwhile.
pub type RunBlocking<'a> = dyn Fn(&mut dyn FnMut()) + Send + Sync + 'a;

/// Whether a request is about the configuration of admission itself, which no webhook or policy of the API ever sees:
/// nobody could mend a configuration that refuses its own changes.
pub fn is_exempt(a: &Attributes<'_>) -> bool {
    const KINDS: [&str; 6] = [
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    ];
    a.resource.group == "admissionregistration.k8s.io" && KINDS.contains(&a.endpoint.kind)
}
