//! Tests of impersonation, with an authorizer that allows listed permissions.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Mutex;

use async_trait::async_trait;
use authentication::{Authenticator, Credentials, TokenAuthenticator, TokenUser};
use authorization::{Attributes, Decision};
use http::{HeaderName, HeaderValue};

use apimachinery::request_notes::Notes;

use super::*;

type Extra = BTreeMap<String, Vec<String>>;

/// Allowed permissions, as `verb group/resource[/subresource] [namespace/]name` or `verb path`.
#[derive(Default)]
struct Grants {
    listed: Vec<String>,
    requests: Mutex<Vec<(String, Extra)>>,
}

#[async_trait]
impl Authorizer for Grants {
    async fn decide(&self, a: Attributes<'_>) -> Decision {
        let join = |parts: [&str; 2]| parts.map(str::to_owned).into_iter().filter(|part| !part.is_empty());
        let resource = join([a.resource, a.subresource]).collect::<Vec<_>>().join("/");
        let name = join([a.namespace, a.name]).collect::<Vec<_>>().join("/");
        let permission = if a.resource_request {
            format!("{} {}/{resource} {name}", a.verb, a.group)
        } else {
            format!("{} {}", a.verb, a.path)
        };
        let allowed = self.listed.contains(&permission);
        self.requests.lock().unwrap().push((permission, a.user.extra.clone()));
        if allowed {
            Decision::Allow(std::sync::Arc::default())
        } else {
            Decision::NoOpinion("no rule".to_owned())
        }
    }
}

struct FixedUser(UserInfo);

#[async_trait]
impl TokenAuthenticator for FixedUser {
    async fn authenticate(
        &self,
        _: &str,
        _: &[String],
        _: &Notes,
    ) -> Result<Option<TokenUser>, authentication::Error> {
        Ok(Some(TokenUser { user: self.0.clone(), audiences: Vec::new() }))
    }
}

async fn sender(user: UserInfo) -> Authenticated {
    let authenticator =
        Authenticator { tokens: vec![std::sync::Arc::new(FixedUser(user))], ..Authenticator::default() };
    let credentials = Credentials { authorization: Some("Bearer t"), ..Credentials::default() };
    authenticator.authenticate(credentials).await.unwrap()
}

fn ann() -> UserInfo {
    UserInfo { name: "ann".to_owned(), ..UserInfo::default() }
}

/// User of a service account whose token is bound to `node`.
fn agent(node: &str) -> UserInfo {
    let extra =
        [("authentication.kubernetes.io/node-name", node), ("authentication.kubernetes.io/pod-name", "p")]
            .map(|(key, value)| (key.to_owned(), vec![value.to_owned()]));
    UserInfo {
        name: "system:serviceaccount:kube-system:agent".to_owned(),
        extra: extra.into(),
        ..UserInfo::default()
    }
}

fn headers(lines: &[&str]) -> HeaderMap {
    let pair = |line: &&str| {
        let (name, value) = line.split_once(':').unwrap();
        let name: HeaderName = name.parse().unwrap();
        (name, HeaderValue::from_bytes(value.trim_start().as_bytes()).unwrap())
    };
    let mut headers = HeaderMap::new();
    for (name, value) in lines.iter().map(pair) {
        headers.append(name, value);
    }
    headers
}

fn get_pods() -> RequestInfo {
    let text = str::to_owned;
    let namespace = text("ns");
    RequestInfo {
        is_resource: true,
        verb: text("get"),
        resource: text("pods"),
        namespace,
        name: text("p"),
        ..RequestInfo::default()
    }
}

