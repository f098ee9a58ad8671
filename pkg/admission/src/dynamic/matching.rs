//! Matches requests against rules and against namespace and object selectors of webhooks and policies
//! (upstream's `plugin/webhook/generic`, `plugin/policy/matching`).

use std::sync::{Arc, OnceLock};

use api::resources::{self, Handle, Resource};
use api::tree::{child, children, pairs, text};
use apimachinery::labels::{
    LabelSelectorError, Operator as Operators, Requirement, Selector, from_label_selector,
};
use apimachinery::status::Status;
use schema::object::Object;

use super::rules::{Rule, RuleTarget};
use super::versions::{Invocation, VersionConverter};
use crate::objects::{Objects, not_found};
use crate::{Attributes, Operation};

/// Match criteria of a webhook, policy or binding.
#[derive(Debug, Clone)]
pub struct Criteria {
    rules: Vec<Rule>,
    /// Rules for exclusion. One match is enough.
    excluded: Vec<Rule>,
    /// True for `matchPolicy: Equivalent`: rules match any version of the same objects.
    equivalent: bool,
    namespaces: Result<Selector, LabelSelectorError>,
    objects: Result<Selector, LabelSelectorError>,
}

fn selector(object: &Object, name: &str) -> Result<Selector, LabelSelectorError> {
    match child(object, name) {
        None => Ok(Selector::new(Vec::new())),
        selector => from_label_selector(selector),
    }
}

impl Criteria {
    /// Reads a webhook (`rules`), or `matchResources` of a policy or binding (`resourceRules`,
    /// `excludeResourceRules`). A binding without rules matches everything that its policy matches: see
    /// [`has_rules`](Self::has_rules).
    pub fn read(object: &Object) -> Self {
        let rules = |name| children(object, name).map(Rule::read).collect::<Vec<_>>();
        let mut all_rules = rules("rules");
        all_rules.append(&mut rules("resourceRules"));
        Criteria {
            rules: all_rules,
            excluded: rules("excludeResourceRules"),
            // Stored objects have their defaults: Equivalent, but Exact in v1beta1 webhooks.
            equivalent: text(object, "matchPolicy") != "Exact",
            namespaces: selector(object, "namespaceSelector"),
            objects: selector(object, "objectSelector"),
        }
    }

    /// True if there are any including rules.
    pub fn has_rules(&self) -> bool {
        !self.rules.is_empty()
    }

    /// True if there are any including or excluding rules.
    pub(crate) fn has_any_rules(&self) -> bool {
        self.has_rules() || !self.excluded.is_empty()
    }

    /// True if rules contain object names. Then a result of [`select`](Self::select) is valid for one name
    /// only.
    pub fn has_names(&self) -> bool {
        self.rules.iter().chain(&self.excluded).any(Rule::has_names)
    }

    /// Returns the version in which to present an operation; `None` if the rules do not match. Slow enough to
    /// be worth caching.
    pub fn select(
        &self,
        operation: Operation,
        endpoint: &Resource<'_>,
        name: &str,
        versions: &dyn VersionConverter,
    ) -> Option<Invocation> {
        let others = if self.equivalent { versions.equivalents(endpoint) } else { Vec::new() };
        let target = RuleTarget::of(operation, endpoint);
        let hits = |rule: &Rule, place: &RuleTarget<'_>| rule.matches(place) && rule.names(name);
        let there = |rule: &Rule| {
            others.iter().find(|equivalent| hits(rule, &RuleTarget::of(operation, equivalent.row())))
        };
        if self.excluded.iter().any(|rule| hits(rule, &target) || there(rule).is_some()) {
            return None;
        }
        if self.rules.iter().any(|rule| hits(rule, &target)) {
            return Some(Invocation::default());
        }
        // Earlier rules take precedence.
        let equivalent = self.rules.iter().find_map(there)?;
        Some(Invocation { equivalent: Some(equivalent.clone()) })
    }

