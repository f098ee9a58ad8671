//! Validation of values against schemas, with the texts and the order of kube-openapi's validator.

use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::go_json;
use apimachinery::go_quote::quote;
use jsontree::Value;
use schema::object::Object;

use super::correlate::Correlation;
use super::kind::Kind;
use super::node::{Additional, Constraints, Node, Range, RareConstraints};
use super::number;

/// Validates the value at `path`. Decoders limit the depth of schemas and values.
pub(super) fn faults(path: &Path<'_>, node: &Node, value: &Value, correlation: Correlation<'_>) -> ErrorList {
    Checker { path }.check("", node, Subject::of(value), correlation).errors
}

pub(super) fn validate_object(
    path: &Path<'_>,
    node: &Node,
    members: &Object,
    correlation: Correlation<'_>,
) -> ErrorList {
    Checker { path }.check("", node, Subject::Members(members), correlation).errors
}

/// Checked value. An object is borrowed without wrapping it in a `Value`.
#[derive(Clone, Copy)]
enum Subject<'v> {
    Members(&'v Object),
    Other(&'v Value),
}

impl<'v> Subject<'v> {
    fn of(value: &'v Value) -> Self {
        value.as_object().map_or(Subject::Other(value), Subject::Members)
    }

    fn is_raw(self) -> bool {
        matches!(self, Subject::Other(Value::Raw(_)))
    }

    fn is_null(self) -> bool {
        matches!(self, Subject::Other(Value::Null))
    }

    fn to_value(self) -> Value {
        match self {
            Subject::Members(members) => Value::Object(members.clone()),
            Subject::Other(value) => value.clone(),
        }
    }

    fn is(self, allowed: &Value) -> bool {
        match (self, allowed) {
            (Subject::Members(members), Value::Object(allowed)) => members == allowed,
            (Subject::Other(value), allowed) => number::is_allowed(value, allowed),
            _ => false,
        }
    }
}

/// Errors of a check, and the number of passed checks, which selects the best of several failed alternatives.
#[derive(Default)]
struct CheckOutcome {
    errors: ErrorList,
    matches: usize,
}

impl CheckOutcome {
    fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }

    fn merge(&mut self, other: CheckOutcome) {
        self.errors.append(other.errors);
        self.matches += other.matches;
    }
}

/// Checker of the value at `path`. Names are dot-separated paths of members below that value; empty for the
/// value itself.
struct Checker<'p> {
    path: &'p Path<'p>,
}

