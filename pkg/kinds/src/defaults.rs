//! Defaulting of the built-in kinds: what upstream fills in whenever it decodes an object in a version.
//!
//! Upstream does this for request bodies, for the results of patch and apply, and for what it reads from
//! etcd. The rules belong to the version, not to the kind: two versions of a kind may differ. Here a rule
//! is a pure function, one file for each API group, written in the verbs of [`fill`]. It runs over trees,
//! to fill them in, and over stored bytes, to find out whether there is anything to fill in ([`object`]).
//!
//! Some rules stand behind a feature gate, also where they fill in what was stored while it was closed.

mod admissionregistration;
mod apiextensions;
mod apiregistration;
mod apps;
mod authentication;
mod autoscaling;
mod batch;
mod certificates;
mod core;
mod discovery;
mod extensions;
mod fill;
mod flowcontrol;
mod image;
mod networking;
mod object;
mod pod;
mod pod_level_resources;
mod pod_spec;
mod rbac;
mod resource;
mod resource_list;
mod scheduling;
mod service;
mod storage;
mod volumes;

use apimachinery::time::UnixTime;
use component_base::features::Gates;
use object::{Given, Object};
use schema::memory::BudgetExceeded;
use schema::object::Object as Tree;
use schema::proto::inplace::MessageRef;

/// What a version of a kind fills in, in place.
type Rule = fn(&mut Object);

/// What a version of a kind fills in.
#[derive(Clone, Copy)]
pub struct Defaults(Rule);

impl Defaults {
    /// The defaults of a kind in `api_version` (`v1`, `apps/v1`); none for one without and for an unknown
    /// one.
    pub fn of(api_version: &str, kind: &str) -> Option<Self> {
        rule(api_version, kind).map(Defaults)
    }

    /// Fills them in. Idempotent.
    ///
    /// # Errors
    /// What is copied within the object would make it too large for any store, and is not there.
    pub fn fill(self, object: &mut Tree, gates: &Gates) -> Result<(), BudgetExceeded> {
        let given = Given::of(gates);
        self.0(&mut Object::tree(object, &given));
        given.done()
    }

    /// Whether [`fill`](Self::fill) would change an object, which is read where it is: the message inside
    /// its envelope, in canonical bytes. Others may be said to be changed although they are not.
    pub fn are_missing(self, object: MessageRef<'_>, gates: &Gates) -> bool {
        Object::is_changed_by(object, gates, self.0)
    }
}

/// Fills in what upstream's defaulting of `kind` in `api_version` (`v1`, `apps/v1`) fills in. Idempotent.
/// Kinds without defaults and unknown kinds are left alone. What there is no room for is left out, as in an object
/// that is stored without it; an object that comes in is [completed](complete) instead.
///
/// The time that upstream gives to device taints is not a constant and has its own function,
/// [`stamp_taints`].
pub fn apply(api_version: &str, kind: &str, object: &mut Tree, gates: &Gates) {
    _ = complete(api_version, kind, object, gates);
}

/// The same for an object that comes in.
///
/// # Errors
/// See [`Defaults::fill`].
pub fn complete(
    api_version: &str,
    kind: &str,
    object: &mut Tree,
    gates: &Gates,
) -> Result<(), BudgetExceeded> {
    Defaults::of(api_version, kind).map_or(Ok(()), |defaults| defaults.fill(object, gates))
}

/// Whether filling in an object gives it the labels of its pod template *as the same map*, so that a label
/// which is put on the pods later is the object's too. In upstream a Job has that fate, as long as nobody
/// copies it. An empty map is one to share, none is not.
pub fn shares_labels(api_version: &str, kind: &str, object: &Tree) -> bool {
    let labels = |path: &[&str]| schema::object::get_object(object, path);
    (api_version, kind) == ("batch/v1", "Job")
        && labels(&["metadata", "labels"]).is_none_or(Tree::is_empty)
        && labels(core::TEMPLATE_LABELS).is_some()
}

fn rule(api_version: &str, kind: &str) -> Option<Rule> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    match group {
        "" => core::rule(version, kind),
        "admissionregistration.k8s.io" => admissionregistration::rule(version, kind),
        "apiextensions.k8s.io" => apiextensions::rule(version, kind),
        "apiregistration.k8s.io" => apiregistration::rule(version, kind),
        "apps" => apps::rule(version, kind),
        "authentication.k8s.io" => authentication::rule(version, kind),
        "autoscaling" => autoscaling::rule(version, kind),
        "batch" => batch::rule(version, kind),
        "certificates.k8s.io" => certificates::rule(version, kind),
        "discovery.k8s.io" => discovery::rule(version, kind),
        "extensions" => extensions::rule(version, kind),
        "flowcontrol.apiserver.k8s.io" => flowcontrol::rule(version, kind),
        "networking.k8s.io" => networking::rule(version, kind),
        "rbac.authorization.k8s.io" => rbac::rule(version, kind),
        "resource.k8s.io" => resource::rule(version, kind),
        "scheduling.k8s.io" => scheduling::rule(version, kind),
        "storage.k8s.io" => storage::rule(version, kind),
        _ => None,
    }
}

/// Gives the device taints of an object that do not say when they were added the time `now` in
/// whole seconds, as upstream's defaulting of `DeviceTaintRule` and `ResourceSlice` does. Other kinds are
/// left alone. The clock is the caller's.
pub fn stamp_taints(api_version: &str, kind: &str, object: &mut Tree, now: UnixTime) {
    if let Some(version) = api_version.strip_prefix("resource.k8s.io/") {
        // No gate has a say in this.
        resource::stamp_taints(version, kind, &mut Object::tree(object, &Given::of(&Gates::default())), now);
    }
}

#[cfg(test)]
mod tests;
