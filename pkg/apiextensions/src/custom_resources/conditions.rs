//! Computes the status of a CRD.

use ::api::resources::custom::Names;
use ::api::tree::{child, children_mut, text};
use ::kinds::validation::definitions::{approval_reason, converter_is_believable, is_protected, violations};
use apimachinery::time::UnixTime;
use jsontree::{Value, json};
use registry::meta;
use schema::object::{Object, set};

use super::definitions::Definition;
use super::names::NamesInUse;

/// Inputs for the status of one CRD.
pub(super) struct StatusInputs<'j, T> {
    /// Uid of the observed CRD. A re-created CRD is processed on its own event.
    pub(super) uid: &'j str,
    /// The names of other CRDs in its group.
    pub(super) other_names: T,
    /// True if this server serves its resource.
    pub(super) serves: bool,
    pub(super) now: UnixTime,
}

struct Condition {
    kind: &'static str,
    status: &'static str,
    reason: &'static str,
    message: String,
}

impl Condition {
    fn new(
        kind: &'static str,
        status: &'static str,
        reason: &'static str,
        message: impl Into<String>,
    ) -> Self {
        Condition { kind, status, reason, message: message.into() }
    }
}

/// True if an evaluation of the complete CRD may lead to a write. `serves` is true if this server serves its
/// resource.
pub(super) fn may_change(definition: &Definition, serves: bool) -> bool {
    definition.names != definition.accepted_names
        || definition.is("NamesAccepted") && !definition.is("Established") && serves
        || is_protected(&definition.group)
        || definition.condition("NonStructuralSchema").is_some()
}

impl<T: Fn() -> NamesInUse> StatusInputs<'_, T> {
    /// Returns the desired CRD; `None` if it is up to date.
    pub(super) fn desired(&self, current: &Object) -> Option<Object> {
        if meta::text(current, "uid") != self.uid {
            return None;
        }
        let mut new = current.clone();
        self.accept_names(&mut new);
        self.establish(&mut new);
        self.approve(&mut new);
        self.check_structure(&mut new);
        (&new != current).then_some(new)
    }

    /// Accepts the names that are free.
    fn accept_names(&self, definition: &mut Object) {
        let names = |holder: &str, name: &str| {
            child(definition, holder)
                .and_then(|holder| child(holder, name))
                .map(Names::read)
                .unwrap_or_default()
        };
        let requested = names("spec", "names");
        let before = names("status", "acceptedNames");
        if requested == before {
            return;
        }
        let mut in_use = (self.other_names)();
        in_use.add(&before);
        let (accepted, conflict) = accept_free_names(requested, before, &in_use);
        set(definition, &["status", "acceptedNames"], tree_of(&accepted));
        let is_established = is_true(definition, "Established");
        let accepted = match conflict {
            Some((reason, message)) => Condition::new("NamesAccepted", "False", reason, message),
            None => Condition::new("NamesAccepted", "True", "NoConflicts", "no conflicts found"),
        };
        let has_names = accepted.status == "True";
        self.set_condition(definition, accepted);
        if !is_established {
            let (reason, message) = if has_names {
                ("Installing", "the initial names have been accepted")
            } else {
                ("NotAccepted", "not all names are accepted")
            };
            self.set_condition(definition, Condition::new("Established", "False", reason, message));
        }
    }

    /// Sets `Established` once the resource is served.
    fn establish(&self, definition: &mut Object) {
        if !self.serves || is_true(definition, "Established") || !is_true(definition, "NamesAccepted") {
            return;
        }
        let (status, reason, message) = if converter_is_believable(definition) {
            ("True", "InitialNamesAccepted", "the initial names have been accepted")
        } else {
            ("False", "InvalidCABundle", "The conversion webhook CABundle is invalid")
        };
        self.set_condition(definition, Condition::new("Established", status, reason, message));
    }

    /// Sets the approval condition of a CRD in a Kubernetes group (KEP-1111).
    fn approve(&self, definition: &mut Object) {
        if let Some((status, reason, message)) = approval_reason(definition) {
            let kind = "KubernetesAPIApprovalPolicyConformant";
            self.set_condition(definition, Condition::new(kind, status, reason, message));
        }
    }

    /// Sets the condition about non-structural schemas of an old CRD.
    fn check_structure(&self, definition: &mut Object) {
        match violations(definition) {
            Some((status, reason, message)) => {
                self.set_condition(
                    definition,
                    Condition::new("NonStructuralSchema", status, reason, message),
                );
            }
            None => remove_condition(definition, "NonStructuralSchema"),
        }
    }

    fn set_condition(&self, definition: &mut Object, condition: Condition) {
        set_condition(definition, condition, self.now);
    }
}

