//! Fields behind feature gates that v1.36 leaves off by default: an object keeps such a field only if
//! it already had it, so that switching a gate off destroys nothing (upstream's `dropDisabledFields`
//! functions). Which field belongs to which gate is data. Nodes' `configSource` and `config` have no gate
//! any more, but go the same way.

use api::resources::Resource;
use schema::object::Object;
use serde_json::Value;

/// A step into every item of a list, or every value of a map.
const EACH: &str = "*";

/// Fields that come and go together: if the old object has any of them, the new one may have all.
struct Gate {
    fields: &'static [&'static [&'static str]],
    /// A parent that loses its last member goes too.
    with_empty_parent: bool,
}

/// Gates below one place of an object. [`EACH`] in the path of the place pairs the items of the new
/// and the old object by their positions.
struct Place {
    at: &'static [&'static str],
    gates: &'static [Gate],
}

const fn gate(fields: &'static [&'static [&'static str]]) -> Gate {
    Gate { fields, with_empty_parent: false }
}

/// What a pod's spec may not have.
const POD_SPEC: &[Gate] = &[
    // ContainerStopSignals
    Gate {
        fields: &[
            &["containers", EACH, "lifecycle", "stopSignal"],
            &["initContainers", EACH, "lifecycle", "stopSignal"],
            &["ephemeralContainers", EACH, "lifecycle", "stopSignal"],
        ],
        with_empty_parent: true,
    },
    // ClusterTrustBundleProjection
    gate(&[&["volumes", EACH, "projected", "sources", EACH, "clusterTrustBundle"]]),
    // PodCertificateRequest
    gate(&[&["volumes", EACH, "projected", "sources", EACH, "podCertificate"]]),
    // GenericWorkload
    gate(&[&["schedulingGroup"]]),
];

const POD_STATUS: &[Gate] = &[
    // ImageVolumeWithDigest
    gate(&[
        &["containerStatuses", EACH, "volumeMounts", EACH, "volumeStatus"],
        &["initContainerStatuses", EACH, "volumeMounts", EACH, "volumeStatus"],
        &["ephemeralContainerStatuses", EACH, "volumeMounts", EACH, "volumeStatus"],
    ]),
    // DRANodeAllocatableResources
    gate(&[&["nodeAllocatableResourceClaimStatuses"]]),
];

const POD: &[Place] =
    &[Place { at: &["spec"], gates: POD_SPEC }, Place { at: &["status"], gates: POD_STATUS }];

const TEMPLATE: Place = Place { at: &["spec", "template", "spec"], gates: POD_SPEC };

const STATEFUL_SET: &[Place] = &[
    TEMPLATE,
    Place {
        at: &["spec", "updateStrategy", "rollingUpdate"],
        // MaxUnavailableStatefulSet
        gates: &[gate(&[&["maxUnavailable"]])],
    },
];

const CRON_JOB: &[Place] =
    &[Place { at: &["spec", "jobTemplate", "spec", "template", "spec"], gates: POD_SPEC }];

const POD_TEMPLATE: &[Place] = &[Place { at: &["template", "spec"], gates: POD_SPEC }];

const NODE: &[Place] = &[
    Place { at: &["spec"], gates: &[gate(&[&["configSource"]])] },
    Place { at: &["status"], gates: &[gate(&[&["config"]])] },
];

const LEASE: &[Place] = &[Place {
    at: &["spec"],
    // CoordinatedLeaderElection
    gates: &[gate(&[&["strategy"]]), gate(&[&["preferredHolder"]])],
}];

const CSI_DRIVER: &[Place] = &[Place {
    at: &["spec"],
    // VolumeLimitScaling
    gates: &[gate(&[&["preventPodSchedulingIfMissing"]])],
}];

const RESOURCE_SLICE: &[Place] = &[Place {
    at: &["spec"],
    gates: &[
        // DRANodeAllocatableResources
        gate(&[&["devices", EACH, "nodeAllocatableResourceMappings"]]),
        // DRAListTypeAttributes
        gate(&[
            &["devices", EACH, "attributes", EACH, "bools"],
            &["devices", EACH, "attributes", EACH, "ints"],
            &["devices", EACH, "attributes", EACH, "strings"],
            &["devices", EACH, "attributes", EACH, "versions"],
        ]),
    ],
}];

/// Of pod groups, and of the templates that workloads have for them.
const POD_GROUP_SPEC: &[Gate] = &[
    // TopologyAwareWorkloadScheduling
    gate(&[&["schedulingConstraints"]]),
    // DRAWorkloadResourceClaims
    gate(&[&["resourceClaims"]]),
    // WorkloadAwarePreemption
    gate(&[&["disruptionMode"]]),
    gate(&[&["priorityClassName"]]),
    gate(&[&["priority"]]),
];

const POD_GROUP: &[Place] = &[Place { at: &["spec"], gates: POD_GROUP_SPEC }];

const WORKLOAD: &[Place] = &[Place { at: &["spec", "podGroupTemplates", EACH], gates: POD_GROUP_SPEC }];

fn places(row: &Resource) -> &'static [Place] {
    match (row.group, row.plural) {
        ("", "pods") => POD,
        ("", "podtemplates") => POD_TEMPLATE,
        ("", "replicationcontrollers")
        | ("apps", "daemonsets" | "deployments" | "replicasets")
        | ("batch", "jobs") => &[TEMPLATE],
        ("apps", "statefulsets") => STATEFUL_SET,
        ("batch", "cronjobs") => CRON_JOB,
        ("", "nodes") => NODE,
        ("coordination.k8s.io", "leases") => LEASE,
        ("storage.k8s.io", "csidrivers") => CSI_DRIVER,
        ("resource.k8s.io", "resourceslices") => RESOURCE_SLICE,
        ("scheduling.k8s.io", "podgroups") => POD_GROUP,
        ("scheduling.k8s.io", "workloads") => WORKLOAD,
        _ => &[],
    }
}

