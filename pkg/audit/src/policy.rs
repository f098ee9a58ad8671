//! Audit policies (`audit.k8s.io/v1`, kind `Policy`): rules that set the audit level of requests.

mod decode;
mod validate;

use authorization::Attributes;

use crate::{Error, Level, Stages};

/// An audit policy. The first matching rule decides; without one the request is not recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    pub rules: Vec<Rule>,
    /// Stages that are never recorded, in addition to those of the rules.
    pub omit_stages: Stages,
    /// Default for the rules' `omit_managed_fields`: true if managed fields are removed from recorded
    /// objects.
    pub omit_managed_fields: bool,
}

/// A rule. It matches if all its lists match; an empty list matches everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub level: Level,
    /// Names of users.
    pub users: Vec<String>,
    /// Groups; one match is sufficient.
    pub user_groups: Vec<String>,
    pub verbs: Vec<String>,
    /// Resources. A rule with resources or namespaces matches resource requests only.
    pub resources: Vec<GroupResources>,
    /// Namespaces; an empty string matches cluster-scoped requests.
    pub namespaces: Vec<String>,
    /// Non-resource paths, with an optional `*` at the end.
    pub non_resource_urls: Vec<String>,
    /// Stages that are not recorded.
    pub omit_stages: Stages,
    /// True if managed fields are removed from recorded objects; `None` for the policy's default.
    pub omit_managed_fields: Option<bool>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupResources {
    /// The group, empty for core, `*` for any.
    pub group: String,
    /// `pods`, `pods/log`, `pods/*`, `*/scale`, `*`; empty for all.
    pub resources: Vec<String>,
    /// Names of objects; empty for all.
    pub resource_names: Vec<String>,
}

/// The result of evaluating a policy for a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    pub level: Level,
    /// Stages that are not recorded.
    pub omit_stages: Stages,
    /// True if managed fields are removed from recorded objects.
    pub omit_managed_fields: bool,
}

impl Policy {
    /// Parses a policy, YAML or JSON. Also returns a warning: unknown fields are ignored, as in upstream.
    ///
    /// # Errors
    /// Upstream's error for an invalid policy.
    pub fn parse(text: &[u8]) -> Result<(Self, Option<String>), Error> {
        let (file, strict) = decode::file(text)?;
        let policy = validate::policy(file)?;
        if policy.rules.is_empty() {
            Err(Error::Invalid("loaded illegal policy with 0 rules".to_owned()))
        } else {
            Ok((policy, strict))
        }
    }

    /// Evaluates the policy for a request. `user_known` is false before authentication.
    pub fn evaluate(&self, attributes: &Attributes<'_>, user_known: bool) -> Verdict {
        let rule = self.rules.iter().find(|rule| rule.matches(attributes, user_known));
        match rule {
            Some(rule) => Verdict {
                level: rule.level,
                omit_stages: self.omit_stages.union(rule.omit_stages),
                omit_managed_fields: rule.omit_managed_fields.unwrap_or(self.omit_managed_fields),
            },
            None => Verdict {
                level: Level::None,
                omit_stages: self.omit_stages,
                omit_managed_fields: self.omit_managed_fields,
            },
        }
    }
}

impl Rule {
    fn matches(&self, attributes: &Attributes<'_>, user_known: bool) -> bool {
        let user = user_known.then_some(attributes.user);
        let of_user = self.users.is_empty() || user.is_some_and(|user| self.users.contains(&user.name));
        let of_group = self.user_groups.is_empty()
            || user.is_some_and(|user| user.groups.iter().any(|group| self.user_groups.contains(group)));
        if !of_user || !of_group || !matches_any(&self.verbs, attributes.verb) {
            return false;
        }
        if !self.namespaces.is_empty() || !self.resources.is_empty() {
            return attributes.resource_request
                && matches_any(&self.namespaces, attributes.namespace)
                && (self.resources.is_empty() || self.resources.iter().any(|one| one.matches(attributes)));
        }
        self.non_resource_urls.is_empty()
            || !attributes.resource_request
                && self.non_resource_urls.iter().any(|spec| path_matches(attributes.path, spec))
    }
}

impl GroupResources {
    fn matches(&self, attributes: &Attributes<'_>) -> bool {
        if self.group != "*" && self.group != attributes.group {
            return false;
        }
        if self.resources.is_empty() {
            return true;
        }
        matches_any(&self.resource_names, attributes.name)
            && self
                .resources
                .iter()
                .any(|spec| resource_matches(spec, attributes.resource, attributes.subresource))
    }
}

fn resource_matches(spec: &str, resource: &str, subresource: &str) -> bool {
    let combined = match spec.split_once('/') {
        None => spec == resource && subresource.is_empty(),
        Some((main, sub)) => main == resource && sub == subresource && !subresource.is_empty(),
    };
    let of_any = || spec.strip_prefix("*/").is_some_and(|sub| !subresource.is_empty() && sub == subresource);
    let any_of = || spec.strip_suffix("/*") == Some(resource);
    combined || spec == "*" || of_any() || any_of()
}

/// True if the path equals `spec`, or starts with the prefix before its `*`.
fn path_matches(path: &str, spec: &str) -> bool {
    spec == "*" || spec == path || spec.ends_with('*') && path.starts_with(spec.trim_end_matches('*'))
}

/// True if the list is empty or contains the text.
fn matches_any(list: &[String], text: &str) -> bool {
    list.is_empty() || list.iter().any(|one| one == text)
}

#[cfg(test)]
mod tests;
