//! The API groups: their versions, and their order in discovery.

use super::*;

#[derive(Debug)]
pub struct Group {
    /// Empty for the core group.
    pub name: &'static str,
    /// `groupPriorityMinimum` of the group's APIService objects. `None` for `apiregistration.k8s.io`, which
    /// has no APIService and precedes all named groups.
    pub priority: Option<u32>,
    /// Versions in order of preference.
    pub versions: &'static [GroupVersion],
    /// The rows of all versions, sorted by version, plural and subresource.
    pub resources: &'static [Resource<'static>],
}

#[derive(Debug)]
pub struct GroupVersion {
    /// `v1` or `apps/v1`.
    pub group_version: &'static str,
    /// `v1`.
    pub version: &'static str,
    /// `versionPriority` of the APIService object.
    pub priority: u32,
    /// Served unless `--runtime-config` disables it.
    pub on_by_default: bool,
}

impl Group {
    /// The rows of one version, sorted by plural and subresource.
    pub fn resources_of(&self, version: &str) -> &'static [Resource<'static>] {
        let from = self.resources.partition_point(|r| r.version < version);
        let to = self.resources.partition_point(|r| r.version <= version);
        self.resources.get(from..to).unwrap_or_default()
    }
}

const fn version(
    group_version: &'static str,
    version: &'static str,
    priority: u32,
    on_by_default: bool,
) -> GroupVersion {
    GroupVersion { group_version, version, priority, on_by_default }
}

pub(super) static GROUPS: &[Group] = &[
    Group {
        name: "",
        priority: Some(18000),
        versions: &[version("v1", "v1", 1, true)],
        resources: core::ROWS,
    },
    Group {
        name: "apiregistration.k8s.io",
        priority: None,
        versions: &[version("apiregistration.k8s.io/v1", "v1", 0, true)],
        resources: apiregistration::ROWS,
    },
    Group {
        name: "apps",
        priority: Some(17800),
        versions: &[version("apps/v1", "v1", 15, true)],
        resources: apps::ROWS,
    },
    Group {
        name: "events.k8s.io",
        priority: Some(17750),
        versions: &[version("events.k8s.io/v1", "v1", 15, true)],
        resources: events::ROWS,
    },
    Group {
        name: "authentication.k8s.io",
        priority: Some(17700),
        versions: &[version("authentication.k8s.io/v1", "v1", 15, true)],
        resources: authentication::ROWS,
    },
    Group {
        name: "authorization.k8s.io",
        priority: Some(17600),
        versions: &[version("authorization.k8s.io/v1", "v1", 15, true)],
        resources: authorization::ROWS,
    },
    Group {
        name: "autoscaling",
        priority: Some(17500),
        versions: &[version("autoscaling/v2", "v2", 30, true), version("autoscaling/v1", "v1", 15, true)],
        resources: autoscaling::ROWS,
    },
    Group {
        name: "batch",
        priority: Some(17400),
        versions: &[version("batch/v1", "v1", 15, true)],
        resources: batch::ROWS,
    },
    Group {
        name: "certificates.k8s.io",
        priority: Some(17300),
        versions: &[
            version("certificates.k8s.io/v1", "v1", 15, true),
            version("certificates.k8s.io/v1beta1", "v1beta1", 9, false),
            version("certificates.k8s.io/v1alpha1", "v1alpha1", 1, false),
        ],
        resources: certificates::ROWS,
    },
    Group {
        name: "networking.k8s.io",
        priority: Some(17200),
        versions: &[
            version("networking.k8s.io/v1", "v1", 15, true),
            version("networking.k8s.io/v1beta1", "v1beta1", 9, false),
        ],
        resources: networking::ROWS,
    },
    Group {
        name: "policy",
        priority: Some(17100),
        versions: &[version("policy/v1", "v1", 15, true)],
        resources: policy::ROWS,
    },
    Group {
        name: "rbac.authorization.k8s.io",
        priority: Some(17000),
        versions: &[version("rbac.authorization.k8s.io/v1", "v1", 15, true)],
        resources: rbac::ROWS,
    },
    Group {
        name: "storage.k8s.io",
        priority: Some(16800),
        versions: &[
            version("storage.k8s.io/v1", "v1", 15, true),
            version("storage.k8s.io/v1beta1", "v1beta1", 9, false),
        ],
        resources: storage::ROWS,
    },
    Group {
        name: "admissionregistration.k8s.io",
        priority: Some(16700),
        versions: &[
            version("admissionregistration.k8s.io/v1", "v1", 15, true),
            version("admissionregistration.k8s.io/v1beta1", "v1beta1", 12, false),
            version("admissionregistration.k8s.io/v1alpha1", "v1alpha1", 9, false),
        ],
        resources: admissionregistration::ROWS,
    },
    Group {
        name: "apiextensions.k8s.io",
        priority: Some(16700),
        versions: &[version("apiextensions.k8s.io/v1", "v1", 15, true)],
        resources: apiextensions::ROWS,
    },
    Group {
        name: "scheduling.k8s.io",
        priority: Some(16600),
        versions: &[
            version("scheduling.k8s.io/v1", "v1", 15, true),
            version("scheduling.k8s.io/v1beta1", "v1beta1", 9, false),
            version("scheduling.k8s.io/v1alpha3", "v1alpha3", 3, false),
        ],
        resources: scheduling::ROWS,
    },
    Group {
        name: "coordination.k8s.io",
        priority: Some(16500),
        versions: &[
            version("coordination.k8s.io/v1", "v1", 15, true),
            version("coordination.k8s.io/v1beta1", "v1beta1", 13, false),
            version("coordination.k8s.io/v1alpha2", "v1alpha2", 12, false),
        ],
        resources: coordination::ROWS,
    },
    Group {
        name: "node.k8s.io",
        priority: Some(16300),
        versions: &[version("node.k8s.io/v1", "v1", 15, true)],
        resources: node::ROWS,
    },
    Group {
        name: "discovery.k8s.io",
        priority: Some(16200),
        versions: &[version("discovery.k8s.io/v1", "v1", 15, true)],
        resources: discovery::ROWS,
    },
    Group {
        name: "resource.k8s.io",
        priority: Some(16200),
        versions: &[
            version("resource.k8s.io/v1", "v1", 21, true),
            version("resource.k8s.io/v1beta2", "v1beta2", 15, false),
            version("resource.k8s.io/v1beta1", "v1beta1", 9, false),
            version("resource.k8s.io/v1alpha3", "v1alpha3", 1, false),
        ],
        resources: resource::ROWS,
    },
    Group {
        name: "flowcontrol.apiserver.k8s.io",
        priority: Some(16100),
        versions: &[version("flowcontrol.apiserver.k8s.io/v1", "v1", 21, true)],
        resources: flowcontrol::ROWS,
    },
    Group {
        name: "internal.apiserver.k8s.io",
        priority: Some(16000),
        versions: &[version("internal.apiserver.k8s.io/v1alpha1", "v1alpha1", 9, false)],
        resources: internal::ROWS,
    },
    Group {
        name: "storagemigration.k8s.io",
        priority: Some(15800),
        versions: &[
            version("storagemigration.k8s.io/v1", "v1", 15, true),
            version("storagemigration.k8s.io/v1beta1", "v1beta1", 9, false),
        ],
        resources: storagemigration::ROWS,
    },
    Group {
        name: "lifecycle.k8s.io",
        priority: Some(15700),
        versions: &[version("lifecycle.k8s.io/v1alpha1", "v1alpha1", 1, false)],
        resources: evictions::ROWS,
    },
];
