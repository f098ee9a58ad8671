//! Dynamic admission control: what webhooks and policies have in common. Which requests they match, in which version
//! they see objects, and how they are told of a request.

mod matching;
mod request;
mod rules;
#[cfg(test)]
mod tests;
mod versions;

pub use matching::{Criteria, NamespaceOf};
pub use request::admission_request;
pub use rules::{Place, Rule};
pub use versions::{Invocation, Versioned, Versions};

use crate::Attributes;

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
