//! Defaults of persistent volume claims.

use crate::defaults::fill::{default_struct, if_zero};
use crate::defaults::object::Object;
use crate::defaults::resource_list::round;
use crate::defaults::volumes;

use super::strategy::complete_data_sources;

/// Sets the defaults of a persistent volume claim, also as a template of a stateful set.
pub(crate) fn persistent_volume_claim(claim: &mut Object) {
    default_struct(claim, "spec", volumes::claim_spec);
    default_struct(claim, "status", |status| {
        if_zero(status, "phase", "Pending");
        round(status, "capacity");
        round(status, "allocatedResources");
    });
}

/// Fills in the missing one of the two fields for the source of the content. Objects of releases before
/// `dataSourceRef` have only `dataSource`.
pub(crate) fn stored_data_sources(claim: &mut Object) {
    claim.inside("spec", false, |spec| {
        if spec.is_absent("dataSource") != spec.is_absent("dataSourceRef") {
            spec.decoded(complete_data_sources);
        }
    });
}
