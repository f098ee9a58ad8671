//! Requests and responses of conversion webhooks (upstream's `webhook_converter.go`).

use ::api::tree::{child, text};
use api::object_meta::{validate_annotations, validate_labels};
use apimachinery::field::{ErrorList, Path, aggregate};
use apimachinery::foreign_text::ForeignText;
use apimachinery::go_quote::quote;
use jsontree::{Value, json};
use schema::json;
use schema::memory::DecodeBudget;
use schema::object::{Object, go_type};

/// Error of a response, in upstream's wording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ReviewError {
    #[error("{}", ForeignText::displayed(.0))]
    Json(#[from] json::Error),
    #[error("{0}")]
    Response(ForeignText),
    /// A converted object is invalid.
    #[error("{0}")]
    Object(ForeignText),
}

impl ReviewError {
    fn response(text: impl Into<ForeignText>) -> Self {
        ReviewError::Response(text.into())
    }

    fn object(text: impl Into<ForeignText>) -> Self {
        ReviewError::Object(text.into())
    }
}

/// A version of `ConversionReview`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Review {
    V1,
    V1beta1,
}

impl Review {
    /// Returns the version with this name, if supported.
    pub(super) fn of_version(name: &str) -> Option<Self> {
        match name {
            "v1" => Some(Review::V1),
            "v1beta1" => Some(Review::V1beta1),
            _ => None,
        }
    }

    fn version(self) -> &'static str {
        match self {
            Review::V1 => "v1",
            Review::V1beta1 => "v1beta1",
        }
    }

    /// Builds the body of a review that requests conversion of objects to `to`.
    pub(super) fn build_review(self, uid: &str, objects: &[Object], to: &str) -> Vec<u8> {
        let mut body = Vec::new();
        let head = json!({"desiredAPIVersion": to, "uid": uid});
        let head = head.to_string();
        let open = format!(
            "{{\"kind\":\"ConversionReview\",\"apiVersion\":\"apiextensions.k8s.io/{}\",\"request\":{},\"objects\":[",
            self.version(),
            head.trim_end_matches('}')
        );
        body.extend_from_slice(open.as_bytes());
        for (at, object) in objects.iter().enumerate() {
            if at > 0 {
                body.push(b',');
            }
            // All keys are strings, so serialization cannot fail.
            _ = serde_json::to_writer(&mut body, object);
        }
        let close = r#"]},"response":{"uid":"","convertedObjects":null,"result":{"metadata":{}}}}"#;
        body.extend_from_slice(close.as_bytes());
        body
    }

    /// Returns the objects of a response.
    ///
    /// # Errors
    /// The response is invalid or a failure.
    pub(super) fn parse_review(self, body: &[u8], uid: &str) -> Result<Vec<Value>, ReviewError> {
        let read = json::decode_untyped_within(body, DecodeBudget::of_body(body.len()));
        let mut review = read?.value;
        let empty = Object::new();
        let members = review.as_object().unwrap_or(&empty);
        let actual = (text(members, "apiVersion"), text(members, "kind"));
        if self == Review::V1 && actual != ("apiextensions.k8s.io/v1", "ConversionReview") {
            let expected = "apiextensions.k8s.io/v1, Kind=ConversionReview";
            let actual = format_kind(actual.0, actual.1);
            return Err(ReviewError::response(format!(
                "expected webhook response of {expected}, got {actual}"
            )));
        }
        let response = child(members, "response")
            .ok_or_else(|| ReviewError::response("no response provided".to_owned()))?;
        let response_uid = text(response, "uid");
        if self == Review::V1 && response_uid != uid {
            return Err(ReviewError::response(format!(
                "expected response.uid={}, got {}",
                quote(uid),
                ForeignText::new(response_uid).quoted()
            )));
        }
        let result = child(response, "result").unwrap_or(&empty);
        let status = text(result, "status");
        if status != "Success" {
            return Err(ReviewError::Response(match text(result, "message") {
                "" => format!("response.result.status was '{status}', not 'Success'").into(),
                message => message.into(),
            }));
        }
        match review.pointer_mut("/response/convertedObjects").map(Value::take) {
            Some(Value::Array(objects)) => Ok(objects),
            _ => Ok(Vec::new()),
        }
    }
}

