//! RBAC escalation check (upstream's `policybased` storages). The author of a role must have its permissions
//! or the verb `escalate`. The author of a binding must have the permissions of its role or the verb `bind`.

use std::collections::{BTreeMap, BTreeSet};

use apimachinery::go_quote::quote;
use apimachinery::gvk::GroupResource;
use apimachinery::status::Status;
use apimachinery::user_info::{GROUP_MASTERS, UserInfo};
use jsontree::{Object, Value};

use super::rule_coverage::{TooMany, missing};
use super::{Index, IndexSource, RoleKind, RoleRef, Rule, aggregate, read, rules_of, wait_until_loaded};
use crate::{Attributes, Authorizer, Decision, Error};

const GROUP: &str = "rbac.authorization.k8s.io";

/// A write of a role or binding.
#[derive(Debug, Clone, Copy)]
pub struct Grant<'a> {
    pub user: &'a UserInfo,
    /// `roles`, `clusterroles`, `rolebindings` or `clusterrolebindings`.
    pub resource: &'a str,
    /// Namespace of the request; empty for cluster scope.
    pub namespace: &'a str,
    /// The name in the request's path; empty for a POST.
    pub path_name: &'a str,
    /// The new object, after mutating admission.
    pub new: &'a Object,
    /// The stored object, if any.
    pub old: Option<&'a Object>,
}

/// Checks that a write grants no permission that the author lacks.
///
/// # Errors
/// 403 with the missing permissions; 404 for a binding to a role that does not exist.
pub async fn check(
    grant: Grant<'_>,
    authorizer: &dyn Authorizer,
    roles: &dyn IndexSource,
) -> Result<(), Box<Status>> {
    let Grant { user, resource, new, old, .. } = grant;
    if user.in_group(GROUP_MASTERS) || old.is_some_and(|old| changes_ownership_alone(new, old)) {
        return Ok(());
    }
    wait_until_loaded(roles).await;
    match resource {
        "roles" | "clusterroles" => check_role(grant, authorizer, roles).await,
        "rolebindings" | "clusterrolebindings" => check_binding(grant, authorizer, roles).await,
        _ => Ok(()),
    }
}

async fn check_role(
    grant: Grant<'_>,
    authorizer: &dyn Authorizer,
    roles: &dyn IndexSource,
) -> Result<(), Box<Status>> {
    let attributes =
        Attributes { resource: grant.resource, name: grant.path_name, ..check_attributes(grant, "escalate") };
    if allowed(authorizer, attributes).await {
        return Ok(());
    }
    let rules = Rule::all_of(grant.new);
    check_rules(grant, roles, &rules).map_err(|text| forbidden(grant, &text.to_string()))?;
    if aggregates(grant.new) || grant.old.is_some_and(aggregates) {
        // An aggregated role can later get any rules.
        let text = "must have cluster-admin privileges to use the aggregationRule";
        check_rules(grant, roles, &full_authority()).map_err(|_| forbidden(grant, text))?;
    }
    Ok(())
}

async fn check_binding(
    grant: Grant<'_>,
    authorizer: &dyn Authorizer,
    roles: &dyn IndexSource,
) -> Result<(), Box<Status>> {
    let role = RoleRef::of(grant.new, grant.namespace);
    let resource = match role.kind {
        Some(RoleKind::ClusterRole) => "clusterroles",
        Some(RoleKind::Role) => "roles",
        None => return Err(Status::unmapped(role.not_found()).into()),
    };
    let group = grant.new.get("roleRef").and_then(|role| role.get("apiGroup")?.as_str()).unwrap_or("");
    let attributes = Attributes { group, resource, name: &role.name, ..check_attributes(grant, "bind") };
    if allowed(authorizer, attributes).await {
        return Ok(());
    }
    let role_rules = read(roles, |index| index.rules(&role).map(<[Rule]>::to_vec)).flatten();
    // Upstream uses the resource of the request in this error.
    let not_found = || Status::not_found(&GroupResource::new(GROUP, grant.resource), &role.name);
    let rules = role_rules.ok_or_else(not_found)?;
    check_rules(grant, roles, &rules).map_err(|text| forbidden(grant, &text.to_string()))
}

