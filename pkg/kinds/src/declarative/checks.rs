//! Checks of one field.

use apimachinery::field::{BadValue, Error, Path};
use jsontree::Value;
use schema::object::Object;
use schema::table::{Cardinality, Type};

use super::formats;
use super::lists::{ItemIndex, duplicates};
use super::operation::Operation;
use super::rules::{Check, CustomCheck, FieldRules, Level, Rule, UpdateConstraint};
use super::slots::{Slot, integer, items, shown_item, shown_text, text};
use super::unions::{Struct, at_most_one_item, null};

/// First priority of eviction responders that are not part of Kubernetes.
const RESPONDER_PRIORITY_MIN: i64 = 1000;
const RESERVED_DOMAINS: [&str; 2] = [".k8s.io", ".kubernetes.io"];

/// Checks the rules of a field. Returns true if they end its validation.
pub(super) fn rules(
    operation: &mut Operation<'_>,
    rules: &'static [Rule],
    field: &FieldRules,
    slot: &Slot<'_>,
    path: &Path<'_>,
) -> bool {
    let mut ended = false;
    for rule in rules {
        if ended && !rule.check.short_circuits() {
            return true;
        }
        if operation.applies(rule) {
            ended |= check(operation, rule, field, slot, path);
        }
    }
    ended
}

/// Runs a check of a field. Returns true if it ends the validation of the field.
fn check(
    operation: &mut Operation<'_>,
    rule: &Rule,
    field: &FieldRules,
    slot: &Slot<'_>,
    path: &Path<'_>,
) -> bool {
    let level = rule.level;
    match rule.check {
        Check::Required if !slot.is_set() => operation.push(level, || Error::required(path, "")),
        Check::Optional if !slot.is_set() => {}
        Check::Required | Check::Optional => return false,
        Check::Forbidden => {
            if slot.is_set() {
                operation.push(level, || Error::forbidden(path, ""));
            }
        }
        Check::Immutable if operation.update => {
            operation.push(level, || Error::invalid(path, null(), "field is immutable"));
        }
        Check::Immutable => return false,
        Check::MaxItems(max) => {
            let len = items(slot.new).len();
            if len <= max {
                return false;
            }
            operation.push(level, || Error::too_many(path, Some(len), Some(max)));
        }
        Check::Update(constraints) => return update(operation, level, constraints, field, slot, path),
        _ => {
            other(operation, rule, field, slot, path);
            return false;
        }
    }
    true
}

/// Runs a check that does not end the validation of the field.
fn other(operation: &mut Operation<'_>, rule: &Rule, field: &FieldRules, slot: &Slot<'_>, path: &Path<'_>) {
    let level = rule.level;
    match rule.check {
        Check::Unique => {
            let list = items(slot.new);
            for index in duplicates(slot.field, field.correlation, list) {
                let shown = || shown_item(slot.field, list.get(index).unwrap_or(&Value::Null));
                operation.push(level, || Error::duplicate(&path.index(index), shown()));
            }
        }
        Check::AtMostOneItem(members) => at_most_one_item(operation, level, members, slot, path),
        Check::Subfield(name, rules) => subfield(operation, name, rules, field, slot, path),
        Check::EachItem(check) => each_item(operation, level, check, field, slot, path),
        Check::EachKey(check) => each_key(operation, level, check, slot, path),
        Check::Minimum(_)
        | Check::Maximum(_)
        | Check::Monotonic
        | Check::Custom(CustomCheck::ReservedPriority) => {
            if !slot.is_nil() {
                number(operation, level, rule.check, slot, path);
            }
        }
        check => {
            if !slot.is_nil() {
                let value = text(slot.new);
                string(operation, level, &check, value, &|| shown_text(slot.field, value), path);
            }
        }
    }
}

fn subfield(
    operation: &mut Operation<'_>,
    name: &str,
    rules: &'static [Rule],
    field: &FieldRules,
    slot: &Slot<'_>,
    path: &Path<'_>,
) {
    let Type::Message(message) = slot.field.ty else { return };
    let zero = Object::new();
    let new = slot.new.and_then(Value::as_object).unwrap_or(&zero);
    let old = slot.correlated.then(|| slot.old.and_then(Value::as_object).unwrap_or(&zero));
    let member = Struct { message, new, old }.slot(name);
    if let Some(member) = member.filter(|member| !member.is_unchanged()) {
        self::rules(operation, rules, field, &member, &path.child(name));
    }
}

fn each_item(
    operation: &mut Operation<'_>,
    level: Level,
    check: &Check,
    field: &FieldRules,
    slot: &Slot<'_>,
    path: &Path<'_>,
) {
    let index = ItemIndex::new(slot.field, field.correlation, items(slot.old));
    for (at, item) in items(slot.new).iter().enumerate() {
        // Items with rules of their own are texts, so equal keys are equal items.
        if index.find(item).is_none() {
            let value = text(Some(item));
            string(operation, level, check, value, &|| shown_text(slot.field, value), &path.index(at));
        }
    }
}

