//! Strictness of pod validation. Errors of an old object are allowed to stay; new ones are not, unless a
//! feature gate allows them. Upstream's `PodValidationOptions`.

use super::capabilities::has_sys_admin_without_escalation;
use super::container_restarts::{can_restart_all, is_sidecar};
use super::{affinity, spread, sysctls, toleration, volumes};
use crate::validation::Spelling;
use crate::validation::resources::has_partial_huge_pages;
use crate::validation::rules::ValidationContext;
use api::qos::EmptyPodResources;
use api::tree::{child, children, flag, is_set, list, maybe_text, text};
use component_base::features::Gate;
use schema::object::Object;

/// Relaxed rules and context. All false for a new template.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PodOptions {
    /// True for a pod, false for a template in another kind.
    pub is_pod: bool,
    /// Allows privileged containers (`--allow-privileged`).
    pub allow_privileged: bool,
    /// Allows a pod deletion cost that is not a number.
    pub bad_deletion_cost: bool,
    /// Allows huge pages in fractions of a page.
    pub partial_huge_pages: bool,
    /// Allows selectors of pod (anti-)affinity with values that are not valid label values.
    pub bad_affinity_selectors: bool,
    /// Allows required node affinity with values that are not valid label values.
    pub bad_node_affinity: bool,
    /// Allows invalid label selectors in topology spread constraints.
    pub bad_spread_selectors: bool,
    /// Validates `matchLabelKeys` of topology spread constraints with the rules from before 1.34.
    pub legacy_spread_keys: bool,
    /// Allows absolute paths, and paths with `..`, for projected tokens.
    pub nonlocal_token_paths: bool,
    /// Allows sysctls of a namespace that is shared with the host.
    pub host_sysctls: bool,
    /// Also allows `MountOption` for `seLinuxChangePolicy`.
    pub any_selinux_change_policy: bool,
    /// Allows numeric comparisons in tolerations (`Lt`, `Gt`).
    pub toleration_comparisons: bool,
    /// Allows raw block devices for pods in a user namespace.
    pub user_namespace_devices: bool,
    /// Allows the host's network for pods in a user namespace.
    pub user_namespace_host_network: bool,
    /// Allows the resize policy `RestartContainer` for init containers other than sidecars.
    pub init_restart_on_resize: bool,
    /// Allows lenient spellings of addresses.
    pub loose_addresses: bool,
    /// Treatment of empty pod-level resources in the QoS class.
    pub empty_pod_resources: EmptyPodResources,
    /// Allows resizing pod-level resources.
    pub pod_level_resize: bool,
    /// Allows resizing volumes in memory.
    pub memory_volume_resize: bool,
    /// Allows resizing init containers that are not sidecars.
    pub init_container_resize: bool,
    /// Allows restart policies and restart rules of all containers (KEP-5307).
    pub restart_rules: bool,
    /// Allows restart rules that restart all containers, and restart rules of sidecars (KEP-5532).
    pub restart_of_all_containers: bool,
    /// Rejects a nominated node of a pod that already has a node (KEP-5278).
    pub bound_is_not_nominated: bool,
    /// Checks the digests of image volumes in the status.
    pub image_volume_digests: bool,
    /// Allows image volumes without a reference.
    pub empty_image_references: bool,
    /// Allows `CAP_SYS_ADMIN` for containers whose privileges may not be escalated.
    pub sys_admin_without_escalation: bool,
}

impl PodOptions {
    /// Returns the allowed spelling of addresses.
    pub(crate) fn spelling(&self) -> Spelling {
        if self.loose_addresses { Spelling::Loose } else { Spelling::Strict }
    }

