//! PATCH: JSON patch, merge patch and strategic merge patch. Apply is in `apply`.

use api::options::PatchOptions;
use api::resources::{Encoding, Resource};
use apimachinery::field;
use apimachinery::gvk::{GroupKind, split_api_version};
use apimachinery::status::{Details, Reason, Status};
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use jsontree::{Key, Value};
use registry::generic::UpdateOutcome;
use registry::meta;
use schema::json::Scanner;
use schema::json::errors::strict_decoding_error;
use schema::object::Object;
use schema::patch::json_patch::JsonPatch;
use schema::patch::merge_patch::MergePatch;
use schema::patch::{self, Part, strategic, typed};
use schema::table::Message;

use super::apply::ApplyFormat;
use super::write::Writer;
use super::{apply, audit_object, ensure_name, ensure_namespace, to_storage_version, update, view};
use crate::body::{self, DecodeError, DecodedBody, ExpectedType, FieldValidation};
use crate::negotiation::Formats;
use crate::routing::dispatch::{Body, Response};
use crate::scope::RequestScope;

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_MERGE_PATCH: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";
const APPLY_CBOR: &str = "application/apply-patch+cbor";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatchType {
    Json,
    Merge,
    StrategicMerge,
}

/// Request of a PATCH.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatchRequest {
    /// Server-side apply.
    Apply(ApplyFormat),
    /// A patch of the object.
    Patch(PatchType),
}

#[derive(Clone)]
enum Patch<'t> {
    Json(JsonPatch<'t>),
    Merge(MergePatch<'t>),
    StrategicMerge(Object),
}

impl Patch<'_> {
    /// Returns the part of an object that the patch reads or writes; `None` for the whole object.
    fn part(&self, message: &'static Message) -> Option<Part> {
        match self {
            Patch::Json(patch) => Part::of_json_patch(message, patch),
            Patch::Merge(patch) => Part::of_merge_patch(message, patch),
            Patch::StrategicMerge(patch) => Part::of_strategic_patch(message, patch),
        }
    }
}

pub(crate) async fn patch(call: &mut RequestScope<'_>, mut body: Body) -> Result<Response, Box<Status>> {
    let wish = patch_request(call.headers, call.resource(), call.formats)?;
    let bytes = call.read_body(&mut body).await?;
    let options = PatchOptions::from_query(call.query);
    let errors = kinds::validation::validate_patch_options(&options, matches!(wish, PatchRequest::Apply(_)));
    if !errors.is_empty() {
        return Err(Status::invalid(&GroupKind::new("meta.k8s.io", "PatchOptions"), "", &errors).into());
    }
    if matches!(wish, PatchRequest::Patch(_)) && !is_json(&bytes) {
        return Err(Status::bad_request("invalid JSON patch").into());
    }
    audit_object::patch(call, &bytes);
    let outcome = match wish {
        PatchRequest::Apply(notation) => apply::apply(call, notation, &bytes, &options).await?,
        PatchRequest::Patch(kind) => patch_stored(call, kind, &bytes, &options).await?,
    };
    call.trace.span.event("Object stored in database");
    update::respond(call, outcome)
}

/// Patches the stored object.
async fn patch_stored(
    call: &mut RequestScope<'_>,
    kind: PatchType,
    bytes: &[u8],
    options: &PatchOptions,
) -> Result<UpdateOutcome, Box<Status>> {
    let validation = FieldValidation::parse(&options.field_validation);
    let writer = Writer::of(call, &options.field_manager);
    // A missing object is a 404 even if the patch is not one of its type, so the patch is decoded only here.
    // Each attempt decodes it again, because an attempt may modify it.
    let mut change = |old: Option<&Object>| {
        let old = old.ok_or_else(|| Status::not_found(&call.target().group_resource(), call.name()))?;
        let patch = parse(kind, bytes, validation)?;
        call.trace.span.event("About to apply patch");
        let live = view::of(call, old)?;
        let mut new = apply_patch(call, patch, validation, &live)?;
        writer.track(Some(&live), &mut new);
        call.trace.span.event("About to check admission control");
        view::merge(call, Some(old), new)
    };
    update::write(call, &writer, update::WriteRequest::new(options), &mut change).await
}

