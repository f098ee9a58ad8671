//! One rule of a role.

use jsontree::{Object, Value, is_equal};

use crate::Attributes;

/// Allows verbs on resources or paths (`rbac.authorization.k8s.io/v1` PolicyRule).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rule {
    /// `*` matches every verb.
    pub verbs: Vec<String>,
    /// API groups; `*` matches every group.
    pub groups: Vec<String>,
    /// `pods`, `pods/log`, `*/scale`, or `*` for everything.
    pub resources: Vec<String>,
    /// Names of objects; empty for all.
    pub names: Vec<String>,
    /// Non-resource paths. A trailing `*` matches any suffix.
    pub paths: Vec<String>,
}

impl Rule {
    /// Reads the rules of a stored role. Fields that are not string lists count as empty.
    pub fn all_of(role: &Object) -> Vec<Rule> {
        let rules = role.get("rules").and_then(Value::as_array);
        rules.into_iter().flatten().filter_map(Value::as_object).map(Rule::of).collect()
    }

    /// Converts the rule to JSON without empty lists.
    pub fn value(&self) -> Value {
        let lists = [
            ("apiGroups", &self.groups),
            ("nonResourceURLs", &self.paths),
            ("resourceNames", &self.names),
            ("resources", &self.resources),
            ("verbs", &self.verbs),
        ];
        let present = lists.into_iter().filter(|(_, list)| !list.is_empty());
        Value::Object(present.map(|(name, list)| (name.to_owned(), list.clone().into())).collect())
    }

    fn of(rule: &Object) -> Rule {
        let texts = |name: &str| {
            let list = rule.get(name).and_then(Value::as_array);
            list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
        };
        Rule {
            verbs: texts("verbs"),
            groups: texts("apiGroups"),
            resources: texts("resources"),
            names: texts("resourceNames"),
            paths: texts("nonResourceURLs"),
        }
    }

    fn lists(&self) -> [&Vec<String>; 5] {
        [&self.verbs, &self.groups, &self.resources, &self.names, &self.paths]
    }

    /// Returns the maximum number of strings to compare for a decision; at least 1.
    pub(super) fn texts(&self) -> usize {
        self.lists().iter().map(|list| list.len()).sum::<usize>().saturating_add(1)
    }

    /// Returns the approximate size as JSON in bytes.
    pub(super) fn bytes(&self) -> usize {
        const NAMES_OF_MEMBERS: usize = 64;
        let texts = self.lists().into_iter().flatten().map(|text| text.len() + "\"\",".len());
        texts.sum::<usize>().saturating_add(NAMES_OF_MEMBERS)
    }

    /// True if the rule allows a request. Selectors are ignored, because roles cannot contain them.
    pub fn allows(&self, attributes: &Attributes<'_>) -> bool {
        if !has_or_all(&self.verbs, attributes.verb) {
            return false;
        }
        if !attributes.resource_request {
            return self.paths.iter().any(|pattern| path_matches(pattern, attributes.path));
        }
        has_or_all(&self.groups, attributes.group)
            && self
                .resources
                .iter()
                .any(|rule| resource_matches(rule, attributes.resource, attributes.subresource))
            && (self.names.is_empty() || self.names.iter().any(|name| name == attributes.name))
    }
}

pub(super) fn has_or_all(list: &[String], value: &str) -> bool {
    list.iter().any(|text| text == "*" || is_equal(text, value))
}

fn resource_matches(rule: &str, resource: &str, subresource: &str) -> bool {
    match (rule, subresource) {
        ("*", _) => true,
        (rule, "") => rule == resource,
        (rule, subresource) => rule
            .strip_suffix(subresource)
            .and_then(|rest| rest.strip_suffix('/'))
            .is_some_and(|named| named == resource || named == "*"),
    }
}

/// True if a pattern covers a path, which may itself be a pattern.
pub(super) fn path_matches(pattern: &str, path: &str) -> bool {
    pattern == path || pattern.ends_with('*') && path.starts_with(pattern.trim_end_matches('*'))
}
