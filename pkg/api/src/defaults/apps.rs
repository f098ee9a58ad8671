//! apps: the workloads. Selectors are not filled in; they must be given since apps/v1beta2.

use super::core::persistent_volume_claim;
use super::fill::{each, if_nil, if_zero, is_nil, is_zero, within};
use super::{Rule, pod_spec};
use crate::tree::text;
use schema::object::Object;

const ROLLING_UPDATE: &str = "RollingUpdate";

pub(super) fn rule(version: &str, kind: &str) -> Option<Rule> {
    Some(match (version, kind) {
        ("v1" | "v1beta2", "Deployment") => deployment,
        ("v1" | "v1beta2", "DaemonSet") => daemon_set,
        ("v1" | "v1beta2", "StatefulSet") => stateful_set,
        ("v1" | "v1beta2", "ReplicaSet") => replica_set,
        _ => return None,
    })
}

fn deployment(deployment: &mut Object) {
    within(deployment, "spec", |spec| {
        if_nil(spec, "replicas", 1);
        within(spec, "strategy", |strategy| {
            rolling_update(strategy, |update| {
                if_nil(update, "maxUnavailable", "25%");
                if_nil(update, "maxSurge", "25%");
            })
        });
        if_nil(spec, "revisionHistoryLimit", 10);
        if_nil(spec, "progressDeadlineSeconds", 600);
        within(spec, "template", pod_spec::template);
    });
}

fn daemon_set(set: &mut Object) {
    within(set, "spec", |spec| {
        within(spec, "updateStrategy", |strategy| {
            rolling_update(strategy, |update| {
                if_nil(update, "maxUnavailable", 1);
                if_nil(update, "maxSurge", 0);
            })
        });
        if_nil(spec, "revisionHistoryLimit", 10);
        within(spec, "template", pod_spec::template);
    });
}

/// Updates roll unless the strategy says otherwise, and then by the steps that `steps` fills in.
fn rolling_update(strategy: &mut Object, steps: impl FnOnce(&mut Object)) {
    if_zero(strategy, "type", ROLLING_UPDATE);
    if text(strategy, "type") == ROLLING_UPDATE {
        within(strategy, "rollingUpdate", steps);
    }
}

fn stateful_set(set: &mut Object) {
    within(set, "spec", |spec| {
        if_zero(spec, "podManagementPolicy", "OrderedReady");
        within(spec, "updateStrategy", stateful_set_strategy);
        within(spec, "persistentVolumeClaimRetentionPolicy", |policy| {
            if_zero(policy, "whenDeleted", "Retain");
            if_zero(policy, "whenScaled", "Retain");
        });
        if_nil(spec, "replicas", 1);
        if_nil(spec, "revisionHistoryLimit", 10);
        within(spec, "template", pod_spec::template);
        each(spec, "volumeClaimTemplates", persistent_volume_claim);
    });
}

/// The partition is filled in if the strategy is left to the server, or has a `rollingUpdate`; a bare
/// `type: RollingUpdate` stays bare.
fn stateful_set_strategy(strategy: &mut Object) {
    if is_zero(strategy, "type") {
        if_zero(strategy, "type", ROLLING_UPDATE);
        if_nil(strategy, "rollingUpdate", Object::new());
    }
    if text(strategy, "type") == ROLLING_UPDATE && !is_nil(strategy, "rollingUpdate") {
        within(strategy, "rollingUpdate", |update| if_nil(update, "partition", 0));
    }
}

fn replica_set(set: &mut Object) {
    within(set, "spec", |spec| {
        if_nil(spec, "replicas", 1);
        within(spec, "template", pod_spec::template);
    });
}
