//! Dynamic admission control: the shared part of webhooks and policies. It matches requests, converts objects
//! to the requested version, and builds the request that webhooks and expressions see.

mod match_cache;
mod matching;
mod metrics;
mod request;
mod rules;
#[cfg(test)]
mod tests;
mod versions;

pub(crate) use match_cache::MatchCache;
pub use matching::{Criteria, NamespaceLookup};
pub use metrics::ConditionMetrics;
pub(crate) use metrics::ConditionOwner;
pub use request::admission_request;
pub use rules::{Rule, RuleTarget};
pub use versions::{EditedObject, Invocation, VersionConverter, VersionedAttributes};

use std::sync::Arc;

use component_base::weakened::WeakenedDecisions;

use crate::{Attributes, Now, Objects};

/// Server dependencies of webhooks and policies.
#[derive(Clone)]
pub struct DynamicAdmissionDeps {
    /// Versions that objects can be converted to.
    pub versions: Arc<dyn VersionConverter>,
    /// Source of namespaces.
    pub objects: Arc<dyn Objects>,
    /// Authorizer for the `authorizer` variable of expressions.
    pub authorizer: Arc<dyn authorization::Authorizer>,
    /// Clock for durations and request deadlines.
    pub now: Arc<Now>,
    /// Runs long computations off the async worker.
    pub run_blocking: Arc<RunBlocking<'static>>,
    /// Metrics of match conditions.
    pub conditions: Arc<ConditionMetrics>,
    /// Registry of webhooks and policies that fail open.
    pub weakened: WeakenedDecisions,
}

/// Runs blocking work before it returns. The thread's other tasks continue elsewhere meanwhile.
pub type RunBlocking<'a> = dyn Fn(&mut dyn FnMut()) + Send + Sync + 'a;

/// True for requests that change the admission configuration itself. No webhook or policy of the API ever
/// sees them, because a configuration that rejects its own changes could not be repaired.
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
