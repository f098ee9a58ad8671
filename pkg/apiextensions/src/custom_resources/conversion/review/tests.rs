//! Tests of conversion reviews.
#![allow(clippy::unwrap_used)]

use super::*;

fn object(version: &str, metadata: Value) -> Object {
    let value = json!({"apiVersion": format!("example.com/{version}"), "kind": "Foo", "metadata": metadata});
    value.as_object().unwrap().clone()
}

#[test]
fn review_contains_unmodified_objects() {
    let objects = [object("v1", json!({"name": "a"})), object("v1", json!({"name": "b"}))];
    let question = Review::V1beta1.build_review("the-uid", &objects, "example.com/v2");
    let question: Value = serde_json::from_slice(&question).unwrap();
    assert_eq!(
        question,
        json!({
            "kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1beta1",
            "request": {"desiredAPIVersion": "example.com/v2", "uid": "the-uid", "objects": objects},
            "response": {"uid": "", "convertedObjects": null, "result": {"metadata": {}}},
        })
    );
}

fn answer(review: Review, change: impl FnOnce(&mut Value)) -> Result<Vec<Value>, ReviewError> {
    let version = format!("apiextensions.k8s.io/{}", review.version());
    let response = json!({"uid": "u", "result": {"status": "Success"}, "convertedObjects": [1, 2]});
    let mut body = json!({"apiVersion": version, "kind": "ConversionReview", "response": response});
    change(&mut body);
    review.parse_review(body.to_string().as_bytes(), "u")
}

#[test]
fn invalid_response_fails_with_upstream_messages() {
    let refused = |review, change: fn(&mut Value)| answer(review, change).unwrap_err().to_string();
    assert_eq!(
        refused(Review::V1, |body| body["apiVersion"] = json!("apiextensions.k8s.io/v1beta1")),
        "expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, \
         got apiextensions.k8s.io/v1beta1, Kind=ConversionReview"
    );
    assert_eq!(
        refused(Review::V1, |body| body["response"]["uid"] = json!("x")),
        "expected response.uid=\"u\", got \"x\""
    );
    assert_eq!(
        refused(Review::V1, |body| _ = body.as_object_mut().unwrap().remove("response")),
        "no response provided"
    );
    let failed = |body: &mut Value| body["response"]["result"] = json!({"status": "Failure"});
    assert_eq!(refused(Review::V1, failed), "response.result.status was 'Failure', not 'Success'");
    let why = |body: &mut Value| body["response"]["result"] = json!({"message": "why"});
    assert_eq!(refused(Review::V1beta1, why), "why");
}

#[test]
fn v1beta1_response_needs_no_uid() {
    let anonymous = |body: &mut Value| body["response"]["uid"] = json!("");
    assert_eq!(answer(Review::V1beta1, anonymous).unwrap(), [json!(1), json!(2)]);
}

/// Returns the metadata of a converted object.
fn converted(from: Value, into: Value) -> Result<Value, ReviewError> {
    let into = Value::Object(object("v2", into));
    let object = checked(&object("v1", from), into, "example.com/v2")?;
    assert_eq!(object["apiVersion"], "example.com/v2");
    Ok(object["metadata"].clone())
}

#[test]
fn webhook_changes_only_labels_and_annotations() {
    let from =
        json!({"name": "a", "uid": "u", "generation": 3, "labels": {"l": "1"}, "annotations": {"a": "1"}});
    let into = json!({"name": "a", "uid": "u", "generation": 9, "labels": {"m": "2"}, "finalizers": ["f"]});
    let expected = json!({"name": "a", "uid": "u", "generation": 3, "labels": {"m": "2"}});
    assert_eq!(converted(from, into), Ok(expected));
}

#[test]
fn changed_identity_is_rejected() {
    let refused = |into: Value| converted(json!({"name": "a", "uid": "u"}), into).unwrap_err().to_string();
    assert_eq!(refused(json!({"name": "b", "uid": "u"})), "invalid object: must have the same name: a != b");
    assert_eq!(refused(json!({"name": "a"})), "invalid object: must have the same UID: u != ");
    assert_eq!(
        refused(json!({"name": "a", "uid": "u", "labels": {"l": 1}})),
        "invalid metadata: metadata.labels[l] must be a string, but is int64 in converted object"
    );
    let bad = refused(json!({"name": "a", "uid": "u", "annotations": {"-": ""}}));
    assert!(bad.starts_with("invalid metadata: metadata.annotation: Invalid value: \"-\": "), "{bad}");
    let from = object("v1", json!({"name": "a"}));
    let other = |change: fn(&mut Object)| {
        let mut into = object("v2", json!({"name": "a"}));
        change(&mut into);
        checked(&from, Value::Object(into), "example.com/v2").unwrap_err().to_string()
    };
    assert_eq!(
        other(|into| _ = into.insert("apiVersion".to_owned(), json!("example.com/v3"))),
        "invalid object at index 0: invalid groupVersion (expected example.com/v2, received example.com/v3)"
    );
    assert_eq!(
        other(|into| _ = into.insert("kind".to_owned(), json!("Bar"))),
        "invalid object at index 0: invalid kind (expected Foo, received Bar)"
    );
    assert_eq!(other(|into| _ = into.remove("metadata")), "invalid object: must have the same name: a != ");
}
