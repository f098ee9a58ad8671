//! Tests of RBAC decisions.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may say what must hold")]

use std::task::{Context, Waker};

use apimachinery::status::Status;
use jsontree::{Value, json};

use super::escalation::{Grant, check};
use super::*;
use crate::AlwaysDeny;

mod random;

fn user(name: &str, groups: &[&str]) -> UserInfo {
    let groups = groups.iter().map(|&group| group.to_owned()).collect();
    UserInfo { name: name.to_owned(), groups, ..UserInfo::default() }
}

fn rule(verbs: &[&str], groups: &[&str], resources: &[&str], names: &[&str]) -> Value {
    json!({"verbs": verbs, "apiGroups": groups, "resources": resources, "resourceNames": names})
}

fn subject(kind: &str, name: &str, namespace: &str) -> Value {
    json!({"kind": kind, "name": name, "namespace": namespace})
}

fn bind(index: &mut Index, namespace: &str, name: &str, role: (&str, &str), subjects: &[Value]) {
    let (kind, role) = role;
    let binding = json!({"roleRef": {"kind": kind, "name": role}, "subjects": subjects});
    index.set_binding(namespace, name, Some(Binding::of(binding.as_object().unwrap(), namespace, name)));
}

fn define(index: &mut Index, namespace: &str, name: &str, rules: &[Value]) {
    let role = json!({"rules": rules});
    index.set_role(namespace, name, Some(Rule::all_of(role.as_object().unwrap())));
}

fn wants<'a>(user: &'a UserInfo, verb: &'a str, namespace: &'a str, resource: &'a str) -> Attributes<'a> {
    let (resource, subresource) = resource.split_once('/').unwrap_or((resource, ""));
    Attributes { verb, namespace, resource, subresource, resource_request: true, ..Attributes::of_user(user) }
}

/// A reader of pods in all namespaces, bound in three ways.
fn readers() -> Index {
    let mut index = Index::default();
    define(&mut index, "", "reader", &[rule(&["get"], &[""], &["pods", "*/scale"], &[])]);
    define(&mut index, "ns", "one", &[rule(&["*"], &["*"], &["secrets"], &["s"])]);
    let group_and_user = [subject("Group", "readers", ""), subject("User", "alice", "")];
    bind(&mut index, "", "everywhere", ("ClusterRole", "reader"), &group_and_user);
    bind(&mut index, "ns", "here", ("ClusterRole", "reader"), &[subject("ServiceAccount", "bot", "")]);
    bind(&mut index, "ns", "named", ("Role", "one"), &[subject("User", "alice", "")]);
    index
}

/// Roles that load only when a caller waits for them.
#[derive(Default)]
struct Later(std::sync::Mutex<Index>);

impl IndexSource for Later {
    fn start_loading(&self) -> Option<crate::LoadFuture<'_>> {
        Some(Box::pin(async { *self.0.lock().unwrap() = readers() }))
    }

    fn visit(&self, look: &mut dyn FnMut(&Index)) {
        look(&self.0.lock().unwrap());
    }
}

#[test]
fn decisions_wait_for_loaded_roles() {
    let alice = user("alice", &[]);
    let mut context = Context::from_waker(Waker::noop());
    let mut done = |mut future: crate::LoadFuture<'_>| assert!(future.as_mut().poll(&mut context).is_ready());
    let rbac = Rbac(Arc::new(Later::default()));
    done(Box::pin(async {
        let decision = rbac.decide(wants(&alice, "get", "ns", "pods")).await;
        assert!(matches!(decision, Decision::Allow(_)), "{decision:?}");
    }));
    let rbac = Rbac(Arc::new(Later::default()));
    done(Box::pin(async { assert!(!rbac.rules(&alice, "ns").await.resources.is_empty()) }));
    let new = json!({"rules": [rule(&["get"], &[""], &["pods"], &[])]});
    let new = new.as_object().unwrap();
    let grant =
        Grant { user: &alice, resource: "clusterroles", namespace: "", path_name: "", new, old: None };
    done(Box::pin(async { check(grant, &AlwaysDeny, &Later::default()).await.unwrap() }));
}

#[test]
fn first_matching_binding_is_the_reason() {
    let index = readers();
    let check = |user: &UserInfo, namespace: &str, expected: &str| {
        let decision = decide(&index, &wants(user, "get", namespace, "pods"));
        let expected = match expected {
            "" => Decision::NoOpinion(String::new()),
            reason => Decision::Allow(format!("RBAC: allowed by {reason}").into()),
        };
        assert_eq!(decision, expected, "{} {namespace}", user.name);
    };
    let everywhere = "ClusterRoleBinding \"everywhere\" of ClusterRole \"reader\" to";
    check(&user("alice", &[]), "", &format!("{everywhere} User \"alice\""));
    check(&user("x", &["readers"]), "any", &format!("{everywhere} Group \"readers\""));
    let bot = user("system:serviceaccount:ns:bot", &[]);
    let here_binding = "RoleBinding \"here/ns\" of ClusterRole \"reader\" to ServiceAccount \"bot/ns\"";
    check(&bot, "ns", here_binding);
    check(&bot, "other", "");
    check(&bot, "", "");
    check(&user("nobody", &[]), "ns", "");
}

