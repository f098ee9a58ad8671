//! Types with a custom form: bytes, quantities, times, verbatim JSON, and the schema types with alternative
//! forms.

use apimachinery::quantity;
use apimachinery::time::{parse_micro_time, parse_time};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use jsontree::Value;

use super::decoder::{Decoder, ExpectedEncoding};
use super::errors::Error;
use super::scan::{Major, NULL};
use crate::json::leaf::{null_if_empty, schema_of};
use crate::json::path::{ValuePosition, go_type};
use crate::json::{self, base64 as go_base64};
use crate::json_write;
use crate::table::{Cardinality, Field, Message, Shape};

impl ExpectedEncoding {
    /// The text that the bytes represent.
    pub(super) fn text(self, bytes: &[u8]) -> String {
        match self {
            ExpectedEncoding::Base64Url => URL_SAFE_NO_PAD.encode(bytes),
            ExpectedEncoding::Base64 => STANDARD.encode(bytes),
            ExpectedEncoding::Base16 => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        }
    }
}

impl Decoder<'_> {
    /// Decodes bytes: a byte string of base64, or of raw bytes if it has the expected-conversion tag, or an
    /// array of numbers because Go's bytes are a slice.
    pub(super) fn bytes(&mut self, major: Major) -> Result<Option<Value>, Error> {
        match major {
            Major::Bytes => {
                let bytes = self.scan.string()?.bytes;
                let decoded = if self.expected_encodings.is_empty() {
                    go_base64::decode(&bytes).map_err(|at| {
                        let text =
                            "failed to decode base64 from byte string: illegal base64 data at input byte";
                        Error::Invalid(format!("{text} {at}"))
                    })?
                } else {
                    bytes.into_owned()
                };
                Ok(Some(Value::from(STANDARD.encode(decoded))))
            }
            Major::Array => self.byte_list().map(|bytes| Some(Value::from(STANDARD.encode(bytes)))),
            _ => self.skip_mismatch("[]uint8".into()).map(|()| None),
        }
    }

    fn byte_list(&mut self) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let mut first = None;
        let mut remaining = self.scan.open()?;
        while self.scan.has_more(&mut remaining)? {
            match self.integer(0..=255, "uint8".into()) {
                Ok(byte) => bytes.push(byte.and_then(|byte| byte.as_u64()).unwrap_or(0) as u8),
                Err(error) => {
                    first.get_or_insert(error);
                }
            }
        }
        first.map_or(Ok(bytes), Err)
    }

    /// Decodes text or null. `None` only for an untagged null.
    fn optional_text(&mut self) -> Result<Option<String>, Error> {
        if self.scan.at_nil() {
            Ok(None)
        } else {
            self.text("string".into()).map(|text| Some(text.unwrap_or_default()))
        }
    }
}

/// Decodes a type with a custom decoder in Go.
pub(super) fn decode(
    decoder: &mut Decoder<'_>,
    message: &'static Message,
    field: &'static Field,
) -> Result<Option<Value>, Error> {
    decoder.scan.skip_self_described()?;
    let tags = decoder.scan.check_tags();
    let item = decoder.scan.skip()?;
    tags?;
    let mut inner = decoder.nested(item);
    let value = match message.shape {
        Shape::Quantity => quantity(&mut inner),
        Shape::IntOrString => int_or_string(&mut inner, item),
        Shape::Time | Shape::MicroTime => time(&mut inner, message.shape, field.pointer),
        Shape::SchemaOrArray | Shape::SchemaOrBool | Shape::SchemaOrStringArray => {
            schema_or(&mut inner, message, item)
        }
        Shape::RawExtension | Shape::FieldsV1 => match raw(&mut inner, message.shape, item) {
            Ok(text) => Ok(text.map(Value::from)),
            Err(error) => {
                decoder.afterwards.get_or_insert(error);
                Ok(None)
            }
        },
        Shape::Json if item.first() == Some(&NULL) => Ok(None),
        Shape::Json => inner.any().and_then(|value| to_json(&value)).map(|text| Some(Value::from(text))),
        _ => by_json(&mut inner, message, field),
    };
    decoder.budget = inner.budget;
    value
}

