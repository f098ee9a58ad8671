//! Defaults of stateful sets.

use crate::core::persistent_volume_claim::defaults::persistent_volume_claim;
use crate::defaults::fill::{default_struct, each, if_nil, if_zero, is_nil, is_zero, text};
use crate::defaults::object::Object;
use crate::defaults::pod_spec;
use crate::defaults::workload::{ROLLING_UPDATE, selector_from_template};
use component_base::features::Gate;
use jsontree::json;

pub(super) fn stateful_set(set: &mut Object) {
    default_struct(set, "spec", |spec| {
        if_zero(spec, "podManagementPolicy", "OrderedReady");
        default_struct(spec, "updateStrategy", stateful_set_strategy);
        default_struct(spec, "persistentVolumeClaimRetentionPolicy", |policy| {
            if_zero(policy, "whenDeleted", "Retain");
            if_zero(policy, "whenScaled", "Retain");
        });
        if_nil(spec, "replicas", 1);
        if_nil(spec, "revisionHistoryLimit", 10);
        default_struct(spec, "template", pod_spec::template);
        each(spec, "volumeClaimTemplates", persistent_volume_claim);
    });
}

/// Before apps/v1beta2, pods were replaced only after a user deleted them.
pub(super) fn stateful_set_v1beta1(set: &mut Object) {
    default_struct(set, "spec", |spec| {
        default_struct(spec, "updateStrategy", |strategy| if_zero(strategy, "type", "OnDelete"));
    });
    selector_from_template(set);
    stateful_set(set);
}

/// Sets the partition if the strategy is absent or has a `rollingUpdate`. A bare `type: RollingUpdate` is
/// unchanged.
fn stateful_set_strategy(strategy: &mut Object) {
    if is_zero(strategy, "type") {
        if_zero(strategy, "type", ROLLING_UPDATE);
        if_nil(strategy, "rollingUpdate", json!({}));
    }
    if text(strategy, "type") == ROLLING_UPDATE && !is_nil(strategy, "rollingUpdate") {
        default_struct(strategy, "rollingUpdate", |update| {
            if_nil(update, "partition", 0);
            if update.enabled(Gate::MaxUnavailableStatefulSet) {
                if_nil(update, "maxUnavailable", 1);
            }
        });
    }
}
