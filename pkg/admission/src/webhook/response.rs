//! Responses of webhooks (upstream's `plugin/webhook/request`, `plugin/webhook/errors`).

use api::tree::{child, children, flag, maybe_text, text, texts};
use apimachinery::foreign_text::{ForeignText, ForeignTextBudget};
use apimachinery::go_quote::quote;
use apimachinery::status::{Cause, Details, Status};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jsontree::Value;
use schema::json::TypeMeta;
use schema::memory::DecodeBudget;
use schema::object::Object;
use schema::{builtin, json};

use crate::notes::audit_annotations;

const KIND: &str = "AdmissionReview";
/// Maximum number of causes of a rejection.
const CAUSES_MAX: usize = 64;
/// Maximum number of warnings in a response.
const WARNINGS_MAX: usize = 64;

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
    /// For the audit event.
    pub(super) annotations: Vec<(ForeignText, ForeignText)>,
    pub(super) warnings: Vec<ForeignText>,
    /// A JSON patch; empty for none.
    pub(super) patch: Vec<u8>,
    pub(super) patch_type: ForeignText,
    /// Reason of a rejection.
    pub(super) result: Option<Object>,
}

/// Error of an unusable response. The texts are upstream's.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ResponseError {
    /// It cannot be parsed.
    #[error("failed to call webhook: {}", ForeignText::displayed(.0))]
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
        ReviewResponse {
            allowed: flag(response, "allowed"),
            annotations: audit_annotations(response),
            warnings: warnings(response),
            // The decoder has checked that it is base64.
            patch: STANDARD.decode(patch).unwrap_or_default(),
            patch_type: match self {
                Review::V1 => text(response, "patchType").into(),
                // v1beta1 has only this type and no field for it.
                Review::V1beta1 => "JSONPatch".into(),
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
        return invalid(&format!(
            "expected response.uid={}, got {}",
            quote(uid),
            ForeignText::new(answered).quoted()
        ));
    }
    let api_version = &*head.api_version;
    let kind = &*head.kind;
    if (api_version, kind) != (Review::V1.group_version(), KIND) {
        let slash = if api_version.contains('/') { "" } else { "/" };
        let wanted = Review::V1.group_version();
        let api_version = ForeignText::new(api_version);
        let kind = ForeignText::new(kind);
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
    // One budget, because one webhook wrote the whole Status. Short members that programs read come first.
    let mut budget = ForeignTextBudget::default();
    let reason = budget.take(text(result, "reason"));
    let details = child(result, "details");
    let mut read = details.map(|details| read_details(details, &mut budget));
    let message = budget.take(text(result, "message"));
    if let (Some(read), Some(details)) = (&mut read, details) {
        read.causes = read_causes(details, &mut budget);
    }
    let message = match (message.as_str(), reason.as_str()) {
        ("", "") => format!("{denied} without explanation"),
        ("", reason) => format!("{denied}: {reason}"),
        (message, _) => format!("{denied}: {message}"),
    };
    let code = result.get("code").and_then(Value::as_i64).unwrap_or_default();
    // A rejection needs an error code, and HTTP has no codes above 999.
    let code = u16::try_from(code.clamp(400, 999)).unwrap_or(400);
    let status = Status::failure(code, reason.as_str().into(), message);
    Box::new(match read {
        Some(details) => status.with_details(details),
        None => status,
    })
}

/// Reads the warnings as long as the budget of foreign text lasts.
fn warnings(response: &Object) -> Vec<ForeignText> {
    let mut budget = ForeignTextBudget::default();
    let taken = texts(response, "warnings").take(WARNINGS_MAX).map(|text| budget.take(text));
    taken.filter(|text| !text.is_empty()).collect()
}

/// Reads the details without causes.
fn read_details(details: &Object, budget: &mut ForeignTextBudget) -> Details {
    let mut own = |name: &str| budget.take(text(details, name)).into();
    let seconds = details.get("retryAfterSeconds").and_then(Value::as_i64).unwrap_or_default();
    Details {
        name: own("name"),
        group: own("group"),
        kind: own("kind"),
        uid: own("uid"),
        causes: Vec::new(),
        retry_after_seconds: i32::try_from(seconds).unwrap_or_default(),
    }
}

/// Reads the causes as long as the budget lasts.
fn read_causes(details: &Object, budget: &mut ForeignTextBudget) -> Vec<Cause> {
    let mut causes = Vec::new();
    for cause in children(details, "causes").take(CAUSES_MAX) {
        if budget.is_spent() {
            break;
        }
        let mut own = |name: &str| budget.take(text(cause, name)).into();
        causes.push(Cause { reason: own("reason"), message: own("message"), field: own("field") });
    }
    causes
}

#[cfg(test)]
mod tests {
    use jsontree::json;

    use super::*;

    fn page() -> String {
        "\0".repeat(1 << 20)
    }

    fn response(value: Value) -> Object {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn rejection_keeps_start_of_long_texts() {
        let cause = json!({"reason": page(), "message": page(), "field": page()});
        let causes: Vec<Value> = std::iter::repeat_n(cause, 3).collect();
        for member in ["reason", "message", "none"] {
            let mut result = response(json!({"details": {"name": "n", "causes": causes.clone()}}));
            result.insert(member.to_owned(), page().into());
            let status = rejection("hook", Some(&result));
            let causes = status.details.iter().flat_map(|details| &details.causes);
            let causes: usize = causes.map(|c| c.reason.len() + c.message.len() + c.field.len()).sum();
            let bytes = status.message.len() + causes;
            assert!((2048..2 * 2048 + 100).contains(&bytes), "{member}: {bytes}");
        }
    }

    #[test]
    fn warnings_share_one_budget() {
        let check = |texts: Vec<String>, count: usize, bytes: usize| {
            let retained = warnings(&response(json!({"warnings": texts})));
            let total: usize = retained.iter().map(|text| text.as_str().len()).sum();
            assert_eq!((retained.len(), total), (count, bytes));
        };
        check(vec!["a".to_owned(), "bc".to_owned()], 2, 3);
        check(vec!["a".to_owned(), page(), "b".to_owned()], 2, 2048);
        check(vec!["a".to_owned(); 100_000], WARNINGS_MAX, WARNINGS_MAX);
        check(vec![String::new(); 100_000], 0, 0);
    }

    #[test]
    fn causes_without_text_are_counted() {
        let causes: Vec<Value> = std::iter::repeat_n(json!({}), 100_000).collect();
        let result = response(json!({"details": {"causes": causes}}));
        let status = rejection("hook", Some(&result));
        assert_eq!(status.details.map(|details| details.causes.len()), Some(CAUSES_MAX));
    }
}
