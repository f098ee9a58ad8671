//! Defaults of deployments.

use crate::defaults::fill::{default_struct, if_nil, if_zero, is_nil, text};
use crate::defaults::object::Object;
use crate::defaults::pod_spec;
use crate::defaults::workload::{ROLLING_UPDATE, rolling_update, selector_from_template};

pub(super) fn deployment(deployment: &mut Object) {
    deployment_with_history(deployment, 10);
}

pub(super) fn deployment_v1beta1(deployment: &mut Object) {
    selector_from_template(deployment);
    deployment_with_history(deployment, 2);
}

/// Sets the defaults of a Deployment that keeps `revisions` old revisions.
fn deployment_with_history(deployment: &mut Object, revisions: i64) {
    default_struct(deployment, "spec", |spec| {
        if_nil(spec, "replicas", 1);
        default_struct(spec, "strategy", |strategy| {
            rolling_update(strategy, |update| {
                if_nil(update, "maxUnavailable", "25%");
                if_nil(update, "maxSurge", "25%");
            })
        });
        if_nil(spec, "revisionHistoryLimit", revisions);
        if_nil(spec, "progressDeadlineSeconds", 600);
        default_struct(spec, "template", pod_spec::template);
    });
}

pub(super) fn deployment_of_extensions(deployment: &mut Object) {
    selector_from_template(deployment);
    default_struct(deployment, "spec", |spec| {
        if_nil(spec, "replicas", 1);
        default_struct(spec, "strategy", |strategy| {
            if_zero(strategy, "type", ROLLING_UPDATE);
            if text(strategy, "type") == ROLLING_UPDATE || !is_nil(strategy, "rollingUpdate") {
                default_struct(strategy, "rollingUpdate", |update| {
                    if_nil(update, "maxUnavailable", 1);
                    if_nil(update, "maxSurge", 1);
                });
            }
        });
        // The largest number means no limit.
        if_nil(spec, "progressDeadlineSeconds", i32::MAX);
        if_nil(spec, "revisionHistoryLimit", i32::MAX);
        default_struct(spec, "template", pod_spec::template);
    });
}
