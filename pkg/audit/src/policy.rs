//! Policies: rules that say how much of which requests is recorded (`audit.k8s.io/v1`, kind `Policy`).

mod decode;
mod validate;

use authorization::Attributes;

use crate::{Error, Level, Stages};

/// What is recorded. The first rule that matches a request decides; without one it is not recorded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// The rules in order.
    pub rules: Vec<Rule>,
    /// Stages at which nothing is recorded, whatever rules say.
    pub omit_stages: Stages,
    /// Whether objects are recorded without their managed fields, unless a rule says otherwise.
    pub omit_managed_fields: bool,
}

/// A rule. It matches what all its lists match; an empty list matches everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// How much is recorded.
    pub level: Level,
    /// Names of users.
    pub users: Vec<String>,
    /// Groups, one of which a user is in.
    pub user_groups: Vec<String>,
    /// Verbs.
    pub verbs: Vec<String>,
    /// Resources. A rule with these or with namespaces matches requests for resources alone.
    pub resources: Vec<GroupResources>,
    /// Namespaces; an empty one is that of objects that are in none.
    pub namespaces: Vec<String>,
    /// Paths that are no resources', which may end with `*`.
    pub non_resource_urls: Vec<String>,
    /// Stages at which nothing is recorded.
    pub omit_stages: Stages,
    /// Whether objects are recorded without their managed fields.
    pub omit_managed_fields: Option<bool>,
}

/// Resources of an API group.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupResources {
    /// The group, empty for core, `*` for any.
    pub group: String,
    /// `pods`, `pods/log`, `pods/*`, `*/scale`, `*`; empty for all.
    pub resources: Vec<String>,
    /// Names of objects; empty for all.
    pub resource_names: Vec<String>,
}

/// What a policy says about a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Verdict {
    /// How much is recorded.
    pub level: Level,
    /// When it is not recorded.
    pub omit_stages: Stages,
    /// Whether objects are recorded without their managed fields.
    pub omit_managed_fields: bool,
}

impl Policy {
    /// Reads a policy, YAML or JSON. With it comes what there is to warn of: members that nobody knows are
    /// ignored, as upstream does.
    ///
    /// # Errors
    /// What upstream says of a policy that it does not start with.
    pub fn parse(text: &[u8]) -> Result<(Self, Option<String>), Error> {
        let (file, strict) = decode::file(text)?;
        let policy = validate::policy(file)?;
        if policy.rules.is_empty() {
            Err(Error::Invalid("loaded illegal policy with 0 rules".to_owned()))
        } else {
            Ok((policy, strict))
        }
    }

    /// What is recorded of a request. Nobody is known to have sent it if `user_known` is not set.
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

/// A path, or the beginning of one before a `*`.
fn path_matches(path: &str, spec: &str) -> bool {
    spec == "*" || spec == path || spec.ends_with('*') && path.starts_with(spec.trim_end_matches('*'))
}

/// Whether a list has a text; an empty one has all.
fn matches_any(list: &[String], text: &str) -> bool {
    list.is_empty() || list.iter().any(|one| one == text)
}

#[cfg(test)]
mod tests;
