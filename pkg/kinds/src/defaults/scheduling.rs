//! scheduling.k8s.io: priorities and pod groups.

use super::Rule;
use super::fill::{if_nil, within};

pub(super) fn rule(version: &str, kind: &str) -> Option<Rule> {
    Some(match (version, kind) {
        ("v1" | "v1beta1", "PriorityClass") => {
            |class| if_nil(class, "preemptionPolicy", "PreemptLowerPriority")
        }
        ("v1alpha2", "PodGroup") => {
            |group| within(group, "spec", |spec| if_nil(spec, "disruptionMode", "Pod"))
        }
        _ => return None,
    })
}
