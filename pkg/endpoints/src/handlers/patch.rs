//! PATCH: JSON patch, merge patch and strategic merge patch; apply is in `apply`.

use api::options::PatchOptions;
use apimachinery::field;
use apimachinery::gvk::GroupKind;
use apimachinery::status::{Details, Status};
use http::header::CONTENT_TYPE;
use registry::generic::UpdateOutcome;
use registry::meta;
use schema::object::Object;
use schema::patch::json_patch::JsonPatch;
use schema::patch::{self, merge_patch, strategic};
use serde_json::Value;

use super::apply::Notation;
use super::write::{Dedup, Writer, dedup_owners};
use super::{apply, ensure_namespace, to_storage_version, update, view};
use crate::api::Call;
use crate::body::{self, FieldValidation};
use crate::dispatch::{Body, Response};

/// How a body is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatchType {
    Json,
    Merge,
    StrategicMerge,
}

/// What a PATCH wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    /// The object as a configuration says.
    Apply(Notation),
    /// The object changed.
    Change(PatchType),
}

/// A patch that has been read.
enum Patch {
    Json(JsonPatch),
    Merge(Object),
    StrategicMerge(Object),
}

pub(crate) async fn patch(call: &mut Call<'_>, mut body: Body) -> Result<Response, Box<Status>> {
    let wish = wish(call)?;
    let bytes = body::read(&mut body).await?;
    let options = PatchOptions::from_query(call.query.pairs());
    let errors = api::validation::validate_patch_options(&options, matches!(wish, Wish::Apply(_)));
    if !errors.is_empty() {
        return Err(Status::invalid(&GroupKind::new("meta.k8s.io", "PatchOptions"), "", &errors).into());
    }
    let outcome = match wish {
        Wish::Apply(notation) => apply::apply(call, notation, &bytes, &options).await?,
        Wish::Change(kind) => change(call, kind, &bytes, &options).await?,
    };
    update::answer(call, &outcome)
}

/// Changes what is there by a patch that says how.
async fn change(
    call: &mut Call<'_>,
    kind: PatchType,
    bytes: &[u8],
    options: &PatchOptions,
) -> Result<UpdateOutcome, Box<Status>> {
    let validation = FieldValidation::parse(&options.field_validation);
    let writer = Writer::of(call, &options.field_manager);
    let mut warnings = Vec::new();
    let mut read: Option<(Patch, Vec<String>)> = None;
    // A missing object is a 404 even if the patch makes no sense, so it is read only now.
    let mut change = |old: Option<&Object>| {
        let old = old.ok_or_else(|| Status::not_found(&call.target().group_resource(), call.name()))?;
        let (patch, strict) = match &mut read {
            Some(read) => read,
            slot => slot.insert(parse(kind, bytes, validation)?),
        };
        let live = view::of(call, old)?;
        let (mut new, unknown) = patched(call, patch, strict, validation, &live)?;
        writer.track(Some(&live), &mut new);
        warnings = unknown;
        warnings.extend(dedup_owners(&mut new, Dedup::AfterAdmission));
        view::merge(call, Some(old), new)
    };
    let write = update::Write::new(!options.dry_run.is_empty());
    let outcome = update::write(call, write, &mut change).await?;
    call.warnings.append(&mut warnings);
    Ok(outcome)
}

fn wish(call: &Call<'_>) -> Result<Wish, Box<Status>> {
    let header = call.headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("");
    match header.split(';').next().unwrap_or("").trim() {
        "application/json-patch+json" => Ok(Wish::Change(PatchType::Json)),
        "application/merge-patch+json" => Ok(Wish::Change(PatchType::Merge)),
        "application/strategic-merge-patch+json" => Ok(Wish::Change(PatchType::StrategicMerge)),
        "application/apply-patch+yaml" => Ok(Wish::Apply(Notation::Yaml)),
        "application/apply-patch+cbor" if call.api.formats.cbor => Ok(Wish::Apply(Notation::Cbor)),
        // The router refuses before any handler could say what it takes.
        _ => {
            let text = "415: Unsupported Media Type";
            Err(Status::failure(415, "UnsupportedMediaType", text).with_details(Details::default()).into())
        }
    }
}

