//! Values against the schemas of custom resources, in the words and order of kube-openapi's validator.
//!
//! Patterns are not matched and formats not looked into; the sizes, types and numbers that formats stand
//! for are.

mod number;

use crate::tree::{child, flag, list, maybe_integer, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::go_quote::quote;
use schema::object::Object;
use serde_json::Value;

/// A value inside a schema, a default or an alternative of an `enum`, which trees have as its JSON text.
pub(super) fn literal(text: &Value) -> Value {
    text.as_str().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// What is wrong with a value. `path` is that of the value. Schemas and values are as deep as decoders let
/// them be.
pub(super) fn faults(path: &Path<'_>, schema: &Object, value: &Value) -> ErrorList {
    let mut errors = Checker { path }.check("", schema, value).errors;
    let mut seen = std::collections::HashSet::new();
    errors.retain(|error| seen.insert(error.to_string()));
    errors
}

/// What a check found, and how much it liked, by which the best of bad alternatives is chosen.
#[derive(Default)]
struct Outcome {
    errors: ErrorList,
    matches: usize,
}

impl Outcome {
    fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }

    fn merge(&mut self, other: Outcome) {
        self.errors.append(other.errors);
        self.matches += other.matches;
    }
}

/// Names are those of members below the value, joined by dots; empty for the value itself.
struct Checker<'p> {
    path: &'p Path<'p>,
}

