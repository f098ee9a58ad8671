//! Validation of defaults in a structural schema. Each must be valid for its schema and must not lose fields
//! by pruning. Defaults inside the metadata of embedded resources are only checked against their schemas.

use super::structural::{EMBEDDED, PRESERVE};
use super::subschemas::{properties, property};
use crate::validation::kinds::custom::COST_MAX;
use api::structural::{self, Literals, Node, literal};
use api::tree::{child, flag};
use apimachinery::field::{Error, ErrorList, Path};
use cel::env::Environment;
use cel::eval::PER_CALL_LIMIT;
use cel::structural::{Findings, RunOptions, Validator};
use jsontree::Value;
use schema::object::Object;

/// Member with the validation rules of a schema.
const RULES: &str = "x-kubernetes-validations";
/// Fields of every resource.
const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Validates the defaults of a schema and its inner schemas. With `pruned`, they must not have unknown
/// fields. Rules are those of release 1.`minor`.
pub(super) fn validate(path: &Path<'_>, schema: &Object, pruned: bool, minor: u32, errors: &mut ErrorList) {
    let compiled = Node::compile(schema, Literals::Texts);
    let place = DefaultContext { root: true, metadata: false };
    let mut judge = DefaultValidator { pruned, minor, budget: COST_MAX, errors };
    judge.node(path, schema, &compiled, place);
}

/// Shared state for validating all defaults of a schema.
struct DefaultValidator<'e> {
    pruned: bool,
    minor: u32,
    /// Remaining cost budget of the rules; negative once exhausted.
    budget: i64,
    errors: &'e mut ErrorList,
}

#[derive(Clone, Copy)]
struct DefaultContext {
    root: bool,
    metadata: bool,
}

impl DefaultValidator<'_> {
    fn node(&mut self, path: &Path<'_>, schema: &Object, compiled: &Node, context: DefaultContext) {
        let embedded = context.root || flag(schema, EMBEDDED);
        let metadata = context.metadata && !embedded;
        if let Some(default) = default_of(schema) {
            let path = path.child("default");
            if self.pruned && !metadata && has_unknown_fields(&default, schema, embedded) {
                self.errors.push(Error::invalid(&path, &default, "must not have unknown fields"));
            }
            let faults = if !metadata {
                structural::validate_default(&path, compiled, &default, embedded)
            } else {
                structural::faults(&path, compiled, &default)
            };
            if faults.is_empty() && meets_rules(&default, schema) {
                self.rules(&path, schema, embedded, &default);
            }
            self.errors.append(faults);
        }
        // Defaults of map values are not checked.
        if let (Some(items), Some(compiled)) = (child(schema, "items"), compiled.items()) {
            self.node(&path.child("items"), items, compiled, DefaultContext { root: false, metadata });
        }
        for (name, property) in properties(schema) {
            let metadata = metadata || embedded && META.contains(&name);
            let context = DefaultContext { root: false, metadata };
            let Some(compiled) = compiled.property(name) else { continue };
            self.node(&path.child("properties").key(name), property, compiled, context);
        }
    }

    /// Evaluates the rules for a default twice: as an unchanged value and as a new one, because some rules
    /// depend on the old value. All defaults together have the cost budget of one object.
    fn rules(&mut self, path: &Path<'_>, schema: &Object, is_resource: bool, default: &Value) {
        if self.budget < 0 {
            return;
        }
        let stored = Environment::of_release(u32::MAX);
        let schema = Value::Object(schema.clone());
        let Some(rules) = Validator::new(&schema, is_resource, &stored, self.minor) else { return };
        let options =
            RunOptions { ratcheting: false, budget: self.budget, call_limit: PER_CALL_LIMIT, cancel: None };
        let mut findings = rules.run(path, default, Some(default), options);
        if findings.errors.is_empty() {
            let as_new = rules.run(path, default, None, options);
            let remaining = as_new.remaining.min(findings.remaining);
            findings = Findings { remaining, ..as_new };
        }
        self.budget = findings.remaining;
        self.errors.extend(findings.errors);
    }
}

/// True if there is a rule for a value or for anything in it. Rules are compiled only then: most defaults are
/// small, and most schemas have no rules for them.
fn meets_rules(value: &Value, schema: &Object) -> bool {
    schema.contains_key(RULES)
        || match value {
            Value::Array(items) => child(schema, "items")
                .is_some_and(|schema| items.iter().any(|item| meets_rules(item, schema))),
            Value::Object(members) => members.iter().any(|(name, value)| {
                let values = || child(schema, "additionalProperties");
                property(schema, name).or_else(values).is_some_and(|schema| meets_rules(value, schema))
            }),
            _ => false,
        }
}

/// True if a schema has a default that pruning would change.
pub(super) fn has_unpruned(schema: &Object) -> bool {
    default_of(schema).is_some_and(|default| has_unknown_fields(&default, schema, flag(schema, EMBEDDED)))
}

