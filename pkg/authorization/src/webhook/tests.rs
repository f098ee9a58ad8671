//! Tests of reviews and responses.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use apimachinery::selectors::{FieldRequirements, LabelRequirements, Selectors};
use apimachinery::time::UnixTime;
use component_base::clock::TestClock;
use component_base::metrics::MetricsRegistry;
use component_base::weakened::WeakenedDecisions;
use jsontree::json;

use super::*;
use crate::metrics::AuthorizerMetrics;

/// Fake service with fixed responses. Records its requests.
struct Service {
    responses: Mutex<Vec<Result<Value, Attempt>>>,
    reviews: Mutex<Vec<Value>>,
}

#[async_trait]
impl Caller for Service {
    async fn post_review(
        &self,
        review: Vec<u8>,
        failed: &(dyn Fn(Attempt) + Send + Sync),
    ) -> Result<CallResponse, crate::Error> {
        self.reviews.lock().unwrap().push(serde_json::from_slice(&review).unwrap());
        let response = self.responses.lock().unwrap().pop().unwrap();
        let duration = Duration::ZERO;
        match response {
            Ok(response) => Ok(CallResponse { body: response.to_string().into_bytes(), duration }),
            Err(attempt) => {
                failed(attempt);
                Err(crate::Error::Evaluation("down".to_owned()))
            }
        }
    }
}

const DOWN: Attempt = Attempt { duration: Duration::ZERO, timed_out: false };

struct Fixture {
    service: Arc<Service>,
    clock: Arc<TestClock>,
    registry: MetricsRegistry,
    weakened: WeakenedDecisions,
    webhook: Webhook,
}

impl Fixture {
    fn count(&self) -> usize {
        self.service.reviews.lock().unwrap().len()
    }

    fn page(&self) -> String {
        self.registry.to_string()
    }
}

fn options(version: Version, deny_on_error: bool) -> Options {
    Options {
        version,
        authorized_ttl: Duration::from_secs(300),
        unauthorized_ttl: Duration::from_secs(30),
        deny_on_error,
        conditions: Conditions::default(),
    }
}

/// Webhook whose service returns these responses, the last one first.
fn webhook(options: Options, responses: Vec<Result<Value, Attempt>>) -> Fixture {
    let service = Arc::new(Service { responses: Mutex::new(responses), reviews: Mutex::default() });
    let clock = Arc::new(TestClock::at(UnixTime::from_seconds(1_000)));
    let caller: Arc<dyn Caller> = Arc::<Service>::clone(&service);
    let registry = MetricsRegistry::default();
    let weakened = WeakenedDecisions::default();
    let series = AuthorizerMetrics::new(&registry, &weakened).series("Webhook", "w");
    let webhook = Webhook::new(caller, options, Arc::<TestClock>::clone(&clock), series);
    Fixture { service, clock, registry, weakened, webhook }
}

fn ann() -> UserInfo {
    let extra = [("k".to_owned(), vec!["v".to_owned()])].into();
    UserInfo { name: "ann".to_owned(), uid: "1".to_owned(), groups: vec!["devs".to_owned()], extra }
}

#[tokio::test]
async fn review_omits_empty_fields() {
    let user = ann();
    let selectors = Selectors {
        fields: FieldRequirements::parse("a=b,c!=d"),
        labels: LabelRequirements::parse("e in (f,g),h,i>5"),
    };
    let attributes = Attributes {
        verb: "list",
        resource: "pods",
        version: "v1",
        namespace: "ns",
        resource_request: true,
        selectors: &selectors,
        ..Attributes::of_user(&user)
    };
    for (version, groups) in [(Version::V1, "groups"), (Version::V1Beta1, "group")] {
        let fixture = webhook(options(version, false), vec![Ok(json!({}))]);
        fixture.webhook.decide(attributes).await;
        let reviews = fixture.service.reviews.lock().unwrap();
        let expected = json!({
            "resourceAttributes": {
                "namespace": "ns", "verb": "list", "version": "v1", "resource": "pods",
                "fieldSelector": {"requirements": [
                    {"key": "a", "operator": "In", "values": ["b"]},
                    {"key": "c", "operator": "NotIn", "values": ["d"]},
                ]},
                "labelSelector": {"requirements": [
                    {"key": "e", "operator": "In", "values": ["f", "g"]},
                    {"key": "h", "operator": "Exists"},
                ]},
            },
            "user": "ann", "uid": "1", groups: ["devs"], "extra": {"k": ["v"]},
        });
        assert_eq!(reviews[0]["spec"], expected);
        assert_eq!(
            reviews[0]["apiVersion"],
            if version == Version::V1 { "authorization.k8s.io/v1" } else { "authorization.k8s.io/v1beta1" }
        );
        assert_eq!(reviews[0]["kind"], "SubjectAccessReview");
    }
}

