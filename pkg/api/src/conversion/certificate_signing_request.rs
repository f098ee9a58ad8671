//! CertificateSigningRequests: `certificates.k8s.io/v1`, and `v1beta1`, where the signer is optional.

use super::kind::{Conversion, NONE, Spoke};
use schema::object::Object;

pub(super) static CONVERSION: Conversion =
    Conversion { spokes: &[Spoke::of("certificates.k8s.io/v1beta1", to_hub, from_hub)], ..NONE };

/// An absent signer becomes an empty one. Stored objects always have a signer, because it is defaulted.
fn to_hub(_: &mut Object) {}

fn from_hub(request: &mut Object) {
    super::fill(request, &["spec", "signerName"], "");
}
