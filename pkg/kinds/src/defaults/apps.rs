//! apps: the workloads. Selectors are required since apps/v1beta2. In older versions, which old clusters may
//! have stored, they are filled in.

use super::core::{TEMPLATE_LABELS, labels_from_template, persistent_volume_claim};
use super::fill::{each, if_nil, if_zero, is_nil, is_zero, text, within};
use super::object::Object;
use super::{Rule, pod_spec};
use component_base::features::Gate;
use jsontree::json;

const ROLLING_UPDATE: &str = "RollingUpdate";

pub(super) fn rule(version: &str, kind: &str) -> Option<Rule> {
    Some(match (version, kind) {
        ("v1" | "v1beta2", "Deployment") => deployment,
        ("v1" | "v1beta2", "DaemonSet") => daemon_set,
        ("v1" | "v1beta2", "StatefulSet") => stateful_set,
        ("v1" | "v1beta2", "ReplicaSet") => replica_set,
        ("v1beta1", "Deployment") => deployment_v1beta1,
        ("v1beta1", "StatefulSet") => stateful_set_v1beta1,
        _ => return None,
    })
}

/// Derives an absent pod selector and absent labels from the pod template.
pub(super) fn selector_from_template(object: &mut Object) {
    if object.is_nil_at(&["spec", "selector"]) {
        object.copy(TEMPLATE_LABELS, &["spec", "selector", "matchLabels"]);
    }
    labels_from_template(object);
}

fn deployment(deployment: &mut Object) {
    deployment_with_history(deployment, 10);
}

fn deployment_v1beta1(deployment: &mut Object) {
    selector_from_template(deployment);
    deployment_with_history(deployment, 2);
}

/// Sets the defaults of a Deployment that keeps `revisions` old revisions.
fn deployment_with_history(deployment: &mut Object, revisions: i64) {
    within(deployment, "spec", |spec| {
        if_nil(spec, "replicas", 1);
        within(spec, "strategy", |strategy| {
            rolling_update(strategy, |update| {
                if_nil(update, "maxUnavailable", "25%");
                if_nil(update, "maxSurge", "25%");
            })
        });
        if_nil(spec, "revisionHistoryLimit", revisions);
        if_nil(spec, "progressDeadlineSeconds", 600);
        within(spec, "template", pod_spec::template);
    });
}

pub(super) fn daemon_set(set: &mut Object) {
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

/// Sets the update strategy to a rolling update if it is absent. `steps` then sets the details of a rolling
/// update.
fn rolling_update(strategy: &mut Object, steps: impl FnOnce(&mut Object)) {
    if_zero(strategy, "type", ROLLING_UPDATE);
    if text(strategy, "type") == ROLLING_UPDATE {
        within(strategy, "rollingUpdate", steps);
    }
}

/// Before apps/v1beta2, pods were replaced only after a user deleted them.
fn stateful_set_v1beta1(set: &mut Object) {
    within(set, "spec", |spec| {
        within(spec, "updateStrategy", |strategy| if_zero(strategy, "type", "OnDelete"));
    });
    selector_from_template(set);
    stateful_set(set);
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

/// Sets the partition if the strategy is absent or has a `rollingUpdate`. A bare `type: RollingUpdate` is
/// unchanged.
fn stateful_set_strategy(strategy: &mut Object) {
    if is_zero(strategy, "type") {
        if_zero(strategy, "type", ROLLING_UPDATE);
        if_nil(strategy, "rollingUpdate", json!({}));
    }
    if text(strategy, "type") == ROLLING_UPDATE && !is_nil(strategy, "rollingUpdate") {
        within(strategy, "rollingUpdate", |update| {
            if_nil(update, "partition", 0);
            if update.enabled(Gate::MaxUnavailableStatefulSet) {
                if_nil(update, "maxUnavailable", 1);
            }
        });
    }
}

pub(super) fn replica_set(set: &mut Object) {
    within(set, "spec", |spec| {
        if_nil(spec, "replicas", 1);
        within(spec, "template", pod_spec::template);
    });
}
