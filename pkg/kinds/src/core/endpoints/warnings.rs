//! Warnings about endpoints.

use crate::warnings::addresses::{addresses_of, managed_by};
use crate::warnings::collector::Warnings;
use api::tree::children;
use apimachinery::field::Path;
use schema::object::Object;

/// Label with the controller of an object; controllers write addresses in canonical form.
const ENDPOINTS_MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";

pub(super) fn endpoints(endpoints: &Object, out: &mut Warnings) {
    if managed_by(endpoints, ENDPOINTS_MANAGED_BY) == Some("endpoint-controller") {
        return;
    }
    let path = Path::root("subsets");
    for (index, subset) in children(endpoints, "subsets").enumerate() {
        let path = path.index(index);
        for member in ["addresses", "notReadyAddresses"] {
            addresses_of(&path.child(member), subset, member, out);
        }
    }
}