fn each_key(operation: &mut Operation<'_>, level: Level, check: &Check, slot: &Slot<'_>, path: &Path<'_>) {
    let old = slot.old.and_then(Value::as_object);
    for (key, _) in slot.new.and_then(Value::as_object).into_iter().flatten() {
        if old.is_none_or(|old| !old.contains_key(key)) {
            string(operation, level, check, key, &|| BadValue::from(&**key), path);
        }
    }
}

/// Runs a check of a text. `shown` is the text as errors show it.
fn string(
    operation: &mut Operation<'_>,
    level: Level,
    check: &Check,
    text: &str,
    shown: &dyn Fn() -> BadValue,
    path: &Path<'_>,
) {
    match *check {
        Check::MaxLength(max) if text.chars().count() > max => {
            operation.push(level, || Error::too_long_characters(path, Some(max)));
        }
        Check::MaxBytes(max) if text.len() > max => {
            operation.push(level, || Error::too_long(path, Some(max)));
        }
        Check::Enum(values) if !values.contains(&text) => {
            operation.push(level, || Error::not_supported(path, shown(), values));
        }
        Check::Custom(CustomCheck::ReservedDomain) if is_reserved(text) => {
            let detail = "domain names *.k8s.io, *.kubernetes.io are reserved";
            operation.push(level, || Error::invalid(path, shown(), detail));
        }
        Check::Format(format) => {
            formats::check(format, text, shown, path, &mut |error| operation.push(level, error));
        }
        _ => {}
    }
}

/// True if the part before the slash is a domain of Kubernetes itself.
fn is_reserved(name: &str) -> bool {
    let domain = name.split('/').next().unwrap_or_default().to_lowercase();
    let domain = domain.trim().trim_end_matches('.');
    RESERVED_DOMAINS.iter().any(|suffix| domain.ends_with(suffix) || domain == suffix.trim_matches('.'))
}

fn number(operation: &mut Operation<'_>, level: Level, check: Check, slot: &Slot<'_>, path: &Path<'_>) {
    let value = integer(slot.new);
    let detail = match check {
        Check::Minimum(min) if value < min => format!("must be greater than or equal to {min}"),
        Check::Maximum(max) if value > max => format!("must be less than or equal to {max}"),
        Check::Monotonic if operation.update && slot.correlated => {
            let old = integer(slot.old);
            let absent = slot.field.pointer && slot.old.is_none_or(Value::is_null);
            if absent || value >= old {
                return;
            }
            format!("may not be decreased from {old}")
        }
        Check::Custom(_) if (0..RESPONDER_PRIORITY_MIN).contains(&value) => {
            "priorities 0-999 are reserved for responders with *.k8s.io suffix".to_owned()
        }
        _ => return,
    };
    operation.push(level, || Error::invalid(path, value, detail));
}

/// Checks the changes of a field. Returns true if one of them is not allowed.
fn update(
    operation: &mut Operation<'_>,
    level: Level,
    constraints: &[UpdateConstraint],
    field: &FieldRules,
    slot: &Slot<'_>,
    path: &Path<'_>,
) -> bool {
    let pointer = slot.field.pointer || slot.field.cardinality != Cardinality::One;
    if !operation.update || !pointer && !slot.correlated {
        return false;
    }
    let before = slot.was_set();
    let after = slot.is_set();
    let mut rejected = false;
    for constraint in constraints {
        let detail = match constraint {
            UpdateConstraint::NoSet if !before && after => "field cannot be set once created",
            UpdateConstraint::NoUnset if before && !after => "field cannot be cleared once set",
            UpdateConstraint::NoModify if before && after => "field cannot be modified once set",
            UpdateConstraint::NoAddItem | UpdateConstraint::NoRemoveItem => {
                rejected |= items_changed(operation, level, *constraint, field, slot, path);
                continue;
            }
            _ => continue,
        };
        operation.push(level, || Error::invalid(path, null(), detail));
        rejected = true;
    }
    rejected
}

/// Reports items that were added or removed.
fn items_changed(
    operation: &mut Operation<'_>,
    level: Level,
    constraint: UpdateConstraint,
    field: &FieldRules,
    slot: &Slot<'_>,
    path: &Path<'_>,
) -> bool {
    let mut changed = false;
    let old = items(slot.old);
    let new = items(slot.new);
    if constraint == UpdateConstraint::NoAddItem {
        let index = ItemIndex::new(slot.field, field.correlation, old);
        for (at, _) in new.iter().enumerate().filter(|(_, item)| index.find(item).is_none()) {
            operation.push(level, || Error::forbidden(&path.index(at), "item may not be added"));
            changed = true;
        }
    } else {
        let index = ItemIndex::new(slot.field, field.correlation, new);
        for _ in old.iter().filter(|item| index.find(item).is_none()) {
            operation.push(level, || Error::forbidden(path, "item may not be removed"));
            changed = true;
        }
    }
    changed
}
