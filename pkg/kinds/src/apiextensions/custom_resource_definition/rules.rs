//! Validation rules of a schema (`x-kubernetes-validations`): their expressions and estimated costs.

use super::subschemas::{any_in_spec, properties, strings};
use crate::validation::expression::Releases;
use crate::validation::go_value::go_value;
use ::schema::builtin::IO_K8S_APIEXTENSIONS_APISERVER_PKG_APIS_APIEXTENSIONS_V1BETA1_VALIDATIONRULE as RULE;
use ::schema::object::Object;
use api::tree::{child, children, flag, list, maybe_flag, maybe_integer, text};
use apimachinery::field::{Error, ErrorList, Path};
use cel::declared::{Builder, schema::Schema};
use cel::env::Environment;
use cel::structural::{CompiledRule, Rule, RuleEnvironments};
use jsontree::Value;
use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;

const RULES: &str = "x-kubernetes-validations";
/// Cost limit of a rule for one object, over all its evaluations.
const RULE_COST_MAX: u64 = 10_000_000;
/// Cost limit of all rules of a schema together.
const SCHEMA_COST_MAX: u64 = 100_000_000;
/// Number of the most expensive rules in the error.
const EXPENSIVE_MAX: usize = 4;

/// Expression texts of the replaced definition.
#[derive(Default)]
pub(super) struct Stored {
    rules: HashSet<String>,
    messages: HashSet<String>,
}

impl Stored {
    /// Collects the expressions of a spec.
    pub(super) fn of(spec: &Object) -> Self {
        let stored = RefCell::new(Self::default());
        any_in_spec(spec, &|schema| {
            let mut stored = stored.borrow_mut();
            for rule in children(schema, RULES) {
                stored.rules.insert(text(rule, "rule").to_owned());
                stored.messages.insert(text(rule, "messageExpression").to_owned());
            }
            false
        });
        stored.into_inner()
    }
}

/// Compiles the rules of one schema and adds up their costs.
pub(super) struct Compiler<'o> {
    new: Environment,
    stored: Environment,
    texts: &'o Stored,
    /// True if single rules may be too expensive, because they are already stored.
    spare_rules: bool,
    total: u64,
    /// Most expensive rules, in descending order.
    expensive: Vec<(String, u64)>,
    errors: ErrorList,
}

/// Context of a schema that affects its rules.
#[derive(Clone, Copy)]
pub(super) struct Scope<'p> {
    /// Maximum number of values for the schema in one object; `None` if unbounded.
    cardinality: Option<u64>,
    /// True for the schema of a resource.
    is_root: bool,
    /// Path of an enclosing list whose items have no identity, so that there is no old value.
    uncorrelatable: Option<&'p Path<'p>>,
}

impl<'p> Scope<'p> {
    /// Context of a resource's schema.
    pub(super) fn root() -> Self {
        Self { cardinality: Some(1), is_root: true, uncorrelatable: None }
    }

    /// Context of an inner schema.
    pub(super) fn inside(self, outer: &Object) -> Self {
        let cardinality = match (self.cardinality, max_elements(outer)) {
            (Some(cardinality), Some(elements)) => Some(cardinality.saturating_mul(elements)),
            _ => None,
        };
        Self { cardinality, is_root: false, ..self }
    }

    /// Context of the items of a list with the path `at`.
    pub(super) fn items(self, outer: &Object, at: &'p Path<'p>) -> Self {
        let correlates = text(outer, "x-kubernetes-list-type") == "map";
        let uncorrelatable = self.uncorrelatable.or((!correlates).then_some(at));
        Self { uncorrelatable, ..self.inside(outer) }
    }
}

/// Returns the maximum number of inner values in each value of a schema; `None` if unbounded.
fn max_elements(schema: &Object) -> Option<u64> {
    let bound = |member| maybe_integer(schema, member).map(|max| u64::try_from(max).unwrap_or(0));
    match text(schema, "type") {
        "object" if schema.get("additionalProperties").is_some_and(|value| !value.is_null()) => {
            bound("maxProperties")
        }
        "array" => bound("maxItems"),
        _ => Some(1),
    }
}

impl<'o> Compiler<'o> {
    pub(super) fn new(releases: Releases, texts: &'o Stored, spare_rules: bool) -> Self {
        Self {
            new: Environment::of_release(releases.minor(false)),
            stored: Environment::of_release(releases.minor(true)),
            texts,
            spare_rules,
            total: 0,
            expensive: Vec::new(),
            errors: ErrorList::new(),
        }
    }

