//! PATCH with an apply configuration (server-side apply, KEP-555). Creates the object, or merges the
//! configurations of its managers.

use std::fmt::Display;

use api::options::PatchOptions;
use apimachinery::status::Status;
use jsontree::Value;
use registry::generic::UpdateOutcome;
use registry::meta;
use schema::memory::DecodeBudget;
use schema::object::Object;
use schema::{cbor, json, yaml};

use super::write::Writer;
use super::{create, ensure_name, ensure_namespace, update, view};
use crate::body::{FieldValidation, too_large};
use crate::scope::RequestScope;

/// Format of an apply configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApplyFormat {
    /// YAML, which includes JSON.
    Yaml,
    /// CBOR; duplicate keys are rejected.
    Cbor,
}

struct Configuration {
    value: Value,
    duplicates: Vec<String>,
    /// Error that strict validation returns for the duplicates.
    strict_error: Option<String>,
}

/// Applies a configuration. Only the resource itself can be created this way, and only by a user with
/// permission to create it.
///
/// # Errors
/// 400 for invalid YAML, 409 with all conflicts, 403, and the errors of an update.
pub(super) async fn apply(
    call: &mut RequestScope<'_>,
    notation: ApplyFormat,
    body: &[u8],
    options: &PatchOptions,
) -> Result<UpdateOutcome, Box<Status>> {
    let Configuration { value, duplicates, strict_error } = read(notation, body)?;
    // A retry decodes the body again, so the first attempt needs no copy.
    let mut value = Some(value);
    let validation = FieldValidation::parse(&options.field_validation);
    let writer = Writer::of(call, &options.field_manager);
    let force = options.force.unwrap_or(false);
    let mut change = |old: Option<&Object>| {
        call.trace.span.event("About to apply patch");
        if old.is_none() {
            create::may_create(call.resource(), call.name())?;
        }
        let live = old.map(|old| view::of(call, old)).transpose()?;
        let value = match value.take() {
            Some(value) => value,
            None => read(notation, body)?.value,
        };
        let mut new = writer.apply(live.as_deref(), value, force)?;
        if validation == FieldValidation::Strict
            && let Some(error) = &strict_error
        {
            return Err(Status::bad_request(format!("error strict decoding patch: {error}")).into());
        }
        check(call, old, &mut new)?;
        call.trace.span.event("About to check admission control");
        view::merge(call, old, new)
    };
    let creates = call.endpoint().subresource.is_empty();
    let write = update::WriteRequest { creates, applies: true, ..update::WriteRequest::new(options) };
    let outcome = update::write(call, &writer, write, &mut change).await?;
    if validation == FieldValidation::Warn {
        call.warnings.extend(duplicates);
    }
    Ok(outcome)
}

fn decoding_error(text: impl Display) -> Box<Status> {
    Status::bad_request(format!("error decoding patch: {text}")).into()
}

fn read(notation: ApplyFormat, body: &[u8]) -> Result<Configuration, Box<Status>> {
    match notation {
        ApplyFormat::Yaml => from_yaml(body),
        ApplyFormat::Cbor => from_cbor(body),
    }
}

fn from_cbor(body: &[u8]) -> Result<Configuration, Box<Status>> {
    let decoded = cbor::decode_untyped(body).map_err(|error| match error {
        cbor::Error::BudgetExceeded(error) => too_large(error),
        error => decoding_error(error),
    })?;
    let value = decoded.map_or(Value::Null, Value::Object);
    Ok(Configuration { value, duplicates: Vec::new(), strict_error: None })
}

fn from_yaml(body: &[u8]) -> Result<Configuration, Box<Status>> {
    let converted = yaml::to_json(body).map_err(|error| match error {
        yaml::Error::BudgetExceeded(error) => too_large(error),
        error => conversion_error(body, &error),
    })?;
    let strict_error =
        converted.strict_error().map(|error| format!("error converting YAML to JSON: {error}"));
    let budget = DecodeBudget::of_body(body.len());
    let decoded = json::decode_untyped_within(&converted.json, budget).map_err(|error| match error {
        json::Error::BudgetExceeded(error) => too_large(error),
        error => decoding_error(error),
    })?;
    if let Some(kind) = kind_of_non_object(&decoded.value) {
        return Err(decoding_error(format!(
            "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {kind} into Go value of type \
             map[string]interface {{}}"
        )));
    }
    Ok(Configuration { value: decoded.value, duplicates: converted.duplicates, strict_error })
}

/// Upstream first converts the body for the audit event, unless it looks like JSON. Only then does it decode
/// the body.
fn conversion_error(body: &[u8], error: &yaml::Error) -> Box<Status> {
    if body.trim_ascii_start().starts_with(b"{") {
        return decoding_error(format!("error converting YAML to JSON: {error}"));
    }
    Status::bad_request(format!("error encoding patch: {error}")).into()
}

/// Returns Go's name for the kind of a value that is neither an object nor null.
fn kind_of_non_object(value: &Value) -> Option<&'static str> {
    match value {
        Value::Null | Value::Object(_) => None,
        Value::Array(_) => Some("array"),
        Value::String(_) => Some("string"),
        Value::Bool(_) => Some("bool"),
        _ => Some("number"),
    }
}

/// Checks that apply to the result of every patch.
fn check(call: &RequestScope<'_>, old: Option<&Object>, new: &mut Object) -> Result<(), Box<Status>> {
    let uid = meta::text(new, "uid");
    if old.is_none() && !uid.is_empty() {
        let cause = format!(
            "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        );
        return Err(Status::conflict(&call.target().group_resource(), call.name(), &cause).into());
    }
    ensure_namespace(call.resource(), &call.info.namespace, new)?;
    ensure_name(call, new)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]
mod tests;
