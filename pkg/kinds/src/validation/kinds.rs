//! What is right in an object of each built-in kind: one entry per resource, one file per kind or small
//! group of kinds below `kinds/`.
//!
//! Rules read the object in its storage version after defaulting. Every function returns the whole list
//! of errors in upstream's order; metadata is validated where upstream's function for the kind does,
//! which is why some errors of an update come twice.

mod admission;
mod api_service;
mod autoscaler;
mod certificate;
mod config;
mod controller_revision;
mod coordination;
mod cron_job;
mod custom;
mod custom_resource;
/// What definitions are told of themselves, besides whether they are valid.
pub mod definitions {
    pub use super::custom_resource::{approval_reason, converter_is_believable, is_protected, violations};
}
mod daemon_set;
mod deployment;
mod device;
mod disruption_budget;
mod endpoint_slice;
mod endpoints;
mod event;
mod flow_control;
mod job;
mod limit_range;
mod namespace;
mod networking;
mod node;
mod persistent_volume;
mod persistent_volume_claim;
mod pod;
mod pod_certificate;
mod pod_group;
mod pod_template;
mod priority_class;
mod quota;
mod rbac;
mod replica_set;
mod runtime_class;
mod service;
mod stateful_set;
mod storage;
mod trust_bundle;
mod workload;

use apimachinery::features::{Gate, Gates};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::go_quote::Quoted;
use apimachinery::time::UnixTime;
use schema::object::{Object, get_str};

use super::{
    NameRule, Spelling, name_rule, requires_qualified_finalizers, validate_finalizers_are_qualified,
    validate_object_meta, validate_object_meta_update,
};
use api::resources::Resource;

pub use service::validate_cluster_ips;

/// How names end that belong to objects of admission control from manifests on the server's disk (apiserver
/// `pkg/admission/plugin/manifest/validation.go`).
pub const STATIC_SUFFIX: &str = ".static.k8s.io";

/// What validates the objects of a resource.
struct Rules {
    /// A new object.
    create: fn(new: &Object) -> ErrorList,
    /// An object that replaces another through a subresource (empty for the resource itself).
    update: fn(subresource: &str, new: &Object, old: &Object) -> ErrorList,
}

/// What rules are given besides objects.
#[derive(Clone, Copy, Debug, Default)]
pub struct Given {
    /// How the server is set up.
    pub settings: Settings,
    /// The time of the write.
    pub now: UnixTime,
}

impl Given {
    /// How addresses may be spelt in fields that took sloppy spellings once.
    fn spelling(&self) -> Spelling {
        Spelling::of(&self.settings.gates)
    }
}

/// What upstream's rules read from the server's flags. Strategies read it too.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings {
    /// `--allow-privileged`: pods may have privileged containers, and processes of the host on Windows.
    pub allow_privileged: bool,
    /// The feature gates that are open.
    pub gates: Gates,
}

/// Rules that need more than the objects.
struct GivenRules {
    /// As in [`Rules`].
    create: fn(new: &Object, given: &Given) -> ErrorList,
    /// As in [`Rules`].
    update: fn(subresource: &str, new: &Object, old: &Object, given: &Given) -> ErrorList,
}

/// The rules of a resource that need more than the objects; `None` for most.
fn given_rules(group: &str, plural: &str) -> Option<GivenRules> {
    match (group, plural) {
        ("", "endpoints") => Some(endpoints::RULES),
        ("", "nodes") => Some(node::RULES),
        ("", "pods") => Some(pod::RULES),
        ("", "podtemplates") => Some(pod_template::RULES),
        ("", "replicationcontrollers") => Some(replica_set::CONTROLLERS),
        ("", "services") => Some(service::RULES),
        ("admissionregistration.k8s.io", "mutatingadmissionpolicies") => Some(admission::MUTATING_POLICIES),
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations") => {
            Some(admission::MUTATING_WEBHOOKS)
        }
        ("admissionregistration.k8s.io", "validatingadmissionpolicies") => {
            Some(admission::VALIDATING_POLICIES)
        }
        ("admissionregistration.k8s.io", "validatingwebhookconfigurations") => {
            Some(admission::VALIDATING_WEBHOOKS)
        }
        ("apiextensions.k8s.io", "customresourcedefinitions") => Some(custom_resource::RULES),
        ("apps", "daemonsets") => Some(daemon_set::RULES),
        ("apps", "deployments") => Some(deployment::RULES),
        ("apps", "replicasets") => Some(replica_set::REPLICA_SETS),
        ("apps", "statefulsets") => Some(stateful_set::RULES),
        ("autoscaling", "horizontalpodautoscalers") => Some(autoscaler::RULES),
        ("batch", "cronjobs") => Some(cron_job::RULES),
        ("batch", "jobs") => Some(job::RULES),
        ("certificates.k8s.io", "podcertificaterequests") => Some(pod_certificate::RULES),
        ("discovery.k8s.io", "endpointslices") => Some(endpoint_slice::RULES),
        ("networking.k8s.io", "ingresses") => Some(networking::ingress::RULES),
        ("networking.k8s.io", "networkpolicies") => Some(networking::network_policy::RULES),
        ("resource.k8s.io", "deviceclasses") => Some(device::CLASSES),
        ("resource.k8s.io", "resourceclaims") => Some(device::CLAIMS),
        ("resource.k8s.io", "resourceclaimtemplates") => Some(device::TEMPLATES),
        _ => None,
    }
}

