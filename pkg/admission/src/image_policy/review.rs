//! `ImageReview` of `imagepolicy.k8s.io`: request and response of the webhook.

use api::tree::{child, children, flag, pairs, text};
use apimachinery::foreign_text::ForeignText;
use jsontree::{Value, json};
use schema::builtin::IO_K8S_API_IMAGEPOLICY_V1ALPHA1_IMAGEREVIEW as IMAGE_REVIEW;
use schema::object::Object;

use super::ImageReviewError;
use crate::Attributes;
use crate::notes::audit_annotations;

const KIND: &str = "ImageReview";
const API_VERSION: &str = "imagepolicy.k8s.io/v1alpha1";
/// Name part of the pod annotations that are sent to the webhook.
const ANNOTATIONS: &str = ".image-policy.k8s.io/";

/// The webhook's response.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ReviewStatus {
    pub(super) allowed: bool,
    pub(super) reason: ForeignText,
    /// For the audit event.
    pub(super) annotations: Vec<(ForeignText, ForeignText)>,
}

/// Builds the spec of the review for a pod.
pub(super) fn spec(a: &Attributes<'_>, pod: &Object) -> Object {
    let lists: &[&str] = match a.subresource() {
        "ephemeralcontainers" => &["ephemeralContainers"],
        _ => &["containers", "initContainers"],
    };
    let containers =
        child(pod, "spec").into_iter().flat_map(|spec| lists.iter().flat_map(|list| children(spec, list)));
    let image = |container| match text(container, "image") {
        "" => json!({}),
        image => json!({"image": image}),
    };
    let containers: Vec<Value> = containers.map(image).collect();
    let metadata = child(pod, "metadata");
    let annotations = metadata.into_iter().flat_map(|metadata| pairs(metadata, "annotations"));
    let annotations: Object = annotations
        .filter(|(name, _)| name.contains(ANNOTATIONS))
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    let mut spec = Object::new();
    if !containers.is_empty() {
        spec.insert("containers", containers.into());
    }
    if !annotations.is_empty() {
        spec.insert("annotations", annotations.into());
    }
    if !a.namespace.is_empty() {
        spec.insert("namespace", a.namespace.into());
    }
    spec
}

/// Builds the body of the review.
pub(super) fn build_review(spec: Object) -> String {
    json!({"kind": KIND, "apiVersion": API_VERSION, "metadata": {}, "spec": spec, "status": {"allowed": false}})
        .to_string()
}

/// Parses the response body.
///
/// # Errors
/// The body is not a review.
pub(super) fn parse_review(body: &[u8]) -> Result<ReviewStatus, ImageReviewError> {
    let meta = schema::json::type_meta(body)?;
    let is_expected = |actual: &str, expected: &str| actual.is_empty() || actual == expected;
    if !is_expected(&meta.kind, KIND) || !is_expected(&meta.api_version, API_VERSION) {
        let kind = ForeignText::new(&meta.kind).quoted();
        let version = ForeignText::new(&meta.api_version).quoted();
        return Err(ImageReviewError::Kind(format!("no kind {kind} is registered for version {version}")));
    }
    let review = schema::json::decode(&IMAGE_REVIEW, body)?.object;
    let Some(status) = child(&review, "status") else { return Ok(ReviewStatus::default()) };
    Ok(ReviewStatus {
        allowed: flag(status, "allowed"),
        reason: text(status, "reason").into(),
        annotations: audit_annotations(status),
    })
}
