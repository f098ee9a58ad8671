//! CertificateSigningRequests: `certificates.k8s.io/v1`, and `v1beta1`, where the signer is optional.

use schema::object::Object;

/// An absent signer becomes an empty one. Stored objects always have a signer, because it is defaulted.
pub(super) fn to_hub(_: &mut Object) {}

pub(super) fn from_hub(request: &mut Object) {
    super::fill(request, &["spec", "signerName"], "");
}
