//! Changes to pod groups before a write.

use crate::strategy::hooks::{Context, Strategy};
use component_base::features::Gate;
use schema::object::{self, Object};

/// The claim statuses of a pod group without claims are dropped while `DRAWorkloadResourceClaims` is disabled
/// (upstream's `registry/scheduling/podgroup/strategy.go`).
pub(crate) struct PodGroups;

impl Strategy for PodGroups {
    fn prepare_for_update(&self, subresource: &str, new: &mut Object, old: &Object, context: &Context<'_>) {
        let closed = !context.gates().enabled(Gate::DRAWorkloadResourceClaims);
        let without = || object::get_list(old, &["spec", "resourceClaims"]).is_empty();
        if closed && subresource == "status" && without() {
            object::remove(new, &["status", "resourceClaimStatuses"]);
        }
    }
}
