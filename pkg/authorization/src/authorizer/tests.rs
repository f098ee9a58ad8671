//! Claims about decisions and about the texts of refusals.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::node::{self, Features, Graph};
use crate::rbac::Index;
use crate::{Means, Mode, Policies};
use apimachinery::query::Query;
use apimachinery::request_info::request_info;

fn user(name: &str, groups: &[&str]) -> UserInfo {
    let groups = groups.iter().map(|&g| g.to_owned()).collect();
    UserInfo { name: name.to_owned(), groups, ..UserInfo::default() }
}

/// Without roles, policies and objects.
fn nothing() -> Means {
    let features = Features { selectors: true, service_accounts: true, pod_certificates: true };
    Means {
        roles: Arc::new(Index::default()),
        graph: Arc::new(Graph::default()),
        nodes: node::Policy { rules: Vec::new(), features },
        policies: Policies::default(),
    }
}

fn info(method: &str, path: &str) -> RequestInfo {
    request_info(method, path, &Query::default()).unwrap()
}

#[tokio::test]
async fn refusals_read_as_upstreams() {
    async fn check(who: &str, method: &str, path: &str, expected: &str) {
        let (user, info) = (user(who, &[]), info(method, path));
        let status = authorize(&MastersOnly, user, &info).await.unwrap_err();
        assert_eq!((status.code, status.reason, status.message.as_str()), (403, "Forbidden", expected));
    }
    check("alice", "GET", "/api", "forbidden: User \"alice\" cannot get path \"/api\"").await;
    check(
        "alice",
        "GET",
        "/api/v1/nodes",
        "nodes is forbidden: User \"alice\" cannot list resource \"nodes\" in API group \"\" at the cluster scope",
    )
    .await;
    check(
        "alice",
        "POST",
        "/apis/apps/v1/namespaces/ns/deployments/web/scale",
        "deployments.apps \"web\" is forbidden: User \"alice\" cannot create resource \"deployments/scale\" in API group \"apps\" in the namespace \"ns\"",
    )
    .await;
    check("<a>", "GET", "/a&\"b", "forbidden: User \"&lt;a&gt;\" cannot get path \"/a&amp;\\\"b\"").await;
}

#[tokio::test]
async fn a_refusal_names_what_it_is_about() {
    let (user, info) = (user("a", &[]), info("GET", "/apis/apps/v1/namespaces/ns/deployments/web"));
    let status = authorize(&AlwaysDeny, user, &info).await.unwrap_err();
    let details = status.details.unwrap();
    assert_eq!(
        (details.name.as_str(), details.group.as_str(), details.kind.as_str()),
        ("web", "apps", "deployments")
    );
    assert!(
        status.message.ends_with("in the namespace \"ns\": Everything is forbidden."),
        "{}",
        status.message
    );
}

#[tokio::test]
async fn modes_decide_as_configured() {
    async fn check(modes: &[Mode], groups: &[&str], expected: bool) {
        let (user, info) = (user("u", groups), info("GET", "/api"));
        let authorizer = Mode::authorizer(modes, &nothing());
        let allowed = authorize(authorizer.as_ref(), user, &info).await.is_ok();
        assert_eq!(allowed, expected, "{modes:?} {groups:?}");
    }
    const MASTERS: &[&str] = &["x", GROUP_MASTERS];
    const NOBODY: &[&str] = &["system:authenticated", "system:master"];
    check(&[Mode::AlwaysAllow], NOBODY, true).await;
    check(&[Mode::AlwaysDeny], NOBODY, false).await;
    check(&[Mode::AlwaysDeny, Mode::AlwaysAllow], NOBODY, true).await;
    check(&[Mode::AlwaysDeny], MASTERS, true).await;
    for mode in [Mode::Node, Mode::Rbac, Mode::Abac, Mode::Webhook] {
        check(&[mode], NOBODY, false).await;
        check(&[mode], MASTERS, true).await;
    }
    check(&[], NOBODY, false).await;
}

/// Says yes and why.
struct Granting;

#[async_trait]
impl Authorizer for Granting {
    async fn decide(&self, _: Attributes<'_>) -> Decision {
        Decision::Allow("by a rule".into())
    }
}

#[tokio::test]
async fn the_reason_of_a_yes_is_kept() {
    let union = Union::new(vec![Arc::new(AlwaysDeny), Arc::new(Granting), Arc::new(AlwaysAllow)]);
    let authorized = authorize(&union, user("u", &[]), &info("GET", "/api")).await.unwrap();
    assert_eq!(authorized.reason(), "by a rule");
}

#[test]
fn a_mode_is_known_by_its_exact_name() {
    let check = |name: &str, expected: Option<Mode>| assert_eq!(Mode::parse(name), expected, "{name}");
    check("RBAC", Some(Mode::Rbac));
    check("AlwaysAllow", Some(Mode::AlwaysAllow));
    check("rbac", None);
    check("", None);
}
