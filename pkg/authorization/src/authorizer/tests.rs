//! Tests of decisions and of denial messages.
#![allow(clippy::unwrap_used, clippy::panic)]

use super::*;
use crate::config::{Configuration, WebhookConfiguration};
use crate::node::{self, Features, Graph};
use crate::rbac::Index;
use crate::webhook::{Attempt, CallResponse, Caller, Conditions, Options, Version};
use crate::{AuthorizerDeps, AuthorizerError, Mode, Policies, Reload, Reloadable};
use apimachinery::query::Query;
use apimachinery::request_info::request_info;
use component_base::clock::TestClock;
use std::time::Duration;

fn user(name: &str, groups: &[&str]) -> UserInfo {
    let groups = groups.iter().map(|&g| g.to_owned()).collect();
    UserInfo { name: name.to_owned(), groups, ..UserInfo::default() }
}

/// Dependencies without roles, policies and objects, and with unavailable webhooks.
fn nothing() -> AuthorizerDeps {
    let features = Features { service_accounts: true, pod_certificates: true, volume_health: true };
    let policy = node::Policy { rules: Vec::new(), features };
    AuthorizerDeps {
        roles: Some(Arc::new(Index::default())),
        nodes: Some((Arc::new(Graph::default()), policy)),
        policies: Some(Policies::default()),
        connect: Box::new(|_| Ok(Arc::new(Down))),
        clock: Arc::new(TestClock::default()),
        metrics: Arc::default(),
    }
}

/// An unavailable webhook.
struct Down;

#[async_trait]
impl Caller for Down {
    async fn post_review(
        &self,
        _: Vec<u8>,
        failed: &(dyn Fn(Attempt) + Send + Sync),
    ) -> Result<CallResponse, crate::Error> {
        failed(Attempt { duration: Duration::ZERO, timed_out: false });
        Err(crate::Error::Evaluation("down".to_owned()))
    }
}

fn webhook(deny_on_error: bool) -> WebhookConfiguration {
    let options = Options {
        version: Version::V1,
        authorized_ttl: Duration::ZERO,
        unauthorized_ttl: Duration::ZERO,
        deny_on_error,
        conditions: Conditions::default(),
    };
    WebhookConfiguration { kubeconfig: "/x".into(), timeout: Duration::ZERO, options }
}

fn modes(modes: &[Mode], deny_on_error: bool) -> Configuration {
    Configuration::of_modes(modes, Some(&webhook(deny_on_error)))
}

fn info(method: &str, path: &str) -> RequestInfo {
    request_info(method, path, &Query::default()).unwrap()
}

async fn refused(authorizer: &dyn Authorizer, user: UserInfo, info: &RequestInfo) -> Status {
    match authorize(authorizer, user, info).await.unwrap_err() {
        Unauthorized::Forbidden { status, .. } => *status,
        Unauthorized::Failed(error) => panic!("{error}"),
    }
}

