//! Defaults of persistent volume claims.

use crate::defaults::fill::{default_struct, if_zero};
use crate::defaults::object::Object;
use crate::defaults::resource_list::round;
use crate::defaults::volumes;

/// Sets the defaults of a persistent volume claim, also as a template of a stateful set.
pub(crate) fn persistent_volume_claim(claim: &mut Object) {
    default_struct(claim, "spec", volumes::claim_spec);
    default_struct(claim, "status", |status| {
        if_zero(status, "phase", "Pending");
        round(status, "capacity");
        round(status, "allocatedResources");
    });
}
