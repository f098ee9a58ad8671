//! Evaluation of the rules of a new object, beside the old one of an update.

use apimachinery::field::Path;
use jsontree::Value;
use schema::object::Object;
use schema::table::{Cardinality, Message, Type};

use super::checks;
use super::lists::ItemIndex;
use super::operation::Operation;
use super::rules::{FieldRules, Rule, TypeRules};
use super::slots::{Slot, items};
use super::unions::{self, Struct};

/// Walks an object. The depth is that of the object, which decoders limit.
pub(super) struct Evaluator<'e> {
    pub(super) operation: Operation<'e>,
}

impl Evaluator<'_> {
    /// Validates a struct. The caller has checked that it changed.
    pub(super) fn structure(&mut self, rules: &'static TypeRules, value: Struct<'_>, path: &Path<'_>) {
        for rule in rules.checks {
            if self.operation.applies(rule) {
                unions::check(&mut self.operation, rule, value, path);
            }
        }
        for field in rules.fields {
            if let Some(slot) = value.slot(field.name) {
                self.field(field, slot, &path.child(field.name));
            }
        }
    }

    fn field(&mut self, field: &'static FieldRules, slot: Slot<'_>, path: &Path<'_>) {
        let is_reported = |rule: &Rule| self.operation.findings.reports(rule.level);
        if field.child.is_none() && !field.rules.iter().any(is_reported) {
            return;
        }
        // A struct without rules of its own is not compared as a whole, because its members are.
        let compared = !field.rules.is_empty() || slot.field.cardinality != Cardinality::One;
        if compared && slot.is_unchanged() {
            return;
        }
        if checks::rules(&mut self.operation, field.rules, field, &slot, path) {
            return;
        }
        let Some(rules) = field.child else { return };
        let Type::Message(message) = slot.field.ty else { return };
        match slot.field.cardinality {
            Cardinality::One => self.child(rules, message, &slot, path),
            Cardinality::List => self.list(field, rules, &slot, path),
            Cardinality::Map => self.map(rules, message, &slot, path),
        }
    }

    fn child(
        &mut self,
        rules: &'static TypeRules,
        message: &'static Message,
        slot: &Slot<'_>,
        path: &Path<'_>,
    ) {
        if slot.is_nil() {
            return;
        }
        let zero = Object::new();
        let new = slot.new.and_then(Value::as_object).unwrap_or(&zero);
        let old = slot.old.and_then(Value::as_object);
        // A struct that is no pointer exists whenever its parent does.
        let old = if slot.correlated && !slot.field.pointer { old.or(Some(&zero)) } else { old };
        self.structure(rules, Struct { message, new, old }, path);
    }

    fn list(
        &mut self,
        field: &'static FieldRules,
        rules: &'static TypeRules,
        slot: &Slot<'_>,
        path: &Path<'_>,
    ) {
        let Type::Message(message) = slot.field.ty else { return };
        let index = ItemIndex::new(slot.field, field.correlation, items(slot.old));
        for (at, item) in items(slot.new).iter().enumerate() {
            let old = index.find(item);
            self.item(rules, message, item, old, &path.index(at));
        }
    }

    fn map(
        &mut self,
        rules: &'static TypeRules,
        message: &'static Message,
        slot: &Slot<'_>,
        path: &Path<'_>,
    ) {
        let old = slot.old.and_then(Value::as_object);
        for (key, value) in slot.new.and_then(Value::as_object).into_iter().flatten() {
            self.item(rules, message, value, old.and_then(|old| old.get(key)), &path.key(key));
        }
    }

    /// Validates an item of a list or map unless it is unchanged.
    fn item(
        &mut self,
        rules: &'static TypeRules,
        message: &'static Message,
        new: &Value,
        old: Option<&Value>,
        path: &Path<'_>,
    ) {
        let zero = Object::new();
        let new = new.as_object().unwrap_or(&zero);
        let old = old.map(|old| old.as_object().unwrap_or(&zero));
        if old.is_some_and(|old| api::semantic::equal(message, new, old)) {
            return;
        }
        self.structure(rules, Struct { message, new, old }, path);
    }
}
