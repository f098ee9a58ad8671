//! The kind `CertificateSigningRequest`.

use crate::kind::{Kind, Validation};
use crate::strategy::signing_request;
use crate::validation::kinds::certificate;
use api::name_rule::NameRule;

pub(crate) static CERTIFICATE_SIGNING_REQUEST: Kind = Kind {
    names: NameRule::Any,
    validation: Validation::Objects(certificate::RULES),
    strategy: &signing_request::SigningRequests,
    resets: &[("status", &[".spec"])],
    ..Kind::PLAIN
};
