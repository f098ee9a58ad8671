//! Warnings about endpoint slices.

use crate::warnings::addresses::{addresses, managed_by};
use crate::warnings::collector::Warnings;
use api::tree::{children, text};
use apimachinery::field::Path;
use schema::object::Object;

const SLICE_MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";

pub(super) fn new_endpoint_slice(slice: &Object, out: &mut Warnings) {
    address_type(slice, out);
    endpoint_slice(slice, out);
}

/// Warns about the addresses of an `EndpointSlice`.
pub(super) fn endpoint_slice(slice: &Object, out: &mut Warnings) {
    if matches!(
        managed_by(slice, SLICE_MANAGED_BY),
        Some("endpointslice-controller.k8s.io" | "endpointslicemirroring-controller.k8s.io")
    ) {
        return;
    }
    let path = Path::root("endpoints");
    for (index, endpoint) in children(slice, "endpoints").enumerate() {
        addresses(&path.index(index).child("addresses"), endpoint, "addresses", out);
    }
}

/// Warns about the address type of an `EndpointSlice`. The path is upstream's.
pub(crate) fn address_type(slice: &Object, out: &mut Warnings) {
    if text(slice, "addressType") == "FQDN" {
        out.add(format_args!("spec.addressType: FQDN endpoints are deprecated"));
    }
}
