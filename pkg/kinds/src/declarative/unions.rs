//! Checks of a struct as a whole: unions, modes and dependent members.

use apimachinery::field::{BadValue, Error, Path};
use schema::object::Object;
use schema::table::Message;

use super::operation::Operation;
use super::rules::{Check, Level, ModeRule, Rule};
use super::slots::{Slot, items, text};

/// A struct in the new and in the old object.
#[derive(Clone, Copy)]
pub(super) struct Struct<'a> {
    pub(super) message: &'static Message,
    pub(super) new: &'a Object,
    pub(super) old: Option<&'a Object>,
}

impl<'a> Struct<'a> {
    /// Returns the values of a member, or `None` if the type does not have it.
    pub(super) fn slot(&self, name: &str) -> Option<Slot<'a>> {
        Some(Slot::of(self.message.member(name)?, name, self.new, self.old))
    }

    fn is_set(&self, name: &str) -> bool {
        self.slot(name).is_some_and(|slot| slot.is_set())
    }

    fn was_set(&self, name: &str) -> bool {
        self.slot(name).is_some_and(|slot| slot.was_set())
    }

    /// True if an update sets and clears none of the members.
    fn keeps(&self, names: &[&str]) -> bool {
        self.old.is_some() && names.iter().all(|name| self.is_set(name) == self.was_set(name))
    }
}

/// Runs a check of a struct.
pub(super) fn check(operation: &mut Operation<'_>, rule: &Rule, value: Struct<'_>, path: &Path<'_>) {
    let level = rule.level;
    match rule.check {
        Check::Union(members) => union(operation, level, members, value, path),
        Check::Mode(member, discriminator, modes) => {
            mode(operation, level, Mode { member, discriminator, modes }, value, path);
        }
        Check::DependentRequired(trigger, member)
            if !value.keeps(&[trigger, member]) && value.is_set(trigger) && !value.is_set(member) =>
        {
            let detail = format!("must be set when {trigger} is set");
            operation.push(level, || Error::required(&path.child(member), detail));
        }
        Check::DependentForbidden(trigger, member)
            if !value.keeps(&[trigger, member]) && value.is_set(trigger) && value.is_set(member) =>
        {
            let detail = format!("may not be set when {trigger} is set");
            operation.push(level, || Error::forbidden(&path.child(member), detail));
        }
        _ => {}
    }
}

fn union(operation: &mut Operation<'_>, level: Level, members: &[&str], value: Struct<'_>, path: &Path<'_>) {
    if value.keeps(members) {
        return;
    }
    let set: Vec<&str> = members.iter().copied().filter(|name| value.is_set(name)).collect();
    match set.len() {
        0 => operation
            .push(level, || Error::invalid(path, "", format!("must specify one of: {}", names(members)))),
        1 => {}
        _ => operation.push(level, || several(path, &set, "must specify exactly one of", members)),
    }
}

/// Returns the error for several members of which at most one may be set.
fn several(path: &Path<'_>, set: &[&str], detail: &str, members: &[&str]) -> Error {
    Error::invalid(path, format!("{{{}}}", set.join(", ")), format!("{detail}: {}", names(members)))
}

fn names(members: &[&str]) -> String {
    let quoted: Vec<String> = members.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// Arguments of [`Check::Mode`].
struct Mode {
    member: &'static str,
    discriminator: &'static str,
    modes: &'static [ModeRule],
}

fn mode(operation: &mut Operation<'_>, level: Level, mode: Mode, value: Struct<'_>, path: &Path<'_>) {
    let slots = value.slot(mode.member).zip(value.slot(mode.discriminator));
    let Some((member, discriminator)) = slots else { return };
    if member.is_unchanged() && discriminator.is_unchanged() {
        return;
    }
    let path = path.child(mode.member);
    let current = text(discriminator.new);
    let found = mode.modes.iter().find(|mode| mode.value == current);
    match found.map(|mode| mode.check) {
        None if member.is_set() => operation.push(level, || Error::forbidden(&path, "")),
        Some(Check::Required) if !member.is_set() => operation.push(level, || Error::required(&path, "")),
        _ => {}
    }
}

/// Runs [`Check::AtMostOneItem`].
pub(super) fn at_most_one_item(
    operation: &mut Operation<'_>,
    level: Level,
    members: &[(&str, &str, &str)],
    slot: &Slot<'_>,
    path: &Path<'_>,
) {
    let has = |list, key: &str, value: &str| items(list).iter().any(|item| text(item.get(key)) == value);
    let kept = |(key, value, _): &(&str, &str, &str)| has(slot.new, key, value) == has(slot.old, key, value);
    if slot.was_set() && members.iter().all(kept) {
        return;
    }
    let is_set = |(key, value, _): &&(&str, &str, &str)| has(slot.new, key, value);
    let set: Vec<&str> = members.iter().filter(is_set).map(|(.., name)| *name).collect();
    if set.len() > 1 {
        let names: Vec<&str> = members.iter().map(|(.., name)| *name).collect();
        operation.push(level, || several(path, &set, "must specify at most one of", &names));
    }
}

/// Returns the value that stands for an unset one in errors of changes.
pub(super) fn null() -> BadValue {
    BadValue::Plain("null".to_owned())
}
