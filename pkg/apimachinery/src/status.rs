//! `metav1.Status`: the format of every error for clients, with upstream's reasons, codes and texts
//! (apimachinery `api/errors`).

mod invalid;
mod reason;

use serde::Serialize;

use crate::field::{ErrorList, LIST_BYTES_MAX};
use crate::go_quote::quote;
use crate::gvk::{GroupKind, GroupResource};

pub use reason::Reason;

/// A machine-readable cause inside [`Details`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// Machine-readable reason, for example `FieldValueInvalid`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// Human-readable text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Path of the offending field.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

/// Object and causes of an error.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Details {
    /// Name of the object; empty if the error has no object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// API group of `kind`; empty for the core group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// Resource (or kind, for `Invalid`).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Uid of the object, if known.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Individual failures, for example one per invalid field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// Seconds until a retry; 0 if unknown. Also sent as `Retry-After`.
    #[serde(skip_serializing_if = "is_zero")]
    pub retry_after_seconds: i32,
}

fn is_zero(n: &i32) -> bool {
    *n == 0
}

/// Part of `ListMeta` that a Status can contain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ListMeta {
    /// Token to continue a list, in an `Expired` response.
    #[serde(rename = "continue", skip_serializing_if = "String::is_empty")]
    pub continue_token: String,
}

/// Error (or, for some deletions, success) response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Status {
    #[serde(skip_serializing_if = "str::is_empty")]
    kind: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    api_version: &'static str,
    /// List metadata; empty in most responses.
    pub metadata: ListMeta,
    /// `Success` or `Failure`.
    pub status: &'static str,
    /// Human-readable text; tools match some of the texts.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Machine-readable reason, on which clients base decisions.
    #[serde(skip_serializing_if = "Reason::is_unknown")]
    pub reason: Reason,
    /// Object and causes of the error, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<Details>>,
    /// HTTP status code; 0, which is omitted, for a success.
    #[serde(skip_serializing_if = "is_zero_code")]
    pub code: u16,
}

fn is_zero_code(n: &u16) -> bool {
    *n == 0
}

/// Maximum size of a message in bytes: more than the largest list of field errors. Errors of decoders contain the client's
/// values, some of them twice.
const MESSAGE_BYTES_MAX: usize = LIST_BYTES_MAX + LIST_BYTES_MAX / 2;

/// Text of a Conflict for a stale `resourceVersion`.
pub const OPTIMISTIC_LOCK: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

impl Status {
    /// Error with a code, a reason and a text, without details. A text above 1.5 MiB is cut.
    pub fn failure(code: u16, reason: Reason, message: impl Into<String>) -> Self {
        let mut message = message.into();
        message.truncate(message.floor_char_boundary(MESSAGE_BYTES_MAX));
        Status {
            kind: "Status",
            api_version: "v1",
            metadata: ListMeta::default(),
            status: "Failure",
            message,
            reason,
            details: None,
            code,
        }
    }

    /// Response to a deletion that returns no object.
    pub fn success(details: Details) -> Self {
        Status {
            status: "Success",
            details: Some(Box::new(details)),
            code: 0,
            ..Status::failure(0, Reason::Unknown, "")
        }
    }

    /// Removes `kind` and `apiVersion`, so that clients do not decode it as a Status. Upstream writes a few
    /// errors this way.
    #[must_use]
    pub fn without_kind(mut self) -> Self {
        (self.kind, self.api_version) = ("", "");
        self
    }

    /// Replaces the details.
    pub fn with_details(mut self, details: Details) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// Sets the seconds until a retry.
    pub fn with_retry_after(mut self, seconds: i32) -> Self {
        self.details.get_or_insert_default().retry_after_seconds = seconds;
        self
    }

    /// Value of the `Retry-After` header in seconds; 0 for none.
    pub fn retry_after_seconds(&self) -> i32 {
        self.details.as_ref().map_or(0, |d| d.retry_after_seconds)
    }

    /// 404 for an object.
    pub fn not_found(resource: &GroupResource, name: &str) -> Self {
        Status::failure(404, Reason::NotFound, format!("{resource} {} not found", quote(name)))
            .with_details(details_of(resource, name))
    }

    /// 409 for creating an object that exists.
    pub fn already_exists(resource: &GroupResource, name: &str) -> Self {
        Status::failure(409, Reason::AlreadyExists, format!("{resource} {} already exists", quote(name)))
            .with_details(details_of(resource, name))
    }

    /// 409 after eight generated names were all taken.
    pub fn generate_name_conflict(resource: &GroupResource, name: &str) -> Self {
        let message = format!(
            "{resource} {} already exists, the server was not able to generate a unique name for the object",
            quote(name)
        );
        Status::failure(409, Reason::AlreadyExists, message)
            .with_details(details_of(resource, name))
            .with_retry_after(1)
    }