/// Formats version and kind as Go does.
fn format_kind(api_version: &str, kind: &str) -> String {
    match api_version.split_once('/') {
        Some(_) => format!("{api_version}, Kind={kind}"),
        None => format!("/{api_version}, Kind={kind}"),
    }
}

/// Returns version and kind of the first object, for messages.
pub(super) fn kind_of(objects: &[Object]) -> String {
    objects
        .first()
        .map_or_else(String::new, |first| format_kind(text(first, "apiVersion"), text(first, "kind")))
}

/// Checks a converted object. The webhook may change everything except the object's identity. Of the
/// metadata, only labels and annotations may change.
///
/// # Errors
/// The object is invalid.
pub(super) fn checked(from: &Object, into: Value, to: &str) -> Result<Object, ReviewError> {
    let Value::Object(mut into) = into else {
        return Err(ReviewError::object("invalid object at index 0: it is no object".to_owned()));
    };
    let actual = text(&into, "apiVersion");
    if actual != to {
        let why = format!("invalid groupVersion (expected {to}, received {actual})");
        return Err(ReviewError::object(format!("invalid object at index 0: {why}")));
    }
    let expected = text(from, "kind");
    let actual = text(&into, "kind");
    if actual != expected {
        let why = format!("invalid kind (expected {expected}, received {actual})");
        return Err(ReviewError::object(format!("invalid object at index 0: {why}")));
    }
    same_names(from, &into).map_err(|error| ReviewError::object(format!("invalid object: {error}")))?;
    let metadata =
        restored(from, &into).map_err(|error| ReviewError::object(format!("invalid metadata: {error}")))?;
    into.insert("metadata", Value::Object(metadata));
    Ok(into)
}

fn same_names(from: &Object, into: &Object) -> Result<(), ReviewError> {
    let empty = Object::new();
    let before = child(from, "metadata").unwrap_or(&empty);
    let after = child(into, "metadata").unwrap_or(&empty);
    for (member, name) in [("name", "name"), ("namespace", "namespace"), ("uid", "UID")] {
        let before = text(before, member);
        let after = text(after, member);
        if before != after {
            return Err(ReviewError::object(format!("must have the same {name}: {before} != {after}")));
        }
    }
    Ok(())
}

/// Returns the metadata of the original with the webhook's labels and annotations.
fn restored(from: &Object, into: &Object) -> Result<Object, ReviewError> {
    let new_metadata = match into.get("metadata") {
        None => return Err(ReviewError::object("missing metadata in converted object".to_owned())),
        Some(Value::Object(new_metadata)) => new_metadata,
        Some(other) => {
            return Err(ReviewError::object(format!(
                "invalid metadata of type {} in converted object",
                go_type(other)
            )));
        }
    };
    let mut metadata = child(from, "metadata").cloned().unwrap_or_default();
    for member in ["labels", "annotations"] {
        let changed = match new_metadata.get(member) {
            None | Some(Value::Null) => {
                metadata.remove(member);
                continue;
            }
            Some(Value::Object(changed)) => changed,
            Some(other) => {
                let actual_type = go_type(other);
                return Err(ReviewError::object(format!(
                    "invalid metadata.{member} of type {actual_type} in converted object"
                )));
            }
        };
        for (key, value) in changed {
            if !value.is_string() {
                let actual_type = go_type(value);
                return Err(ReviewError::object(format!(
                    "metadata.{member}[{key}] must be a string, but is {actual_type} in converted object"
                )));
            }
        }
        if child(&metadata, member) != Some(changed)
            && let Some(why) = aggregate(&validate(new_metadata, member))
        {
            return Err(ReviewError::object(why));
        }
        metadata.insert(member.to_owned(), Value::Object(changed.clone()));
    }
    Ok(metadata)
}

/// Validates the labels or annotations of metadata.
fn validate(metadata: &Object, member: &'static str) -> ErrorList {
    let path = Path::root("metadata");
    match member {
        "labels" => validate_labels(metadata, "labels", &path.child("labels")),
        // Upstream uses this field name in errors.
        _ => validate_annotations(metadata, &path.child("annotation")),
    }
}

#[cfg(test)]
mod tests;