/// Builds the attributes of the check for `escalate` or `bind`.
fn check_attributes<'a>(grant: Grant<'a>, verb: &'a str) -> Attributes<'a> {
    Attributes {
        verb,
        resource_request: true,
        namespace: grant.namespace,
        group: GROUP,
        version: "*",
        ..Attributes::of_user(grant.user)
    }
}

async fn allowed(authorizer: &dyn Authorizer, attributes: Attributes<'_>) -> bool {
    matches!(authorizer.decide(attributes).await, Decision::Allow(_))
}

fn forbidden(grant: Grant<'_>, text: &str) -> Box<Status> {
    let name = grant.new.get("metadata").and_then(|metadata| metadata.get("name")?.as_str()).unwrap_or("");
    Status::forbidden(&GroupResource::new(GROUP, grant.resource), name, text).into()
}

/// Checks that the author has all permissions in `rules`. Returns upstream's message if not.
fn check_rules(grant: Grant<'_>, roles: &dyn IndexSource, rules: &[Rule]) -> Result<(), Error> {
    read(roles, |index| check_rules_in(index, grant, rules)).unwrap_or(Err(Error::Rejected(String::new())))
}

fn check_rules_in(index: &Index, grant: Grant<'_>, rules: &[Rule]) -> Result<(), Error> {
    let (held, errors) = rules_of(index, grant.user, grant.namespace);
    let lacking = match missing(&held, rules) {
        Ok(lacking) if lacking.is_empty() => return Ok(()),
        Ok(lacking) => merge_verbs(lacking).iter().map(format_rule).collect(),
        Err(TooMany) => BTreeSet::from(["more than can be compared".to_owned()]),
    };
    let lacking: Vec<String> = lacking.into_iter().collect();
    let name = quote(&grant.user.name);
    let groups = quoted(&grant.user.groups);
    let mut text = format!(
        "user {name} (groups={groups}) is attempting to grant RBAC permissions not currently held:\n{}",
        lacking.join("\n")
    );
    if !errors.is_empty() {
        text.push_str(&format!("; resolution errors: [{}]", aggregate(&errors)));
    }
    Err(Error::Rejected(text))
}

/// Merges rules that differ only in their verbs.
fn merge_verbs(rules: Vec<Rule>) -> Vec<Rule> {
    let mut simple: BTreeMap<(String, String, Vec<String>), Rule> = BTreeMap::new();
    let mut others = Vec::new();
    for rule in rules {
        match (&rule.groups[..], &rule.resources[..]) {
            ([group], [resource]) => {
                let key = (group.clone(), resource.clone(), rule.names.clone());
                match simple.get_mut(&key) {
                    Some(merged_rule) => merged_rule.verbs.extend(rule.verbs),
                    None => drop(simple.insert(key, rule)),
                }
            }
            _ => others.push(rule),
        }
    }
    others.extend(simple.into_values());
    others
}

/// Formats a rule as Go does.
fn format_rule(rule: &Rule) -> String {
    let lists = [
        ("APIGroups", &rule.groups),
        ("Resources", &rule.resources),
        ("NonResourceURLs", &rule.paths),
        ("ResourceNames", &rule.names),
        ("Verbs", &rule.verbs),
    ];
    let present = lists.iter().filter(|(_, list)| !list.is_empty());
    let fields: Vec<String> = present.map(|(name, list)| format!("{name}:{}", quoted(list))).collect();
    format!("{{{}}}", fields.join(", "))
}

fn quoted(list: &[String]) -> String {
    format!("[{}]", list.iter().map(|text| quote(text)).collect::<Vec<_>>().join(" "))
}

fn full_authority() -> [Rule; 2] {
    let all = || vec!["*".to_owned()];
    [
        Rule { verbs: all(), groups: all(), resources: all(), ..Rule::default() },
        Rule { verbs: all(), paths: all(), ..Rule::default() },
    ]
}

fn aggregates(role: &Object) -> bool {
    let selectors = role.get("aggregationRule").and_then(|rule| rule.get("clusterRoleSelectors")?.as_array());
    selectors.is_some_and(|selectors| !selectors.is_empty())
}

/// True if a write changes only fields that the garbage collector changes.
fn changes_ownership_alone(new: &Object, old: &Object) -> bool {
    let rest = |object: &Object| {
        let mut object = object.clone();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            for name in ["ownerReferences", "finalizers", "selfLink", "managedFields"] {
                metadata.remove(name);
            }
        }
        object
    };
    rest(new) == rest(old)
}
