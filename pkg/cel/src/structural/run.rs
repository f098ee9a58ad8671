//! Runs the rules of a structural schema on an object.

use std::collections::BTreeMap;
use std::sync::Arc;

use apimachinery::field::Path;
use jsontree::{Object as JsonMap, Value as Json};

use super::correlation::{Correlation, OldItems, Ratchet};
use super::findings::{Findings, Run, RunOptions, ValuePair};
use super::rule::{NodeRules, Outcome};
use crate::value::TypedSchema;

/// Compiled rules of a schema and everything inside it.
#[derive(Debug)]
pub struct Validator {
    pub(super) schema: Arc<TypedSchema>,
    pub(super) rules: NodeRules,
    pub(super) items: Option<Box<Validator>>,
    pub(super) values: Option<Box<Validator>>,
    pub(super) properties: BTreeMap<Box<str>, Validator>,
    pub(super) all_of: Vec<Validator>,
    /// True if members correlate with the old object's members by name.
    pub(super) members_correlate: bool,
}

impl Validator {
    /// Runs the rules on an object and its old version, if any.
    pub fn run(&self, path: &Path<'_>, new: &Json, old: Option<&Json>, options: RunOptions<'_>) -> Findings {
        let old = old.filter(|old| !old.is_null());
        let findings = Findings { remaining: options.budget, ..Findings::default() };
        let mut run = Run { findings, options };
        let ratchet = match old.filter(|_| options.ratcheting) {
            Some(old) => Ratchet::root(Correlation { new, old, schema: &self.schema }),
            None => Ratchet::NONE,
        };
        self.visit(&mut run, path, ValuePair { new, old }, ratchet);
        run.findings
    }

    /// Runs the rules on a value and everything inside it. Returns true if budget remains.
    fn visit(
        &self,
        run: &mut Run<'_>,
        path: &Path<'_>,
        subject: ValuePair<'_>,
        ratchet: Ratchet<'_>,
    ) -> bool {
        if subject.new.is_null() {
            return true;
        }
        if self.rules.run(run, &self.schema, path, subject, ratchet) == Outcome::OutOfBudget {
            return false;
        }
        for validator in &self.all_of {
            if !validator.visit(run, path, subject, ratchet.parent_only()) {
                return false;
            }
        }
        match subject.new {
            Json::Array(items) => self.visit_items(run, path, items, subject.old, ratchet),
            Json::Object(fields) => self.visit_members(run, path, fields, subject.old, ratchet),
            _ => true,
        }
    }

    fn visit_items(
        &self,
        run: &mut Run<'_>,
        path: &Path<'_>,
        items: &[Json],
        old: Option<&Json>,
        ratchet: Ratchet<'_>,
    ) -> bool {
        let Some(validator) = &self.items else { return true };
        let old = OldItems::new(&self.schema, old);
        items.iter().enumerate().all(|(place, item)| {
            let subject = ValuePair { new: item, old: old.find(item) };
            validator.visit(run, &path.index(place), subject, ratchet.item(item))
        })
    }

    fn visit_members(
        &self,
        run: &mut Run<'_>,
        path: &Path<'_>,
        fields: &JsonMap,
        old: Option<&Json>,
        ratchet: Ratchet<'_>,
    ) -> bool {
        let old = old.and_then(Json::as_object).filter(|_| self.members_correlate);
        let old = |name: &str| old.and_then(|old| old.get(name)).filter(|old| !old.is_null());
        if let Some(validator) = &self.values {
            for (name, value) in fields {
                let subject = ValuePair { new: value, old: old(name) };
                if !validator.visit(run, &path.key(name), subject, ratchet.member(name)) {
                    return false;
                }
            }
        }
        for (name, value) in fields {
            let Some(validator) = self.properties.get(&**name) else { continue };
            let subject = ValuePair { new: value, old: old(name) };
            if !validator.visit(run, &path.child(name), subject, ratchet.member(name)) {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use jsontree::json;

    use super::*;
    use crate::env::Environment;

    #[test]
    fn item_rules_fail_outside_lists() {
        let item = json!({"type": "object", "x-kubernetes-validations": [{"rule": "true"}]});
        let schema = json!({"type": "object", "properties": {"a": {"type": "object", "items": item}}});
        let validator = Validator::new(&schema, true, &Environment::of_release(35), 35).unwrap();
        let options = RunOptions { ratcheting: false, budget: 100, call_limit: 100, cancel: None };
        let check = |object: Json, expected: &[&str]| {
            let errors = validator.run(&Path::root("o"), &object, None, options).errors;
            let texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
            assert_eq!(texts, expected, "{object}");
        };
        check(json!({"a": {}}), &[]);
        check(
            json!({"a": [{}]}),
            &["o.a[0]: Invalid value: \"object\": rule compiler initialization error: \
               failed to convert to declType for CEL validation rules"],
        );
    }
}
