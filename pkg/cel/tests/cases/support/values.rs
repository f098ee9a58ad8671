//! Values in recorded notation.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cel::arena::Arena;
use cel::authorizer::{Authorizer, AuthorizerDecision};
use cel::ext::time;
use cel::value::{Check, Opaque, Value, text};
use jsontree::Value as Json;

/// The authorizer of upstream's tests, which allows everything.
#[derive(Debug)]
pub(crate) struct AllowAllAuthorizer;

impl Authorizer for AllowAllAuthorizer {
    fn authorize(&self, _: &Check<'_>, _: &str) -> AuthorizerDecision {
        AuthorizerDecision { allowed: true, ..AuthorizerDecision::default() }
    }
}

/// Decodes a recorded value; `None` if the recording does not contain it.
pub(crate) fn decode<'a>(recorded: &'a Json, arena: &'a Arena) -> Option<Value<'a>> {
    let Json::Object(fields) = recorded else {
        return match recorded {
            Json::Array(items) => {
                let items: Option<Vec<_>> = items.iter().map(|item| decode(item, arena)).collect();
                Some(arena.list(&items?).unwrap())
            }
            scalar => Some(Value::tree(scalar)),
        };
    };
    if fields.get("lazy").is_some() {
        return None;
    }
    if let Some(data) = fields.get("json") {
        let native = fields["native"].as_str().unwrap();
        let plain = ["map[string]", "[]string", "[]int"].iter().any(|start| native.starts_with(start));
        return plain.then(|| Value::tree(data));
    }
    if fields.get("object").is_some_and(|name| name == "kubernetes.authorization.Authorizer") {
        return Some(arena.opaque(Opaque::Authorizer(Check::of(&AllowAllAuthorizer))).unwrap());
    }
    let (kind, content) = fields.iter().find(|(name, _)| *name != "typename")?;
    let text = content.as_str().unwrap_or("");
    Some(match &**kind {
        "int" => Value::Int(text.parse().unwrap()),
        "uint" => Value::Uint(text.parse().unwrap()),
        "double" => Value::Double(match text {
            "+Inf" => f64::INFINITY,
            "-Inf" => f64::NEG_INFINITY,
            text => text.parse().unwrap(),
        }),
        "bytes" => arena.bytes(&STANDARD.decode(text).unwrap()).unwrap(),
        "timestamp" => Value::Timestamp(time::parse_timestamp(text).ok()?.into()),
        "duration" => Value::Duration(apimachinery::time::parse_duration(text).ok()?),
        "type" => Value::Type(text),
        "optional" => match content.as_array()?.first() {
            Some(inner) => arena.optional(decode(inner, arena)?).unwrap(),
            None => Value::Optional(None),
        },
        "mapval" => {
            let entries = content
                .as_array()?
                .iter()
                .map(|entry| Some((decode(&entry[0], arena)?, decode(&entry[1], arena)?)));
            arena.map(entries.collect::<Option<Vec<_>>>()?).unwrap()
        }
        "map" => {
            let entries = content
                .as_object()?
                .iter()
                .map(|(key, value)| Some((Value::String(key), decode(value, arena)?)));
            arena.map(entries.collect::<Option<Vec<_>>>()?).unwrap()
        }
        _ => return None,
    })
}

/// Returns true if a value equals the recorded one.
pub(crate) fn matches(value: Value<'_>, recorded: &Json, arena: &Arena) -> bool {
    if let (Value::Opaque(opaque), Some(name)) = (value, recorded.get("object")) {
        let data = match (opaque, recorded.get("fields")) {
            (Opaque::Object { fields, .. }, Some(recorded)) => same_fields(fields, recorded, arena),
            _ => true,
        };
        return data && opaque.type_name() == name;
    }
    if let (Value::List(list), Json::Array(items)) = (value, recorded) {
        return list.len() == items.len()
            && list.iter().zip(items).all(|(value, item)| matches(value, item, arena));
    }
    match decode(recorded, arena) {
        Some(expected) => same(value, expected),
        None => false,
    }
}

/// Returns true if fields equal the recorded ones; nested objects are recorded as maps.
fn same_fields(fields: &[(&str, Value<'_>)], recorded: &Json, arena: &Arena) -> bool {
    let Some(recorded) = recorded.get("map").and_then(Json::as_object) else { return false };
    fields.len() == recorded.len()
        && fields.iter().all(|(name, value)| match (value, recorded.get(*name)) {
            (Value::Opaque(Opaque::Object { fields, .. }), Some(recorded)) => {
                same_fields(fields, recorded, arena)
            }
            (Value::List(list), Some(Json::Array(items))) => {
                list.len() == items.len()
                    && list.iter().zip(items).all(|(value, item)| match value {
                        Value::Opaque(Opaque::Object { fields, .. }) => same_fields(fields, item, arena),
                        value => matches(value, item, arena),
                    })
            }
            (value, Some(recorded)) => matches(*value, recorded, arena),
            (_, None) => false,
        })
}

/// Compares types and values deeply.
fn same(a: Value<'_>, b: Value<'_>) -> bool {
    match (a, b) {
        (Value::List(a), Value::List(b)) => {
            a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| same(a, b))
        }
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len()
                && a.iter().all(|(key, value)| b.iter().any(|(k, v)| same(key, k) && same(value, v)))
        }
        (Value::Optional(Some(a)), Value::Optional(Some(b))) => same(*a, *b),
        (Value::Optional(a), Value::Optional(b)) => a.is_none() && b.is_none(),
        (Value::Double(a), Value::Double(b)) => a == b || a.is_nan() && b.is_nan(),
        (a, b) => a.type_name() == b.type_name() && text(a) == text(b),
    }
}