/// `name|uid|groups|extra` of the effective user, or the code and message of an error.
async fn effective_user(memory: &Impersonation, grants: &Grants, user: UserInfo, lines: &[&str]) -> String {
    let mut headers = headers(lines);
    let actor = memory
        .actor(
            &mut headers,
            sender(user).await,
            &get_pods(),
            grants,
            &Impersonations::new(&component_base::metrics::MetricsRegistry::default()),
        )
        .await;
    match actor {
        Err(status) => format!("{} {}", status.code, status.message),
        Ok(EffectiveUser::Sender(_)) => "sender".to_owned(),
        Ok(EffectiveUser::Other { user, .. }) => {
            assert!(headers.is_empty(), "{lines:?} left {headers:?}");
            let extra: Vec<String> =
                user.extra.iter().map(|(key, values)| format!("{key}={}", values.join("+"))).collect();
            format!("{}|{}|{}|{}", user.name, user.uid, user.groups.join(","), extra.join(","))
        }
    }
}

fn grants(listed: &[&str]) -> Grants {
    Grants { listed: listed.iter().map(|&line| line.to_owned()).collect(), ..Grants::default() }
}

async fn check(user: UserInfo, lines: &[&str], listed: &[&str], expected: &str) {
    let got = effective_user(&Impersonation::new(&Gates::default()), &grants(listed), user, lines).await;
    assert_eq!(got, expected, "{lines:?} with {listed:?}");
}

const ON_USER: &str = "impersonate-on:user-info:get /pods ns/p";
const AS_BOB: &str = "impersonate:user-info authentication.k8s.io/users bob";

#[tokio::test]
async fn request_without_impersonation_keeps_user() {
    for lines in [&[][..], &["Impersonate-User: "], &["Impersonate-Uid: "], &["Impersonate-Other: x"]] {
        check(ann(), lines, &[], "sender").await;
    }
}

#[tokio::test]
async fn groups_uid_and_extra_need_a_user() {
    let check = async |lines: &[&str], expected: &str| {
        let expected = format!(
            "400 requested &user.DefaultInfo{{Name:\"\", {expected}}} without impersonating a user name"
        );
        check(ann(), lines, &[], &expected).await;
    };
    check(
        &["Impersonate-Group: a", "Impersonate-Group: "],
        "UID:\"\", Groups:[]string{\"a\", \"\"}, Extra:map[string][]string(nil)",
    )
    .await;
    check(&["Impersonate-Uid: 7"], "UID:\"7\", Groups:[]string(nil), Extra:map[string][]string(nil)").await;
    check(
        &["Impersonate-Extra-B: 1", "Impersonate-Extra-A%2fx: 2", "Impersonate-Extra-B: 3"],
        "UID:\"\", Groups:[]string(nil), Extra:map[string][]string{\"a/x\":[]string{\"2\"}, \"b\":[]string{\"1\", \"3\"}}",
    )
    .await;
}

#[tokio::test]
async fn constrained_impersonation_checks_request_and_each_part() {
    let user = "Impersonate-User: bob";
    check(ann(), &[user], &[ON_USER, AS_BOB], "bob||system:authenticated|").await;
    let all = [
        ON_USER,
        AS_BOB,
        "impersonate:user-info authentication.k8s.io/uids 7",
        "impersonate:user-info authentication.k8s.io/groups dev",
        "impersonate:user-info authentication.k8s.io/userextras/acme.io/x v",
    ];
    let lines = [user, "Impersonate-Uid: 7", "Impersonate-Group: dev", "Impersonate-Extra-Acme.io%2Fx: v"];
    check(ann(), &lines, &all, "bob|7|dev,system:authenticated|acme.io/x=v").await;
    let refusals = [
        "pods \"p\" is forbidden: User \"ann\" cannot impersonate-on:user-info:get resource \"pods\" in API group \"\" in the namespace \"ns\"",
        "users.authentication.k8s.io \"bob\" is forbidden: User \"ann\" cannot impersonate:user-info resource \"users\" in API group \"authentication.k8s.io\" at the cluster scope",
        "uids.authentication.k8s.io \"7\" is forbidden: User \"ann\" cannot impersonate:user-info resource \"uids\" in API group \"authentication.k8s.io\" at the cluster scope",
        "groups.authentication.k8s.io \"dev\" is forbidden: User \"ann\" cannot impersonate:user-info resource \"groups\" in API group \"authentication.k8s.io\" at the cluster scope",
        "userextras.authentication.k8s.io \"v\" is forbidden: User \"ann\" cannot impersonate:user-info resource \"userextras/acme.io/x\" in API group \"authentication.k8s.io\" at the cluster scope",
    ];
    for (missing, refusal) in refusals.iter().enumerate() {
        let listed: Vec<&str> =
            all.iter().enumerate().filter(|(i, _)| *i != missing).map(|(_, g)| *g).collect();
        check(ann(), &lines, &listed, &format!("403 {refusal}: no rule")).await;
    }
}

