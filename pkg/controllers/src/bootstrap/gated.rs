//! Feature gates of bootstrap roles, bindings and rules (upstream's `rbac/bootstrappolicy`). Everything that is not
//! listed here exists with all gates.

use api::tree;
use component_base::features::{Gate, Gates};
use jsontree::Value;
use registry::meta;
use schema::object::Object;

/// A role and its binding, which have the same name, with the gates that both need.
const OBJECTS: &[(&str, &[Gate])] = &[
    ("system:cluster-trust-bundle-discovery", &[Gate::ClusterTrustBundle]),
    (
        "system:controller:device-taint-eviction-controller",
        &[Gate::DRADeviceTaints, Gate::DynamicResourceAllocation],
    ),
    ("system:controller:kube-apiserver-serving-clustertrustbundle-publisher", &[Gate::ClusterTrustBundle]),
    ("system:controller:podcertificaterequestcleaner", &[Gate::PodCertificateRequest]),
    ("system:controller:podgroup-protection-controller", &[Gate::GenericWorkload]),
    ("system:controller:resource-claim-controller", &[Gate::DynamicResourceAllocation]),
    (
        "system:controller:resourcepoolstatusrequest-controller",
        &[Gate::DRAResourcePoolStatus, Gate::DynamicResourceAllocation],
    ),
    ("system:controller:selinux-warning-controller", &[Gate::SELinuxChangePolicy]),
    ("system:controller:service-cidrs-controller", &[Gate::MultiCIDRServiceAllocator]),
    (
        "system:controller:storage-version-garbage-collector",
        &[Gate::APIServerIdentity, Gate::StorageVersionAPI],
    ),
    ("system:controller:storage-version-migrator-controller", &[Gate::StorageVersionMigrator]),
    ("system:controller:volumeattributesclass-protection-controller", &[Gate::VolumeAttributesClass]),
];

/// Rules of a role that need a gate.
struct GatedRules {
    role: &'static str,
    gate: Gate,
    /// First verb, group and first resource of each rule, or a verb and a path. A path is removed from its rule,
    /// which stays for its other paths.
    rules: &'static [&'static str],
}

