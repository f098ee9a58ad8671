//! `--authorization-mode ABAC`: a file of policies, one JSON object per line (upstream's
//! `pkg/auth/authorizer/abac`).

use std::sync::Arc;

use apimachinery::user_info::{GROUP_AUTHENTICATED, UserInfo};
use async_trait::async_trait;
use jsontree::{Object, Value};

use crate::{Attributes, Authorizer, Decision, Error, PathRule, ResourceRule, Rules};

const GROUP: &str = "abac.authorization.kubernetes.io";
/// Maximum length of a line in bytes, as in upstream's line reader.
const LINE_BYTES_MAX: usize = 65_535;

/// A policy for a user or group. `*` matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Policy {
    user: String,
    group: String,
    read_only: bool,
    api_group: String,
    resource: String,
    namespace: String,
    path: String,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policies(Vec<Policy>);

impl Policies {
    /// Parses the text of a file. `path` is used in errors.
    ///
    /// # Errors
    /// A message about the first invalid line.
    pub fn parse(path: &str, text: &str) -> Result<Self, Error> {
        let mut policies = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.len() > LINE_BYTES_MAX {
                return Err(Error::Invalid(format!(
                    "error reading policy file {path}: bufio.Scanner: token too long"
                )));
            }
            if line.trim().is_empty() || line.trim_start().starts_with('#') {
                continue;
            }
            let policy = policy(line);
            let message = |error| format!("error reading policy file {path}, line {number}: {line}: {error}");
            policies.push(policy.map_err(message).map_err(Error::Invalid)?);
        }
        Ok(Policies(policies))
    }
}

fn policy(line: &str) -> Result<Policy, Error> {
    let value: Value =
        serde_json::from_str(line).map_err(|error| error.to_string()).map_err(Error::Invalid)?;
    let members = value.as_object().ok_or_else(|| Error::Invalid("a policy must be an object".to_owned()))?;
    let version = text(members, "apiVersion")?;
    let kind = text(members, "kind")?;
    match (version.strip_prefix(GROUP).and_then(|rest| rest.strip_prefix('/')), &*kind) {
        (Some("v1beta1"), "Policy") => {
            let none = Object::new();
            let spec = match members.get("spec") {
                None | Some(Value::Null) => &none,
                Some(spec) => {
                    spec.as_object().ok_or_else(|| Error::Invalid("spec must be an object".to_owned()))?
                }
            };
            of_spec(spec)
        }
        (Some("v0"), "Policy" | "") => unversioned(members),
        _ if version.is_empty() && matches!(&*kind, "" | "Policy") => unversioned(members),
        _ => Err(Error::Invalid(format!("no kind {kind:?} is registered for version {version:?}"))),
    }
}

fn of_spec(spec: &Object) -> Result<Policy, Error> {
    let policy = Policy {
        user: text(spec, "user")?,
        group: text(spec, "group")?,
        read_only: flag(spec, "readonly")?,
        api_group: text(spec, "apiGroup")?,
        resource: text(spec, "resource")?,
        namespace: text(spec, "namespace")?,
        path: text(spec, "nonResourcePath")?,
    };
    Ok(authenticated_for_all(policy))
}

/// Reads an unversioned policy. Its empty fields match everything.
fn unversioned(members: &Object) -> Result<Policy, Error> {
    let mut policy = Policy {
        user: text(members, "user")?,
        group: text(members, "group")?,
        read_only: flag(members, "readonly")?,
        api_group: "*".to_owned(),
        resource: text(members, "resource")?,
        namespace: text(members, "namespace")?,
        path: String::new(),
    };
    if policy.namespace.is_empty() && policy.resource.is_empty() {
        policy.path = "*".to_owned();
    }
    for member in [&mut policy.namespace, &mut policy.resource] {
        if member.is_empty() {
            *member = "*".to_owned();
        }
    }
    if policy.user.is_empty() && policy.group.is_empty() {
        policy.group = GROUP_AUTHENTICATED.to_owned();
    }
    Ok(authenticated_for_all(policy))
}

