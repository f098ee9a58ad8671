//! Defaulting of the built-in kinds, equivalent to upstream's defaulting on every decode.
//!
//! Upstream sets defaults in request bodies, in the results of patch and apply, and in objects read from
//! etcd. The rules belong to the version: two versions of a kind can differ. Here a rule is a pure function,
//! named in the kind's descriptor and written with the helpers of [`fill`]. A rule runs over
//! trees to set defaults. It also runs over stored bytes, to check if any default is missing ([`object`]).
//!
//! Some rules depend on a feature gate, also for objects that were stored while the gate was off.

mod field_ref;
pub(crate) mod fill;
mod image;
pub(crate) mod object;
pub(crate) mod pod_spec;
pub(crate) mod resource_list;
pub(crate) mod volumes;
pub(crate) mod workload;

use crate::builtin;
use apimachinery::time::UnixTime;
use component_base::features::Gates;
use object::{DefaultingContext, Object, Rule};
use schema::memory::BudgetExceeded;
use schema::object::Object as Tree;
use schema::proto::inplace::MessageRef;

/// Defaulting rules of one version of a kind.
#[derive(Clone, Copy)]
pub struct Defaults {
    version: Rule,
    /// Rule for stored objects only.
    stored: Option<Rule>,
}

impl Defaults {
    /// Returns the defaults of a kind in `api_version` (`v1`, `apps/v1`), or `None` for an unknown kind or
    /// one without defaults.
    pub fn of(api_version: &str, kind: &str) -> Option<Self> {
        rule(api_version, kind).map(|version| Defaults { version, stored: None })
    }

    /// Returns the defaults of stored objects. `api_version` is the storage version.
    pub fn of_stored(api_version: &str, kind: &str) -> Option<Self> {
        Self::of(api_version, kind).map(|defaults| Defaults { stored: stored_rule(kind), ..defaults })
    }

    /// Sets the defaults. Idempotent.
    ///
    /// # Errors
    /// Values copied within the object would make it too large for any store. They are omitted.
    pub fn fill(self, object: &mut Tree, gates: &Gates) -> Result<(), BudgetExceeded> {
        let context = DefaultingContext::of(gates);
        (self.version)(&mut Object::tree(object, &context));
        if let Some(stored) = self.stored {
            stored(&mut Object::tree(object, &context));
        }
        context.done()
    }

    /// Returns true if [`fill`](Self::fill) would change an object. The object is read in place: the message
    /// inside its envelope. For bytes that are not canonical, the result can be true although nothing would
    /// change.
    pub fn are_missing(self, object: MessageRef<'_>, gates: &Gates) -> bool {
        Object::is_changed_by(object, gates, self.version)
            || self.stored.is_some_and(|stored| Object::is_changed_by(object, gates, stored))
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

/// Completes a stored object of the storage version, whose defaults are set. Idempotent.
pub fn complete_stored(kind: &str, object: &mut Tree, gates: &Gates) {
    if let Some(rule) = stored_rule(kind) {
        rule(&mut Object::tree(object, &DefaultingContext::of(gates)));
    }
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
    builtin::kind_named(kind).is_some_and(|kind| kind.rare_properties.shares_labels == Some(api_version))
        && labels(&["metadata", "labels"]).is_none_or(Tree::is_empty)
        && labels(workload::TEMPLATE_LABELS).is_some()
}

fn stored_rule(kind: &str) -> Option<Rule> {
    builtin::kind_named(kind)?.rare_properties.completes_stored
}

fn rule(api_version: &str, kind: &str) -> Option<Rule> {
    let Some(kind) = builtin::kind_named(kind) else { return subresource_rule(api_version, kind) };
    kind.defaults.iter().find(|version| version.api_version == api_version)?.defaults
}

/// Returns the rule of a kind that is the body of a subresource.
fn subresource_rule(api_version: &str, kind: &str) -> Option<Rule> {
    let bodies = builtin::ALL.iter().flat_map(|kind| kind.rare_properties.subresource_defaults);
    let mut matching = bodies.filter(|body| body.kind == kind && body.api_version == api_version);
    matching.next().map(|body| body.rule)
}

/// Sets the time `now`, in whole seconds, on device taints without a time. Upstream's defaulting does the
/// same for `DeviceTaintRule` and `ResourceSlice`. Other kinds are unchanged.
pub fn stamp_taints(api_version: &str, kind: &str, object: &mut Tree, now: UnixTime) {
    let times = builtin::kind_named(kind).map_or(&[][..], |kind| kind.rare_properties.times);
    if let Some((_, stamp)) = times.iter().find(|(version, _)| *version == api_version) {
        // No feature gate affects this.
        stamp(&mut Object::tree(object, &DefaultingContext::of(&Gates::default())), now);
    }
}

#[cfg(test)]
mod tests;