const fn rules(role: &'static str, gate: Gate, rules: &'static [&'static str]) -> GatedRules {
    GatedRules { role, gate, rules }
}

const RULES: &[GatedRules] = &[
    rules(
        "system:aggregate-to-edit",
        Gate::DynamicResourceAllocation,
        &["create resource.k8s.io/resourceclaims"],
    ),
    rules("system:aggregate-to-edit", Gate::GenericWorkload, &["create scheduling.k8s.io/podgroups"]),
    rules(
        "system:aggregate-to-edit",
        Gate::CompositePodGroup,
        &["create scheduling.k8s.io/compositepodgroups"],
    ),
    rules(
        "system:aggregate-to-edit",
        Gate::EvictionRequestAPI,
        &["create lifecycle.k8s.io/evictionrequests"],
    ),
    rules(
        "system:aggregate-to-view",
        Gate::DynamicResourceAllocation,
        &["get resource.k8s.io/resourceclaims"],
    ),
    rules("system:aggregate-to-view", Gate::GenericWorkload, &["get scheduling.k8s.io/podgroups"]),
    rules("system:aggregate-to-view", Gate::CompositePodGroup, &["get scheduling.k8s.io/compositepodgroups"]),
    rules("system:aggregate-to-view", Gate::EvictionRequestAPI, &["get lifecycle.k8s.io/evictionrequests"]),
    rules(
        "system:controller:device-taint-eviction-controller",
        Gate::DRADeviceTaintRules,
        &["patch resource.k8s.io/devicetaintrules/status", "get resource.k8s.io/devicetaintrules"],
    ),
    rules("system:controller:job-controller", Gate::WorkloadWithJob, &["create scheduling.k8s.io/podgroups"]),
    rules(
        "system:controller:resource-claim-controller",
        Gate::DRAWorkloadResourceClaims,
        &["get scheduling.k8s.io/podgroups", "patch scheduling.k8s.io/podgroups/status"],
    ),
    rules(
        "system:controller:resource-claim-controller",
        Gate::DRAResourceClaimGranularStatusAuthorization,
        &["patch resource.k8s.io/resourceclaims/binding"],
    ),
    rules(
        "system:kube-scheduler",
        Gate::DynamicResourceAllocation,
        &[
            "get resource.k8s.io/deviceclasses",
            "get resource.k8s.io/resourceclaims",
            "get resource.k8s.io/resourceclaims/status",
            "update /pods/finalizers",
            "get resource.k8s.io/resourceslices",
            "create resource.k8s.io/resourceclaims",
            "get resource.k8s.io/devicetaintrules",
            "patch resource.k8s.io/resourceclaims/binding",
        ],
    ),
    rules("system:kube-scheduler", Gate::DRAExtendedResource, &["create resource.k8s.io/resourceclaims"]),
    rules("system:kube-scheduler", Gate::DRADeviceTaintRules, &["get resource.k8s.io/devicetaintrules"]),
    rules(
        "system:kube-scheduler",
        Gate::DRAResourceClaimGranularStatusAuthorization,
        &["patch resource.k8s.io/resourceclaims/binding"],
    ),
    rules(
        "system:kube-scheduler",
        Gate::GenericWorkload,
        &["get scheduling.k8s.io/podgroups", "patch scheduling.k8s.io/podgroups/status"],
    ),
    rules(
        "system:kube-scheduler",
        Gate::CompositePodGroup,
        &["get scheduling.k8s.io/compositepodgroups", "patch scheduling.k8s.io/compositepodgroups/status"],
    ),
    rules("system:kubelet-api-admin", Gate::KubeletFineGrainedAuthz, &["* /nodes/configz"]),
    rules("system:monitoring", Gate::ComponentFlagz, &["get /flagz"]),
    rules("system:monitoring", Gate::ComponentStatusz, &["get /statusz"]),
    rules("system:node", Gate::CSIVolumeHealth, &["get storage.k8s.io/csinodes/status"]),
    rules(
        "system:node",
        Gate::DynamicResourceAllocation,
        &["get resource.k8s.io/resourceclaims", "deletecollection resource.k8s.io/resourceslices"],
    ),
    rules("system:node", Gate::ClusterTrustBundle, &["get certificates.k8s.io/clustertrustbundles"]),
    rules("system:node", Gate::KubeletServiceAccountTokenForCredentialProviders, &["get /serviceaccounts"]),
    rules("system:node", Gate::PodCertificateRequest, &["create certificates.k8s.io/podcertificaterequests"]),
    rules("system:node-proxier", Gate::MultiCIDRServiceAllocator, &["list networking.k8s.io/servicecidrs"]),
];

/// True if the gates of a role or binding are enabled. Other kinds need none.
pub(super) fn is_enabled(object: &Object, gates: &Gates) -> bool {
    let name = meta::text(object, "name");
    let mut needs = OBJECTS.iter().filter(|(gated, _)| *gated == name).flat_map(|(_, needs)| *needs);
    needs.all(|gate| gates.enabled(*gate))
}

/// Removes the rules and paths whose gates are disabled.
pub(super) fn remove_disabled_rules(object: &mut Object, gates: &Gates) {
    let name = meta::text(object, "name");
    let disabled: Vec<&str> = RULES
        .iter()
        .filter(|gated| gated.role == name && !gates.enabled(gated.gate))
        .flat_map(|gated| gated.rules)
        .copied()
        .collect();
    let rules = object.get_mut("rules").and_then(Value::as_array_mut);
    let Some(rules) = rules.filter(|_| !disabled.is_empty()) else { return };
    rules.retain(|rule| !disabled.contains(&heading(rule).as_str()));
    for rule in rules.iter_mut().filter_map(Value::as_object_mut) {
        let verb = first(rule, "verbs").to_owned();
        let paths = rule.get_mut("nonResourceURLs").and_then(Value::as_array_mut);
        let is_disabled = |path: &Value| {
            path.as_str().is_some_and(|path| disabled.contains(&format!("{verb} {path}").as_str()))
        };
        if let Some(paths) = paths {
            paths.retain(|path| !is_disabled(path));
        }
    }
}

/// First verb, group and first resource of a rule; empty for a rule without resources.
fn heading(rule: &Value) -> String {
    let rule = rule.as_object().filter(|rule| !tree::list(rule, "resources").is_empty());
    rule.map_or_else(String::new, |rule| {
        format!("{} {}/{}", first(rule, "verbs"), first(rule, "apiGroups"), first(rule, "resources"))
    })
}

fn first<'r>(rule: &'r Object, member: &str) -> &'r str {
    tree::list(rule, member).first().and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