/// Whether a resource has rules of its own besides metadata's.
#[cfg(test)]
pub(crate) fn has_rules(group: &str, plural: &str) -> bool {
    rules(group, plural).is_some() || given_rules(group, plural).is_some()
}

/// The rules of a resource that need no more than the objects; `None` for those that have none but
/// metadata's.
fn rules(group: &str, plural: &str) -> Option<Rules> {
    match (group, plural) {
        ("", _) => core_rules(plural),
        ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings") => {
            Some(admission::MUTATING_BINDINGS)
        }
        ("admissionregistration.k8s.io", "validatingadmissionpolicybindings") => {
            Some(admission::VALIDATING_BINDINGS)
        }
        ("apiregistration.k8s.io", "apiservices") => Some(api_service::RULES),
        ("apps", "controllerrevisions") => Some(controller_revision::RULES),
        ("certificates.k8s.io", "certificatesigningrequests") => Some(certificate::RULES),
        ("certificates.k8s.io", "clustertrustbundles") => Some(trust_bundle::RULES),
        ("coordination.k8s.io", "leasecandidates") => Some(coordination::LEASE_CANDIDATES),
        ("coordination.k8s.io", "leases") => Some(coordination::LEASES),
        ("events.k8s.io", "events") => Some(event::EVENTS),
        ("flowcontrol.apiserver.k8s.io", "flowschemas") => Some(flow_control::flow_schema::RULES),
        ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations") => {
            Some(flow_control::priority_level::RULES)
        }
        ("networking.k8s.io", "ingressclasses") => Some(networking::ingress_class::RULES),
        ("networking.k8s.io", "ipaddresses") => Some(networking::service_range::IP_ADDRESSES),
        ("networking.k8s.io", "servicecidrs") => Some(networking::service_range::SERVICE_CIDRS),
        ("node.k8s.io", "runtimeclasses") => Some(runtime_class::RULES),
        ("policy", "poddisruptionbudgets") => Some(disruption_budget::RULES),
        ("rbac.authorization.k8s.io", "clusterrolebindings") => Some(rbac::CLUSTER_ROLE_BINDINGS),
        ("rbac.authorization.k8s.io", "clusterroles") => Some(rbac::CLUSTER_ROLES),
        ("rbac.authorization.k8s.io", "rolebindings") => Some(rbac::ROLE_BINDINGS),
        ("rbac.authorization.k8s.io", "roles") => Some(rbac::ROLES),
        ("resource.k8s.io", "devicetaintrules") => Some(device::TAINT_RULES),
        ("resource.k8s.io", "resourceslices") => Some(device::SLICES),
        ("scheduling.k8s.io", "podgroups") => Some(pod_group::GROUPS),
        ("scheduling.k8s.io", "priorityclasses") => Some(priority_class::RULES),
        ("scheduling.k8s.io", "workloads") => Some(pod_group::WORKLOADS),
        ("storage.k8s.io", "csidrivers") => Some(storage::csi_driver::RULES),
        ("storage.k8s.io", "csinodes") => Some(storage::csi_node::RULES),
        ("storage.k8s.io", "csistoragecapacities") => Some(storage::capacity::RULES),
        ("storage.k8s.io", "storageclasses") => Some(storage::class::STORAGE_CLASSES),
        ("storage.k8s.io", "volumeattachments") => Some(storage::attachment::RULES),
        ("storage.k8s.io", "volumeattributesclasses") => Some(storage::class::ATTRIBUTES_CLASSES),
        _ => None,
    }
}