/// Takes from `new` the gated fields that `old` does not use; on create there is no old object.
pub(super) fn drop_unused(row: &Resource, new: &mut Object, old: Option<&Object>) {
    for place in places(row) {
        let Some((first, rest)) = place.at.split_first() else { continue };
        if let Some(new) = new.get_mut(*first) {
            drop_below(new, old.and_then(|old| old.get(*first)), rest, place.gates);
        }
    }
}

fn drop_below(new: &mut Value, old: Option<&Value>, at: &[&str], gates: &[Gate]) {
    match at.split_first() {
        None => {
            let unused =
                |gate: &&Gate| !old.is_some_and(|old| gate.fields.iter().any(|field| has(old, field)));
            for gate in gates.iter().filter(unused) {
                for field in gate.fields {
                    take(new, field, gate.with_empty_parent);
                }
            }
        }
        Some((&EACH, rest)) => {
            for (position, item) in new.as_array_mut().into_iter().flatten().enumerate() {
                drop_below(item, old.and_then(|old| old.get(position)), rest, gates);
            }
        }
        Some((name, rest)) => {
            if let Some(new) = new.get_mut(*name) {
                drop_below(new, old.and_then(|old| old.get(*name)), rest, gates);
            }
        }
    }
}

/// Whether anything is at the path.
fn has(value: &Value, path: &[&str]) -> bool {
    match (path.split_first(), value) {
        (None, Value::Null) => false,
        (None, Value::Array(items)) => !items.is_empty(),
        (None, Value::String(text)) => !text.is_empty(),
        (None, _) => true,
        (Some((&EACH, rest)), Value::Array(items)) => items.iter().any(|item| has(item, rest)),
        (Some((&EACH, rest)), Value::Object(map)) => map.values().any(|item| has(item, rest)),
        (Some((name, rest)), Value::Object(map)) => map.get(*name).is_some_and(|member| has(member, rest)),
        _ => false,
    }
}

/// Takes out what is at the path; answers whether `value` lost a member of its own.
fn take(value: &mut Value, path: &[&str], with_empty_parent: bool) -> bool {
    match (path, value) {
        ([EACH, rest @ ..], Value::Array(items)) => {
            items.iter_mut().for_each(|item| {
                take(item, rest, with_empty_parent);
            });
            false
        }
        ([EACH, rest @ ..], Value::Object(map)) => {
            map.values_mut().for_each(|item| {
                take(item, rest, with_empty_parent);
            });
            false
        }
        ([name], Value::Object(map)) => map.remove(*name).is_some(),
        ([name, rest @ ..], Value::Object(map)) => {
            let Some(member) = map.get_mut(*name) else { return false };
            let shrank = take(member, rest, with_empty_parent);
            let empty = member.as_object().is_some_and(Object::is_empty);
            shrank && with_empty_parent && empty && map.remove(*name).is_some()
        }
        _ => false,
    }
}
