//! Defaults of persistent volume claims.

use crate::defaults::fill::{if_zero, within};
use crate::defaults::object::Object;
use crate::defaults::resource_list::round;
use crate::defaults::volumes;

/// Sets the defaults of a persistent volume claim, also as a template of a stateful set.
pub(crate) fn persistent_volume_claim(claim: &mut Object) {
    within(claim, "spec", volumes::claim_spec);
    within(claim, "status", |status| {
        if_zero(status, "phase", "Pending");
        round(status, "capacity");
        round(status, "allocatedResources");
    });
}
