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
    answers: Mutex<Vec<Result<Value, Attempt>>>,
    asked: Mutex<Vec<Value>>,
}

#[async_trait]
impl Caller for Service {
    async fn post_review(
        &self,
        review: Vec<u8>,
        failed: &(dyn Fn(Attempt) + Send + Sync),
    ) -> Result<CallResponse, crate::Error> {
        self.asked.lock().unwrap().push(serde_json::from_slice(&review).unwrap());
        let answer = self.answers.lock().unwrap().pop().unwrap();
        let took = Duration::ZERO;
        match answer {
            Ok(answer) => Ok(CallResponse { body: answer.to_string().into_bytes(), took }),
            Err(attempt) => {
                failed(attempt);
                Err(crate::Error::Evaluation("down".to_owned()))
            }
        }
    }
}

const DOWN: Attempt = Attempt { took: Duration::ZERO, timed_out: false };

struct Asked {
    service: Arc<Service>,
    clock: Arc<TestClock>,
    registry: MetricsRegistry,
    weakened: WeakenedDecisions,
    webhook: Webhook,
}

impl Asked {
    fn count(&self) -> usize {
        self.service.asked.lock().unwrap().len()
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
fn webhook(options: Options, answers: Vec<Result<Value, Attempt>>) -> Asked {
    let service = Arc::new(Service { answers: Mutex::new(answers), asked: Mutex::default() });
    let clock = Arc::new(TestClock::at(UnixTime::from_seconds(1_000)));
    let caller: Arc<dyn Caller> = Arc::<Service>::clone(&service);
    let registry = MetricsRegistry::default();
    let weakened = WeakenedDecisions::default();
    let series = AuthorizerMetrics::new(&registry, &weakened).series("Webhook", "w");
    let webhook = Webhook::new(caller, options, Arc::<TestClock>::clone(&clock), series);
    Asked { service, clock, registry, weakened, webhook }
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
    let wanted = Attributes {
        verb: "list",
        resource: "pods",
        version: "v1",
        namespace: "ns",
        resource_request: true,
        selectors: &selectors,
        ..Attributes::of_user(&user)
    };
    for (version, groups) in [(Version::V1, "groups"), (Version::V1Beta1, "group")] {
        let asked = webhook(options(version, false), vec![Ok(json!({}))]);
        asked.webhook.decide(wanted).await;
        let questions = asked.service.asked.lock().unwrap();
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
        assert_eq!(questions[0]["spec"], expected);
        assert_eq!(
            questions[0]["apiVersion"],
            if version == Version::V1 { "authorization.k8s.io/v1" } else { "authorization.k8s.io/v1beta1" }
        );
        assert_eq!(questions[0]["kind"], "SubjectAccessReview");
    }
}

#[tokio::test]
async fn responses_become_decisions() {
    let check = async |deny_on_error: bool, answer: Result<Value, Attempt>, expected: Decision| {
        let asked = webhook(options(Version::V1, deny_on_error), vec![answer.clone()]);
        let decision = asked.webhook.decide(Attributes::of_user(&ann())).await;
        assert_eq!(decision, expected, "{answer:?}");
    };
    let status = |status: Value| Ok(json!({"status": status}));
    let failed = |denied: bool, reason: &str, error: &str| {
        Decision::Failed(AuthorizerError { denied, reason: reason.to_owned(), error: error.to_owned() })
    };
    check(false, status(json!({"allowed": true, "reason": "r"})), Decision::Allow("r".into())).await;
    check(false, status(json!({"denied": true, "reason": "r"})), Decision::Deny("r".to_owned())).await;
    check(false, status(json!({"reason": "r"})), Decision::NoOpinion("r".to_owned())).await;
    let both = "webhook subject access review returned both allow and deny response";
    check(false, status(json!({"allowed": true, "denied": true})), failed(true, "", both)).await;
    check(false, Err(DOWN), failed(false, "", "down")).await;
    check(true, Err(DOWN), failed(true, "", "down")).await;
    let text = "status.allowed of the review is neither true nor false";
    check(false, status(json!({"allowed": "yes"})), failed(false, "", text)).await;
    let text = "no kind \"Pod\" is registered for version \"v1\"";
    check(false, Ok(json!({"kind": "Pod", "apiVersion": "v1"})), failed(false, "", text)).await;
}

#[tokio::test]
async fn responses_are_cached_for_their_ttl() {
    let answers = |status: Value| vec![Ok(json!({"status": status})); 2];
    for (status, lifetime) in [(json!({"allowed": true}), 300), (json!({"allowed": false}), 30)] {
        let asked = webhook(options(Version::V1, false), answers(status));
        let user = ann();
        asked.webhook.decide(Attributes::of_user(&user)).await;
        asked.clock.advance_seconds(lifetime - 1);
        asked.webhook.decide(Attributes::of_user(&user)).await;
        assert_eq!(asked.count(), 1);
        asked.clock.advance_seconds(1);
        asked.webhook.decide(Attributes::of_user(&user)).await;
        assert_eq!(asked.count(), 2);
    }
}

#[tokio::test]
async fn large_reviews_and_failures_are_not_cached() {
    let check = async |path: &str, answer: Result<Value, Attempt>| {
        let asked = webhook(options(Version::V1, false), vec![answer.clone(), answer]);
        let user = ann();
        for _ in 0..2 {
            asked.webhook.decide(Attributes { path, ..Attributes::of_user(&user) }).await;
        }
        assert_eq!(asked.count(), 2);
    };
    check(&"x".repeat(10_000), Ok(json!({"status": {"allowed": true}}))).await;
    check("/", Err(DOWN)).await;
}

#[tokio::test]
async fn attempts_and_fail_open_requests_are_counted() {
    let check = async |deny_on_error: bool, answer: Result<Value, Attempt>, expected: &[&str]| {
        let asked = webhook(options(Version::V1, deny_on_error), vec![answer]);
        asked.webhook.decide(Attributes::of_user(&ann())).await;
        let page = asked.page();
        let counted =
            page.lines().filter_map(|line| line.strip_prefix("apiserver_authorization_webhook_evaluations_"));
        assert_eq!(counted.collect::<Vec<_>>(), expected, "{page}");
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
                       answer: Result<Value, Attempt>,
                       expected: &[WeakenedKind]| {
        let conditions = [condition.to_owned()];
        let conditions = Conditions::compile(&conditions, &apimachinery::field::Path::NIL, &mut Vec::new());
        let asked = webhook(Options { conditions, ..options(Version::V1, deny_on_error) }, vec![answer]);
        asked.webhook.decide(Attributes::of_user(&ann())).await;
        let recent = asked.weakened.recent();
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
    let question = webhook.decide(Attributes::of_user(&user));
    assert!(futures_are_pending(question).await);
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
        let asked = webhook(options, vec![Ok(json!({"status": {"allowed": true}}))]);
        let user = ann();
        let decision = asked.webhook.decide(Attributes { path: "/x", ..Attributes::of_user(&user) }).await;
        assert_eq!(decision, expected, "{text}");
        let page = asked.page();
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
