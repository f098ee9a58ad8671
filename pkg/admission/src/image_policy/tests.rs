//! Tests of the image policy webhook.
#![allow(clippy::unwrap_used)]

use component_base::clock::TestClock;
use jsontree::{Value, json};

use super::*;
use crate::testing::{REQUEST, Write, object};
use crate::{Operation, Options};

/// Fake webhook that returns a fixed response and records its requests.
struct Reviewer {
    response: Mutex<Result<Value, ImageReviewError>>,
    reviews: Mutex<Vec<Value>>,
}

#[async_trait]
impl ImageReviewer for Reviewer {
    async fn post_review(&self, review: Vec<u8>) -> Result<Vec<u8>, ImageReviewError> {
        self.reviews.lock().unwrap().push(serde_json::from_slice(&review).unwrap());
        self.response.lock().unwrap().clone().map(|answer| answer.to_string().into_bytes())
    }
}

fn reviewer(response: Result<Value, &str>) -> Arc<Reviewer> {
    let response = Mutex::new(response.map_err(|text| ImageReviewError::Call(text.to_owned())));
    Arc::new(Reviewer { response, reviews: Mutex::default() })
}

fn plugin(reviewer: &Arc<Reviewer>, clock: &Arc<TestClock>, more: &str) -> ImagePolicyWebhook {
    let text = format!("imagePolicy: {{kubeConfigFile: /k, allowTTL: 60, denyTTL: 10{more}}}");
    let configuration = ImagePolicyConfiguration::parse(Some(text.as_bytes())).unwrap();
    let clock = Arc::clone(clock) as _;
    ImagePolicyWebhook::new(Arc::clone(reviewer) as _, clock, configuration, WeakenedDecisions::default())
}

fn pod() -> Value {
    let annotations = json!({"a.image-policy.k8s.io/b": "1", "other": "2"});
    let spec = json!({
        "initContainers": [{"image": "i"}],
        "containers": [{"image": "c"}, {}],
        "ephemeralContainers": [{"image": "e"}],
    });
    json!({"metadata": {"name": "p", "annotations": annotations}, "spec": spec})
}

fn review_with(status: &Value) -> Result<Value, &'static str> {
    Ok(json!({"kind": "ImageReview", "apiVersion": "imagepolicy.k8s.io/v1alpha1", "status": status}))
}

#[test]
fn review_contains_images_and_matching_annotations() {
    let check = |subresource: &'static str, containers: Value| {
        let reviewer = reviewer(review_with(&json!({"allowed": true})));
        let plugin = plugin(&reviewer, &Arc::default(), "");
        assert!(Write::default().over(pod()).through(subresource).validated(&plugin, pod()).is_ok());
        let spec = json!({
            "containers": containers, "annotations": {"a.image-policy.k8s.io/b": "1"}, "namespace": "ns"});
        let review = json!({"kind": "ImageReview", "apiVersion": "imagepolicy.k8s.io/v1alpha1",
            "metadata": {}, "spec": spec, "status": {"allowed": false}});
        assert_eq!(*reviewer.reviews.lock().unwrap(), [review]);
    };
    check("", json!([{"image": "c"}, {}, {"image": "i"}]));
    check("ephemeralcontainers", json!([{"image": "e"}]));
    let reviewer = reviewer(Err("no"));
    let plugin = plugin(&reviewer, &Arc::default(), "");
    assert!(!Write::default().over(pod()).through("status").reaches(&plugin));
    assert!(!Write::of("apps", "v1", "deployments").reaches(&plugin));
}

#[test]
fn webhook_response_decides() {
    let check = |response: Result<Value, &str>, more: &str, expected: Result<(), &str>| {
        let plugin = plugin(&reviewer(response), &Arc::default(), more);
        let got = Write::default().validated(&plugin, pod()).map(|_| ());
        assert_eq!(got, expected.map_err(|cause| format!("pods \"p\" is forbidden: {cause}")));
    };
    check(review_with(&json!({"allowed": true})), "", Ok(()));
    check(review_with(&json!({})), "", Err("one or more images rejected by webhook backend"));
    check(Ok(json!({})), "", Err("one or more images rejected by webhook backend"));
    check(
        review_with(&json!({"reason": "old"})),
        "",
        Err("image policy webhook backend denied one or more images: old"),
    );
    check(Err("down"), "", Err("down"));
    check(Err("down"), ", defaultAllow: true", Ok(()));
    check(
        Ok(json!({"kind": "Pod", "apiVersion": "v1"})),
        "",
        Err("no kind \"Pod\" is registered for version \"v1\""),
    );
}

#[test]
fn images_allowed_by_default_are_weakened_decisions() {
    let check = |more: &str, expected: &[&str]| {
        let plugin = plugin(&reviewer(Err("down")), &Arc::default(), more);
        let _ = Write::default().validated(&plugin, pod());
        let recent = plugin.weakened.recent();
        assert!(recent.iter().all(|one| one.kind == WeakenedKind::WebhookFailOpen));
        assert_eq!(recent.iter().map(|one| &*one.cause).collect::<Vec<_>>(), expected);
    };
    check(", defaultAllow: true", &["down"]);
    check("", &[]);
}

#[test]
fn response_is_cached_until_ttl() {
    let check = |status: &Value, seconds: u32, calls: usize| {
        let reviewer = reviewer(review_with(status));
        let clock = Arc::new(TestClock::default());
        let plugin = plugin(&reviewer, &clock, "");
        let _ = Write::default().validated(&plugin, pod());
        clock.advance_seconds(seconds);
        let _ = Write::default().validated(&plugin, pod());
        assert_eq!(reviewer.reviews.lock().unwrap().len(), calls, "{status} {seconds}");
    };
    check(&json!({"allowed": true}), 60, 1);
    check(&json!({"allowed": true}), 61, 2);
    check(&json!({"allowed": false}), 10, 1);
    check(&json!({"allowed": false}), 11, 2);
}

#[test]
fn audit_events_contain_webhook_annotations() {
    let check = |response: Result<Value, &str>, expected: &[(&str, &str)]| {
        let plugin = plugin(&reviewer(response), &Arc::default(), ", defaultAllow: true");
        let write = Write::default();
        let mut notes = AdmissionNotes::default();
        let pod = object(pod());
        let attributes = Attributes {
            operation: Operation::Create,
            options: Options::None,
            request: &REQUEST,
            ..write.attributes("p")
        };
        let verdict = plugin.validate(&attributes, Some(&pod), &mut notes);
        futures::FutureExt::now_or_never(verdict).unwrap().unwrap();
        let annotations: Vec<(&str, &str)> = notes
            .annotations()
            .iter()
            .map(|annotation| (annotation.key.as_str(), annotation.value.as_str()))
            .collect();
        assert_eq!(annotations, expected);
    };
    check(Err("down"), &[("imagepolicywebhook.image-policy.k8s.io/failed-open", "true")]);
    check(
        review_with(&json!({"allowed": true, "auditAnnotations": {"a": "b"}})),
        &[("imagepolicywebhook.image-policy.k8s.io/a", "b")],
    );
}
