//! Defaulting of the built-in kinds, equivalent to upstream's defaulting on every decode.
//!
//! Upstream sets defaults in request bodies, in the results of patch and apply, and in objects read from
//! etcd. The rules belong to the version, not to the kind: two versions of a kind can differ. Here a rule is
//! a pure function, in one file for each API group, written with the helpers of [`fill`]. A rule runs over
//! trees to set defaults. It also runs over stored bytes, to check if any default is missing ([`object`]).
//!
//! Some rules depend on a feature gate, also for objects that were stored while the gate was off.

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
use object::{DefaultingContext, Object};
use schema::memory::BudgetExceeded;
use schema::object::Object as Tree;
use schema::proto::inplace::MessageRef;

/// Sets the defaults of a kind's version in place.
type Rule = fn(&mut Object);

/// Defaulting rule of one version of a kind.
#[derive(Clone, Copy)]
pub struct Defaults(Rule);

impl Defaults {
    /// Returns the defaults of a kind in `api_version` (`v1`, `apps/v1`), or `None` for an unknown kind or
    /// one without defaults.
    pub fn of(api_version: &str, kind: &str) -> Option<Self> {
        rule(api_version, kind).map(Defaults)
    }

    /// Sets the defaults. Idempotent.
    ///
    /// # Errors
    /// Values copied within the object would make it too large for any store. They are omitted.
    pub fn fill(self, object: &mut Tree, gates: &Gates) -> Result<(), BudgetExceeded> {
        let given = DefaultingContext::of(gates);
        self.0(&mut Object::tree(object, &given));
        given.done()
    }

    /// Returns true if [`fill`](Self::fill) would change an object. The object is read in place: the message
    /// inside its envelope. For bytes that are not canonical, the result can be true although nothing would
    /// change.
    pub fn are_missing(self, object: MessageRef<'_>, gates: &Gates) -> bool {
        Object::is_changed_by(object, gates, self.0)
    }
}

/// Sets the defaults that upstream sets for `kind` in `api_version` (`v1`, `apps/v1`). Idempotent. Unknown
/// kinds and kinds without defaults are unchanged. Defaults that exceed the memory budget are omitted; the
/// object is then stored without them. For objects from requests use [`complete`](complete).
///
/// Upstream's time of device taints is not a constant and has its own function, [`stamp_taints`].
pub fn apply(api_version: &str, kind: &str, object: &mut Tree, gates: &Gates) {
    _ = complete(api_version, kind, object, gates);
}

/// Sets the defaults of an object from a request.
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

/// Returns true if defaulting gives an object the labels of its pod template *as the same map*. A label that
/// is added to the pod template later then appears on the object too. In upstream this happens to a Job until
/// it is copied. An empty map is shared, an absent one is not.
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

/// Sets the time `now`, in whole seconds, on device taints without a time. Upstream's defaulting does the
/// same for `DeviceTaintRule` and `ResourceSlice`. Other kinds are unchanged.
pub fn stamp_taints(api_version: &str, kind: &str, object: &mut Tree, now: UnixTime) {
    if let Some(version) = api_version.strip_prefix("resource.k8s.io/") {
        // No feature gate affects this.
        resource::stamp_taints(
            version,
            kind,
            &mut Object::tree(object, &DefaultingContext::of(&Gates::default())),
            now,
        );
    }
}

#[cfg(test)]
mod tests;