    /// Like [`select`](Self::select), but an empty rule list matches everything that is not excluded
    /// (upstream's policies).
    pub fn select_or_all(
        &self,
        operation: Operation,
        endpoint: &Resource<'_>,
        name: &str,
        versions: &dyn VersionConverter,
    ) -> Option<Invocation> {
        if self.has_rules() {
            return self.select(operation, endpoint, name, versions);
        }
        let others = if self.equivalent && !self.excluded.is_empty() {
            versions.equivalents(endpoint)
        } else {
            Vec::new()
        };
        let rows = std::iter::once(endpoint).chain(others.iter().map(Handle::row));
        let mut places = rows.map(|row| RuleTarget::of(operation, row));
        let excludes =
            |place: &RuleTarget<'_>| self.excluded.iter().any(|rule| rule.matches(place) && rule.names(name));
        (!places.any(|place| excludes(&place))).then(Invocation::default)
    }

    /// Returns a requirement for fixed values of a namespace label, if there is one.
    pub(crate) fn required_of_namespaces(&self) -> Option<&Requirement> {
        required(self.namespaces.as_ref().ok()?)
    }

    /// Returns a requirement for fixed values of an object label, if there is one.
    pub(crate) fn required_of_objects(&self) -> Option<&Requirement> {
        required(self.objects.as_ref().ok()?)
    }

    /// True if the object and namespace selectors match. A missing namespace is an error only if the object
    /// selector matches.
    ///
    /// # Errors
    /// The Status for the client.
    pub async fn selected(
        &self,
        a: &Attributes<'_>,
        object: Option<&Object>,
        namespace: &NamespaceLookup<'_>,
    ) -> Result<bool, Box<Status>> {
        let failed = |error: &LabelSelectorError| Status::internal_error(error.to_string());
        let objects = self.objects.as_ref().map_err(failed)?;
        let selects = |object: Option<&Object>| object.is_some_and(|object| matches(objects, object));
        if !objects.is_empty() && !selects(object) && !selects(a.old) {
            return Ok(false);
        }
        let namespaces = self.namespaces.as_ref().map_err(failed)?;
        let cluster_wide = a.namespace.is_empty() && a.resource.plural != "namespaces";
        if namespaces.is_empty() || cluster_wide {
            return Ok(true);
        }
        match object {
            // The cache may not have the written namespace yet.
            Some(object) if a.resource.plural == "namespaces" && a.subresource().is_empty() && a.writes() => {
                Ok(matches(namespaces, object))
            }
            _ => Ok(matches(namespaces, namespace.stored(a).await?.as_ref())),
        }
    }
}

/// Returns the first requirement that only fixed values of a label satisfy.
fn required(selector: &Selector) -> Option<&Requirement> {
    let certain = [Operators::Equals, Operators::DoubleEquals, Operators::In];
    selector.requirements().iter().find(|requirement| certain.contains(&requirement.operator()))
}

/// True if the selector matches the object's labels.
fn matches(selector: &Selector, object: &Object) -> bool {
    let empty = Object::new();
    let metadata = child(object, "metadata").unwrap_or(&empty);
    let labels: Vec<(&str, &str)> = pairs(metadata, "labels").collect();
    selector.matches(|key| labels.iter().find(|(label, _)| *label == key).map(|(_, value)| *value))
}

/// The namespace of one request, looked up at most once.
pub struct NamespaceLookup<'o> {
    objects: &'o dyn Objects,
    namespace: OnceLock<Arc<Object>>,
}

impl<'o> NamespaceLookup<'o> {
    pub fn new(objects: &'o dyn Objects) -> Self {
        NamespaceLookup { objects, namespace: OnceLock::new() }
    }

    /// Returns the stored namespace.
    ///
    /// # Errors
    /// 404 if it does not exist; errors of storage.
    pub async fn stored(&self, a: &Attributes<'_>) -> Result<Arc<Object>, Box<Status>> {
        if let Some(namespace) = self.namespace.get() {
            return Ok(Arc::clone(namespace));
        }
        let row = resources::find("", "v1", "namespaces", "");
        let row = row.ok_or_else(|| Status::internal_error("nothing serves namespaces"))?;
        let name = if a.namespace.is_empty() { a.name } else { a.namespace };
        let namespace = self.objects.find(row, "", name).await?.ok_or_else(|| not_found(row, name))?;
        Ok(Arc::clone(self.namespace.get_or_init(|| namespace)))
    }
}
