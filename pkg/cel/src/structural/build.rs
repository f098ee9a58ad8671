//! Builds a [`Validator`] from a schema's rules.

use std::collections::BTreeMap;
use std::sync::Arc;

use jsontree::Value as Json;

use super::field_path::normalize;
use super::json::JsonSchema;
use super::rule::{NodeRule, NodeRules};
use super::run::Validator;
use super::{OLD_SELF, Rule, RuleEnvironments, SELF};
use crate::declared::Builder;
use crate::env::Environment;
use crate::plan::Plan;
use crate::value::TypedSchema;

impl Validator {
    /// Compiles the rules of a JSON schema with an environment for stored expressions of release 1.`minor`.
    /// Returns `None` if there are no rules. `is_root` is true for the schema of a whole resource.
    pub fn new(schema: &Json, is_root: bool, stored: &Environment, minor: u32) -> Option<Self> {
        let typed = Arc::new(TypedSchema::new(schema, is_root));
        ValidatorBuilder { stored, minor }.node(schema, schema, &typed, is_root)
    }
}

struct ValidatorBuilder<'e> {
    stored: &'e Environment,
    minor: u32,
}

impl ValidatorBuilder<'_> {
    /// Builds the validator of a node: `validation` has the rules, `node` declares the data. They differ only
    /// inside `allOf`.
    fn node(
        &self,
        validation: &Json,
        node: &Json,
        typed: &Arc<TypedSchema>,
        is_root: bool,
    ) -> Option<Validator> {
        let child = |validation: &Json, node: &Json, typed: Option<&Arc<TypedSchema>>| {
            self.node(validation, node, typed?, is_embedded(node)).map(Box::new)
        };
        let in_both = |name: &str| {
            let schemas = (validation.get(name)?, node.get(name)?);
            (schemas.0.is_object() && schemas.1.is_object()).then_some(schemas)
        };
        let items = in_both("items").and_then(|(a, b)| match typed.items() {
            Some(typed) => child(a, b, Some(typed)),
            None => undeclared(a, b).map(Box::new),
        });
        let values = in_both("additionalProperties").and_then(|(a, b)| child(a, b, typed.member("")));
        let all_of = validation.get("allOf").and_then(Json::as_array).into_iter().flatten();
        let validator = Validator {
            schema: typed.clone(),
            rules: self.rules(validation, node, is_root),
            items,
            values,
            properties: self.properties(validation, node, typed),
            all_of: all_of.filter_map(|nested| self.node(nested, node, typed, is_root)).collect(),
            members_correlate: !matches!(node["x-kubernetes-map-type"].as_str(), Some(other) if other != "granular" && other != "atomic"),
        };
        let idle = validator.rules.is_empty()
            && validator.items.is_none()
            && validator.values.is_none()
            && validator.properties.is_empty()
            && validator.all_of.is_empty();
        (!idle).then_some(validator)
    }

    fn properties(
        &self,
        validation: &Json,
        node: &Json,
        typed: &Arc<TypedSchema>,
    ) -> BTreeMap<Box<str>, Validator> {
        let mut validators = BTreeMap::new();
        let properties = validation.get("properties").and_then(Json::as_object);
        for (name, property) in properties.into_iter().flatten() {
            let Some(node) = node.get("properties").and_then(|properties| properties.get(name)) else {
                continue;
            };
            let Some(typed) = typed.member(name).filter(|_| is_declared(node)) else { continue };
            if let Some(validator) = self.node(property, node, typed, is_embedded(node)) {
                validators.insert(name.as_str().into(), validator);
            }
        }
        validators
    }

    fn rules(&self, validation: &Json, node: &Json, is_root: bool) -> NodeRules {
        let type_name = node["type"].as_str().unwrap_or("").into();
        let rules = validation.get("x-kubernetes-validations").and_then(Json::as_array);
        let Some(rules) = rules.filter(|rules| !rules.is_empty()) else {
            return NodeRules { type_name, ..NodeRules::default() };
        };
        let mut builder = Builder::new();
        let Some(place) = builder.schema("selfType", JsonSchema(node), is_root) else {
            return NodeRules { type_name, rules: Vec::new(), undeclared: true };
        };
        let declared = Arc::new(builder.finish(self.minor));
        let environments = RuleEnvironments::new(self.stored, self.stored, &declared, place);
        let rules = rules.iter().map(|rule| compile(&environments, rule, node)).collect();
        NodeRules { type_name, rules, undeclared: false }
    }
}

/// Builds the validator for items under a type other than list, if they have rules. Such rules have no
/// declared data, and fail for every item.
fn undeclared(validation: &Json, node: &Json) -> Option<Validator> {
    let rules = validation.get("x-kubernetes-validations").and_then(Json::as_array);
    rules.filter(|rules| !rules.is_empty())?;
    let type_name = node["type"].as_str().unwrap_or("").into();
    Some(Validator {
        schema: Arc::new(TypedSchema::new(node, false)),
        rules: NodeRules { type_name, rules: Vec::new(), undeclared: true },
        items: None,
        values: None,
        properties: BTreeMap::new(),
        all_of: Vec::new(),
        members_correlate: true,
    })
}

fn compile(environments: &RuleEnvironments, rule: &Json, node: &Json) -> NodeRule {
    let text = |name: &str| rule[name].as_str().unwrap_or("");
    let optional_old_self = rule["optionalOldSelf"] == true;
    let compiled = environments.compile(&Rule {
        rule: text("rule"),
        message_expression: text("messageExpression"),
        optional_old_self,
        rule_is_stored: true,
        message_is_stored: true,
    });
    let names = [SELF, OLD_SELF];
    let (plan, error) = match compiled.rule.map(|checked| Plan::new(&checked, &names)) {
        Some(Ok(plan)) => (Some(plan), None),
        Some(Err(error)) => (None, Some(format!("program instantiation failed: {error}"))),
        None => (None, compiled.error),
    };
    let message = compiled.message.and_then(|checked| Plan::new(&checked, &names).ok());
    NodeRule {
        text: text("rule").into(),
        message: text("message").trim().into(),
        reason: text("reason").into(),
        field: normalize(text("fieldPath"), node).into(),
        uses_old_self: compiled.uses_old_self,
        optional_old_self,
        plan,
        error,
        message_expression: message.map(|plan| (text("messageExpression").into(), plan)),
    }
}

fn is_embedded(schema: &Json) -> bool {
    schema["x-kubernetes-embedded-resource"] == true
}

/// Returns true if expressions can access data of this schema.
fn is_declared(schema: &Json) -> bool {
    if schema["x-kubernetes-int-or-string"] == true {
        return true;
    }
    match schema["type"].as_str() {
        Some("array") => schema.get("items").is_some_and(is_declared),
        Some("object") => match &schema["additionalProperties"] {
            values @ Json::Object(_) => is_declared(values),
            _ => true,
        },
        Some("string" | "boolean" | "number" | "integer") => true,
        _ => false,
    }
}