/// True for exactly one JSON value of any type.
fn is_json(text: &[u8]) -> bool {
    Scanner::new(text).skip().is_ok_and(|value| {
        let rest = text.trim_ascii_start().get(value.len()..).unwrap_or_default();
        rest.iter().all(|byte| b" \t\r\n".contains(byte))
    })
}

/// Removes the parameters of a media type.
fn media_type(text: &str) -> &str {
    text.split(';').next().unwrap_or("").trim()
}

/// Checks the media type of a patch, which upstream does before anything else.
///
/// # Errors
/// 415.
pub(crate) fn check_media_type(
    headers: &HeaderMap,
    resource: &Resource<'_>,
    formats: Formats,
) -> Result<(), Box<Status>> {
    patch_request(headers, resource, formats).map(drop)
}

fn patch_request(
    headers: &HeaderMap,
    resource: &Resource<'_>,
    formats: Formats,
) -> Result<PatchRequest, Box<Status>> {
    let header = crate::header::text_or_empty(headers, CONTENT_TYPE);
    // Also true for the scale of a custom resource, although Scale has a type.
    let custom = resource.message.open;
    match media_type(&header) {
        JSON_PATCH => Ok(PatchRequest::Patch(PatchType::Json)),
        MERGE_PATCH => Ok(PatchRequest::Patch(PatchType::Merge)),
        STRATEGIC_MERGE_PATCH if !custom => Ok(PatchRequest::Patch(PatchType::StrategicMerge)),
        APPLY => Ok(PatchRequest::Apply(ApplyFormat::Yaml)),
        APPLY_CBOR if formats.cbor => Ok(PatchRequest::Apply(ApplyFormat::Cbor)),
        _ => Err(unknown_format(&header, custom, formats.cbor).into()),
    }
}

/// Returns 415 for an unsupported patch type. For built-in resources upstream's router rejects it with a plain text. The
/// list of types is returned only if the Content-Type header is a comma-separated list with a supported type.
fn unknown_format(header: &str, custom: bool, cbor: bool) -> Status {
    let mut supported = vec![JSON_PATCH, MERGE_PATCH];
    supported.extend((!custom).then_some(STRATEGIC_MERGE_PATCH));
    supported.push(APPLY);
    supported.extend(cbor.then_some(APPLY_CBOR));
    if custom || header.split(',').any(|clause| supported.contains(&media_type(clause))) {
        Status::unsupported_media_type(&supported)
    } else {
        Status::failure(415, Reason::UnsupportedMediaType, "415: Unsupported Media Type")
            .with_details(Details::default())
    }
}

/// Limit of patches that are applied to a part of the object. If the part is rejected, the patch is applied again, which would
/// double the time and the memory of a long one.
const PART_PATCH_BYTES_MAX: usize = 64 << 10;

/// A decoded patch.
struct ParsedPatch<'p> {
    patch: Patch<'p>,
    /// Errors of strict validation.
    strict: Vec<String>,
    is_short: bool,
}

/// Decodes a patch and validates its text strictly.
fn parse(kind: PatchType, bytes: &[u8], validation: FieldValidation) -> Result<ParsedPatch<'_>, Box<Status>> {
    let validates = validation != FieldValidation::Ignore;
    let texts = |strict: Vec<schema::json::StrictError>| strict.iter().map(ToString::to_string).collect();
    let parsed = match kind {
        PatchType::Json => {
            JsonPatch::parse(bytes, validates).map(|(patch, strict)| (Patch::Json(patch), strict))
        }
        PatchType::Merge => {
            MergePatch::parse(bytes, validates).map(|(patch, strict)| (Patch::Merge(patch), texts(strict)))
        }
        PatchType::StrategicMerge => {
            strategic::parse(bytes).map(|(patch, strict)| (Patch::StrategicMerge(patch), texts(strict)))
        }
    };
    let (patch, strict) = parsed.map_err(error_response)?;
    Ok(ParsedPatch { patch, strict, is_short: bytes.len() <= PART_PATCH_BYTES_MAX })
}

