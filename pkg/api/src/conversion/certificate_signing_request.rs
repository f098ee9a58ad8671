//! CertificateSigningRequests: `certificates.k8s.io/v1`, and `v1beta1`, which need not name a signer.

use schema::object::Object;

/// No signer becomes the empty one. (Objects that were ever stored name one: it is defaulted.)
pub(super) fn to_hub(_: &mut Object) {}

pub(super) fn from_hub(request: &mut Object) {
    super::fill(request, &["spec", "signerName"], "");
}
