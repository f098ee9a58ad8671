//! The kinds of the API group `certificates`.

pub(crate) mod certificate_signing_request;
pub(crate) mod cluster_trust_bundle;
pub(crate) mod pod_certificate_request;
