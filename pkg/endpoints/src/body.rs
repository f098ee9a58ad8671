//! Reads request bodies within a bound and decodes them into trees.

mod options;

use std::fmt::Display;

use api::resources::Resource;
use api::resources::custom::CustomKind;
use api::structural::Coercion;
use apimachinery::gvk::split_api_version;
use apimachinery::status::Status;
use bytes::{Bytes, BytesMut};
use http_body::Body as _;
use http_body_util::BodyExt;
use schema::json::errors as texts;
use schema::memory::{BudgetExceeded, DecodeBudget};
use schema::object::Object;
use schema::proto::{self, Envelope};
use schema::table::Message;
use schema::{builtin, cbor, json, yaml};

use crate::negotiation::Format;
use crate::routing::dispatch::{BODY_BYTES_MAX, Body, BoxError};
use crate::scheme::{NotRegisteredError, Scheme};
use crate::warning::Warnings;

pub(crate) use options::decode_options;

/// Reads a whole body.
///
/// # Errors
/// 413 above the bound, 400 when the connection fails, or the Status of the limit that cut the body off.
pub(crate) async fn read(body: &mut Body) -> Result<Bytes, Box<Status>> {
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(failure)?;
        let Ok(data) = frame.into_data() else { continue };
        if all.len() + data.len() > BODY_BYTES_MAX {
            let message = format!("Request entity too large: limit is {BODY_BYTES_MAX}");
            return Err(Status::request_entity_too_large(message).into());
        }
        if all.is_empty() && body.is_end_stream() {
            return Ok(data);
        }
        all.extend_from_slice(&data);
    }
    Ok(all.freeze())
}

/// Status for a body that cannot be read: the Status of the limit that cut it off, or a broken connection.
fn failure(error: BoxError) -> Box<Status> {
    let broken =
        |error: BoxError| Box::new(Status::bad_request(format!("unable to read the request body: {error}")));
    error.downcast().unwrap_or_else(broken)
}

/// Handling of unknown and duplicate fields (`fieldValidation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    /// Rejects the request.
    Strict,
}

impl FieldValidation {
    /// Parses the query parameter; empty means `Warn`.
    pub(crate) fn parse(text: &str) -> Self {
        match text {
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            _ => FieldValidation::Warn,
        }
    }
}

pub(crate) struct DecodedBody {
    /// The object, in the version of the body.
    pub(crate) object: Object,
    /// Version of the body; the endpoint's own if the body has none.
    pub(crate) api_version: String,
    /// Unknown and duplicate fields, for `Warning` headers.
    pub(crate) warnings: Vec<String>,
}

/// Type that a body must contain.
#[derive(Clone, Copy)]
pub(crate) struct ExpectedType<'e> {
    /// `apiVersion` if the body has none.
    pub(crate) api_version: &'e str,
    /// Kind if the body has none; no other kind is accepted.
    pub(crate) kind: &'e str,
    /// Other accepted versions of the kind.
    pub(crate) other_versions: &'e [&'e str],
    /// Shape of a custom resource; its kind is in no scheme.
    pub(crate) custom: Option<&'static Message>,
    /// The CRD of the custom resource.
    pub(crate) definition: Option<&'e CustomKind>,
    /// True for the Scale of a custom resource.
    pub(crate) scales_custom: bool,
}