#[test]
fn all_parts_of_rule_must_match() {
    let index = readers();
    let alice = user("alice", &[]);
    let check = |attributes: Attributes<'_>, expected: bool| {
        let allowed = matches!(decide(&index, &attributes), Decision::Allow(_));
        assert_eq!(allowed, expected, "{attributes:?}");
    };
    check(wants(&alice, "list", "", "pods"), false);
    check(wants(&alice, "get", "", "pods/log"), false);
    check(wants(&alice, "get", "", "deployments/scale"), true);
    check(Attributes { group: "apps", ..wants(&alice, "get", "", "pods") }, false);
    check(Attributes { name: "s", ..wants(&alice, "delete", "ns", "secrets") }, true);
    check(Attributes { name: "t", ..wants(&alice, "delete", "ns", "secrets") }, false);
    check(wants(&alice, "list", "ns", "secrets"), false);
    check(Attributes { name: "s", ..wants(&alice, "delete", "other", "secrets") }, false);
}

#[test]
fn paths_match_exactly_or_by_prefix() {
    let check = |pattern: &str, path: &str, expected: bool| {
        let mut index = Index::default();
        define(&mut index, "", "r", &[json!({"verbs": ["get"], "nonResourceURLs": [pattern]})]);
        bind(&mut index, "", "b", ("ClusterRole", "r"), &[subject("User", "u", "")]);
        let user = user("u", &[]);
        let attributes = Attributes { verb: "get", path, ..Attributes::of_user(&user) };
        assert_eq!(matches!(decide(&index, &attributes), Decision::Allow(_)), expected, "{pattern} {path}");
    };
    check("/healthz", "/healthz", true);
    check("/healthz", "/healthz/etcd", false);
    check("/healthz/*", "/healthz/etcd", true);
    check("/healthz/*", "/healthz", false);
    check("*", "/anything", true);
}

#[test]
fn missing_roles_are_reported_once_without_match() {
    let mut index = readers();
    for name in ["a", "b"] {
        bind(&mut index, "ns", name, ("Role", "gone"), &[subject("User", "alice", "")]);
    }
    bind(&mut index, "", "c", ("ClusterRole", "gone"), &[subject("Group", "readers", "")]);
    let alice = user("alice", &["readers"]);
    assert!(matches!(decide(&index, &wants(&alice, "get", "ns", "pods")), Decision::Allow(_)));
    let expected = "RBAC: [clusterrole.rbac.authorization.k8s.io \"gone\" not found, \
                    role.rbac.authorization.k8s.io \"gone\" not found]";
    assert_eq!(decide(&index, &wants(&alice, "put", "ns", "x")), Decision::NoOpinion(expected.to_owned()));
}

#[test]
fn removed_grants_have_no_effect() {
    let mut index = readers();
    let alice = user("alice", &[]);
    index.set_binding("", "everywhere", None);
    assert_eq!(decide(&index, &wants(&alice, "get", "", "pods")), Decision::NoOpinion(String::new()));
    for (namespace, name) in [("ns", "here"), ("ns", "named")] {
        index.set_binding(namespace, name, None);
    }
    index.set_role("", "reader", None);
    index.set_role("ns", "one", None);
    assert_eq!(format!("{index:?}"), format!("{:?}", Index::default()));
}

#[test]
fn rules_are_listed_once_for_each_binding() {
    let index = readers();
    let listed = listed(&index, &user("alice", &["readers"]), "ns");
    let verbs: Vec<_> = listed.resources.iter().map(|rule| rule.verbs.join(",")).collect();
    assert_eq!(verbs, ["get", "*"]);
}

/// Writes an object as alice. She has the rules `held` in the namespace.
async fn written(held: &[Value], resource: &str, new: Value, old: Option<Value>) -> Result<(), Box<Status>> {
    let mut index = readers();
    define(&mut index, "", "held", held);
    bind(&mut index, "", "held", ("ClusterRole", "held"), &[subject("User", "alice", "")]);
    let alice = user("alice", &["readers", "all"]);
    let grant = Grant {
        user: &alice,
        resource,
        namespace: "ns",
        path_name: "",
        new: new.as_object().unwrap(),
        old: old.as_ref().and_then(Value::as_object),
    };
    check(grant, &AlwaysDeny, &index).await
}