/// Reads a patch, and what strict validation has to say about its text.
fn parse(
    kind: PatchType,
    bytes: &[u8],
    validation: FieldValidation,
) -> Result<(Patch, Vec<String>), Box<Status>> {
    let validates = validation != FieldValidation::Ignore;
    let texts = |strict: Vec<schema::json::StrictError>| strict.iter().map(ToString::to_string).collect();
    match kind {
        PatchType::Json => {
            JsonPatch::parse(bytes, validates).map(|(patch, strict)| (Patch::Json(patch), strict))
        }
        PatchType::Merge => {
            merge_patch::parse(bytes, validates).map(|(patch, strict)| (Patch::Merge(patch), texts(strict)))
        }
        PatchType::StrategicMerge => {
            strategic::parse(bytes).map(|(patch, strict)| (Patch::StrategicMerge(patch), texts(strict)))
        }
    }
    .map_err(refused)
}

/// What a patch makes of `live`, in the storage version, and what strict validation says: served
/// version → JSON value → patched → decoded → storage version.
fn patched(
    call: &Call<'_>,
    patch: &Patch,
    strict: &[String],
    validation: FieldValidation,
    live: &Object,
) -> Result<(Object, Vec<String>), Box<Status>> {
    let endpoint = call.endpoint();
    let mut value = patch::expand(endpoint.message, &view::served(call, live)).map_err(refused)?;
    match (patch, &mut value) {
        (Patch::Json(patch), value) => patch.apply(value).map_err(refused)?,
        (Patch::Merge(patch), Value::Object(object)) => merge_patch::apply(object, patch),
        (Patch::StrategicMerge(patch), Value::Object(object)) => {
            let merged = strategic::apply(endpoint.message, std::mem::take(object), patch.clone());
            *object = merged.map_err(refused)?;
        }
        _ => {}
    }
    let (text, decoded) = patch::collapse(endpoint.message, &value);
    let decoded = decoded.map_err(|error| does_not_decode(&text, &error.to_string()))?;
    let mut unknown = strict.to_vec();
    unknown.extend(decoded.strict.iter().map(ToString::to_string));
    match validation {
        FieldValidation::Ignore => unknown.clear(),
        FieldValidation::Strict if !unknown.is_empty() => {
            return Err(does_not_decode(&text, &schema::json::errors::strict_decoding_error(&unknown)));
        }
        _ => {}
    }
    let mut object = decoded.object;
    check_kind(call, &object).map_err(|cause| does_not_decode(&text, &cause))?;
    check_name(call, &object)?;
    ensure_namespace(call.route.main, &call.info.namespace, &mut object)?;
    Ok((to_storage_version(call, object, endpoint.kind_group_version)?, unknown))
}

/// A patch may not turn the object into one of another kind or version.
fn check_kind(call: &Call<'_>, object: &Object) -> Result<(), String> {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or("");
    let (kind, api_version) = (text("kind"), text("apiVersion"));
    let endpoint = call.endpoint();
    if kind == endpoint.kind && api_version == endpoint.kind_group_version {
        return Ok(());
    }
    Err(match schema::builtin::kind(api_version, kind) {
        Some(message) => body::unknown_conversion(message, endpoint.kind),
        None => schema::json::errors::not_registered(kind, api_version),
    })
}

/// A patch may not turn the object into another one.
pub(super) fn check_name(call: &Call<'_>, object: &Object) -> Result<(), Box<Status>> {
    let (given, name) = (meta::text(object, "name"), call.name());
    if given == name {
        return Ok(());
    }
    let message = match given {
        "" => {
            format!("the name of the object ({name} based on URL) was undeterminable: name must be provided")
        }
        _ => format!("the name of the object ({given}) does not match the name on the URL ({name})"),
    };
    Err(Status::bad_request(message).into())
}

/// A patch error as upstream answers it (`handlers/patch.go`).
fn refused(error: patch::Error) -> Box<Status> {
    let status = match error {
        patch::Error::BadRequest(text) => Status::bad_request(text),
        patch::Error::TooLarge(text) => {
            Status::request_entity_too_large(format!("Request entity too large: {text}"))
        }
        patch::Error::DoesNotApply(_) => {
            let text = "the server rejected our request due to an error in our request";
            Status::failure(422, "Invalid", text).with_details(Details::default())
        }
        patch::Error::Failed(text) => Status::unmapped(text),
    };
    status.into()
}

/// 422 for a patch whose result is no object of the kind.
fn does_not_decode(text: &[u8], cause: &str) -> Box<Status> {
    let path = field::Path::root("patch");
    let error = field::Error::invalid(&path, String::from_utf8_lossy(text).into_owned(), cause);
    Status::invalid(&GroupKind::new("", ""), "", &[error]).into()
}
