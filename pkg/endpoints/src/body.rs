//! Request bodies: read within a bound, decoded into trees.

use api::resources::Resource;
use apimachinery::status::Status;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use schema::json::errors as texts;
use schema::object::Object;
use schema::proto::{self, Envelope};
use schema::table::Message;
use schema::{builtin, json, yaml};

use crate::dispatch::Body;
use crate::negotiate::Format;

/// The largest body that is read (upstream's `MaxRequestBodyBytes`).
pub(crate) const BODY_BYTES_MAX: usize = 3 * 1024 * 1024;

/// Reads a whole body.
///
/// # Errors
/// 413 above the bound, 400 when the connection fails.
pub(crate) async fn read(body: &mut Body) -> Result<Bytes, Box<Status>> {
    let mut all = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|e| Status::bad_request(format!("unable to read the request body: {e}")))?;
        let Ok(data) = frame.into_data() else { continue };
        if all.len() + data.len() > BODY_BYTES_MAX {
            let message = format!("Request entity too large: limit is {BODY_BYTES_MAX}");
            return Err(Status::request_entity_too_large(message).into());
        }
        all.extend_from_slice(&data);
    }
    Ok(all.freeze())
}

/// What to do about unknown and duplicate fields (`fieldValidation`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    /// Nothing.
    Ignore,
    /// Warn.
    Warn,
    /// Refuse the request.
    Strict,
}

impl FieldValidation {
    /// Reads the query parameter; empty means `Warn`.
    pub(crate) fn parse(text: &str) -> Self {
        match text {
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            _ => FieldValidation::Warn,
        }
    }
}

/// A decoded body.
pub(crate) struct Decoded {
    /// The object, in the version that it came in.
    pub(crate) object: Object,
    /// That version; the endpoint's own where the body did not say.
    pub(crate) api_version: String,
    /// Unknown and duplicate fields, for `Warning` headers.
    pub(crate) warnings: Vec<String>,
}

/// What a body is expected to hold.
#[derive(Clone, Copy)]
pub(crate) struct Expected<'e> {
    /// `apiVersion` where the body has none.
    pub(crate) api_version: &'e str,
    /// Kind where the body has none; no other kind is taken.
    pub(crate) kind: &'e str,
    /// Other versions of the kind that are taken too.
    pub(crate) other_versions: &'e [&'e str],
}

impl Expected<'_> {
    /// What an endpoint's row takes.
    pub(crate) fn of(endpoint: &'static Resource) -> Expected<'static> {
        Expected { api_version: endpoint.kind_group_version, kind: endpoint.kind, other_versions: &[] }
    }
}

/// Decodes a body.
///
/// # Errors
/// 400, worded as upstream words it.
pub(crate) fn decode(
    body: &[u8],
    format: Format,
    expected: Expected<'_>,
    validation: FieldValidation,
) -> Result<Decoded, Box<Status>> {
    match format {
        Format::Json => decode_json(body, body, expected, validation, Vec::new()),
        Format::Yaml => {
            let converted = yaml::to_json(body).map_err(|e| unrecognized(expected, &e.to_string(), body))?;
            decode_json(&converted.json, body, expected, validation, converted.duplicates)
        }
        Format::Protobuf => decode_protobuf(body, expected),
    }
}

fn decode_json(
    text: &[u8],
    body: &[u8],
    expected: Expected<'_>,
    validation: FieldValidation,
    mut strict: Vec<String>,
) -> Result<Decoded, Box<Status>> {
    let head = json::type_meta(text).map_err(|e| unrecognized(expected, &e.to_string(), body))?;
    let or =
        |given: &str, default: &str| if given.is_empty() { default.to_owned() } else { given.to_owned() };
    let (api_version, kind) = (or(&head.api_version, expected.api_version), or(&head.kind, expected.kind));
    let message = message_of(expected, &api_version, &kind)?;
    let decoded = json::decode(message, text)
        .map_err(|e| cannot_be_handled(expected, &api_version, &kind, &e.to_string()))?;
    strict.extend(decoded.strict.iter().map(ToString::to_string));
    match validation {
        FieldValidation::Ignore => strict.clear(),
        FieldValidation::Strict if !strict.is_empty() => {
            let text = texts::strict_decoding_error(&strict);
            return Err(cannot_be_handled(expected, &api_version, &kind, &text));
        }
        _ => {}
    }
    Ok(Decoded { object: decoded.object, api_version, warnings: strict })
}

