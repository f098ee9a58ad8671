//! extensions/v1beta1: the original group of workloads and network kinds. No longer served, but old clusters
//! may have stored such objects.

use super::fill::{if_nil, if_zero, is_nil, text, within};
use super::object::Object;
use super::{Rule, apps, networking, pod_spec};

const ROLLING_UPDATE: &str = "RollingUpdate";

pub(super) fn rule(version: &str, kind: &str) -> Option<Rule> {
    Some(match (version, kind) {
        ("v1beta1", "DaemonSet") => daemon_set,
        ("v1beta1", "Deployment") => deployment,
        ("v1beta1", "Ingress") => networking::ingress_v1beta1,
        ("v1beta1", "NetworkPolicy") => |policy| within(policy, "spec", networking::policy_types),
        ("v1beta1", "ReplicaSet") => replica_set,
        _ => return None,
    })
}

fn daemon_set(set: &mut Object) {
    within(set, "spec", |spec| {
        within(spec, "updateStrategy", |strategy| if_zero(strategy, "type", "OnDelete"));
    });
    apps::selector_from_template(set);
    apps::daemon_set(set);
}

fn deployment(deployment: &mut Object) {
    apps::selector_from_template(deployment);
    within(deployment, "spec", |spec| {
        if_nil(spec, "replicas", 1);
        within(spec, "strategy", |strategy| {
            if_zero(strategy, "type", ROLLING_UPDATE);
            if text(strategy, "type") == ROLLING_UPDATE || !is_nil(strategy, "rollingUpdate") {
                within(strategy, "rollingUpdate", |update| {
                    if_nil(update, "maxUnavailable", 1);
                    if_nil(update, "maxSurge", 1);
                });
            }
        });
        // The largest number means no limit.
        if_nil(spec, "progressDeadlineSeconds", i32::MAX);
        if_nil(spec, "revisionHistoryLimit", i32::MAX);
        within(spec, "template", pod_spec::template);
    });
}

fn replica_set(set: &mut Object) {
    apps::selector_from_template(set);
    apps::replica_set(set);
}