#[tokio::test]
async fn responses_become_decisions() {
    let check = async |deny_on_error: bool, response: Result<Value, Attempt>, expected: Decision| {
        let fixture = webhook(options(Version::V1, deny_on_error), vec![response.clone()]);
        let decision = fixture.webhook.decide(Attributes::of_user(&ann())).await;
        assert_eq!(decision, expected, "{response:?}");
    };
    let status = |status: Value| Ok(json!({"status": status}));
    let failed = |denied: bool, reason: &str, error: &str| {
        Decision::Failed(AuthorizerError { denied, reason: reason.to_owned(), error: error.to_owned() })
    };
    check(false, status(json!({"allowed": true, "reason": "r"})), Decision::Allow("r".into())).await;
    check(false, status(json!({"denied": true, "reason": "r"})), Decision::Deny("r".to_owned())).await;
    check(false, status(json!({"reason": "r"})), Decision::NoOpinion("r".to_owned())).await;
    let contradiction = "webhook subject access review returned both allow and deny response";
    check(false, status(json!({"allowed": true, "denied": true})), failed(true, "", contradiction)).await;
    check(false, Err(DOWN), failed(false, "", "down")).await;
    check(true, Err(DOWN), failed(true, "", "down")).await;
    let text = "status.allowed of the review is neither true nor false";
    check(false, status(json!({"allowed": "yes"})), failed(false, "", text)).await;
    let text = "no kind \"Pod\" is registered for version \"v1\"";
    check(false, Ok(json!({"kind": "Pod", "apiVersion": "v1"})), failed(false, "", text)).await;
}

#[tokio::test]
async fn responses_are_cached_for_their_ttl() {
    let responses = |status: Value| vec![Ok(json!({"status": status})); 2];
    for (status, lifetime) in [(json!({"allowed": true}), 300), (json!({"allowed": false}), 30)] {
        let fixture = webhook(options(Version::V1, false), responses(status));
        let user = ann();
        fixture.webhook.decide(Attributes::of_user(&user)).await;
        fixture.clock.advance_seconds(lifetime - 1);
        fixture.webhook.decide(Attributes::of_user(&user)).await;
        assert_eq!(fixture.count(), 1);
        fixture.clock.advance_seconds(1);
        fixture.webhook.decide(Attributes::of_user(&user)).await;
        assert_eq!(fixture.count(), 2);
    }
}

#[tokio::test]
async fn large_reviews_and_failures_are_not_cached() {
    let check = async |path: &str, response: Result<Value, Attempt>| {
        let fixture = webhook(options(Version::V1, false), vec![response.clone(), response]);
        let user = ann();
        for _ in 0..2 {
            fixture.webhook.decide(Attributes { path, ..Attributes::of_user(&user) }).await;
        }
        assert_eq!(fixture.count(), 2);
    };
    check(&"x".repeat(10_000), Ok(json!({"status": {"allowed": true}}))).await;
    check("/", Err(DOWN)).await;
}

#[tokio::test]
async fn attempts_and_fail_open_requests_are_counted() {
    let check = async |deny_on_error: bool, response: Result<Value, Attempt>, expected: &[&str]| {
        let fixture = webhook(options(Version::V1, deny_on_error), vec![response]);
        fixture.webhook.decide(Attributes::of_user(&ann())).await;
        let page = fixture.page();
        let metric_lines =
            page.lines().filter_map(|line| line.strip_prefix("apiserver_authorization_webhook_evaluations_"));
        assert_eq!(metric_lines.collect::<Vec<_>>(), expected, "{page}");
    };
    let late = Attempt { timed_out: true, ..DOWN };
    check(true, Ok(json!({})), &["total{name=\"w\",result=\"success\"} 1"]).await;
    check(true, Ok(json!([])), &["total{name=\"w\",result=\"error\"} 1"]).await;
    check(true, Err(late), &["total{name=\"w\",result=\"timeout\"} 1"]).await;
    let open = ["fail_open_total{name=\"w\",result=\"timeout\"} 1", "total{name=\"w\",result=\"timeout\"} 1"];
    check(false, Err(late), &open).await;
}

