//! What upstream warns of when an object is written: the `Warning: 299` headers that a strategy adds to
//! an answer (`WarningsOnCreate` and `WarningsOnUpdate` of `pkg/registry/*/*/strategy.go`). They tell
//! of what validation lets pass for the sake of old objects.
//!
//! The rules read objects of the storage version, after defaults and after what the strategy does to
//! prepare a write: several compare `metadata.generation`. Texts and their order are upstream's; where
//! upstream walks a map in no order, here it is the order of the keys.

mod affinity;
mod app_armor;
mod collector;
mod containers;
mod core;
mod custom;
mod ip;
mod key_pair;
mod networking;
mod node;
mod pod;
mod ports;
mod storage;
#[cfg(test)]
mod testing;
mod virtual_paths;
mod volumes;
mod workload;

use api::options::DeleteOptions;
use api::resources::Resource;
use api::tree::{child, text};
use apimachinery::go_quote::Quoted;
use collector::Warnings;
use component_base::features::{Gate, Gates};
use schema::object::{Object, get_i64, get_str};

use custom::custom_object;

/// Jobs are deleted without their pods for compatibility, which few expect.
const ORPHANED_PODS: &str = "child pods are preserved by default when jobs are deleted; set \
                             propagationPolicy=Background to remove them or set propagationPolicy=Orphan to \
                             suppress this warning";

/// What upstream warns of while it prepares an object of `row` for its creation, before validation: a
/// refusal shows these warnings too. Ask before annotations are copied to fields.
pub fn before_create(row: &Resource, new: &Object, gates: &Gates) -> Vec<String> {
    let mut out = Warnings::new(gates);
    if (row.group, row.plural, row.subresource) == ("", "pods", "") {
        app_armor::pod(new, &mut out);
    }
    out.into_texts()
}

/// What upstream warns of when an object of `row` is created, once validation has passed. The object is
/// one of the storage version, after defaults. Creations through a subresource warn of nothing.
pub fn on_create(row: &Resource, new: &Object, gates: &Gates) -> Vec<String> {
    if row.message.open {
        return custom_object(new, None);
    }
    let mut out = Warnings::new(gates);
    if row.subresource.is_empty() {
        create(row.group, row.plural, new, &mut out);
    }
    out.into_texts()
}

/// What upstream warns of when an object of `row` is replaced through `subresource` (empty for the
/// object itself), once validation has passed. Both objects are of the storage version; `new` has
/// its new `metadata.generation`.
pub fn on_update(
    row: &Resource,
    subresource: &str,
    new: &Object,
    old: &Object,
    gates: &Gates,
) -> Vec<String> {
    if row.message.open {
        return if subresource == "status" { Vec::new() } else { custom_object(new, Some(old)) };
    }
    let mut out = Warnings::new(gates);
    match subresource {
        // A scale is written by the strategy of the object that is scaled.
        "" | "scale" => update(row.group, row.plural, new, old, &mut out),
        "status" => update_status(row.group, row.plural, new, &mut out),
        _ => {}
    }
    out.into_texts()
}

/// What upstream warns of when objects of `row` are deleted, before anything else is looked at.
pub fn on_delete(row: &Resource, options: &DeleteOptions) -> Option<String> {
    let says = options.propagation_policy.is_some() || options.orphan_dependents.is_some();
    ((row.group, row.version, row.plural) == ("batch", "v1", "jobs") && !says)
        .then(|| ORPHANED_PODS.to_owned())
}

fn create(group: &str, plural: &str, new: &Object, out: &mut Warnings) {
    match (group, plural) {
        ("", "endpoints") => networking::endpoints(new, out),
        ("", "nodes") => node::node(new, out),
        ("", "persistentvolumes") => storage::persistent_volume(new, out),
        ("", "persistentvolumeclaims") => storage::claim(new, out),
        ("", "pods") => workload::pod(new, out),
        ("", "podtemplates") => workload::pod_template(new, out),
        ("", "replicationcontrollers") | ("apps", "deployments" | "replicasets") => {
            workload::named_after(new, out);
            workload::template(new, out);
        }
        ("", "resourcequotas") => core::resource_quota(new, out),
        ("", "secrets") => core::secret(new, out),
        ("", "serviceaccounts") => core::service_account(new, None, out),
        ("", "services") => networking::service(new, out),
        // Where manifests on the server's disk are read, validation refuses their names.
        ("admissionregistration.k8s.io", _) if out.enabled(Gate::ManifestBasedAdmissionControlConfig) => {}
        ("admissionregistration.k8s.io", _) => static_name(new, out),
        ("apiextensions.k8s.io", "customresourcedefinitions") => custom::definition(new, None, out),
        ("apps", "daemonsets") => workload::template(new, out),
        ("apps", "statefulsets") => workload::stateful_set(new, out),
        ("batch", "cronjobs") => workload::cron_job(new, out),
        ("batch", "jobs") => workload::job(new, out),
        ("discovery.k8s.io", "endpointslices") => {
            networking::address_type(new, out);
            networking::endpoint_slice(new, out);
        }
        ("networking.k8s.io", "ingresses") => networking::ingress(new, out),
        ("networking.k8s.io", "networkpolicies") => networking::network_policy(new, out),
        ("node.k8s.io", "runtimeclasses") => node::runtime_class(new, out),
        ("resource.k8s.io", "resourceslices") => driver_name(new, out),
        ("storage.k8s.io", "csidrivers") => storage::csi_driver(new, None, out),
        ("storage.k8s.io", "csistoragecapacities") => storage::capacity(new, out),
        ("storage.k8s.io", "storageclasses") => storage::class(new, out),
        _ => {}
    }
}