/// Returns the accepted names, and the conflict about the others.
fn accept_free_names(
    requested: Names,
    before: Names,
    names_in_use: &NamesInUse,
) -> (Names, Option<(&'static str, String)>) {
    let mut conflict = None;
    let mut accepted = Names { categories: requested.categories, ..before.clone() };
    let in_use = |name: &str| format!("{name:?} is already in use");
    let mut take = |slot: &mut String, name: String, used: bool, reason: &'static str| {
        if used && *slot != name { conflict = Some((reason, in_use(&name))) } else { *slot = name }
    };
    let used = |name: &str| names_in_use.resources.contains(name);
    take(&mut accepted.plural, requested.plural.clone(), used(&requested.plural), "PluralConflict");
    take(&mut accepted.singular, requested.singular.clone(), used(&requested.singular), "SingularConflict");
    let is_conflict = |name: &&String| !before.short_names.contains(name) && used(name);
    let short: Vec<String> =
        requested.short_names.iter().filter(is_conflict).map(|name| in_use(name)).collect();
    if short.is_empty() {
        accepted.short_names = requested.short_names;
    }
    let used = |name: &str| names_in_use.kinds.contains(name);
    let of_short = (!short.is_empty()).then(|| ("ShortNamesConflict", aggregate(short)));
    if of_short.is_some() {
        conflict = of_short;
    }
    let mut take = |slot: &mut String, name: String, used: bool, reason: &'static str| {
        if used && *slot != name { conflict = Some((reason, in_use(&name))) } else { *slot = name }
    };
    take(&mut accepted.kind, requested.kind.clone(), used(&requested.kind), "KindConflict");
    take(
        &mut accepted.list_kind,
        requested.list_kind.clone(),
        used(&requested.list_kind),
        "ListKindConflict",
    );
    (accepted, conflict)
}

/// Joins errors as upstream does.
fn aggregate(mut errors: Vec<String>) -> String {
    match errors.len() {
        1 => errors.pop().unwrap_or_default(),
        _ => format!("[{}]", errors.join(", ")),
    }
}

fn tree_of(names: &Names) -> Value {
    let mut tree = json!({
        "plural": names.plural, "singular": names.singular, "kind": names.kind, "listKind": names.list_kind,
    });
    for (name, list) in [("shortNames", &names.short_names), ("categories", &names.categories)] {
        if !list.is_empty() {
            tree[name] = json!(list);
        }
    }
    for name in ["plural", "singular", "kind", "listKind"] {
        let Value::Object(members) = &mut tree else { continue };
        if members.get(name).is_some_and(|value| value == "") && !matches!(name, "plural" | "kind") {
            members.remove(name);
        }
    }
    tree
}

/// True if the status of a condition is `True`.
pub(super) fn is_true(definition: &Object, kind: &str) -> bool {
    let status = child(definition, "status");
    let conditions = status.into_iter().flat_map(|status| ::api::tree::children(status, "conditions"));
    conditions
        .filter(|condition| text(condition, "type") == kind)
        .any(|condition| text(condition, "status") == "True")
}

/// Sets a condition. Its transition time changes only with its status.
fn set_condition(definition: &mut Object, condition: Condition, now: UnixTime) {
    let Condition { kind, status, reason, message } = condition;
    let time = Value::from(UnixTime { nanos: 0, ..now }.rfc3339().to_string());
    if let Some(holder) = ::api::tree::child_mut(definition, "status")
        && let Some(existing) =
            children_mut(holder, "conditions").find(|existing| text(existing, "type") == kind)
    {
        if text(existing, "status") != status || existing.get("lastTransitionTime").is_none_or(Value::is_null)
        {
            existing.insert("lastTransitionTime", time);
        }
        for (name, value) in [("status", status), ("reason", reason), ("message", &message)] {
            existing.insert(name.to_owned(), value.into());
        }
        return;
    }
    let condition = json!({
        "type": kind, "status": status, "lastTransitionTime": time, "reason": reason, "message": message,
    });
    match schema::object::get_list(definition, &["status", "conditions"]) {
        [] => set(definition, &["status", "conditions"], vec![condition]),
        conditions => {
            let mut all = conditions.to_vec();
            all.push(condition);
            set(definition, &["status", "conditions"], all);
        }
    }
}

/// Sets the `Terminating` condition of a deleted CRD.
pub(super) fn set_terminating(
    definition: &mut Object,
    status: &'static str,
    reason: &'static str,
    message: String,
    now: UnixTime,
) {
    set_condition(definition, Condition::new("Terminating", status, reason, message), now);
}

fn remove_condition(definition: &mut Object, kind: &str) {
    let Some(status) = ::api::tree::child_mut(definition, "status") else { return };
    if let Some(Value::Array(conditions)) = status.get_mut("conditions") {
        conditions.retain(|condition| condition["type"] != kind);
    }
}