impl Checker<'_> {
    /// Makes an error of the path of a name.
    fn error(&self, name: &str, make: impl FnOnce(&Path<'_>) -> Error) -> Error {
        match name.trim_start_matches('.') {
            "" => make(self.path),
            name => make(&self.path.child(name)),
        }
    }

    fn invalid(&self, name: &str, value: impl Into<BadValue>, words: String) -> Error {
        self.error(name, |path| Error::invalid(path, value, format!("{name} in body {words}")))
    }

    fn check(&self, name: &str, schema: &Object, value: &Value) -> Outcome {
        let mut outcome = Outcome::default();
        outcome.errors.extend(self.type_error(name, schema, value));
        if !value.is_null() {
            self.alternatives(name, schema, value, &mut outcome);
        }
        match value {
            Value::String(text) => self.string(name, schema, text, &mut outcome),
            Value::Number(number) => {
                let errors = number::faults(name, text(schema, "type"), schema, number);
                let errors = errors.into_iter().map(|found| match found {
                    number::Fault::Bound(words) => Error::invalid(self.path, "", words),
                    number::Fault::Value(words) => self.invalid(name, value, words),
                });
                outcome.errors.extend(errors);
            }
            Value::Array(items) => self.items(name, schema, items, &mut outcome),
            _ => {}
        }
        let allowed: Vec<Value> = list(schema, "enum").iter().map(literal).collect();
        if !allowed.is_empty() && !allowed.iter().any(|allowed| number::same(allowed, value)) {
            let shown = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let allowed: Vec<String> = allowed.iter().map(shown).collect();
            outcome.errors.push(self.error(name, |path| Error::not_supported(path, value, &allowed)));
        }
        if let Value::Object(members) = value {
            self.members(name, schema, members, &mut outcome);
        }
        outcome.matches += 1;
        outcome
    }

    fn type_error(&self, name: &str, schema: &Object, value: &Value) -> Option<Error> {
        let (wanted, format) = (text(schema, "type"), text(schema, "format"));
        let (found, wrong) = match value {
            Value::Null => ("null", !wanted.is_empty() && !flag(schema, "nullable")),
            // The format of a text says more than its type.
            Value::String(_) => ("string", wanted != "string" && format.is_empty()),
            Value::Bool(_) => ("boolean", wanted != "boolean"),
            Value::Array(_) => ("array", wanted != "array" && format.is_empty()),
            Value::Object(_) => ("object", wanted != "object"),
            Value::Number(number) if number.is_f64() => {
                ("number", wanted != "number" && !(wanted == "integer" && number::is_whole(number)))
            }
            Value::Number(_) => ("integer", !matches!(wanted, "integer" | "number")),
        };
        let detail = || format!("{name} in body must be of type {wanted}: {}", quote(found));
        let wrong = wrong && !wanted.is_empty();
        wrong.then(|| self.error(name, |path| Error::type_invalid(path, found, detail())))
    }

    /// `anyOf`, `oneOf`, `allOf`, `not`.
    fn alternatives(&self, name: &str, schema: &Object, value: &Value, outcome: &mut Outcome) {
        let outcomes = |member: &str| -> Vec<Outcome> {
            let schemas = list(schema, member).iter().filter_map(Value::as_object);
            schemas.map(|schema| self.check(name, schema, value)).collect()
        };
        let complaint = |words: String| Error::invalid(self.path, "", format!("{} {words}", quote(name)));
        // Of those that like it equally, the first.
        let best = |outcomes: Vec<Outcome>| {
            outcomes.into_iter().rev().max_by_key(|outcome| outcome.matches).unwrap_or_default()
        };
        let any = outcomes("anyOf");
        if !any.is_empty() && !any.iter().any(Outcome::is_valid) {
            outcome.errors.push(complaint("must validate at least one schema (anyOf)".to_owned()));
            outcome.merge(best(any));
        }
        let one = outcomes("oneOf");
        let valid = one.iter().filter(|outcome| outcome.is_valid()).count();
        if !one.is_empty() && valid != 1 {
            let words = "must validate one and only one schema (oneOf). Found";
            let count =
                if valid == 0 { "none valid".to_owned() } else { format!("{valid} valid alternatives") };
            outcome.errors.push(complaint(format!("{words} {count}")));
            if valid == 0 {
                outcome.merge(best(one));
            }
        }
        let all = outcomes("allOf");
        let (count, valid) = (all.len(), all.iter().filter(|outcome| outcome.is_valid()).count());
        all.into_iter().for_each(|each| outcome.merge(each));
        if valid != count {
            let none = if valid == 0 { ". None validated" } else { "" };
            outcome.errors.push(complaint(format!("must validate all the schemas (allOf){none}")));
        }
        if child(schema, "not").is_some_and(|not| self.check(name, not, value).is_valid()) {
            outcome.errors.push(complaint("must not validate the schema (not)".to_owned()));
        }
    }

    fn string(&self, name: &str, schema: &Object, value: &str, outcome: &mut Outcome) {
        let length = value.chars().count();
        let bound =
            |member: &str| maybe_integer(schema, member).and_then(|bound| usize::try_from(bound).ok());
        if let Some(max) = bound("maxLength").filter(|max| length > *max) {
            outcome.errors.push(self.error(name, |path| Error::too_long(path, Some(max))));
        }
        if let Some(min) = bound("minLength").filter(|min| length < *min) {
            outcome.errors.push(self.invalid(name, value, format!("should be at least {min} chars long")));
        }
        outcome.matches += 1;
    }

    fn items(&self, name: &str, schema: &Object, items: &[Value], outcome: &mut Outcome) {
        if let Some(schema) = child(schema, "items") {
            for (index, item) in items.iter().enumerate() {
                outcome.merge(self.check(&format!("{name}[{index}]"), schema, item));
            }
        }
        self.count(name, schema, items.len(), ["minItems", "maxItems"], "items", outcome);
        outcome.matches += 1;
    }

    fn count(
        &self,
        name: &str,
        schema: &Object,
        count: usize,
        [min, max]: [&str; 2],
        what: &str,
        outcome: &mut Outcome,
    ) {
        let bound =
            |member: &str| maybe_integer(schema, member).and_then(|bound| usize::try_from(bound).ok());
        if let Some(min) = bound(min).filter(|min| count < *min) {
            outcome.errors.push(self.invalid(name, count, format!("should have at least {min} {what}")));
        }
        if let Some(max) = bound(max).filter(|max| count > *max) {
            outcome.errors.push(self.error(name, |path| Error::too_many(path, Some(count), Some(max))));
        }
    }

    fn members(&self, name: &str, schema: &Object, members: &Object, outcome: &mut Outcome) {
        self.count(name, schema, members.len(), ["minProperties", "maxProperties"], "properties", outcome);
        let properties = child(schema, "properties");
        let below = |member: &str| match name {
            "" => member.to_owned(),
            name => format!("{name}.{member}"),
        };
        let known = |member: &String| properties.is_some_and(|properties| properties.contains_key(member));
        if schema.get("additionalProperties") == Some(&Value::Bool(false)) {
            for member in members.keys().filter(|member| !known(member)) {
                let words = format!("{name}.{member} in body is a forbidden property");
                outcome.errors.push(self.error(name, |path| Error::invalid(path, "", words)));
            }
        } else if let Some(additional) = child(schema, "additionalProperties") {
            for (member, value) in members.iter().filter(|(member, _)| !known(member)) {
                outcome.merge(self.check(&below(member), additional, value));
            }
        }
        for (member, schema) in properties.into_iter().flatten() {
            if let (Some(schema), Some(value)) = (schema.as_object(), members.get(member)) {
                outcome.merge(self.check(&below(member), schema, value));
            }
        }
        for member in list(schema, "required").iter().filter_map(Value::as_str) {
            if !members.contains_key(member) {
                let name = format!("{name}.{member}");
                outcome.errors.push(self.error(&name, |path| Error::required(path, "")));
            }
        }
    }
}

#[cfg(test)]
mod tests;
