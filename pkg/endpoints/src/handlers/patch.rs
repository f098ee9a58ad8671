//! PATCH: JSON patch, merge patch and strategic merge patch.

use api::options::PatchOptions;
use apimachinery::gvk::GroupKind;
use apimachinery::status::Status;
use http::header::CONTENT_TYPE;
use registry::{meta, strategy};
use schema::json;
use schema::object::Object;
use crate::pending::patch::{self, PatchType};

use super::{ensure_namespace, to_storage_version, update};
use crate::api::Call;
use crate::body::{self, FieldValidation};
use crate::dispatch::{Body, Response};

/// The patch types that are built; what a 415 lists.
const MEDIA_TYPES: [&str; 3] =
    ["application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json"];

pub(crate) async fn patch(call: &mut Call<'_>, mut body: Body) -> Result<Response, Box<Status>> {
    let kind = patch_type(call)?;
    let bytes = body::read(&mut body).await?;
    let options = PatchOptions::from_query(call.query.pairs());
    let errors = api::validation::validate_patch_options(&options, false);
    if !errors.is_empty() {
        return Err(Status::invalid(&GroupKind::new("meta.k8s.io", "PatchOptions"), "", &errors).into());
    }
    let validation = FieldValidation::parse(&options.field_validation);
    let mut warnings = Vec::new();
    let outcome = update::write(call, String::new(), !options.dry_run.is_empty(), &mut |old| {
        let old = old.ok_or_else(|| Status::not_found(&call.target().group_resource(), call.name()))?;
        warnings.clear();
        patched(call, kind, &bytes, validation, old, &mut warnings)
    })
    .await?;
    call.warnings.append(&mut warnings);
    update::answer(call, &outcome)
}

fn patch_type(call: &Call<'_>) -> Result<PatchType, Box<Status>> {
    let header = call.headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or("");
    match header.split(';').next().unwrap_or("").trim() {
        "application/json-patch+json" => Ok(PatchType::Json),
        "application/merge-patch+json" => Ok(PatchType::Merge),
        "application/strategic-merge-patch+json" => Ok(PatchType::StrategicMerge),
        _ => Err(Status::unsupported_media_type(&MEDIA_TYPES).into()),
    }
}

/// The object that a patch makes of `old`: served version → JSON → patched → decoded → storage version.
fn patched(
    call: &Call<'_>,
    kind: PatchType,
    bytes: &[u8],
    validation: FieldValidation,
    old: &Object,
    warnings: &mut Vec<String>,
) -> Result<Object, Box<Status>> {
    let endpoint = call.endpoint();
    let row = call.route.main;
    let scales = endpoint.subresource == "scale";
    let current = if scales { strategy::scale_of(old) } else { served(call, old) };
    let text = patch::apply(kind, endpoint.message, &current, bytes).map_err(|e| e.into_status())?;
    let decoded = json::decode(endpoint.message, &text).map_err(|e| invalid_after_patch(call, &e.to_string()))?;
    let strict: Vec<String> = decoded.strict.iter().map(ToString::to_string).collect();
    match validation {
        FieldValidation::Strict if !strict.is_empty() => {
            return Err(invalid_after_patch(call, &format!("strict decoding error: {}", strict.join(", "))));
        }
        FieldValidation::Warn => warnings.extend(strict),
        _ => {}
    }
    let mut object = decoded.object;
    check_identity(call, &object)?;
    if scales {
        let mut scaled = old.clone();
        strategy::apply_scale(&mut scaled, &object);
        return Ok(scaled);
    }
    ensure_namespace(row, &call.info.namespace, &mut object)?;
    to_storage_version(row, object, endpoint.kind_group_version)
}

fn served(call: &Call<'_>, old: &Object) -> Object {
    match &call.route.main.storage {
        Some(storage) => crate::encode::served(old.clone(), storage, call.endpoint()),
        None => old.clone(),
    }
}

/// A patch may not turn the object into another one.
fn check_identity(call: &Call<'_>, object: &Object) -> Result<(), Box<Status>> {
    let name = meta::text(object, "name");
    if name != call.name() {
        let message = format!("the name of the object ({name}) does not match the name on the URL ({})", call.name());
        return Err(Status::bad_request(message).into());
    }
    Ok(())
}

fn invalid_after_patch(call: &Call<'_>, cause: &str) -> Box<Status> {
    let kind = GroupKind::new(call.endpoint().group, call.endpoint().kind);
    Status::failure(422, "Invalid", format!("{kind} \"{}\" is invalid: patch: Invalid value: {cause}", call.name())).into()
}