#[tokio::test]
async fn denials_have_upstream_messages() {
    async fn check(user_name: &str, method: &str, path: &str, expected: &str) {
        let user = user(user_name, &[]);
        let info = info(method, path);
        let status = refused(&MastersOnly, user, &info).await;
        assert_eq!(
            (status.code, status.reason.as_str(), status.message.as_str()),
            (403, "Forbidden", expected)
        );
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
async fn denial_contains_object_details() {
    let user = user("a", &[]);
    let info = info("GET", "/apis/apps/v1/namespaces/ns/deployments/web");
    let status = refused(&AlwaysDeny, user, &info).await;
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
    async fn check(names: &[Mode], groups: &[&str], expected: bool) {
        let user = user("u", groups);
        let info = info("GET", "/api");
        let authorizer = nothing().authorizer(&modes(names, false)).unwrap();
        let allowed = authorize(&authorizer, user, &info).await.is_ok();
        assert_eq!(allowed, expected, "{names:?} {groups:?}");
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

/// Authorizer that allows with a reason.
struct Granting;

#[async_trait]
impl Authorizer for Granting {
    async fn decide(&self, _: Attributes<'_>) -> Decision {
        Decision::Allow("by a rule".into())
    }
}

/// Union of authorizers with the name `a`.
fn union(authorizers: Vec<Arc<dyn Authorizer>>) -> Union {
    let member = |authorizer| Member { name: "a".to_owned(), authorizer, series: None };
    Union::new(authorizers.into_iter().map(member).collect())
}

#[tokio::test]
async fn denial_names_the_authorizers() {
    let user = user("u", &[]);
    let union = union(vec![Arc::new(AlwaysDeny), Arc::new(MastersOnly), Arc::new(AlwaysDeny)]);
    let expected = "a: Everything is forbidden.\na: Everything is forbidden.";
    let decision = union.decide(Attributes::of_user(&user)).await;
    assert_eq!(decision, Decision::NoOpinion(expected.to_owned()));
}

#[tokio::test]
async fn allow_reason_is_kept() {
    let union = union(vec![Arc::new(AlwaysDeny), Arc::new(Granting), Arc::new(AlwaysAllow)]);
    let authorized = authorize(&union, user("u", &[]), &info("GET", "/api")).await.unwrap();
    assert_eq!(authorized.reason(), "by a rule");
}

#[test]
fn mode_names_are_exact() {
    let check = |name: &str, expected: Option<Mode>| assert_eq!(Mode::parse(name), expected, "{name}");
    check("RBAC", Some(Mode::Rbac));
    check("AlwaysAllow", Some(Mode::AlwaysAllow));
    check("rbac", None);
    check("", None);
}

#[tokio::test]
async fn failure_passes_on_unless_it_denies() {
    async fn check(names: &[Mode], deny_on_error: bool, expected: Decision) {
        let user = user("u", &[]);
        let authorizer = nothing().authorizer(&modes(names, deny_on_error)).unwrap();
        assert_eq!(authorizer.decide(Attributes::of_user(&user)).await, expected, "{names:?}");
    }
    let failed = |denied, reason: &str| {
        Decision::Failed(AuthorizerError { denied, reason: reason.to_owned(), error: "down".to_owned() })
    };
    let allowed = Decision::Allow(Arc::default());
    check(&[Mode::Webhook, Mode::AlwaysAllow], false, allowed).await;
    check(&[Mode::Webhook, Mode::AlwaysAllow], true, failed(true, "")).await;
    check(&[Mode::Webhook, Mode::AlwaysDeny], false, failed(false, "alwaysdeny: Everything is forbidden."))
        .await;
    check(&[Mode::Webhook, Mode::Webhook], false, failed(false, "")).await;
    let user = user("u", &[]);
    let info = info("GET", "/api");
    let authorizer = nothing().authorizer(&modes(&[Mode::Webhook], false)).unwrap();
    let error = authorize(&authorizer, user, &info).await.unwrap_err();
    assert!(matches!(error, Unauthorized::Failed(error) if error == "down"));
}

#[tokio::test]
async fn reload_is_all_or_nothing() {
    let head = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthorizationConfiguration\nauthorizers:\n";
    let text = |authorizers: &str| format!("{head}{authorizers}").into_bytes();
    let deny = text("- {type: AlwaysDeny, name: alwaysdeny}\n");
    let allow_and_deny =
        text("- {type: AlwaysAllow, name: alwaysallow}\n- {type: AlwaysDeny, name: alwaysdeny}\n");
    let config = Configuration::parse(&deny, &Default::default()).unwrap();
    let means = AuthorizerDeps { roles: None, ..nothing() };
    let reloadable = Reloadable::new(means, config, deny.clone()).unwrap();
    let user = user("u", &[]);
    let info = info("GET", "/api");
    let allowed = async || authorize(&reloadable, user.clone(), &info).await.is_ok();
    assert_eq!((reloadable.reload(deny.clone()), allowed().await), (Reload::Unchanged, false));
    assert_eq!((reloadable.reload(allow_and_deny.clone()), allowed().await), (Reload::Replaced, true));
    let invalid = |error: &str| Reload::Invalid(error.to_owned());
    let without = text("- {type: AlwaysAllow, name: alwaysallow}\n");
    assert_eq!(reloadable.reload(without), invalid("missing required types: [AlwaysDeny]"));
    let late = text("- {type: AlwaysDeny, name: alwaysdeny}\n- {type: RBAC, name: rbac}\n");
    let error = "authorizer type RBAC is not allowed if it was not enabled at initial server startup";
    assert_eq!(reloadable.reload(late), invalid(error));
    assert!(allowed().await);
    assert_eq!((reloadable.reload(deny), allowed().await), (Reload::Replaced, false));
}