/// Replaces `*` for users or groups with the group of authenticated users.
fn authenticated_for_all(policy: Policy) -> Policy {
    if policy.user == "*" || policy.group == "*" {
        Policy { user: String::new(), group: GROUP_AUTHENTICATED.to_owned(), ..policy }
    } else {
        policy
    }
}

fn text(members: &Object, name: &str) -> Result<String, Error> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.to_string()),
        Some(_) => Err(Error::Invalid(format!("{name} must be a string"))),
    }
}

fn flag(members: &Object, name: &str) -> Result<bool, Error> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(Error::Invalid(format!("{name} must be true or false"))),
    }
}

impl Policy {
    /// True if the policy applies to a user. A policy without user and group applies to no user.
    fn applies_to(&self, user: &UserInfo) -> bool {
        let any_user = self.user.is_empty();
        let any_group = self.group.is_empty();
        !(any_user && any_group)
            && (any_user || self.user == user.name)
            && (any_group || user.in_group(&self.group))
    }

    fn allows(&self, attributes: &Attributes<'_>) -> bool {
        let matches_pattern = |pattern: &str, value: &str| pattern == "*" || pattern == value;
        let matches_request = if attributes.resource_request {
            matches_pattern(&self.namespace, attributes.namespace)
                && matches_pattern(&self.resource, attributes.resource)
                && matches_pattern(&self.api_group, attributes.group)
        } else {
            matches_pattern(&self.path, attributes.path)
                || self.path.ends_with('*') && attributes.path.starts_with(self.path.trim_end_matches('*'))
        };
        matches_request && (!self.read_only || attributes.is_read_only()) && self.applies_to(attributes.user)
    }

    fn verbs(&self) -> Vec<String> {
        let verbs: &[&str] = if self.read_only { &["get", "list", "watch"] } else { &["*"] };
        verbs.iter().map(|verb| (*verb).to_owned()).collect()
    }
}

#[async_trait]
impl Authorizer for Policies {
    async fn decide(&self, attributes: Attributes<'_>) -> Decision {
        if self.0.iter().any(|policy| policy.allows(&attributes)) {
            Decision::Allow(Arc::default())
        } else {
            Decision::NoOpinion("No policy matched.".to_owned())
        }
    }