/// The rules of the core group.
fn core_rules(plural: &str) -> Option<Rules> {
    match plural {
        "configmaps" => Some(config::CONFIG_MAPS),
        "events" => Some(event::CORE),
        "limitranges" => Some(limit_range::RULES),
        "namespaces" => Some(namespace::RULES),
        "persistentvolumeclaims" => Some(persistent_volume_claim::RULES),
        "persistentvolumes" => Some(persistent_volume::RULES),
        "resourcequotas" => Some(quota::RULES),
        "secrets" => Some(config::SECRETS),
        "serviceaccounts" => Some(config::SERVICE_ACCOUNTS),
        _ => None,
    }
}

/// Why no object of this name may be deleted; `None` if it may be.
pub fn undeletable(row: &Resource, name: &str) -> Option<&'static str> {
    let is_class = (row.group, row.plural) == ("scheduling.k8s.io", "priorityclasses");
    (is_class && priority_class::is_of_system(name))
        .then_some("this is a system priority class and cannot be deleted")
}

/// What is wrong with tolerations that are no pod's, such as those of a configuration file. `path` is that of the list.
pub fn validate_tolerations<'o>(path: &Path<'_>, tolerations: impl Iterator<Item = &'o Object>) -> ErrorList {
    let mut errors = ErrorList::new();
    pod::tolerations(path, tolerations, false, &mut errors);
    errors
}

/// What is wrong with an object that is about to be created, as its kind sees it.
pub fn validate(row: &Resource, new: &Object, given: &Given) -> ErrorList {
    let mut errors = validate_manifest(row, new, given);
    if row.group == "admissionregistration.k8s.io"
        && given.settings.gates.enabled(Gate::ManifestBasedAdmissionControlConfig)
        && let Some(why) = static_name(object_name(new))
    {
        errors.push(Error::invalid(&Path::root("metadata").child("name"), object_name(new), why));
    }
    errors
}

/// Why the API should not have an object of admission control of this name; `None` if it may: it belongs to manifests
/// on the server's disk.
pub(crate) fn static_name(name: &str) -> Option<String> {
    name.ends_with(STATIC_SUFFIX).then(|| {
        format!(
            "names ending with {} are reserved for static manifest-based configurations and cannot be managed via the API",
            Quoted(STATIC_SUFFIX)
        )
    })
}

fn object_name(object: &Object) -> &str {
    get_str(object, &["metadata", "name"]).unwrap_or_default()
}

/// What is wrong with an object that may be from a manifest on the server's disk, as its kind sees it: what
/// [`validate`] says, but for names that the API leaves to manifests.
pub fn validate_manifest(row: &Resource, new: &Object, given: &Given) -> ErrorList {
    if row.message.open {
        return custom::validate(row, new);
    }
    if let Some(rules) = given_rules(row.group, row.plural) {
        return (rules.create)(new, given);
    }
    if let Some(rules) = rules(row.group, row.plural) {
        return (rules.create)(new);
    }
    let rule = name_rule(row.group, row.plural);
    if requires_qualified_finalizers(row.group, row.plural) {
        metadata(new, row.namespaced, rule)
    } else {
        validate_object_meta(new, row.namespaced, rule, &Path::root("metadata"))
    }
}

/// What is wrong with an object that is about to replace `old` through a subresource, as its kind sees
/// it. What holds for every kind is validated before.
pub fn validate_update(
    row: &Resource,
    subresource: &str,
    new: &Object,
    old: &Object,
    given: &Given,
) -> ErrorList {
    if row.message.open {
        return custom::validate_update(row, subresource, new, old);
    }
    if let Some(rules) = given_rules(row.group, row.plural) {
        return (rules.update)(subresource, new, old, given);
    }
    if let Some(rules) = rules(row.group, row.plural) {
        return (rules.update)(subresource, new, old);
    }
    if requires_qualified_finalizers(row.group, row.plural) {
        metadata_update(new, old)
    } else {
        validate_object_meta_update(new, old, &Path::root("metadata"))
    }
}

/// What is wrong with the metadata of a new object of a kind whose finalizers must be qualified, which
/// is most.
fn metadata(new: &Object, namespaced: bool, rule: NameRule) -> ErrorList {
    let path = Path::root("metadata");
    let mut errors = validate_object_meta(new, namespaced, rule, &path);
    errors.append(validate_finalizers_are_qualified(new, &path));
    errors
}

/// What is wrong with the metadata of an object of such a kind that is about to replace `old`.
fn metadata_update(new: &Object, old: &Object) -> ErrorList {
    let path = Path::root("metadata");
    let mut errors = validate_object_meta_update(new, old, &path);
    errors.append(validate_finalizers_are_qualified(new, &path));
    errors
}