#[tokio::test]
async fn legacy_permission_covers_every_request() {
    check(ann(), &["Impersonate-User: bob"], &["impersonate /users bob"], "bob||system:authenticated|").await;
    let all = [
        "impersonate /users system:node:n",
        "impersonate authentication.k8s.io/uids 7",
        "impersonate /groups system:masters",
        "impersonate authentication.k8s.io/userextras/scopes a",
        "impersonate authentication.k8s.io/userextras/scopes b",
    ];
    let lines = [
        "Impersonate-User: system:node:n",
        "Impersonate-Uid: 7",
        "Impersonate-Group: system:masters",
        "Impersonate-Extra-Scopes: a",
        "Impersonate-Extra-Scopes: b",
    ];
    check(ann(), &lines, &all, "system:node:n|7|system:masters,system:authenticated|scopes=a+b").await;
    check(ann(), &lines, &all[..4], "403 userextras.authentication.k8s.io \"b\" is forbidden: User \"ann\" cannot impersonate resource \"userextras/scopes\" in API group \"authentication.k8s.io\" at the cluster scope: no rule").await;
}

#[tokio::test]
async fn nodes_and_service_accounts_have_fixed_groups() {
    let account = ["Impersonate-User: system:serviceaccount:ns:a"];
    let groups = "system:serviceaccounts,system:serviceaccounts:ns,system:authenticated";
    let constrained = [
        "impersonate-on:serviceaccount:get /pods ns/p",
        "impersonate:serviceaccount authentication.k8s.io/serviceaccounts ns/a",
    ];
    let expected = format!("system:serviceaccount:ns:a||{groups}|");
    check(ann(), &account, &constrained, &expected).await;
    check(ann(), &account, &["impersonate /serviceaccounts ns/a"], &expected).await;
    let account_and_group = [account[0], "Impersonate-Group: g"];
    let legacy = ["impersonate /serviceaccounts ns/a", "impersonate /groups g"];
    check(ann(), &account_and_group, &legacy, "system:serviceaccount:ns:a||g,system:authenticated|").await;

    let node = ["Impersonate-User: system:node:n1"];
    let constrained = [
        "impersonate-on:arbitrary-node:get /pods ns/p",
        "impersonate:arbitrary-node authentication.k8s.io/nodes n1",
    ];
    check(ann(), &node, &constrained, "system:node:n1||system:nodes,system:authenticated|").await;
    check(ann(), &node, &["impersonate /users system:node:n1"], "system:node:n1||system:authenticated|")
        .await;
    let odd = ["Impersonate-User: system:serviceaccount:NS:a"];
    check(
        ann(),
        &odd,
        &["impersonate /users system:serviceaccount:NS:a"],
        "system:serviceaccount:NS:a||system:authenticated|",
    )
    .await;
}