/// Applies the patch to `live` and returns the result in the storage version. Errors of strict validation of the patch and of
/// the result become warnings of the request, which the client gets even if the update fails later.
fn apply_patch(
    call: &RequestScope<'_>,
    ParsedPatch { patch, strict, is_short }: ParsedPatch<'_>,
    validation: FieldValidation,
    live: &Object,
) -> Result<Object, Box<Status>> {
    let current = view::served(call, live);
    let is_rejected = |decoded: &DecodedBody| {
        validation == FieldValidation::Strict && !(strict.is_empty() && decoded.warnings.is_empty())
    };
    let part = is_short.then(|| apply_to_part(call, &patch, &current)).flatten();
    let (decoded, quoted) = match part.filter(|part| !is_rejected(part)) {
        Some(decoded) => (decoded, String::new()),
        None => apply_to(call, patch, &current)?,
    };
    let unknown = strict.into_iter().chain(decoded.warnings);
    match validation {
        FieldValidation::Ignore => {}
        FieldValidation::Warn => call.warnings.extend(unknown),
        FieldValidation::Strict => {
            let unknown: Vec<String> = unknown.collect();
            if !unknown.is_empty() {
                return Err(undecodable_error(quoted, &strict_decoding_error(&unknown)));
            }
        }
    }
    let mut object = decoded.object;
    ensure_namespace(call.resource(), &call.info.namespace, &mut object)?;
    ensure_name(call, &object)?;
    check_type(call, &object, &decoded.api_version)?;
    to_storage_version(call, object, &decoded.api_version)
}

/// Applies a patch to the members that it reads or writes, and puts them back ([`Part`]). `None` if it must be
/// applied to the whole object.
fn apply_to_part(call: &RequestScope<'_>, patch: &Patch<'_>, current: &Object) -> Option<DecodedBody> {
    let part = patch.part(call.endpoint().message)?;
    let (decoded, _) = apply_to(call, patch.clone(), &part.select(current)).ok()?;
    let keeps = |name| decoded.object.get(name).is_some_and(|value| current.get(name) == Some(value));
    if !(keeps("kind") && keeps("apiVersion")) {
        return None;
    }
    let object = part.replace(current, decoded.object);
    Some(DecodedBody { object, ..decoded })
}

/// Applies a patch to an object. Also returns the text that errors quote.
fn apply_to(
    call: &RequestScope<'_>,
    patch: Patch<'_>,
    current: &Object,
) -> Result<(DecodedBody, String), Box<Status>> {
    match patch {
        Patch::StrategicMerge(patch) => merge(call, patch, current),
        patch => edit(call, &patch, current),
    }
}

/// Checks that a patch of a custom resource keeps its `apiVersion` and kind. Upstream does not check this for
/// the status.
///
/// # Errors
/// 422 with the group and kind of the result.
fn check_type(call: &RequestScope<'_>, patched: &Object, api_version: &str) -> Result<(), Box<Status>> {
    let endpoint = call.endpoint();
    let is_main = endpoint.message.open && endpoint.subresource.is_empty();
    if !is_main || api_version == endpoint.kind_group_version {
        return Ok(());
    }
    let kind = patched.get("kind").and_then(Value::as_str).unwrap_or("");
    let mut errors = field::ErrorList::new();
    if kind != endpoint.kind {
        let detail = format!("must be {}", endpoint.kind);
        errors.push(field::Error::invalid(&field::Path::root("kind"), kind, detail));
    }
    let detail = format!("must be {}", endpoint.kind_group_version);
    errors.push(field::Error::invalid(&field::Path::root("apiVersion"), api_version, detail));
    let group = split_api_version(api_version).0;
    Err(Status::invalid(&GroupKind::new(group, kind), meta::text(patched, "name"), &errors).into())
}

/// Applies a JSON patch or merge patch: encodes the object, patches the text, decodes the result. Also
/// returns the text, which errors quote.
fn edit(
    call: &RequestScope<'_>,
    patch: &Patch<'_>,
    current: &Object,
) -> Result<(DecodedBody, String), Box<Status>> {
    let endpoint = call.endpoint();
    let text = patch::text(endpoint.message, current).map_err(error_response)?;
    let stored_as_json = call.resource().stored_form().encoding == Encoding::Json;
    let is_deep = stored_as_json && current.values().any(Value::has_raw);
    let original = if is_deep { text.clone() } else { Vec::new() };
    let patched = match patch {
        Patch::Json(patch) => patch.apply(&text).map_err(error_response)?,
        Patch::Merge(patch) => patch.apply(&text).map_err(error_response)?,
        Patch::StrategicMerge(_) => text,
    };
    let decoded = body::decode_patched(&patched, ExpectedType::of(endpoint), is_deep);
    if is_deep && let Ok(decoded) = &decoded {
        check_deep_values(call, &original, &decoded.object)?;
    }
    let quoted = String::from_utf8(patched)
        .unwrap_or_else(|text| String::from_utf8_lossy(text.as_bytes()).into_owned());
    match decoded {
        Ok(decoded) => Ok((decoded, quoted)),
        Err(error @ DecodeError::MissingCustomVersion) => {
            Err(Status::internal_error(error.to_string()).into())
        }
        Err(error) => Err(undecodable_error(quoted, &error.to_string())),
    }
}

