//! Defaults of priority level configurations.

use crate::defaults::fill::{if_nil, if_present, if_zero};
use crate::defaults::object::Object;

/// Default concurrency shares of a limited priority level.
const SHARES: i64 = 30;

/// Annotation of v1beta3, where shares are not a pointer, that marks an intended zero.
const PRESERVE_ZERO_SHARES: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

pub(super) fn priority_level(level: &mut Object) {
    limited(level, |limited| if_nil(limited, "nominalConcurrencyShares", SHARES));
    any_version(level);
}

pub(super) fn priority_level_v1beta3(level: &mut Object) {
    if level.is_nil_at(&["metadata", "annotations", PRESERVE_ZERO_SHARES]) {
        limited(level, |limited| if_zero(limited, "nominalConcurrencyShares", SHARES));
    }
    any_version(level);
}

pub(super) fn priority_level_v1beta2(level: &mut Object) {
    limited(level, |limited| if_zero(limited, "assuredConcurrencyShares", SHARES));
    any_version(level);
}

fn limited(level: &mut Object, rule: impl FnOnce(&mut Object)) {
    if_present(level, "spec", |spec| if_present(spec, "limited", rule));
}

fn any_version(level: &mut Object) {
    limited(level, |limited| {
        if_nil(limited, "lendablePercent", 0);
        if_present(limited, "limitResponse", |response| if_present(response, "queuing", queuing));
    });
    if_present(level, "spec", |spec| {
        if_present(spec, "exempt", |exempt| {
            if_nil(exempt, "nominalConcurrencyShares", 0);
            if_nil(exempt, "lendablePercent", 0);
        });
    });
}

fn queuing(queuing: &mut Object) {
    if_zero(queuing, "handSize", 8);
    if_zero(queuing, "queues", 64);
    if_zero(queuing, "queueLengthLimit", 50);
}
