//! Responses of webhooks (upstream's `plugin/webhook/request`, `plugin/webhook/errors`).

use api::tree::{child, children, flag, maybe_text, pairs, text, texts};
use apimachinery::go_quote::quote;
use apimachinery::status::{Cause, Details, Status};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jsontree::Value;
use schema::json::TypeMeta;
use schema::memory::DecodeBudget;
use schema::object::Object;
use schema::{builtin, json};

const KIND: &str = "AdmissionReview";

/// A version of `AdmissionReview`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Review {
    V1,
    V1beta1,
}

/// A parsed response.
#[derive(Debug, Default, PartialEq)]
pub(super) struct ReviewResponse {
    pub(super) allowed: bool,
    pub(super) annotations: Vec<(String, String)>,
    pub(super) warnings: Vec<String>,
    /// A JSON patch; empty for none.
    pub(super) patch: Vec<u8>,
    pub(super) patch_type: String,
    /// Reason of a rejection.
    pub(super) result: Option<Object>,
}

/// Error of an unusable response. The texts are upstream's.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ResponseError {
    /// It cannot be parsed.
    #[error("failed to call webhook: {0}")]
    Decode(#[from] json::Error),
    /// It violates a rule of the protocol.
    #[error("received invalid webhook response: {0}")]
    Invalid(String),
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

    pub(super) fn group_version(self) -> &'static str {
        match self {
            Review::V1 => "admission.k8s.io/v1",
            Review::V1beta1 => "admission.k8s.io/v1beta1",
        }
    }

    /// Parses a response body.
    ///
    /// # Errors
    /// The response is unusable.
    pub(super) fn read(
        self,
        body: &[u8],
        uid: &str,
        mutating: bool,
    ) -> Result<ReviewResponse, ResponseError> {
        let head = json::type_meta(body)?;
        let absent = || ResponseError::Invalid("webhook response was absent".to_owned());
        let other_version = !head.api_version.is_empty() && head.api_version != self.group_version();
        let other_kind = !head.kind.is_empty() && head.kind != KIND;
        if other_version || other_kind {
            return Err(absent());
        }
        let message = builtin::kind(self.group_version(), KIND).ok_or_else(absent)?;
        let review = json::decode_within(message, body, DecodeBudget::of_body(body.len()))?.object;
        let response = child(&review, "response").ok_or_else(absent)?;
        match self {
            Review::V1 => check_v1(response, uid, &head, mutating)?,
            Review::V1beta1 => {}
        }
        Ok(self.parse(response, mutating))
    }

    fn parse(self, response: &Object, mutating: bool) -> ReviewResponse {
        let patch = if mutating { text(response, "patch") } else { "" };
        let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        ReviewResponse {
            allowed: flag(response, "allowed"),
            annotations: pairs(response, "auditAnnotations").map(owned).collect(),
            warnings: texts(response, "warnings").map(str::to_owned).collect(),
            // The decoder has checked that it is base64.
            patch: STANDARD.decode(patch).unwrap_or_default(),
            patch_type: match self {
                Review::V1 => text(response, "patchType").to_owned(),
                // v1beta1 has only this type and no field for it.
                Review::V1beta1 => "JSONPatch".to_owned(),
            },
            result: child(response, "status").cloned(),
        }
    }
}

/// Checks the additional rules of v1. `head` is the kind of the review.
fn check_v1(response: &Object, uid: &str, head: &TypeMeta<'_>, mutating: bool) -> Result<(), ResponseError> {
    let invalid = |text: &str| Err(ResponseError::Invalid(text.to_owned()));
    let answered = text(response, "uid");
    if answered != uid {
        return invalid(&format!("expected response.uid={}, got {}", quote(uid), quote(answered)));
    }
    let api_version = &*head.api_version;
    let kind = &*head.kind;
    if (api_version, kind) != (Review::V1.group_version(), KIND) {
        let slash = if api_version.contains('/') { "" } else { "/" };
        let wanted = Review::V1.group_version();
        return invalid(&format!(
            "expected webhook response of {wanted}, Kind={KIND}, got {slash}{api_version}, Kind={kind}"
        ));
    }
    let has_patch = !text(response, "patch").is_empty();
    match (mutating, has_patch, maybe_text(response, "patchType")) {
        (false, true, _) => invalid("validating webhook may not return response.patch"),
        (false, false, Some(_)) => invalid("validating webhook may not return response.patchType"),
        (true, true, None) => invalid("webhook returned response.patch but not response.patchType"),
        (true, false, Some(_)) => invalid("webhook returned response.patchType but not response.patch"),
        (true, true, Some("")) => invalid("webhook returned invalid response.patchType of \"\""),
        _ => Ok(()),
    }
}

/// Builds the Status of a request that a webhook rejects.
pub(super) fn rejection(name: &str, result: Option<&Object>) -> Box<Status> {
    let empty = Object::new();
    let result = result.unwrap_or(&empty);
    let denied = format!("admission webhook {} denied the request", quote(name));
    let reason = text(result, "reason");
    let message = match (text(result, "message"), reason) {
        ("", "") => format!("{denied} without explanation"),
        ("", reason) => format!("{denied}: {reason}"),
        (message, _) => format!("{denied}: {message}"),
    };
    let code = result.get("code").and_then(Value::as_i64).unwrap_or_default();
    // A rejection needs an error code, and HTTP has no codes above 999.
    let code = u16::try_from(code.clamp(400, 999)).unwrap_or(400);
    let status = Status::failure(code, reason.into(), message);
    Box::new(match child(result, "details") {
        Some(details) => status.with_details(read_details(details)),
        None => status,
    })
}

fn read_details(details: &Object) -> Details {
    let own = |name: &str| text(details, name).to_owned();
    let cause = |cause: &Object| Cause {
        reason: text(cause, "reason").to_owned(),
        message: text(cause, "message").to_owned(),
        field: text(cause, "field").to_owned(),
    };
    let seconds = details.get("retryAfterSeconds").and_then(Value::as_i64).unwrap_or_default();
    Details {
        name: own("name"),
        group: own("group"),
        kind: own("kind"),
        uid: own("uid"),
        causes: children(details, "causes").map(cause).collect(),
        retry_after_seconds: i32::try_from(seconds).unwrap_or_default(),
    }
}