impl Checker<'_> {
    /// Makes an error with the path of a name.
    fn error(&self, name: &str, make: impl FnOnce(&Path<'_>) -> Error) -> Error {
        match name.strip_prefix('.').unwrap_or(name) {
            "" => make(self.path),
            name => make(&self.path.child(name)),
        }
    }

    fn invalid(&self, name: &str, value: impl Into<BadValue>, words: &str) -> Error {
        self.error(name, |path| Error::invalid(path, value, format!("{name} in body {words}")))
    }

    /// Checks a value. Errors of an unchanged value are dropped.
    fn check(
        &self,
        name: &str,
        node: &Node,
        value: Subject<'_>,
        correlation: Correlation<'_>,
    ) -> CheckOutcome {
        let mut outcome = self.check_constraints(name, node, value, correlation);
        if !outcome.is_valid() {
            if correlation.is_unchanged() {
                outcome.errors = ErrorList::new();
            } else if !outcome.errors.is_full() {
                dedup(&mut outcome.errors);
            }
        }
        outcome
    }

    fn check_constraints(
        &self,
        name: &str,
        node: &Node,
        value: Subject<'_>,
        correlation: Correlation<'_>,
    ) -> CheckOutcome {
        let mut outcome = CheckOutcome::default();
        if value.is_raw() {
            // Nested too deeply to check. No request can add or change such a value.
            outcome.matches += 1;
            return outcome;
        }
        let limits = &node.limits;
        outcome.errors.extend(self.type_error(name, node, value));
        let more = limits.rare.as_deref();
        if let Some(more) = more.filter(|_| !value.is_null()) {
            self.alternatives(name, more, value, &mut outcome);
        }
        match value {
            Subject::Other(Value::String(text)) => self.string(name, limits, text, &mut outcome),
            Subject::Other(Value::Number(number)) => {
                let errors = number::faults(name, limits, number).into_iter().map(|fault| match fault {
                    number::NumberError::Bound(words) => Error::invalid(self.path, "", words),
                    number::NumberError::Value(words) => {
                        self.invalid(name, &Value::Number(number.clone()), &words)
                    }
                    number::NumberError::Factor(factor, words) => {
                        self.error(name, |path| Error::invalid(path, &Value::Number(factor), words))
                    }
                });
                outcome.errors.extend(errors);
            }
            Subject::Other(Value::Array(items)) => self.items(name, node, items, correlation, &mut outcome),
            _ => {}
        }
        if let Some(allowed) = more.map(|more| &*more.values)
            && !allowed.is_empty()
            && !allowed.iter().any(|allowed| value.is(allowed))
        {
            let shown = |value: &Value| value.as_str().map_or_else(|| go_json::encode(value), str::to_owned);
            let allowed: Vec<String> = allowed.iter().map(shown).collect();
            let value = value.to_value();
            outcome.errors.push(self.error(name, |path| Error::not_supported(path, &value, &allowed)));
        }
        if let Subject::Members(members) = value {
            self.members(name, node, members, correlation, &mut outcome);
        }
        outcome.matches += 1;
        outcome
    }

    fn type_error(&self, name: &str, node: &Node, value: Subject<'_>) -> Option<Error> {
        let Constraints { kind, format, .. } = &node.limits;
        if *kind == Kind::Any && format.is_none() {
            return None;
        }
        let is_number = matches!(kind, Kind::Integer | Kind::Number | Kind::IntOrString);
        let (found, found_format, fits) = match value {
            Subject::Members(_) => ("object", "", *kind == Kind::Object),
            Subject::Other(Value::Null) => {
                let wrong = *kind != Kind::Any && !node.nullable && node.limits.type_name() != "null";
                return wrong.then(|| self.wrong_type(name, node.limits.type_name(), "null"));
            }
            Subject::Other(Value::String(_)) => (
                "string",
                "",
                matches!(kind, Kind::String | Kind::IntOrString) || format.is_some() && !is_number,
            ),
            Subject::Other(Value::Array(_)) => {
                ("array", "", *kind == Kind::Array || format.is_some() && !is_number)
            }
            Subject::Other(Value::Bool(_)) => ("boolean", "", *kind == Kind::Boolean),
            Subject::Other(Value::Number(number)) if number.is_f64() => {
                let is_integer = kind.accepts_integers() && number::is_integer(number);
                ("number", "float64", *kind == Kind::Number || is_integer)
            }
            Subject::Other(_) => ("integer", "int64", kind.accepts_integers() || *kind == Kind::Number),
        };
        if fits {
            return None;
        }
        match format {
            Some(format) if !matches!(found, "string" | "array") => {
                (&*format.name != found_format).then(|| self.wrong_type(name, &format.name, found_format))
            }
            _ => Some(self.wrong_type(name, node.limits.type_name(), found)),
        }
    }

    fn wrong_type(&self, name: &str, expected: &str, found: &str) -> Error {
        let detail = format!("{name} in body must be of type {expected}: {}", quote(found));
        self.error(name, |path| Error::type_invalid(path, found, detail))
    }

    /// `anyOf`, `oneOf`, `allOf`, `not`.
    fn alternatives(
        &self,
        name: &str,
        more: &RareConstraints,
        value: Subject<'_>,
        outcome: &mut CheckOutcome,
    ) {
        // Upstream's ratcheting ends here: only the value with the keyword is compared with its old one.
        let check = |node: &Node| self.check_constraints(name, node, value, Correlation::NONE);
        let complaint = |words: String| Error::invalid(self.path, "", format!("{} {words}", quote(name)));
        if !more.any_of.is_empty() {
            let mut failed = Vec::new();
            let valid = more.any_of.iter().map(check).find_map(|alternative| {
                if alternative.is_valid() {
                    Some(alternative)
                } else {
                    failed.push(alternative);
                    None
                }
            });
            if valid.is_none() {
                outcome.errors.push(complaint("must validate at least one schema (anyOf)".to_owned()));
            }
            outcome.merge(valid.unwrap_or_else(|| best(failed)));
        }
        if !more.one_of.is_empty() {
            let (mut good, bad): (Vec<_>, Vec<_>) =
                more.one_of.iter().map(check).partition(CheckOutcome::is_valid);
            if good.len() == 1 {
                outcome.merge(good.pop().unwrap_or_default());
            } else {
                let count = match good.len() {
                    0 => "none valid".to_owned(),
                    count => format!("{count} valid alternatives"),
                };
                let words = "must validate one and only one schema (oneOf). Found";
                outcome.errors.push(complaint(format!("{words} {count}")));
                if good.is_empty() {
                    outcome.merge(best(bad));
                }
            }
        }
        let valid = more.all_of.iter().map(check).map(|alternative| {
            let valid = alternative.is_valid();
            outcome.merge(alternative);
            valid
        });
        let valid = valid.filter(|valid| *valid).count();
        if valid != more.all_of.len() {
            let none = if valid == 0 { ". None validated" } else { "" };
            outcome.errors.push(complaint(format!("must validate all the schemas (allOf){none}")));
        }
        if more.not.as_ref().is_some_and(|not| check(not).is_valid()) {
            outcome.errors.push(complaint("must not validate the schema (not)".to_owned()));
        }
    }

    /// Reports at most one error of a string, plus an error about its format.
    fn string(&self, name: &str, limits: &Constraints, value: &str, outcome: &mut CheckOutcome) {
        outcome.errors.extend(self.text_error(name, limits, value));
        if let Some(format) = limits.format.as_ref().filter(|format| !format.accepts(value)) {
            let detail = format!("{name} in body must be of type {}: {}", format.name, quote(value));
            outcome.errors.push(self.error(name, |path| Error::type_invalid(path, value, detail)));
        }
        outcome.matches += 1;
    }

    fn text_error(&self, name: &str, limits: &Constraints, value: &str) -> Option<Error> {
        let Range { min, max } = limits.characters;
        if min.is_some() || max.is_some() {
            let length = value.chars().count();
            if let Some(max) = max.filter(|max| length > *max) {
                return Some(self.error(name, |path| Error::too_long(path, Some(max))));
            }
            if let Some(min) = min.filter(|min| length < *min) {
                return Some(self.invalid(name, value, &format!("should be at least {min} chars long")));
            }
        }
        let pattern = limits.rare.as_deref()?.pattern.as_ref()?;
        let text = match &pattern.regex {
            Ok(regex) if regex.is_match(value) => return None,
            Ok(_) => pattern.text.clone().into_string(),
            Err(error) => format!("{}, but pattern is invalid: {error}", pattern.text),
        };
        Some(self.invalid(name, value, &format!("should match '{text}'")))
    }

    fn items(
        &self,
        name: &str,
        node: &Node,
        items: &[Value],
        correlation: Correlation<'_>,
        outcome: &mut CheckOutcome,
    ) {
        if let Some(node) = &node.items {
            let old = correlation.items();
            for (index, item) in items.iter().enumerate() {
                let name = format!("{name}[{index}]");
                outcome.merge(self.check(&name, node, Subject::of(item), old.of(item)));
            }
        }
        self.count(name, node.limits.items, items.len(), "items", outcome);
        outcome.matches += 1;
    }

    fn count(&self, name: &str, range: Range, count: usize, unit: &str, outcome: &mut CheckOutcome) {
        if let Some(min) = range.min.filter(|min| count < *min) {
            outcome.errors.push(self.invalid(name, count, &format!("should have at least {min} {unit}")));
        }
        if let Some(max) = range.max.filter(|max| count > *max) {
            outcome.errors.push(self.error(name, |path| Error::too_many(path, Some(count), Some(max))));
        }
    }

    fn members(
        &self,
        name: &str,
        node: &Node,
        members: &Object,
        correlation: Correlation<'_>,
        outcome: &mut CheckOutcome,
    ) {
        self.count(name, node.limits.members, members.len(), "properties", outcome);
        match &node.additional {
            Additional::Forbidden => {
                for member in members.keys().filter(|member| node.property(member).is_none()) {
                    let words = format!("{name}.{member} in body is a forbidden property");
                    outcome.errors.push(self.error(name, |path| Error::invalid(path, "", words)));
                }
            }
            Additional::Schema(below) => {
                for (member, value) in members.iter().filter(|(member, _)| node.property(member).is_none()) {
                    let old = correlation.member(member);
                    outcome.merge(self.check(&format!("{name}.{member}"), below, Subject::of(value), old));
                }
            }
            Additional::Any | Additional::Unspecified => {}
        }
        for (member, value) in members {
            let Some(below) = node.property(member) else { continue };
            // Changes of an object's type cannot be detected: both objects are in one version.
            let old = match (name, member.as_str()) {
                ("", "kind" | "apiVersion") => Correlation::NONE,
                _ => correlation.member(member),
            };
            let checked = match name {
                "" => self.check(member, below, Subject::of(value), old),
                name => self.check(&format!("{name}.{member}"), below, Subject::of(value), old),
            };
            outcome.merge(checked);
        }
        for member in node.limits.required.iter().filter(|member| !members.contains_key(&***member)) {
            let name = format!("{name}.{member}");
            outcome.errors.push(self.error(&name, |path| Error::required(path, "")));
        }
    }
}

/// Returns the first outcome with the most passed checks.
fn best(outcomes: Vec<CheckOutcome>) -> CheckOutcome {
    outcomes.into_iter().rev().max_by_key(|outcome| outcome.matches).unwrap_or_default()
}

fn dedup(errors: &mut ErrorList) {
    let mut seen = std::collections::HashSet::new();
    errors.retain(|error| seen.insert(error.to_string()));
}