fn update(group: &str, plural: &str, new: &Object, old: &Object, out: &mut Warnings) {
    let changed = generation(new) != generation(old);
    match (group, plural) {
        // Hardly a person ever updates a pod or sees the warning.
        ("", "pods") => {}
        ("", "podtemplates") if changed => workload::pod_template(new, out),
        // Upstream mixes up the arguments, so that it is the old template that is warned of.
        ("", "replicationcontrollers") if changed => workload::template(old, out),
        ("apps", "deployments" | "replicasets") if changed => workload::template(new, out),
        ("apps", "daemonsets")
            if workload::template_generation(new) != workload::template_generation(old) =>
        {
            workload::template(new, out);
        }
        ("", "podtemplates" | "replicationcontrollers")
        | ("apps", "deployments" | "replicasets" | "daemonsets") => {}
        ("apps", "statefulsets") => workload::stateful_set_update(new, changed, out),
        ("batch", "cronjobs") => workload::cron_job_update(new, changed, out),
        ("batch", "jobs") if changed => workload::job_spec(new, out),
        ("batch", "jobs") => {}
        // Said on creation only. So is the type of the addresses of an endpoint slice.
        ("", "resourcequotas") | ("networking.k8s.io", "ingresses") => {}
        ("discovery.k8s.io", "endpointslices") => networking::endpoint_slice(new, out),
        // Said when it is newly wrong only.
        ("", "serviceaccounts") => core::service_account(new, Some(old), out),
        ("apiextensions.k8s.io", "customresourcedefinitions") => custom::definition(new, Some(old), out),
        ("admissionregistration.k8s.io", _) => static_name(new, out),
        ("storage.k8s.io", "csidrivers") => storage::csi_driver(new, Some(old), out),
        _ => create(group, plural, new, out),
    }
}

fn update_status(group: &str, plural: &str, new: &Object, out: &mut Warnings) {
    match (group, plural) {
        ("", "pods") => networking::pod_status(new, out),
        ("", "services") | ("networking.k8s.io", "ingresses") => networking::load_balancer_status(new, out),
        // This one has no rules of its own for its status.
        ("admissionregistration.k8s.io", "validatingadmissionpolicies") => static_name(new, out),
        _ => {}
    }
}

/// The objects of admission control that may come from manifests.
fn static_name(new: &Object, out: &mut Warnings) {
    if let Some(why) = crate::validation::kinds::static_name(name(new)) {
        out.add(format_args!("metadata.name: {why}"));
    }
}

fn driver_name(new: &Object, out: &mut Warnings) {
    let driver = get_str(new, &["spec", "driver"]).unwrap_or_default();
    if driver != driver.to_lowercase() {
        out.add(format_args!(
            "spec.driver: driver names should be lowercase; {} contains uppercase characters",
            Quoted(driver)
        ));
    }
}

fn name(object: &Object) -> &str {
    child(object, "metadata").map_or("", |meta| text(meta, "name"))
}

fn generation(object: &Object) -> i64 {
    get_i64(object, &["metadata", "generation"]).unwrap_or_default()
}

/// An annotation, if it is set.
fn annotation<'o>(object: &'o Object, key: &str) -> Option<&'o str> {
    get_str(object, &["metadata", "annotations", key])
}

#[cfg(test)]
mod tests {
    use super::testing::{created, created_with, status_updated, updated};
    use component_base::features::{Gate, Gates};
    use jsontree::json;

    const RESERVED: &str = "metadata.name: names ending with \".static.k8s.io\" are reserved for static \
        manifest-based configurations and cannot be managed via the API";

    #[test]
    fn names_of_static_manifests_are_reserved() {
        let object = json!({"metadata": {"name": "a.static.k8s.io"}});
        for plural in ["validatingadmissionpolicies", "mutatingwebhookconfigurations"] {
            let (group, other) = ("admissionregistration.k8s.io", json!({"metadata": {"name": "a.k8s.io"}}));
            created(group, plural, object.clone(), &[RESERVED]);
            updated(group, plural, object.clone(), object.clone(), &[RESERVED]);
            created(group, plural, other, &[]);
        }
        let (group, open) = (
            "admissionregistration.k8s.io",
            Gates::default().with(Gate::ManifestBasedAdmissionControlConfig, true),
        );
        created_with(open, group, "validatingadmissionpolicies", object.clone(), &[]);
        status_updated(group, "validatingadmissionpolicies", object, &[RESERVED]);
    }

    #[test]
    fn drivers_of_devices_have_lower_case_names() {
        let slice = |driver: &str| json!({"spec": {"driver": driver}});
        let warning = "spec.driver: driver names should be lowercase; \"Dra.Example.com\" contains uppercase characters";
        created("resource.k8s.io", "resourceslices", slice("Dra.Example.com"), &[warning]);
        updated("resource.k8s.io", "resourceslices", slice("Dra.Example.com"), slice("a"), &[warning]);
        created("resource.k8s.io", "resourceslices", slice("dra.example.com"), &[]);
    }

    #[test]
    fn most_kinds_and_subresources_warn_of_nothing() {
        let object = json!({"metadata": {"name": "A.B"}, "data": {"k": "v"}});
        created("", "configmaps", object.clone(), &[]);
        updated("", "configmaps", object.clone(), object.clone(), &[]);
        status_updated("", "nodes", json!({"spec": {"externalID": "x"}}), &[]);
    }
}
