//! The kind `PodCertificateRequest`.

use crate::kind::{Kind, Validation};
use crate::validation::kinds::pod_certificate;

pub(crate) static POD_CERTIFICATE_REQUEST: Kind = Kind {
    validation: Validation::Settings(pod_certificate::RULES),
    resets: &[("", &[".status"]), ("status", &[".metadata", ".spec"])],
    ..Kind::PLAIN
};
