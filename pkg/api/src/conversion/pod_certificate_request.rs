//! PodCertificateRequests: `certificates.k8s.io/v1beta1`, and `v1`, which has neither `pkixPublicKey` nor
//! `proofOfPossession`.

use super::kind::{Conversion, NONE, Spoke};
use crate::tree::child_mut;
use schema::object::Object;

pub(super) static CONVERSION: Conversion =
    Conversion { spokes: &[Spoke::of("certificates.k8s.io/v1", to_hub, from_hub)], ..NONE };

fn to_hub(_: &mut Object) {}

fn from_hub(request: &mut Object) {
    if let Some(spec) = child_mut(request, "spec") {
        spec.remove("pkixPublicKey");
        spec.remove("proofOfPossession");
    }
}