fn quantity(inner: &mut Decoder<'_>) -> Result<Option<Value>, Error> {
    let Some(text) = inner.optional_text()? else { return Ok(None) };
    match quantity::canonicalize(text.trim()) {
        Ok(text) => Ok(Some(Value::from(text))),
        Err(error) => Err(Error::Value(error.to_string())),
    }
}

/// Decodes text, otherwise an integer; null is the empty text.
fn int_or_string(inner: &mut Decoder<'_>, item: &[u8]) -> Result<Option<Value>, Error> {
    if let Ok(text) = inner.text("string".into()) {
        return Ok(Some(Value::from(text.unwrap_or_default())));
    }
    inner.nested(item).integer(i64::from(i32::MIN)..=i64::from(i32::MAX), "int32".into())
}

fn time(inner: &mut Decoder<'_>, shape: Shape, pointer: bool) -> Result<Option<Value>, Error> {
    // Go has already allocated the pointer to a zero time.
    let zero = pointer.then_some(Value::Null);
    let Some(text) = inner.optional_text()? else { return Ok(zero) };
    let parsed = if shape == Shape::Time { parse_time(&text) } else { parse_micro_time(&text) };
    let time = parsed.map_err(|error| Error::Value(error.to_string()))?;
    Ok(match shape {
        _ if time.is_go_zero() => zero,
        Shape::Time => Some(time.rfc3339().into()),
        _ => Some(time.rfc3339_micro().into()),
    })
}

fn schema_or(
    inner: &mut Decoder<'_>,
    message: &'static Message,
    item: &[u8],
) -> Result<Option<Value>, Error> {
    let or_bool = message.shape == Shape::SchemaOrBool;
    match (inner.scan.major()?, item.first()) {
        (Major::Map, _) => match message.fields.iter().find_map(schema_of) {
            Some(schema) => {
                inner.deeper(|inner| inner.decode_root(schema)).map(|object| Some(Value::Object(object)))
            }
            None => Ok(None),
        },
        (_, Some(byte @ (0xf4 | 0xf5))) if or_bool => Ok(Some(Value::Bool(*byte == 0xf5))),
        _ if or_bool => Err(Error::Value("boolean or JSON schema expected".to_owned())),
        (Major::Array, _) => match message.fields.iter().find(|field| field.cardinality == Cardinality::List)
        {
            Some(items) => {
                inner.list(items, go_type(items, ValuePosition::Field)).map(|list| list.map(null_if_empty))
            }
            None => Ok(None),
        },
        // Other types are decoded as an empty value.
        _ => Ok(Some(Value::Null)),
    }
}

/// Decodes verbatim JSON. Upstream converts the CBOR only after decoding the whole object, hence the error
/// text.
fn raw(inner: &mut Decoder<'_>, shape: Shape, item: &[u8]) -> Result<Option<String>, Error> {
    if item == [NULL] {
        return Ok(None);
    }
    let failed = |value_kind: &str, error| Error::Value(format!("failed to transcode {value_kind}: {error}"));
    let value = match shape {
        Shape::FieldsV1 => inner
            .any_object()
            .map(|object| object.map_or(Value::Null, Value::Object))
            .map_err(|error| failed("FieldsV1 to JSON: metav1.FieldsV1 cbor invalid", error)),
        _ => inner.any().map_err(|error| {
            failed("RawExtension to JSON: failed to parse RawExtension bytes as CBOR", error)
        }),
    };
    to_json(&value?).map(Some)
}

/// The JSON of a value, as encoded by Go.
fn to_json(value: &Value) -> Result<String, Error> {
    let mut text = Vec::new();
    json_write::untyped(value, &mut text).map_err(|error| Error::Value(error.to_string()))?;
    Ok(String::from_utf8(text).unwrap_or_default())
}

/// Decodes a type that supports only JSON, by converting the value to JSON.
fn by_json(
    inner: &mut Decoder<'_>,
    message: &'static Message,
    field: &'static Field,
) -> Result<Option<Value>, Error> {
    let value = inner.any().and_then(|value| to_json(&value));
    let text =
        value.map_err(|error| Error::Value(format!("cbor: cannot transcode from cbor to json: {error}")))?;
    json::typed::leaf(message, field, text.as_bytes()).map_err(|error| Error::Value(error.to_string()))
}