    async fn rules(&self, user: &UserInfo, namespace: &str) -> Rules {
        let mut rules = Rules::default();
        let in_namespace = |policy: &&Policy| policy.namespace == "*" || policy.namespace == namespace;
        for policy in self.0.iter().filter(|policy| policy.applies_to(user)).filter(in_namespace) {
            if !policy.resource.is_empty() {
                rules.resources.push(ResourceRule {
                    verbs: policy.verbs(),
                    groups: vec![policy.api_group.clone()],
                    resources: vec![policy.resource.clone()],
                    names: Vec::new(),
                });
            }
            if !policy.path.is_empty() {
                rules.paths.push(PathRule { verbs: policy.verbs(), paths: vec![policy.path.clone()] });
            }
        }
        rules
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn user(name: &str, groups: &[&str]) -> UserInfo {
        let groups = groups.iter().map(|group| (*group).to_owned()).collect();
        UserInfo { name: name.to_owned(), groups, ..UserInfo::default() }
    }

    /// True if a policy line allows `verb namespace/group/resource` or `verb path` to a member of
    /// `system:authenticated` and `devs`.
    async fn allows(line: &str, name: &str, request: &str) -> bool {
        let policies = Policies::parse("f", line).unwrap();
        let user = user(name, &["system:authenticated", "devs"]);
        let (verb, target) = request.split_once(' ').unwrap();
        let attributes = match target.strip_prefix('/') {
            Some(_) => Attributes { verb, path: target, ..Attributes::of_user(&user) },
            None => {
                let mut segments = target.split('/');
                let mut next_segment = || segments.next().unwrap();
                let namespace = next_segment();
                let group = next_segment();
                let resource = next_segment();
                Attributes {
                    verb,
                    namespace,
                    group,
                    resource,
                    resource_request: true,
                    ..Attributes::of_user(&user)
                }
            }
        };
        matches!(policies.decide(attributes).await, Decision::Allow(_))
    }

    #[tokio::test]
    async fn policy_allows_its_subjects() {
        let spec =
            |spec: &str| format!(r#"{{"apiVersion":"{GROUP}/v1beta1","kind":"Policy","spec":{spec}}}"#);
        let check = async |line: &str, request: &str, expected: bool| {
            assert_eq!(allows(line, "ann", request).await, expected, "{line} {request}");
        };
        let pods = spec(r#"{"user":"ann","namespace":"ns","resource":"pods","readonly":true}"#);
        check(&pods, "get ns//pods", true).await;
        check(&pods, "delete ns//pods", false).await;
        check(&pods, "get other//pods", false).await;
        check(&pods, "get ns/apps/pods", false).await;
        check(&pods, "get /healthz", false).await;
        assert!(!allows(&pods, "bob", "get ns//pods").await);
        check(&spec(r#"{"group":"devs","nonResourcePath":"/api/*"}"#), "get /api/v1", true).await;
        check(&spec(r#"{"group":"devs","nonResourcePath":"/api/*"}"#), "get ns//pods", false).await;
        check(&spec(r#"{"user":"*","apiGroup":"*","namespace":"*","resource":"*"}"#), "get a/b/c", true)
            .await;
        check(&spec(r#"{"user":"bob","group":"devs","namespace":"*","resource":"*"}"#), "get a//c", false)
            .await;
        check(&spec(r#"{"namespace":"*","resource":"*"}"#), "get a//c", false).await;
    }

    #[tokio::test]
    async fn unversioned_policy_defaults_to_everything() {
        assert!(allows("{}", "ann", "delete a/b/c").await);
        assert!(allows("{}", "ann", "get /healthz").await);
        assert!(allows(r#"{"user":"ann","resource":"pods"}"#, "ann", "get a/b/pods").await);
        assert!(!allows(r#"{"user":"ann","resource":"pods"}"#, "ann", "get /healthz").await);
        let anonymous = user("system:anonymous", &["system:unauthenticated"]);
        let policies = Policies::parse("f", "{}").unwrap();
        let refused = policies.decide(Attributes::of_user(&anonymous)).await;
        assert_eq!(refused, Decision::NoOpinion("No policy matched.".to_owned()));
    }

    #[test]
    fn comments_are_skipped_and_invalid_lines_reported() {
        assert_eq!(Policies::parse("f", "# a\n\n  \n{}").unwrap().0.len(), 1);
        let check = |text: &str, expected: &str| {
            let refused = Policies::parse("f", text).unwrap_err().to_string();
            assert_eq!(refused, format!("error reading policy file f{expected}"));
        };
        check("\n{\"user\":1}", ", line 2: {\"user\":1}: user must be a string");
        check("{\"readonly\":\"x\"}", ", line 1: {\"readonly\":\"x\"}: readonly must be true or false");
        let other = r#"{"apiVersion":"v1","kind":"Pod"}"#;
        check(other, &format!(", line 1: {other}: no kind \"Pod\" is registered for version \"v1\""));
        check(&"x".repeat(70_000), ": bufio.Scanner: token too long");
    }

    #[tokio::test]
    async fn rules_of_user_are_listed() {
        let policies = Policies::parse("f", r#"{"user":"ann","resource":"pods","readonly":true}"#).unwrap();
        let rules = policies.rules(&user("ann", &[]), "ns").await;
        assert_eq!(rules.resources[0].verbs, ["get", "list", "watch"]);
        assert_eq!(policies.rules(&user("bob", &[]), "ns").await, Rules::default());
    }
}