fn role(rules: &[Value]) -> Value {
    json!({"metadata": {"name": "r"}, "rules": rules})
}

fn binding(kind: &str, name: &str) -> Value {
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name});
    json!({"metadata": {"name": "b"}, "roleRef": role, "subjects": []})
}

#[tokio::test]
async fn grants_require_own_permissions() {
    let watch = rule(&["watch", "delete"], &[""], &["pods"], &[]);
    let refused = written(&[], "roles", role(std::slice::from_ref(&watch)), None).await.unwrap_err();
    let expected = "roles.rbac.authorization.k8s.io \"r\" is forbidden: user \"alice\" (groups=[\"readers\" \
                    \"all\"]) is attempting to grant RBAC permissions not currently held:\n\
                    {APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"watch\" \"delete\"]}";
    assert_eq!((refused.code, refused.message.as_str()), (403, expected));
    let held = std::slice::from_ref(&watch);
    written(held, "roles", role(held), None).await.unwrap();
    written(&[], "roles", role(&[rule(&["get"], &[""], &["pods"], &["p"])]), None).await.unwrap();

    written(&[], "rolebindings", binding("ClusterRole", "reader"), None).await.unwrap();
    let not_found = written(&[], "rolebindings", binding("Role", "gone"), None).await.unwrap_err();
    assert_eq!(
        (not_found.code, &*not_found.message),
        (404, "rolebindings.rbac.authorization.k8s.io \"gone\" not found")
    );
}

#[tokio::test]
async fn aggregated_role_requires_full_authority() {
    let mut aggregate = role(&[]);
    aggregate["aggregationRule"] = json!({"clusterRoleSelectors": [{}]});
    let refused = written(&[], "clusterroles", aggregate.clone(), None).await.unwrap_err();
    assert!(refused.message.ends_with("must have cluster-admin privileges to use the aggregationRule"));
    let all = [rule(&["*"], &["*"], &["*"], &[]), json!({"verbs": ["*"], "nonResourceURLs": ["*"]})];
    written(&all, "clusterroles", aggregate.clone(), None).await.unwrap();
    let refused = written(&[], "clusterroles", role(&[]), Some(aggregate)).await;
    assert!(refused.is_err(), "nor may an aggregate be made an ordinary role");
}

#[tokio::test]
async fn the_garbage_collector_may_change_owners_and_finalizers() {
    let old = role(&[rule(&["*"], &["*"], &["*"], &[])]);
    let mut new = old.clone();
    new["metadata"]["finalizers"] = json!(["a/b"]);
    written(&[], "roles", new.clone(), Some(old.clone())).await.unwrap();
    new["metadata"]["labels"] = json!({"a": "b"});
    written(&[], "roles", new, Some(old)).await.unwrap_err();
}

/// Index with `count` rules about named secrets for a user, followed by one about pods.
fn of_many_rules(user: &str, count: usize) -> Index {
    let mut index = Index::default();
    let many: Vec<Value> =
        (0..count).map(|n| rule(&["get"], &[""], &["secrets"], &[&format!("s{n}")])).collect();
    define(&mut index, "ns", "a", &many);
    define(&mut index, "ns", "b", &[rule(&["get"], &[""], &["pods"], &[])]);
    bind(&mut index, "ns", "a", ("Role", "a"), &[subject("User", user, "")]);
    bind(&mut index, "ns", "b", ("Role", "b"), &[subject("User", user, "")]);
    index
}

#[tokio::test]
async fn long_decisions_yield_to_other_tasks() {
    let index = of_many_rules("alice", YIELD_AFTER_STRINGS);
    let alice = user("alice", &[]);
    for resource in ["pods", "secrets"] {
        let attributes = wants(&alice, "get", "ns", resource);
        let at_once = decide(&index, &attributes);
        let rbac = Rbac(Arc::new(index.clone()));
        let mut deciding = std::pin::pin!(rbac.decide(attributes));
        assert!(deciding.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(deciding.await, at_once, "{resource}");
    }
}

#[test]
fn truncated_rule_list_is_marked_incomplete() {
    let alice = user("alice", &[]);
    let list = |count| listed(&of_many_rules("alice", count), &alice, "ns");
    let short = list(100);
    assert_eq!((short.resources.len(), short.incomplete, short.error.as_str()), (101, false, ""));
    let long = list(LISTED_BYTES_MAX / 64);
    assert!(long.incomplete && long.resources.len() < LISTED_BYTES_MAX / 64);
    assert_eq!(long.error, "the rules take more than 2097152 bytes, some are left out");
}