    /// Derives the options for a pod, or for a template (`is_pod` is false), that replaces `old`, if present.
    /// Both have the members `metadata` and `spec`.
    pub(crate) fn new(is_pod: bool, old: Option<&Object>, context: &ValidationContext) -> Self {
        let gate = |gate| context.settings.gates.enabled(gate);
        let spread_keys = gate(Gate::MatchLabelKeysInPodTopologySpread);
        let merged_spread_keys = gate(Gate::MatchLabelKeysInPodTopologySpreadSelectorMerge);
        let new = Self {
            is_pod,
            allow_privileged: context.settings.allow_privileged,
            loose_addresses: context.spelling() == Spelling::Loose,
            bad_deletion_cost: !gate(Gate::PodDeletionCost),
            empty_pod_resources: EmptyPodResources::of(&context.settings.gates),
            legacy_spread_keys: !spread_keys || !merged_spread_keys,
            any_selinux_change_policy: gate(Gate::SELinuxMount),
            toleration_comparisons: gate(Gate::TaintTolerationComparisonOperators),
            user_namespace_host_network: gate(Gate::UserNamespacesHostNetworkSupport),
            pod_level_resize: gate(Gate::InPlacePodLevelResourcesVerticalScaling),
            memory_volume_resize: gate(Gate::InPlacePodVerticalScalingMemoryBackedVolumes),
            init_container_resize: gate(Gate::InPlacePodVerticalScalingInitContainers),
            restart_rules: gate(Gate::ContainerRestartRules),
            restart_of_all_containers: gate(Gate::RestartAllContainersOnContainerExits),
            bound_is_not_nominated: gate(Gate::ClearingNominatedNodeNameAfterBinding),
            image_volume_digests: gate(Gate::ImageVolumeWithDigest),
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
            host_sysctls: sysctls::has_host_sysctls(spec),
            any_selinux_change_policy: new.any_selinux_change_policy
                || security.is_some_and(|s| s.contains_key("seLinuxChangePolicy")),
            toleration_comparisons: new.toleration_comparisons || toleration::has_comparisons(spec),
            user_namespace_devices: in_user_namespace
                && all_containers(spec).any(|container| !list(container, "volumeDevices").is_empty()),
            user_namespace_host_network: new.user_namespace_host_network
                || (in_user_namespace && flag(spec, "hostNetwork")),
            empty_image_references: volumes::has_empty_image_reference(spec),
            sys_admin_without_escalation: all_containers(spec).any(has_sys_admin_without_escalation),
            init_restart_on_resize: children(spec, "initContainers").any(restarts_on_resize),
            restart_rules: new.restart_rules || uses_restart_rules(spec),
            restart_of_all_containers: new.restart_of_all_containers || restarts_all_containers(spec),
            ..new
        }
    }
}

/// Iterates over all containers of a pod: init, regular and ephemeral ones.
fn all_containers(spec: &Object) -> impl Iterator<Item = &Object> {
    super::CONTAINER_LISTS.into_iter().flat_map(|member| children(spec, member))
}

fn uses_partial_huge_pages(spec: &Object) -> bool {
    let lists = |requirements| ["limits", "requests"].map(|list| child(requirements, list));
    let of_containers = all_containers(spec).filter_map(|container| child(container, "resources"));
    of_containers.flat_map(lists).flatten().chain(child(spec, "overhead")).any(has_partial_huge_pages)
}

/// True if a container other than a sidecar has its own restart policy.
fn uses_restart_rules(spec: &Object) -> bool {
    let has_own_policy = |container: &Object| {
        let policy = maybe_text(container, "restartPolicy");
        policy.is_some_and(|policy| policy != "Always") || !list(container, "restartPolicyRules").is_empty()
    };
    children(spec, "initContainers").any(has_own_policy)
        || children(spec, "containers").any(|container| is_set(container, "restartPolicy"))
}

/// True if a restart rule restarts all containers, or a sidecar has restart rules.
fn restarts_all_containers(spec: &Object) -> bool {
    let has_rules = |container: &Object| !list(container, "restartPolicyRules").is_empty();
    can_restart_all(spec)
        || children(spec, "initContainers").any(|container| is_sidecar(container) && has_rules(container))
}

/// True if an init container other than a sidecar restarts when its resources change.
fn restarts_on_resize(container: &Object) -> bool {
    text(container, "restartPolicy") != "Always"
        && children(container, "resizePolicy")
            .any(|policy| text(policy, "restartPolicy") == "RestartContainer")
}