/// Returns the default of a schema. A null default counts as none.
fn default_of(schema: &Object) -> Option<Value> {
    schema.get("default").map(|text| literal(text.as_str())).filter(|default| !default.is_null())
}

/// True if pruning would remove anything from a value. At the root of a resource it keeps the fields of every
/// resource.
fn has_unknown_fields(value: &Value, schema: &Object, resource: bool) -> bool {
    let preserves = flag(schema, PRESERVE);
    match value {
        Value::Array(items) => match child(schema, "items") {
            Some(schema) => items.iter().any(|item| has_unknown_fields(item, schema, flag(schema, EMBEDDED))),
            None => !preserves && items.iter().any(has_fields),
        },
        Value::Object(members) => members.iter().any(|(name, value)| {
            if resource && META.contains(&name.as_str()) {
                return false;
            }
            match (property(schema, name), schema.get("additionalProperties")) {
                (Some(schema), _) | (None, Some(Value::Object(schema))) => {
                    has_unknown_fields(value, schema, flag(schema, EMBEDDED))
                }
                (None, Some(Value::Bool(true))) => has_fields(value),
                _ => !preserves,
            }
        }),
        _ => false,
    }
}

/// True if a value contains any field, for values without a schema.
fn has_fields(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_fields),
        Value::Object(members) => !members.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::json;

    fn check(schema: Value, expected: &[&str]) {
        let mut errors = ErrorList::new();
        let object = schema.as_object().cloned().unwrap_or_default();
        validate(&Path::root("s"), &object, true, 36, &mut errors);
        assert_eq!(errors.iter().map(Error::to_string).collect::<Vec<_>>(), expected, "{schema}");
    }

    #[test]
    fn a_default_is_a_value_of_its_schema() {
        let field = |schema: Value| json!({"type": "object", "properties": {"f": schema}});
        check(field(json!({"type": "string", "default": "\"a\""})), &[]);
        check(field(json!({"type": "string", "default": "null"})), &[]);
        check(
            field(json!({"type": "string", "default": "1"})),
            &[
                "s.properties[f].default: Invalid value: \"integer\":  in body must be of type string: \"integer\"",
            ],
        );
        check(
            field(json!({"type": "array", "items": {"type": "integer", "default": "1", "minimum": 2}})),
            &[
                "s.properties[f].items.default: Invalid value: 1:  in body should be greater than or equal to 2",
            ],
        );
    }

    #[test]
    fn default_has_the_declared_type() {
        let field = |schema: Value| json!({"type": "object", "properties": {"f": schema}});
        let int_or_string = |kind: &str, default: &str| {
            field(json!({"type": kind, "x-kubernetes-int-or-string": true, "default": default}))
        };
        check(int_or_string("string", "\"a\""), &[]);
        check(
            int_or_string("object", "1"),
            &[
                "s.properties[f].default: Invalid value: \"integer\":  in body must be of type object: \"integer\"",
            ],
        );
        check(
            field(json!({"type": "foo", "default": "true"})),
            &[
                "s.properties[f].default: Invalid value: \"boolean\":  in body must be of type foo: \"boolean\"",
            ],
        );
    }

    #[test]
    fn default_follows_rules_of_its_schema() {
        let field = |rule: &str, default: &str| {
            let schema = json!({"type": "integer", "default": default, RULES: [{"rule": rule}]});
            json!({"type": "object", "properties": {"f": schema}})
        };
        check(field("self < 3", "2"), &[]);
        let failed = |rule: &str| format!("s.properties[f].default: Invalid value: 4: failed rule: {rule}");
        check(field("self < 3", "4"), &[&failed("self < 3")]);
        check(field("self <= oldSelf", "4"), &[]);
        let inside = json!({"type": "object", "properties": {"f": {
            "type": "object", "default": "{\"x\":4}",
            "properties": {"x": {"type": "integer", RULES: [{"rule": "self < 3"}]}},
        }}});
        check(inside, &["s.properties[f].default.x: Invalid value: 4: failed rule: self < 3"]);
    }

    #[test]
    fn default_has_no_unknown_fields() {
        let field = |rest: Value, default: Value| {
            let mut schema = json!({"type": "object", "default": default.to_string()});
            if let (Some(schema), Value::Object(rest)) = (schema.as_object_mut(), rest) {
                schema.extend(rest);
            }
            json!({"type": "object", "properties": {"f": schema}})
        };
        let unknown = "s.properties[f].default: Invalid value: {\"x\":1}: must not have unknown fields";
        check(field(json!({}), json!({"x": 1})), &[unknown]);
        check(field(json!({PRESERVE: true}), json!({"x": 1})), &[]);
        check(field(json!({"properties": {"x": {"type": "integer"}}}), json!({"x": 1})), &[]);
        check(field(json!({"additionalProperties": {"type": "integer"}}), json!({"x": 1})), &[]);
        let embedded = json!({EMBEDDED: true, "properties": {"x": {"type": "integer"}}});
        check(field(embedded, json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "n"}})), &[]);
    }
}