    /// 409 for a write with a conflict or failed preconditions.
    pub fn conflict(resource: &GroupResource, name: &str, cause: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} {}: {cause}", quote(name));
        Status::failure(409, Reason::Conflict, message).with_details(details_of(resource, name))
    }

    /// 422 for an invalid object. Equal messages are merged. Causes beyond [`crate::field::LIST_BYTES_MAX`]
    /// are dropped, and a last cause contains the size of the dropped part.
    pub fn invalid(kind: &GroupKind, name: &str, errors: &ErrorList) -> Self {
        invalid::status(kind, name, errors)
    }

    /// 401.
    pub fn unauthorized() -> Self {
        Status::failure(401, Reason::Unauthorized, "Unauthorized")
    }

    /// 403 for an object or a collection (empty name).
    pub fn forbidden(resource: &GroupResource, name: &str, cause: &str) -> Self {
        let message = match (resource.resource.is_empty(), name.is_empty()) {
            (true, _) => format!("forbidden: {cause}"),
            (false, true) => format!("{resource} is forbidden: {cause}"),
            (false, false) => format!("{resource} {} is forbidden: {cause}", quote(name)),
        };
        Status::failure(403, Reason::Forbidden, message).with_details(details_of(resource, name))
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Status::failure(400, Reason::BadRequest, message)
    }

    /// 405 for an action that a resource does not support.
    pub fn method_not_supported(resource: &GroupResource, action: &str) -> Self {
        let message = format!("{action} is not supported on resources of kind \"{resource}\"");
        Status::failure(405, Reason::MethodNotAllowed, message).with_details(details_of(resource, ""))
    }

    /// 405 for a method that a path does not have.
    pub fn method_not_allowed() -> Self {
        Status::failure(
            405,
            Reason::MethodNotAllowed,
            "the server does not allow this method on the requested resource",
        )
        .with_details(Details::default())
    }

    /// 406 with the acceptable media types.
    pub fn not_acceptable(accepted: &[&str]) -> Self {
        let message = format!("only the following media types are accepted: {}", accepted.join(", "));
        Status::failure(406, Reason::NotAcceptable, message)
    }

    /// 415 for a body in an unsupported format.
    pub fn unsupported_media_type(accepted: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            accepted.join(", ")
        );
        Status::failure(415, Reason::UnsupportedMediaType, message)
    }

    /// 413 for a body over the limit.
    pub fn request_entity_too_large(message: impl Into<String>) -> Self {
        Status::failure(413, Reason::RequestEntityTooLarge, message)
    }

    /// 410 for a revision or token that is too old.
    pub fn expired(message: impl Into<String>) -> Self {
        Status::failure(410, Reason::Expired, message)
    }

    /// 500 with a cause, which upstream returns to the client.
    pub fn internal_error(cause: impl Into<String>) -> Self {
        let cause = cause.into();
        Status::failure(500, Reason::InternalError, format!("Internal error occurred: {cause}")).with_details(
            Details { causes: vec![Cause { message: cause, ..Cause::default() }], ..Details::default() },
        )
    }

    /// 500 for an error that upstream does not map: only the text, without a reason.
    pub fn unmapped(message: impl Into<String>) -> Self {
        Status::failure(500, Reason::Unknown, message)
    }

    /// 500 ServerTimeout: storage did not respond; the client may retry.
    pub fn server_timeout(resource: &GroupResource, operation: &str, retry_after: i32) -> Self {
        let message = format!(
            "The {operation} operation against {resource} could not be completed at this time, please try again."
        );
        Status::failure(500, Reason::ServerTimeout, message)
            .with_details(details_of(resource, ""))
            .with_retry_after(retry_after)
    }

    /// 504 for a request that timed out.
    pub fn timeout(cause: &str, retry_after: i32) -> Self {
        Status::failure(504, Reason::Timeout, format!("Timeout: {cause}"))
            .with_details(Details { retry_after_seconds: retry_after, ..Details::default() })
    }

    /// 504 for a future resource version.
    pub fn too_large_resource_version(requested: u64, current: u64, retry_after: i32) -> Self {
        let mut status = Status::timeout(
            &format!("Too large resource version: {requested}, current: {current}"),
            retry_after,
        );
        status.details.get_or_insert_default().causes = vec![Cause {
            reason: "ResourceVersionTooLarge".to_owned(),
            message: "Too large resource version".to_owned(),
            field: String::new(),
        }];
        status
    }

    /// 429.
    pub fn too_many_requests(message: &str, retry_after: i32) -> Self {
        Status::failure(429, Reason::TooManyRequests, message).with_retry_after(retry_after)
    }

    /// 404 for a path or resource that is not served.
    pub fn unknown_path() -> Self {
        Status::failure(404, Reason::NotFound, "the server could not find the requested resource")
            .with_details(Details::default())
    }
}

fn details_of(resource: &GroupResource, name: &str) -> Details {
    Details {
        name: name.to_owned(),
        group: resource.group.clone(),
        kind: resource.resource.clone(),
        ..Details::default()
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Status {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_message_is_cut() {
        let status = Status::bad_request("é".repeat(MESSAGE_BYTES_MAX));
        assert_eq!(status.message, "é".repeat(MESSAGE_BYTES_MAX / 2));
    }
}
