//! How strictly a pod is judged: what an old object already has wrong may stay, what none has must not
//! come, unless a feature gate lets it. Upstream's `PodValidationOptions`.

use super::{affinity, security, spread, toleration, volumes};
use crate::validation::Spelling;
use crate::validation::kinds::Given;
use crate::validation::resources::has_partial_huge_pages;
use api::tree::{child, children, flag, list, text};
use component_base::features::Gate;
use schema::object::Object;

/// What is allowed, or whose rules count. All false for a template that is new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PodOptions {
    /// The object is a pod, not a template of one in some other kind.
    pub is_pod: bool,
    /// Containers may be privileged (`--allow-privileged`).
    pub allow_privileged: bool,
    /// The pod deletion cost may be no number.
    pub bad_deletion_cost: bool,
    /// Huge pages may be requested in fractions of a page.
    pub partial_huge_pages: bool,
    /// Selectors of pod (anti-)affinity may have values that are no label values.
    pub bad_affinity_selectors: bool,
    /// Required node affinity may have values that are no label values.
    pub bad_node_affinity: bool,
    /// Label selectors of topology spread constraints may be invalid.
    pub bad_spread_selectors: bool,
    /// `matchLabelKeys` of topology spread constraints are judged as before 1.34.
    pub legacy_spread_keys: bool,
    /// Paths of projected tokens may be absolute or climb.
    pub nonlocal_token_paths: bool,
    /// Sysctls of a namespace that is the host's may be set.
    pub host_sysctls: bool,
    /// `seLinuxChangePolicy` may be `MountOption` too.
    pub any_selinux_change_policy: bool,
    /// Tolerations may compare numbers (`Lt`, `Gt`).
    pub toleration_comparisons: bool,
    /// Pods in a user namespace may have raw block devices.
    pub user_namespace_devices: bool,
    /// Pods in a user namespace may use the host's network.
    pub user_namespace_host_network: bool,
    /// Init containers that are no sidecars may have a resize policy of `RestartContainer`.
    pub init_restart_on_resize: bool,
    /// Addresses may be spelt in ways that are not strict.
    pub loose_addresses: bool,
    /// The resources of a pod as a whole may be resized.
    pub pod_level_resize: bool,
}

impl PodOptions {
    /// How addresses may be spelt.
    pub(crate) fn spelling(&self) -> Spelling {
        if self.loose_addresses { Spelling::Loose } else { Spelling::Strict }
    }

    /// The options for a pod, or for a template (`is_pod` false), that replaces `old`, if anything.
    /// Both have their members `metadata` and `spec`.
    pub(crate) fn new(is_pod: bool, old: Option<&Object>, given: &Given) -> Self {
        let gate = |gate| given.settings.gates.enabled(gate);
        let spread_keys = gate(Gate::MatchLabelKeysInPodTopologySpread);
        let merged_spread_keys = gate(Gate::MatchLabelKeysInPodTopologySpreadSelectorMerge);
        let new = Self {
            is_pod,
            allow_privileged: given.settings.allow_privileged,
            loose_addresses: given.spelling() == Spelling::Loose,
            bad_deletion_cost: !gate(Gate::PodDeletionCost),
            legacy_spread_keys: !spread_keys || !merged_spread_keys,
            any_selinux_change_policy: gate(Gate::SELinuxMount),
            toleration_comparisons: gate(Gate::TaintTolerationComparisonOperators),
            user_namespace_host_network: gate(Gate::UserNamespacesHostNetworkSupport),
            pod_level_resize: gate(Gate::InPlacePodLevelResourcesVerticalScaling),
            ..Self::default()
        };
        let Some(old) = old else { return new };
        let bad_deletion_cost = child(old, "metadata")
            .and_then(|meta| child(meta, "annotations"))
            .is_some_and(|annotations| !super::annotations::deletion_cost_is_valid(annotations));
        let empty = Object::new();
        let spec = child(old, "spec").unwrap_or(&empty);
        let in_user_namespace = spec.get("hostUsers").is_some_and(|users| users == false);
        let security = child(spec, "securityContext");
        Self {
            bad_deletion_cost: new.bad_deletion_cost || bad_deletion_cost,
            partial_huge_pages: uses_partial_huge_pages(spec),
            bad_affinity_selectors: affinity::has_bad_selectors(spec),
            bad_node_affinity: affinity::has_bad_node_values(spec),
            bad_spread_selectors: spread::has_bad_selectors(spec),
            legacy_spread_keys: match (spread_keys, merged_spread_keys) {
                (true, true) => spread::has_bad_label_keys(spec),
                (true, false) => !spread::has_bad_legacy_label_keys(spec),
                (false, _) => true,
            },
            nonlocal_token_paths: volumes::has_nonlocal_token_path(spec),
            host_sysctls: security::has_host_sysctls(spec),
            any_selinux_change_policy: new.any_selinux_change_policy
                || security.is_some_and(|s| s.contains_key("seLinuxChangePolicy")),
            toleration_comparisons: new.toleration_comparisons || toleration::has_comparisons(spec),
            user_namespace_devices: in_user_namespace
                && all_containers(spec).any(|container| !list(container, "volumeDevices").is_empty()),
            user_namespace_host_network: new.user_namespace_host_network
                || (in_user_namespace && flag(spec, "hostNetwork")),
            init_restart_on_resize: children(spec, "initContainers").any(restarts_on_resize),
            ..new
        }
    }
}

/// All containers of a pod: init containers, ordinary ones, ephemeral ones.
fn all_containers(spec: &Object) -> impl Iterator<Item = &Object> {
    super::CONTAINER_LISTS.into_iter().flat_map(|member| children(spec, member))
}

fn uses_partial_huge_pages(spec: &Object) -> bool {
    let lists = |requirements| ["limits", "requests"].map(|list| child(requirements, list));
    let of_containers = all_containers(spec).filter_map(|container| child(container, "resources"));
    of_containers.flat_map(lists).flatten().chain(child(spec, "overhead")).any(has_partial_huge_pages)
}

/// Whether an init container that is no sidecar restarts when its resources change.
fn restarts_on_resize(container: &Object) -> bool {
    text(container, "restartPolicy") != "Always"
        && children(container, "resizePolicy")
            .any(|policy| text(policy, "restartPolicy") == "RestartContainer")
}