/// Error of a body or of a patched object, in upstream's wording.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum DecodeError {
    /// The JSON is invalid, or does not match its kind.
    #[error(transparent)]
    Json(#[from] json::Error),
    #[error(transparent)]
    NotRegistered(#[from] NotRegisteredError),
    #[error("{0}")]
    MissingVersion(String),
    /// A patch removed the kind of a custom resource. Contains the text of the result.
    #[error("Object 'Kind' is missing in '{0}'")]
    MissingCustomKind(String),
    /// A patch removed the `apiVersion` of a custom resource.
    #[error("Object 'apiVersion' is missing in 'object has no apiVersion field'")]
    MissingCustomVersion,
    /// The kind does not convert to that of the endpoint.
    #[error("converting ({from}) to ({to}): unknown conversion")]
    Conversion { from: &'static str, to: String },
    /// The object does not match the schema of its custom resource.
    #[error(transparent)]
    CustomResource(#[from] api::structural::CoercionError),
}

impl ExpectedType<'_> {
    /// Returns the type that an endpoint's row accepts.
    pub(crate) fn of<'r>(endpoint: &'r Resource<'_>) -> ExpectedType<'r> {
        let Resource { kind_group_version: api_version, kind, message, custom, .. } = *endpoint;
        ExpectedType {
            api_version,
            kind,
            other_versions: &[],
            custom: message.open.then_some(message),
            definition: custom.filter(|_| message.open).map(|custom| custom.kind),
            scales_custom: custom.is_some() && !message.open,
        }
    }

    /// Adapts the text of a decoding error. Upstream decodes the metadata of a custom resource separately.
    fn reword_error(self, error: json::Error) -> json::Error {
        match (self.custom, error) {
            (Some(_), json::Error::Type(mut wrong)) => {
                match wrong.field.strip_prefix("metadata.") {
                    Some(field) => wrong.field = field.to_owned(),
                    None if wrong.field == "metadata" => {
                        wrong.field.clear();
                        wrong.struct_name = "".into();
                    }
                    None => {}
                }
                json::Error::Type(wrong)
            }
            (_, error) => error,
        }
    }

    /// Prunes a decoded body to the fields of its CRD and returns the unknown ones.
    fn coerce(self, api_version: &str, kind: &str, object: &mut Object) -> Result<Vec<String>, DecodeError> {
        let own_group = split_api_version(api_version).0 == split_api_version(self.api_version).0;
        let Some(definition) = self.definition.filter(|_| own_group && kind == self.kind) else {
            return Ok(Vec::new());
        };
        let unknown = definition.coerce(api_version, object, Coercion::Reported)?;
        let message = |path| json::StrictError { kind: json::StrictKind::UnknownField, path }.to_string();
        Ok(unknown.into_iter().map(message).collect())
    }

    /// Returns the errors about the fields of a body. For a custom resource, upstream reports duplicate
    /// fields of the text before unknown fields of metadata.
    fn field_errors(self, mut strict: Vec<json::StrictError>) -> impl Iterator<Item = String> {
        if self.custom.is_some() {
            strict.sort_by_key(|error| error.kind == json::StrictKind::UnknownField);
        }
        strict.into_iter().map(|error| error.to_string())
    }

    /// Returns the registered type for the `apiVersion` and `kind` of a body.
    fn registered_type(self, api_version: &str, kind: &str) -> Result<&'static Message, NotRegisteredError> {
        self.custom.map_or_else(|| Scheme::of(self.api_version).kind(api_version, kind), Ok)
    }
}

/// Decodes a body. Adds warnings to `warnings`, even if the body is then rejected for its version.
///
/// # Errors
/// 400 in upstream's wording; 413 for a body whose tree would take too much memory.
pub(crate) fn decode(
    body: &[u8],
    format: Format,
    expected: ExpectedType<'_>,
    validation: FieldValidation,
    warnings: &Warnings,
) -> Result<DecodedBody, Box<Status>> {
    let decoded = decode_as(body, format, expected, validation).and_then(|mut decoded| {
        warnings.extend(std::mem::take(&mut decoded.warnings));
        check_version(expected, &decoded.api_version)?;
        Ok(decoded)
    });
    decoded.map_err(|error| match error.code {
        400 if expected.scales_custom => Status::bad_request(UNKNOWN_SCALE).into(),
        _ => error,
    })
}

/// Error for every malformed Scale of a custom resource. Upstream looks up the type for the text in a scheme that
/// does not contain it.
const UNKNOWN_SCALE: &str = "no kind is registered for the type v1.Scale in scheme \
     \"k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go:781\"";

/// Decodes a body without checking its version.
fn decode_as(
    body: &[u8],
    format: Format,
    expected: ExpectedType<'_>,
    validation: FieldValidation,
) -> Result<DecodedBody, Box<Status>> {
    match format {
        Format::Json => decode_json(body, body, expected, validation, Vec::new()),
        Format::Yaml => {
            let converted = yaml::to_json(body).map_err(|e| match e {
                yaml::Error::BudgetExceeded(e) => too_large(e),
                e => unrecognized(expected, &e.to_string(), body),
            })?;
            // In an error, the duplicates are one error of the YAML decoder.
            let rejection = converted.strict_error().map(|error| error.to_string());
            let duplicates = match (validation, rejection) {
                (FieldValidation::Strict, Some(rejection)) => vec![rejection],
                _ => converted.duplicates,
            };
            decode_json(&converted.json, body, expected, validation, duplicates)
        }
        Format::Protobuf => decode_protobuf(body, expected),
        Format::Cbor => decode_cbor(body, expected, validation),
    }
}

fn decode_cbor(
    body: &[u8],
    expected: ExpectedType<'_>,
    validation: FieldValidation,
) -> Result<DecodedBody, Box<Status>> {
    let head = cbor::type_meta(body).map_err(|e| unrecognized(expected, &e.to_string(), body))?;
    let api_version = if head.api_version.is_empty() { expected.api_version } else { &head.api_version };
    let kind = if head.kind.is_empty() { expected.kind } else { &head.kind };
    let refused = |text: &dyn Display| cannot_be_handled(expected, api_version, kind, &text.to_string());
    let message = expected.registered_type(api_version, kind).map_err(|error| refused(&error))?;
    let decoded =
        cbor::decode_within(message, body, DecodeBudget::of_body(body.len())).map_err(|e| match e {
            cbor::Error::BudgetExceeded(e) => too_large(e),
            e => refused(&e),
        })?;
    check_convertible(expected, message, api_version, kind).map_err(|error| refused(&error))?;
    let mut object = decoded.object;
    let mut strict: Vec<String> = decoded.strict.iter().map(ToString::to_string).collect();
    strict.extend(expected.coerce(api_version, kind, &mut object).map_err(|error| refused(&error))?);
    let warnings = match validation {
        FieldValidation::Ignore => Vec::new(),
        FieldValidation::Strict if !strict.is_empty() => {
            return Err(refused(&texts::strict_decoding_error(&strict)));
        }
        _ => strict,
    };
    if head.kind.is_empty() || head.api_version.is_empty() {
        set_type_meta(expected, &mut object, api_version, kind);
    }
    Ok(DecodedBody { object, api_version: api_version.to_owned(), warnings })
}

fn decode_json(
    text: &[u8],
    body: &[u8],
    expected: ExpectedType<'_>,
    validation: FieldValidation,
    mut strict: Vec<String>,
) -> Result<DecodedBody, Box<Status>> {
    if strict.is_empty()
        && let Some(object) = decode_plain(text, body.len(), expected)
    {
        return Ok(DecodedBody { object, api_version: expected.api_version.to_owned(), warnings: strict });
    }
    let head = json::type_meta(text).map_err(|e| unrecognized(expected, &e.to_string(), body))?;
    if expected.custom.is_some() && head.kind.is_empty() {
        let cause = format!("Object 'Kind' is missing in '{}'", String::from_utf8_lossy(body));
        return Err(unrecognized(expected, &cause, body));
    }
    let kind = if head.kind.is_empty() { expected.kind } else { &*head.kind };
    let api_version = match split_api_version(&head.api_version) {
        // The `apiVersion` of a custom resource is never filled in.
        ("", "") if expected.custom.is_some() => "",
        ("", "") => expected.api_version,
        (group, "") if group == split_api_version(expected.api_version).0 => expected.api_version,
        (_, "") => return Err(cannot_be_handled(expected, "", kind, &missing_version(body))),
        ("", version) => version,
        _ => &*head.api_version,
    };
    let refused = |cause: &dyn Display| cannot_be_handled(expected, api_version, kind, &cause.to_string());
    if let (group, INTERNAL) = split_api_version(api_version)
        && expected.custom.is_none()
    {
        let decoded = decode_internal(text, expected, group, kind).map_err(|error| refused(&error))?;
        let warnings = match validation {
            FieldValidation::Ignore => Vec::new(),
            FieldValidation::Strict if !decoded.warnings.is_empty() => {
                return Err(refused(&texts::strict_decoding_error(&decoded.warnings)));
            }
            _ => decoded.warnings,
        };
        return Ok(DecodedBody { api_version: api_version.to_owned(), warnings, ..decoded });
    }
    let message = expected.registered_type(api_version, kind).map_err(|error| refused(&error))?;
    let decoded =
        json::decode_within(message, text, DecodeBudget::of_body(body.len())).map_err(|e| match e {
            json::Error::BudgetExceeded(e) => too_large(e),
            e => refused(&expected.reword_error(e)),
        })?;
    check_convertible(expected, message, api_version, kind).map_err(|error| refused(&error))?;
    let mut object = decoded.object;
    strict.extend(expected.field_errors(decoded.strict));
    strict.extend(expected.coerce(api_version, kind, &mut object).map_err(|error| refused(&error))?);
    match validation {
        FieldValidation::Ignore => strict.clear(),
        FieldValidation::Strict if !strict.is_empty() => {
            return Err(refused(&texts::strict_decoding_error(&strict)));
        }
        _ => {}
    }
    if head.kind.is_empty() || head.api_version.is_empty() {
        set_type_meta(expected, &mut object, api_version, kind);
    }
    Ok(DecodedBody { object, api_version: api_version.to_owned(), warnings: strict })
}

/// Fast path for a body that has the expected type and causes no warning, which is nearly every one. The text
/// is read once.
///
/// Any other body needs its kind before it can be decoded. [`json::type_meta`] reads all of the text, because
/// the last of several `kind`s wins, in any capitalization. A member in capitals is unknown on this path.
fn decode_plain(text: &[u8], body_bytes: usize, expected: ExpectedType<'_>) -> Option<Object> {
    if expected.custom.is_some() {
        return None;
    }
    let ExpectedType { api_version, kind, .. } = expected;
    let message = expected.registered_type(api_version, kind).ok()?;
    let decoded = json::decode_within(message, text, DecodeBudget::of_body(body_bytes)).ok()?;
    let mut object = decoded.object;
    let matches_endpoint =
        |name, required: &str| object.get(name).is_none_or(|value| value.as_str() == Some(required));
    if !(decoded.strict.is_empty()
        && matches_endpoint("kind", kind)
        && matches_endpoint("apiVersion", api_version))
    {
        return None;
    }
    if !(object.contains_key("kind") && object.contains_key("apiVersion")) {
        set_type_meta(expected, &mut object, api_version, kind);
    }
    Some(object)
}

/// Sets `apiVersion` and `kind` if the body omits them, because some kinds are stored as written. They are
/// never filled in for a custom resource.
fn set_type_meta(expected: ExpectedType<'_>, object: &mut Object, api_version: &str, kind: &str) {
    if expected.custom.is_none() {
        object.insert("kind".to_owned(), kind.into());
        object.insert("apiVersion".to_owned(), api_version.into());
    }
}

/// Decodes the result of applying a patch to an object. The text may be in any version of the kind.
///
/// The result of a patch of an object that is nested too deeply for a tree (`is_deep`) may be as deep.
///
/// A missing kind means the expected one, except for a custom resource. A missing version means upstream's internal version: its fields
/// have other names, so all fields are unknown and the object is empty.
///
/// # Errors
/// A decoding error in upstream's wording.
pub(crate) fn decode_patched(
    text: &[u8],
    expected: ExpectedType<'_>,
    is_deep: bool,
) -> Result<DecodedBody, DecodeError> {
    let head = json::type_meta(text)?;
    if expected.custom.is_some() && head.kind.is_empty() {
        return Err(DecodeError::MissingCustomKind(String::from_utf8_lossy(text).into_owned()));
    }
    if expected.custom.is_some() && head.api_version.is_empty() {
        return Err(DecodeError::MissingCustomVersion);
    }
    let kind = if head.kind.is_empty() { expected.kind } else { &*head.kind };
    let (group, version) = split_api_version(&head.api_version);
    let own_group = split_api_version(expected.api_version).0;
    let is_unversioned = version.is_empty() && (group.is_empty() || group == own_group);
    // The default version is the internal one. Scales of custom resources have only theirs.
    let is_default = is_unversioned && expected.scales_custom;
    if version == INTERNAL || (is_unversioned && !is_default) {
        let group = if version.is_empty() { own_group } else { group };
        return decode_internal(text, expected, group, kind);
    }
    if version.is_empty() && !is_default {
        return Err(DecodeError::MissingVersion(missing_version(text)));
    }
    let own_version = head.api_version.strip_prefix('/').unwrap_or(&head.api_version);
    let api_version = if is_default { expected.api_version } else { own_version };
    let message = expected.registered_type(api_version, kind)?;
    let decoded = if is_deep {
        json::decode_stored(message, text)
    } else {
        json::decode_within(message, text, DecodeBudget::of_body(text.len()))
    };
    let decoded = decoded.map_err(|e| expected.reword_error(e))?;
    check_convertible(expected, message, api_version, kind)?;
    let mut object = decoded.object;
    let mut warnings: Vec<String> = decoded.strict.iter().map(ToString::to_string).collect();
    warnings.extend(expected.coerce(api_version, kind, &mut object)?);
    Ok(DecodedBody { object, api_version: api_version.to_owned(), warnings })
}

fn missing_version(text: &[u8]) -> String {
    format!("Object 'apiVersion' is missing in '{}'", String::from_utf8_lossy(text))
}

/// Upstream's internal version.
const INTERNAL: &str = "__internal";

fn decode_internal(
    text: &[u8],
    expected: ExpectedType<'_>,
    group: &str,
    kind: &str,
) -> Result<DecodedBody, DecodeError> {
    if kind != expected.kind || group != split_api_version(expected.api_version).0 {
        return Err(Scheme::of(expected.api_version).not_registered_internal(kind, group).into());
    }
    let members = json::decode_untyped(text)?.value;
    let unknown = members.as_object().into_iter().flat_map(Object::keys);
    let warnings = unknown
        .filter(|name| !["kind", "apiVersion"].contains(&name.as_str()))
        .map(|name| {
            json::StrictError { kind: json::StrictKind::UnknownField, path: name.to_string() }.to_string()
        })
        .collect();
    Ok(DecodedBody { object: Object::new(), api_version: expected.api_version.to_owned(), warnings })
}

fn decode_protobuf(body: &[u8], expected: ExpectedType<'_>) -> Result<DecodedBody, Box<Status>> {
    let envelope = Envelope::parse(body).map_err(|e| unrecognized(expected, &e.to_string(), body))?;
    let api_version = envelope_version(&envelope.api_version).unwrap_or(expected.api_version);
    let kind = if envelope.kind.is_empty() { expected.kind } else { &*envelope.kind };
    let refused = |cause: &dyn Display| cannot_be_handled(expected, api_version, kind, &cause.to_string());
    if expected.custom.is_some() {
        // A custom resource has no protobuf schema. Upstream finds no kind in the object that it fails to fill.
        return Err(refused(&"Object 'Kind' is missing in 'object has no kind field '"));
    }
    let message = expected.registered_type(api_version, kind).map_err(|error| refused(&error))?;
    let budget = DecodeBudget::of_body(body.len());
    let mut object = proto::decode_within(message, envelope.raw, budget).map_err(|e| match e {
        proto::Error::BudgetExceeded(e) => too_large(e),
        e => refused(&e),
    })?;
    check_convertible(expected, message, api_version, kind).map_err(|error| refused(&error))?;
    object.insert("kind".to_owned(), kind.into());
    object.insert("apiVersion".to_owned(), api_version.into());
    Ok(DecodedBody { object, api_version: api_version.to_owned(), warnings: Vec::new() })
}

/// Returns the version of an envelope, if it can be parsed (upstream's `FromAPIVersionAndKind`).
fn envelope_version(api_version: &str) -> Option<&str> {
    match api_version.split_once('/') {
        Some((_, version)) if version.is_empty() || version.contains('/') => None,
        Some(("", version)) => Some(version),
        _ => Some(api_version).filter(|unversioned| !unversioned.is_empty()),
    }
}

/// Checks that the version of a body converts to the endpoint's. Versions convert within a group. Exceptions
/// are events with two groups, scales with four, and the kinds that moved out of `extensions`.
///
/// A custom resource is checked by its version here and by its validation later.
fn check_convertible(
    expected: ExpectedType<'_>,
    message: &Message,
    api_version: &str,
    kind: &str,
) -> Result<(), DecodeError> {
    let family = |api_version| match (split_api_version(api_version).0, kind) {
        ("events.k8s.io", "Event") => "",
        ("extensions", "DaemonSet" | "Deployment" | "ReplicaSet") => "apps",
        ("extensions", "Ingress" | "NetworkPolicy") => "networking.k8s.io",
        (_, "Scale") => "autoscaling",
        (group, _) => group,
    };
    if expected.custom.is_some()
        || kind == expected.kind && family(api_version) == family(expected.api_version)
    {
        return Ok(());
    }
    let stored = builtin::kind(expected.api_version, expected.kind).unwrap_or(message);
    let package = match stored.name.rsplit('.').nth(2) {
        None | Some("events") => "core",
        Some(package) => package,
    };
    let from = message.go_name;
    let to = format!("{package}.{}", expected.kind);
    Err(DecodeError::Conversion { from, to })
}

fn check_version(expected: ExpectedType<'_>, api_version: &str) -> Result<(), Box<Status>> {
    if api_version == expected.api_version || expected.other_versions.contains(&api_version) {
        return Ok(());
    }
    let text = format!(
        "the API version in the data ({api_version}) does not match the expected API version ({})",
        expected.api_version
    );
    Err(Status::bad_request(text).into())
}

/// 413 for a body of many small parts.
pub(crate) fn too_large(error: BudgetExceeded) -> Box<Status> {
    Status::request_entity_too_large(format!("Request entity too large: {error}")).into()
}

/// 400 for a body of unknown kind.
fn unrecognized(expected: ExpectedType<'_>, cause: &str, body: &[u8]) -> Box<Status> {
    Status::bad_request(texts::unrecognized(expected.kind, cause, body)).into()
}

/// 400 for a body of a known kind that does not convert to the endpoint's.
fn cannot_be_handled(expected: ExpectedType<'_>, api_version: &str, kind: &str, cause: &str) -> Box<Status> {
    let version = split_api_version(api_version).1;
    Status::bad_request(texts::cannot_be_handled(kind, version, expected.kind, cause)).into()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may say what must hold")]
mod tests {
    use super::*;
    use FieldValidation::{Ignore, Strict, Warn};

    #[tokio::test]
    async fn truncated_body_returns_status_of_limit() {
        async fn check(error: BoxError, code: u16, message: &str) {
            let frames = [Ok(http_body::Frame::data(Bytes::from_static(b"{"))), Err(error)];
            let stream = http_body_util::StreamBody::new(futures::stream::iter(frames));
            let status = read(&mut stream.boxed_unsync()).await.unwrap_err();
            assert_eq!((status.code, status.message.as_str()), (code, message));
        }
        check("reset".into(), 400, "unable to read the request body: reset").await;
        check(Box::new(Status::too_many_requests("later", 1)), 429, "later").await;
    }

    /// Decodes a ConfigMap and compares the warnings or the error message.
    fn check(body: &[u8], validation: FieldValidation, expected: Result<&[&str], &str>) {
        let row = api::resources::find("", "v1", "configmaps", "").unwrap();
        let collected = Warnings::default();
        let decoded = decode(body, Format::Cbor, ExpectedType::of(row), validation, &collected);
        match decoded.map_err(|status| (status.code, status.message)) {
            Ok(_) => {
                let warnings = collected.texts();
                let warnings: Vec<&str> = warnings.iter().map(String::as_str).collect();
                assert_eq!(Ok(&warnings[..]), expected, "{body:?}");
            }
            Err((code, message)) => assert_eq!((code, Err(&*message)), (400, expected), "{body:?}"),
        }
    }

    #[test]
    fn unparseable_envelope_version_is_ignored() {
        let row = api::resources::find("", "v1", "configmaps", "").unwrap();
        let check = |api_version: &str, expected: Result<&str, u16>| {
            let mut body = Vec::new();
            proto::wrap(api_version, "ConfigMap", b"", &mut body);
            let decoded =
                decode(&body, Format::Protobuf, ExpectedType::of(row), Ignore, &Warnings::default());
            let actual = decoded.as_ref().map(|decoded| decoded.api_version.as_str());
            assert_eq!(actual.map_err(|status| status.code), expected, "{api_version}");
        };
        for unreadable in ["", "a/b/c", "a/b/", "a/", "/"] {
            check(unreadable, Ok("v1"));
        }
        check("v1", Ok("v1"));
        check("/v1", Ok("v1"));
        check("a/v1", Err(400));
    }

    #[test]
    fn cbor_honors_field_validation() {
        let unknown = b"\xd9\xd9\xf7\xa1\x44nope\x01";
        check(b"\xa1\x44data\xa0", Strict, Ok(&[]));
        check(unknown, Ignore, Ok(&[]));
        check(unknown, Warn, Ok(&["cbor: found unknown field at map element index 0"]));
        check(
            unknown,
            Strict,
            Err("ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: \
                 cbor: found unknown field at map element index 0"),
        );
    }

    #[test]
    fn cbor_errors_match_upstream() {
        check(
            b"x",
            Warn,
            Err("the object provided is unrecognized (must be of type ConfigMap): \
                 unable to determine group/version/kind: unexpected EOF (78)"),
        );
        check(
            b"\xa1\x44data\x01",
            Ignore,
            Err("ConfigMap in version \"v1\" cannot be handled as a ConfigMap: cbor: cannot unmarshal \
                 positive integer into Go struct field v1.ConfigMap.data of type map[string]string"),
        );
        check(
            b"\xa1\x44kind\x43Pod",
            Warn,
            Err("Pod in version \"v1\" cannot be handled as a ConfigMap: \
                 converting (v1.Pod) to (core.ConfigMap): unknown conversion"),
        );
        check(
            b"\xa2\x44kind\x44Nope\x4aapiVersion\x42v1",
            Warn,
            Err("Nope in version \"v1\" cannot be handled as a ConfigMap: no kind \"Nope\" is registered \
                 for version \"v1\" in scheme \"pkg/api/legacyscheme/scheme.go:30\""),
        );
    }

    #[test]
    fn other_known_version_is_rejected() {
        let check = |(group, resource, kind): (&str, &str, &str), sent: &str, endpoint: &str| {
            let row = api::resources::find(group, "v1", resource, "").unwrap();
            let body = format!("{{\"apiVersion\":\"{sent}\",\"kind\":\"{kind}\",\"nope\":1}}");
            let warnings = Warnings::default();
            let refused = decode(body.as_bytes(), Format::Json, ExpectedType::of(row), Warn, &warnings).err();
            assert_eq!(warnings.texts(), ["unknown field \"nope\""]);
            let text = format!(
                "the API version in the data ({sent}) does not match the expected API version ({endpoint})"
            );
            assert_eq!(refused.map(|status| status.message), Some(text));
        };
        check(("", "configmaps", "ConfigMap"), "__internal", "v1");
        check(("apps", "deployments", "Deployment"), "apps/__internal", "apps/v1");
        check(("apps", "deployments", "Deployment"), "extensions/v1beta1", "apps/v1");
        check(("networking.k8s.io", "ingresses", "Ingress"), "extensions/v1beta1", "networking.k8s.io/v1");
    }

    #[test]
    fn last_kind_wins_case_insensitively() {
        let row = api::resources::find("", "v1", "configmaps", "").unwrap();
        let check = |body: &str, expected: Result<&[&str], &str>| {
            let collected = Warnings::default();
            let decoded = decode(body.as_bytes(), Format::Json, ExpectedType::of(row), Warn, &collected);
            let warnings = collected.texts();
            let warnings: Vec<&str> = warnings.iter().map(String::as_str).collect();
            let outcome = decoded.map(|decoded| {
                let member =
                    |name| decoded.object.get(name).and_then(|value| value.as_str().map(str::to_owned));
                assert_eq!(
                    [member("apiVersion"), member("kind")].map(Option::unwrap),
                    ["v1", "ConfigMap"],
                    "{body}"
                );
                &warnings[..]
            });
            assert_eq!(outcome.map_err(|status| status.message), expected.map_err(str::to_owned), "{body}");
        };
        let conversion_error = "Secret in version \"v1\" cannot be handled as a ConfigMap: converting (v1.Secret) to \
                     (core.ConfigMap): unknown conversion";
        check(r#"{"kind":"ConfigMap","apiVersion":"v1"}"#, Ok(&[]));
        check(r#"{"apiVersion":"v1"}"#, Ok(&[]));
        check(r#"{"kind":null,"data":{}}"#, Ok(&[]));
        check(r#"{"kind":"","apiVersion":""}"#, Ok(&[]));
        check(r#"{"kind":"Secret","kind":"ConfigMap"}"#, Ok(&["duplicate field \"kind\""]));
        check(r#"{"kind":"ConfigMap","kind":"Secret"}"#, Err(conversion_error));
        check(r#"{"kind":"ConfigMap","KIND":"Secret"}"#, Err(conversion_error));
        check(r#"{"KIND":"ConfigMap"}"#, Ok(&["unknown field \"KIND\""]));
        check(
            r#"{"kind":"ConfigMap","apiVersion":"v1","apiversion":"v1"}"#,
            Ok(&["unknown field \"apiversion\""]),
        );
    }

    #[test]
    fn custom_resource_has_no_protobuf() {
        let expected = ExpectedType {
            api_version: "example.com/v1",
            kind: "Widget",
            other_versions: &[],
            custom: Some(&schema::custom::CUSTOM_RESOURCE),
            definition: None,
            scales_custom: false,
        };
        let mut body = Vec::new();
        proto::wrap("example.com/v2", "Widget", b"", &mut body);
        let check = |body: &[u8], text: &str| {
            let refused = decode(body, Format::Protobuf, expected, Ignore, &Warnings::default()).err();
            assert_eq!(refused.map(|status| (status.code, status.message)), Some((400, text.to_owned())));
        };
        check(
            &body,
            "Widget in version \"v2\" cannot be handled as a Widget: Object 'Kind' is missing in 'object has no kind \
             field '",
        );
        check(b"", "the object provided is unrecognized (must be of type Widget): empty data (<empty>)");
    }

    #[test]
    fn unversioned_scale_of_custom_resource_has_default_version() {
        let scale = |scales_custom| ExpectedType {
            api_version: "autoscaling/v1",
            kind: "Scale",
            other_versions: &[],
            custom: None,
            definition: None,
            scales_custom,
        };
        let members = |text: &str, scales_custom| {
            let decoded = decode_patched(text.as_bytes(), scale(scales_custom), false).unwrap();
            (decoded.object.contains_key("spec"), decoded.api_version)
        };
        let check = |text: &str, scales_custom, has_spec| {
            assert_eq!(members(text, scales_custom), (has_spec, "autoscaling/v1".to_owned()), "{text}");
        };
        check(r#"{"kind":"Scale","spec":{"replicas":3}}"#, true, true);
        check(r#"{"apiVersion":"","spec":{"replicas":3}}"#, true, true);
        check(r#"{"kind":"Scale","spec":{"replicas":3}}"#, false, false);
    }

    #[test]
    fn duplicate_fields_precede_unknown_fields() {
        let expected = ExpectedType {
            api_version: "example.com/v1",
            kind: "Widget",
            other_versions: &[],
            custom: Some(&schema::custom::CUSTOM_RESOURCE),
            definition: None,
            scales_custom: false,
        };
        let body =
            br#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"nope":1},"spec":1,"spec":2}"#;
        let warnings = Warnings::default();
        decode(body, Format::Json, expected, Warn, &warnings).map_err(|status| status.message).unwrap();
        assert_eq!(warnings.texts(), ["duplicate field \"spec\"", "unknown field \"metadata.nope\""]);
    }
}