fn decode_protobuf(body: &[u8], expected: Expected<'_>) -> Result<Decoded, Box<Status>> {
    let envelope = Envelope::parse(body).map_err(|e| unrecognized(expected, &e.to_string(), body))?;
    let api_version =
        if envelope.api_version.is_empty() { expected.api_version } else { &*envelope.api_version };
    let kind = if envelope.kind.is_empty() { expected.kind } else { &*envelope.kind };
    let message = message_of(expected, api_version, kind)?;
    let mut object = proto::decode(message, envelope.raw)
        .map_err(|e| cannot_be_handled(expected, api_version, kind, &e.to_string()))?;
    object.insert("kind".to_owned(), kind.into());
    object.insert("apiVersion".to_owned(), api_version.into());
    Ok(Decoded { object, api_version: api_version.to_owned(), warnings: Vec::new() })
}

/// The shape of a body by what it says it is.
fn message_of(
    expected: Expected<'_>,
    api_version: &str,
    kind: &str,
) -> Result<&'static Message, Box<Status>> {
    let Some(message) = builtin::kind(api_version, kind) else {
        return Err(cannot_be_handled(
            expected,
            api_version,
            kind,
            &texts::not_registered(kind, api_version),
        ));
    };
    if kind != expected.kind {
        let text = unknown_conversion(message, expected.kind);
        return Err(cannot_be_handled(expected, api_version, kind, &text));
    }
    if api_version != expected.api_version && !expected.other_versions.contains(&api_version) {
        let text = format!(
            "the API version in the data ({api_version}) does not match the expected API version ({})",
            expected.api_version
        );
        return Err(Status::bad_request(text).into());
    }
    Ok(message)
}

/// 400 for a body whose kind is not even known.
fn unrecognized(expected: Expected<'_>, cause: &str, body: &[u8]) -> Box<Status> {
    Status::bad_request(texts::unrecognized(expected.kind, cause, body)).into()
}

/// 400 for a body that is of a kind but cannot be read as what the endpoint takes.
fn cannot_be_handled(expected: Expected<'_>, api_version: &str, kind: &str, cause: &str) -> Box<Status> {
    let version = apimachinery::gvk::split_api_version(api_version).1;
    Status::bad_request(texts::cannot_be_handled(kind, version, expected.kind, cause)).into()
}

/// Upstream's words for a known kind where another is wanted; it names the Go types.
pub(crate) fn unknown_conversion(message: &Message, wanted: &str) -> String {
    let package = message.name.rsplit('.').nth(2).unwrap_or("core");
    format!("converting ({}) to ({package}.{wanted}): unknown conversion", message.go_name)
}

/// Decodes the options of a deletion; they may come as `DeleteOptions` of any group version.
///
/// # Errors
/// 400.
pub(crate) fn decode_options(
    body: &[u8],
    format: Format,
    message: &'static Message,
) -> Result<Object, Box<Status>> {
    let failed = |text: String| Box::new(Status::bad_request(text));
    let known = |api_version: &str, kind: &str| match kind.is_empty()
        || builtin::kind(api_version, kind) == Some(message)
    {
        true => Ok(()),
        false => Err(failed(format!(
            "no kind \"{kind}\" is registered for version \"{api_version}\" in scheme \
             \"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27\""
        ))),
    };
    if format == Format::Protobuf {
        let envelope = Envelope::parse(body).map_err(|e| failed(e.to_string()))?;
        known(&envelope.api_version, &envelope.kind)?;
        return proto::decode(message, envelope.raw).map_err(|e| failed(e.to_string()));
    }
    let converted;
    let text = match format {
        Format::Yaml => {
            converted = yaml::to_json(body).map_err(|e| failed(e.to_string()))?;
            &converted.json[..]
        }
        _ => body,
    };
    let head = json::type_meta(text).map_err(|e| failed(e.to_string()))?;
    known(&head.api_version, &head.kind)?;
    Ok(json::decode(message, text).map_err(|e| failed(e.to_string()))?.object)
}