#[tokio::test]
async fn only_skipped_webhooks_are_weakened_decisions() {
    let check = async |deny_on_error: bool,
                       condition: &str,
                       response: Result<Value, Attempt>,
                       expected: &[WeakenedKind]| {
        let conditions = [condition.to_owned()];
        let conditions = Conditions::compile(&conditions, &apimachinery::field::Path::NIL, &mut Vec::new());
        let fixture = webhook(Options { conditions, ..options(Version::V1, deny_on_error) }, vec![response]);
        fixture.webhook.decide(Attributes::of_user(&ann())).await;
        let recent = fixture.weakened.recent();
        assert!(recent.iter().all(|one| one.name == "w" && !one.cause.is_empty()), "{recent:?}");
        assert_eq!(recent.iter().map(|one| one.kind).collect::<Vec<_>>(), expected, "{condition}");
    };
    let wrong = "request.resourceAttributes.verb == 'get'";
    check(false, "true", Err(DOWN), &[WeakenedKind::UnreachableAuthorizer]).await;
    check(false, "true", Ok(json!([])), &[WeakenedKind::UnreachableAuthorizer]).await;
    check(false, wrong, Ok(json!({})), &[WeakenedKind::MatchConditionFailOpen]).await;
    check(false, "false", Err(DOWN), &[]).await;
    check(false, "true", Ok(json!({"status": {"allowed": true}})), &[]).await;
    check(true, "true", Err(DOWN), &[]).await;
    check(true, wrong, Ok(json!({})), &[]).await;
}

/// Service that never responds.
struct Silent;

#[async_trait]
impl Caller for Silent {
    async fn post_review(
        &self,
        _: Vec<u8>,
        _: &(dyn Fn(Attempt) + Send + Sync),
    ) -> Result<CallResponse, crate::Error> {
        std::future::pending().await
    }
}

#[tokio::test]
async fn dropped_call_is_counted_as_canceled() {
    let registry = MetricsRegistry::default();
    let series = AuthorizerMetrics::new(&registry, &WeakenedDecisions::default()).series("Webhook", "w");
    let clock = Arc::new(TestClock::default());
    let webhook = Webhook::new(Arc::new(Silent), options(Version::V1, true), clock, series);
    let user = ann();
    let decision = webhook.decide(Attributes::of_user(&user));
    assert!(futures_are_pending(decision).await);
    let page = registry.to_string();
    assert!(page.contains("webhook_evaluations_total{name=\"w\",result=\"canceled\"} 1"), "{page}");
}

/// Polls a future once and drops it.
async fn futures_are_pending(mut future: impl Future + Unpin) -> bool {
    std::future::poll_fn(|context| {
        std::task::Poll::Ready(std::pin::Pin::new(&mut future).poll(context).is_pending())
    })
    .await
}

#[tokio::test]
async fn conditions_select_requests_for_service() {
    let check = async |text: &str, deny_on_error: bool, expected: Decision, counts: [bool; 2]| {
        let conditions =
            Conditions::compile(&[text.to_owned()], &apimachinery::field::Path::NIL, &mut Vec::new());
        let options = Options { conditions, ..options(Version::V1, deny_on_error) };
        let fixture = webhook(options, vec![Ok(json!({"status": {"allowed": true}}))]);
        let user = ann();
        let decision = fixture.webhook.decide(Attributes { path: "/x", ..Attributes::of_user(&user) }).await;
        assert_eq!(decision, expected, "{text}");
        let page = fixture.page();
        assert_eq!(
            ["exclusions_total{", "evaluation_errors_total{"].map(|text| page.contains(text)),
            counts,
            "{page}"
        );
        assert!(
            page.contains("match_condition_evaluation_seconds_count{name=\"w\",type=\"Webhook\"} 1"),
            "{page}"
        );
    };
    let failed = |denied| {
        let error = "cel evaluation error: expression 'request.resourceAttributes.name == 'a'' resulted in error: no such key: resourceAttributes".to_owned();
        Decision::Failed(AuthorizerError { denied, reason: String::new(), error })
    };
    check("request.nonResourceAttributes.path == '/x'", false, Decision::Allow("".into()), [false, false])
        .await;
    check("request.user == 'bob'", true, Decision::NoOpinion(String::new()), [true, false]).await;
    for denied in [false, true] {
        check("request.resourceAttributes.name == 'a'", denied, failed(denied), [false, true]).await;
    }
}