#[tokio::test]
async fn agent_may_impersonate_its_own_node() {
    let rights = [
        "impersonate-on:associated-node:get /pods ns/p",
        "impersonate:associated-node authentication.k8s.io/nodes *",
    ];
    let lines = ["Impersonate-User: system:node:n1"];
    check(agent("n1"), &lines, &rights, "system:node:n1||system:nodes,system:authenticated|").await;
    for sender in [agent("n2"), UserInfo { name: "ann".to_owned(), ..agent("n1") }] {
        let name = sender.name.clone();
        let expected = format!(
            "403 pods \"p\" is forbidden: User \"{name}\" cannot impersonate-on:arbitrary-node:get resource \"pods\" in API group \"\" in the namespace \"ns\": no rule"
        );
        check(sender, &lines, &rights, &expected).await;
    }
    let grants = grants(&rights);
    effective_user(&Impersonation::new(&Gates::default()), &grants, agent("n1"), &lines).await;
    let keys = vec![
        "authentication.kubernetes.io/node-name".to_owned(),
        "authentication.kubernetes.io/pod-name".to_owned(),
    ];
    let expected = BTreeMap::from([("authentication.kubernetes.io/associated-node-keys".to_owned(), keys)]);
    let requests = grants.requests.into_inner().unwrap();
    assert_eq!(requests.len(), 2);
    assert!(requests.iter().all(|(_, extra)| *extra == expected), "{requests:?}");
}

#[tokio::test]
async fn impersonated_user_is_authenticated_by_default() {
    let check = async |name: &str, groups: &[&str], expected: &str| {
        let mut lines = vec![format!("Impersonate-User: {name}")];
        let mut listed = vec![format!("impersonate /users {name}")];
        lines.extend(groups.iter().map(|group| format!("Impersonate-Group: {group}")));
        listed.extend(groups.iter().map(|group| format!("impersonate /groups {group}")));
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let listed: Vec<&str> = listed.iter().map(String::as_str).collect();
        check(ann(), &lines, &listed, &format!("{name}||{expected}|")).await;
    };
    check("bob", &["dev"], "dev,system:authenticated").await;
    check("bob", &["system:authenticated", "dev"], "system:authenticated,dev").await;
    check("bob", &["system:unauthenticated"], "system:unauthenticated").await;
    check("system:anonymous", &[], "system:unauthenticated").await;
    check("system:anonymous", &["system:authenticated"], "system:authenticated,system:unauthenticated").await;
    check("system:anonymous", &["system:unauthenticated"], "system:unauthenticated").await;
    check("jürgen", &[], "system:authenticated").await;
}

#[tokio::test]
async fn constrained_impersonation_rejects_reserved_users() {
    let check = async |line: &str, kind: &str, sub: &str, reason: &str| {
        let expected = format!(
            "403 {kind} is forbidden: User \"ann\" cannot impersonate:user-info resource \"{sub}\" in API group \"authentication.k8s.io\" at the cluster scope: {reason}"
        );
        check(ann(), &["Impersonate-User: bob", line], &[ON_USER, AS_BOB], &expected).await;
    };
    check(
        "Impersonate-Group: system:masters",
        "groups.authentication.k8s.io \"system:masters\"",
        "groups",
        "impersonating the system:masters group is not allowed",
    )
    .await;
    check(
        "Impersonate-Group: ",
        "groups.authentication.k8s.io",
        "groups",
        "impersonating the empty string group is not allowed",
    )
    .await;
    let kind = "userextras.authentication.k8s.io";
    let sub = "userextras";
    let invalid = "impersonating an invalid key in extra is not allowed: extra.key: Invalid value: ";
    check("Impersonate-Extra-: v", kind, sub, "impersonating the empty string key in extra is not allowed")
        .await;
    check(
        "Impersonate-Extra-Scopes: v",
        kind,
        sub,
        &format!("{invalid}\"scopes\": must be a domain-prefixed path (such as \"acme.io/foo\")"),
    )
    .await;
    check(
        "Impersonate-Extra-a.b%2f%7b: v",
        kind,
        sub,
        &format!(
            "{invalid}\"{{\": Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"
        ),
    )
    .await;
    check(
        "Impersonate-Extra-a.b%2f%58: v",
        kind,
        sub,
        "impersonating a non-lowercase key in extra is not allowed: \"a.b/X\"",
    )
    .await;
    check(
        "Impersonate-Extra-a.b%2fx: ",
        kind,
        sub,
        "impersonating the empty string value in extra is not allowed",
    )
    .await;
}

