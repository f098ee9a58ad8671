//! Warnings about service accounts.

use crate::warnings::collector::Warnings;
use crate::warnings::common::annotation;
use schema::object::Object;

const MOUNTABLE_SECRETS: &str = "kubernetes.io/enforce-mountable-secrets";

/// Warns about a `ServiceAccount` with a deprecated annotation that the old one, if present, lacks.
pub(super) fn service_account(account: &Object, old: Option<&Object>, out: &mut Warnings) {
    let was_annotated = old.is_some_and(|old| annotation(old, MOUNTABLE_SECRETS).is_some());
    if !was_annotated && annotation(account, MOUNTABLE_SECRETS).is_some() {
        out.add(format_args!(
            "metadata.annotations[{MOUNTABLE_SECRETS}]: deprecated in v1.32+; prefer separate namespaces to \
             isolate access to mounted secrets"
        ));
    }
}