/// Checks that a patch changes no value that is nested too deeply to be decoded and validated.
///
/// # Errors
/// 400 for a value that the object did not have at the same place before.
fn check_deep_values(call: &RequestScope<'_>, original: &[u8], patched: &Object) -> Result<(), Box<Status>> {
    let original = body::decode_patched(original, ExpectedType::of(call.endpoint()), true);
    let original = original.map_or_else(|_| Object::new(), |decoded| decoded.object);
    let is_kept =
        |(name, value): (&Key, &Value)| value.has_raw_only_as(original.get(name).unwrap_or(&Value::Null));
    if patched.iter().all(is_kept) {
        return Ok(());
    }
    Err(Status::bad_request("the patch changes values that are nested too deeply").into())
}

/// Applies a strategic merge patch: merges the trees and converts the result. Also returns the patch, which
/// errors quote. The kind never changes.
fn merge(
    call: &RequestScope<'_>,
    mut patch: Object,
    current: &Object,
) -> Result<(DecodedBody, String), Box<Status>> {
    let endpoint = call.endpoint();
    let mut value = match patch::expand(endpoint.message, current).map_err(error_response)? {
        Value::Object(value) => value,
        _ => Object::new(),
    };
    strategic::apply(endpoint.message, &mut value, &mut patch).map_err(error_response)?;
    let quoted = strategic::quoted(&patch);
    match typed::object(endpoint.message, value) {
        Ok((mut object, warnings)) => {
            let api_version = endpoint.kind_group_version.to_owned();
            object.insert("kind", endpoint.kind.into());
            object.insert("apiVersion", api_version.clone().into());
            Ok((DecodedBody { object, api_version, warnings }, quoted))
        }
        Err(error) => Err(undecodable_error(quoted, &error.to_string())),
    }
}

/// Returns upstream's response to a patch error (`handlers/patch.go`).
fn error_response(error: patch::Error) -> Box<Status> {
    let status = match error {
        patch::Error::BadRequest(text) => Status::bad_request(text),
        patch::Error::TooLarge(text) => {
            Status::request_entity_too_large(format!("Request entity too large: {text}"))
        }
        patch::Error::DoesNotApply(_) => {
            let text = "the server rejected our request due to an error in our request";
            Status::failure(422, Reason::Invalid, text).with_details(Details::default())
        }
        patch::Error::Failed(text) => Status::unmapped(text),
    };
    status.into()
}

/// 422 for a patch whose result does not decode as the kind.
fn undecodable_error(quoted: String, cause: &str) -> Box<Status> {
    let path = field::Path::root("patch");
    let error = field::Error::invalid(&path, quoted, cause);
    Status::invalid(&GroupKind::new("", ""), "", &[error].into()).into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod request_tests;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsupported_patch_type_is_415() {
        const ROUTER: &str = "415: Unsupported Media Type";
        const ALL: &str = "application/json-patch+json, application/merge-patch+json, \
                           application/strategic-merge-patch+json, application/apply-patch+yaml";
        let check = |header: &str, custom: bool, expected: &str| {
            let status = unknown_format(header, custom, false);
            let supported = status
                .message
                .rsplit_once("include: ")
                .map_or(status.message.as_str(), |(_, supported)| supported);
            assert_eq!((status.code, supported), (415, expected), "{header}");
        };
        check("text/plain", false, ROUTER);
        check("", false, ROUTER);
        check("text/plain, application/json", false, ROUTER);
        check("application/json, application/merge-patch+json;q=1", false, ALL);
        check(
            "text/plain",
            true,
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        );
    }
}