    /// Compiles the rules of a schema that has no other errors.
    pub(super) fn compile(&mut self, path: &Path<'_>, schema: &Object, scope: Scope<'_>) {
        if list(schema, RULES).is_empty() {
            return;
        }
        let path = path.child(RULES);
        let is_root = scope.is_root || flag(schema, "x-kubernetes-embedded-resource");
        let mut builder = Builder::new();
        let Some(place) = builder.schema("selfType", Node(schema), is_root) else {
            let detail = "internal error: failed to construct type information for x-kubernetes-validations \
                          rules: unable to convert structural schema to CEL declarations";
            self.errors.push(Error::internal(&path, detail));
            return;
        };
        let declared = Arc::new(builder.finish(u32::MAX));
        let environments = RuleEnvironments::new(&self.new, &self.stored, &declared, place);
        for (index, rule) in children(schema, RULES).enumerate() {
            let expression = text(rule, "rule");
            let message = text(rule, "messageExpression");
            let compiled = environments.compile(&Rule {
                rule: expression,
                message_expression: message,
                optional_old_self: flag(rule, "optionalOldSelf"),
                rule_is_stored: self.texts.rules.contains(expression),
                message_is_stored: self.texts.messages.contains(message),
            });
            self.check_rule(&path.index(index), rule, &compiled, scope);
        }
    }

    fn check_rule(&mut self, path: &Path<'_>, rule: &Object, compiled: &CompiledRule, scope: Scope<'_>) {
        let rule_path = path.child("rule");
        let cost = compiled.max_cost.saturating_mul(scope.cardinality.unwrap_or(compiled.max_cardinality));
        self.charge(&rule_path, "estimated rule cost", cost);
        if let Some(detail) = &compiled.error {
            self.errors.push(Error::invalid(&rule_path, go_value(&RULE, rule), detail.clone()));
        }
        let message_path = path.child("messageExpression");
        if let Some(detail) = &compiled.message_error {
            self.errors.push(Error::invalid(&message_path, go_value(&RULE, rule), detail.clone()));
        } else if compiled.message.is_some() {
            self.charge(&message_path, "estimated messageExpression cost", compiled.message_max_cost);
        }
        match (compiled.uses_old_self, maybe_flag(rule, "optionalOldSelf"), scope.uncorrelatable) {
            (true, _, Some(list)) => {
                let detail = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {list}"
                );
                self.errors.push(Error::invalid(&rule_path, text(rule, "rule"), detail));
            }
            (false, Some(optional), _) => {
                let detail = "may not be set if oldSelf is not used in rule";
                self.errors.push(Error::invalid(&path.child("optionalOldSelf"), optional, detail));
            }
            _ => {}
        }
    }

    fn charge(&mut self, path: &Path<'_>, name: &str, cost: u64) {
        if !self.spare_rules && cost > RULE_COST_MAX {
            self.errors.push(Error::forbidden(path, too_expensive(name, cost, RULE_COST_MAX)));
        }
        self.total = self.total.saturating_add(cost);
        // Costs below a hundredth of the budget are not listed.
        if cost >= SCHEMA_COST_MAX / 100 {
            let place = self.expensive.partition_point(|(_, other)| *other >= cost);
            self.expensive.insert(place, (path.to_string(), cost));
            self.expensive.truncate(EXPENSIVE_MAX);
        }
    }

    /// Returns the errors of the expressions in all schemas. `path` is that of the outermost one.
    pub(super) fn finish(mut self, path: &Path<'_>) -> (ErrorList, ErrorList) {
        let mut total = ErrorList::new();
        if self.total > SCHEMA_COST_MAX {
            let detail =
                "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
            for (path, _) in std::mem::take(&mut self.expensive) {
                total.push(Error::forbidden(&Path::root(&path), detail));
            }
            let name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
            total.push(Error::forbidden(path, too_expensive(name, self.total, SCHEMA_COST_MAX)));
        }
        (self.errors, total)
    }
}

fn too_expensive(name: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{name} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, \
         and maxLength where arrays, maps, and strings are declared)"
    )
}

/// Schema in the form for CEL declarations.
#[derive(Clone, Copy)]
struct Node<'o>(&'o Object);

impl Schema for Node<'_> {
    fn type_name(self) -> String {
        text(self.0, "type").to_owned()
    }

    fn format(self) -> String {
        text(self.0, "format").to_owned()
    }

    fn is_int_or_string(self) -> bool {
        flag(self.0, "x-kubernetes-int-or-string")
    }

    fn is_embedded_resource(self) -> bool {
        flag(self.0, "x-kubernetes-embedded-resource")
    }

    fn items(self) -> Option<Self> {
        child(self.0, "items").map(Node)
    }

    fn additional_properties(self) -> Option<Self> {
        child(self.0, "additionalProperties").map(Node)
    }

    fn properties(self) -> Vec<(String, Self)> {
        properties(self.0).map(|(name, schema)| (name.to_owned(), Node(schema))).collect()
    }

    fn requires(self, name: &str) -> bool {
        strings(self.0, "required").any(|required| required == name)
    }

    fn has_default(self) -> bool {
        self.0.get("default").is_some_and(|default| !default.is_null())
    }

    fn max_items(self) -> Option<i64> {
        maybe_integer(self.0, "maxItems")
    }

    fn max_properties(self) -> Option<i64> {
        maybe_integer(self.0, "maxProperties")
    }

    fn max_length(self) -> Option<i64> {
        maybe_integer(self.0, "maxLength")
    }

    fn longest_enum(self) -> Option<u64> {
        let values = list(self.0, "enum");
        let longest = values.iter().filter_map(Value::as_str).map(|value| value.len() as u64).max();
        (!values.is_empty()).then(|| longest.unwrap_or(0))
    }
}