#[tokio::test]
async fn wildcard_permission_covers_many_values() {
    let base = [ON_USER, AS_BOB];
    let groups: Vec<String> = (0..4).map(|n| format!("Impersonate-Group: g{n}")).collect();
    let extras: Vec<String> = (0..4).map(|n| format!("Impersonate-Extra-a.b%2f{n}: v")).collect();
    let lines = |more: &[String]| -> Vec<String> {
        std::iter::once("Impersonate-User: bob".to_owned()).chain(more.iter().cloned()).collect()
    };
    let check = async |lines: Vec<String>, right: &str, allowed: bool| {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let got = effective_user(
            &Impersonation::new(&Gates::default()),
            &grants(&[base[0], base[1], right]),
            ann(),
            &lines,
        )
        .await;
        assert_eq!(!got.starts_with("403"), allowed, "{lines:?}: {got}");
    };
    let all_groups = "impersonate:user-info authentication.k8s.io/groups *";
    let all_extras = "impersonate:user-info authentication.k8s.io/userextras/* *";
    check(lines(&groups), all_groups, true).await;
    check(lines(&groups[..3]), all_groups, false).await;
    check(lines(&extras), all_extras, true).await;
    check(lines(&extras[..3]), all_extras, false).await;
}

#[tokio::test]
async fn denial_comes_from_last_allowed_mode() {
    let impersonation = Impersonation::new(&Gates::default());
    let legacy_grants = grants(&["impersonate /users bob"]);
    let is_constrained_denial = |text: &str| text.contains("cannot impersonate-on:user-info:get");
    assert!(is_constrained_denial(
        &effective_user(&impersonation, &legacy_grants, ann(), &["Impersonate-User: eve"]).await
    ));
    assert!(
        effective_user(&impersonation, &legacy_grants, ann(), &["Impersonate-User: bob"])
            .await
            .starts_with("bob|")
    );
    assert_eq!(
        effective_user(&impersonation, &legacy_grants, ann(), &["Impersonate-User: eve"]).await,
        "403 users \"eve\" is forbidden: User \"ann\" cannot impersonate resource \"users\" in API group \"\" at the cluster scope: no rule"
    );
    let second_user = UserInfo { name: "cid".to_owned(), ..UserInfo::default() };
    assert!(is_constrained_denial(
        &effective_user(&impersonation, &legacy_grants, second_user, &["Impersonate-User: eve"]).await
    ));
}

#[test]
fn invalid_escape_in_key_is_kept() {
    for (key, expected) in [("a%2fb", "a/b"), ("a%2", "a%2"), ("a%zz", "a%zz"), ("%41%", "%41%"), ("", "")] {
        let mut headers = headers(&["Impersonate-User: bob", &format!("Impersonate-Extra-{key}: v")]);
        let requested = RequestedUser::extract(&mut headers).unwrap().unwrap();
        assert_eq!(requested.extra.keys().collect::<Vec<_>>(), [expected]);
    }
}

#[tokio::test]
async fn constrained_modes_require_gate() {
    let closed = Gates::default().with(Gate::ConstrainedImpersonation, false);
    let granted = grants(&[ON_USER, AS_BOB]);
    let got = effective_user(&Impersonation::new(&closed), &granted, ann(), &["impersonate-user: bob"]).await;
    assert!(got.starts_with("403 "), "{got}");
    let got =
        effective_user(&Impersonation::new(&Gates::default()), &granted, ann(), &["impersonate-user: bob"])
            .await;
    assert!(got.starts_with("bob|"), "{got}");
}
