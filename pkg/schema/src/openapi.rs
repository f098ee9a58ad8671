//! OpenAPI definitions generated from the tables: `definitions` of Swagger 2.0 and `components.schemas` of
//! OpenAPI 3.0. A [`Describe`] function provides the descriptions.

mod writer;

use std::collections::BTreeMap;

use crate::table::{Cardinality, Field, Message, Shape, Type};

pub use writer::Writer;

/// The document formats, which differ for some types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// Swagger 2.0: no defaults, no `oneOf`, no siblings of a `$ref`.
    V2,
    /// OpenAPI 3.0.
    V3,
}

/// Returns the description of a definition, or of its member if the second name is not empty. An empty
/// description is omitted.
pub type Describe = fn(definition: &str, member: &str) -> &'static str;

/// A group, version and kind of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gvk<'a> {
    /// API group; empty for the core group.
    pub group: &'a str,
    /// The version without the group, such as `v1`.
    pub version: &'a str,
    /// The kind, such as `Pod`.
    pub kind: &'a str,
}

impl Gvk<'_> {
    /// Writes an element of `x-kubernetes-group-version-kind`.
    pub fn write(&self, w: &mut Writer) {
        w.object(|w| {
            w.text("group", self.group);
            w.text("kind", self.kind);
            w.text("version", self.version);
        });
    }
}

/// Members without a description in Go. Upstream writes a bare `$ref` for them. For all other members the
/// description forces the reference into an `allOf`, because a `$ref` must not have siblings.
const UNDESCRIBED: [(&str, &str); 6] = [
    ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps", "additionalItems"),
    ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps", "additionalProperties"),
    ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps", "example"),
    ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps", "externalDocs"),
    ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps", "items"),
    ("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps", "not"),
];

impl Dialect {
    /// The prefix of the definition's name in a `$ref`.
    pub fn reference_prefix(self) -> &'static str {
        match self {
            Dialect::V2 => "#/definitions/",
            Dialect::V3 => "#/components/schemas/",
        }
    }

    /// Writes an object with a `$ref` to the definition `name`.
    pub fn reference(self, name: &str, w: &mut Writer) {
        w.object(|w| self.reference_member(name, w));
    }

    fn reference_member(self, name: &str, w: &mut Writer) {
        w.text("$ref", &[self.reference_prefix(), name].concat());
    }
}

/// The transitive closure of types used by `roots`, including `roots`, by name. Types without a definition of
/// their own (named slices) are traversed but not included.
pub fn closure(
    roots: impl IntoIterator<Item = &'static Message>,
) -> BTreeMap<&'static str, &'static Message> {
    let mut messages = BTreeMap::new();
    let mut rest: Vec<&'static Message> = roots.into_iter().collect();
    while let Some(message) = rest.pop() {
        let listed = message.shape != Shape::Wrapper && !message.info.no_openapi;
        if listed && messages.insert(message.name, message).is_some() {
            continue;
        }
        if listed && message.shape != Shape::Struct {
            continue;
        }
        rest.extend(message.members.iter().filter_map(|member| match member.field.ty {
            Type::Message(inner) => Some(inner),
            _ => None,
        }));
        if message.shape == Shape::Wrapper {
            rest.extend(message.fields.iter().filter_map(|field| match field.ty {
                Type::Message(inner) => Some(inner),
                _ => None,
            }));
        }
    }
    messages
}

/// Writes the definition of a type. `kinds` become `x-kubernetes-group-version-kind`.
pub fn definition(
    message: &'static Message,
    dialect: Dialect,
    kinds: &[Gvk<'_>],
    describe: Describe,
    w: &mut Writer,
) {
    w.object(|w| {
        w.description(describe(message.name, ""));
        match message.shape {
            Shape::Struct => structure(message, dialect, describe, w),
            other => special(other, dialect, w),
        }
        if !kinds.is_empty() {
            w.key("x-kubernetes-group-version-kind");
            w.array(|w| kinds.iter().for_each(|kind| kind.write(w)));
        }
        w.text_if_any("x-kubernetes-map-type", message.info.map_type);
        w.raw_if_any("x-kubernetes-unions", message.info.unions);
    });
}

/// Types with a custom JSON form.
fn special(shape: Shape, dialect: Dialect, w: &mut Writer) {
    let one_of = |w: &mut Writer, types: [&str; 2]| {
        w.key("oneOf");
        w.array(|w| types.iter().for_each(|name| w.object(|w| w.text("type", name))));
    };
    match (shape, dialect) {
        (Shape::Quantity, Dialect::V3) => one_of(w, ["string", "number"]),
        (Shape::IntOrString, Dialect::V3) => {
            w.text("format", "int-or-string");
            one_of(w, ["integer", "string"]);
        }
        (Shape::IntOrString, Dialect::V2) => {
            w.text("type", "string");
            w.text("format", "int-or-string");
        }
        (Shape::Quantity, Dialect::V2) | (Shape::Duration, _) => w.text("type", "string"),
        (Shape::Time | Shape::MicroTime, _) => {
            w.text("type", "string");
            w.text("format", "date-time");
        }
        (Shape::FieldsV1 | Shape::RawExtension | Shape::Unknown, _) => w.text("type", "object"),
        // Any value.
        (Shape::Json | Shape::SchemaOrArray | Shape::SchemaOrBool | Shape::SchemaOrStringArray, _) => {}
        // Written inline or by `structure`.
        (Shape::Struct | Shape::Wrapper, _) => {}
    }
}

fn structure(message: &'static Message, dialect: Dialect, describe: Describe, w: &mut Writer) {
    w.text("type", "object");
    let mut required = Vec::new();
    required_members(message, &mut required);
    w.texts_if_any("required", &required);
    let mut properties: Vec<(&str, Option<&'static Field>)> =
        message.members.iter().map(|member| (member.name, Some(member.field))).collect();
    if message.type_meta {
        properties.extend([("apiVersion", None), ("kind", None)]);
        properties.sort_unstable_by_key(|(name, _)| *name);
    }
    if properties.is_empty() {
        return;
    }
    w.key("properties");
    w.object(|w| {
        for (name, field) in properties {
            w.key(name);
            w.object(|w| {
                w.description(describe(message.name, name));
                match field {
                    Some(field) => property(message.name, field, dialect, w),
                    None => w.text("type", "string"),
                }
            });
        }
    });
}

/// Required members in the order of the Go fields.
fn required_members(message: &'static Message, names: &mut Vec<&'static str>) {
    for field in message.fields {
        match field.ty {
            Type::Message(inner) if field.inlined() => required_members(inner, names),
            _ if field.info.required => names.push(field.name),
            _ => {}
        }
    }
}

/// The members of a property's schema.
fn property(owner: &str, field: &'static Field, dialect: Dialect, w: &mut Writer) {
    let info = field.info;
    let default = if dialect == Dialect::V3 { info.default } else { "" };
    match field.cardinality {
        Cardinality::One => one(field, default, UNDESCRIBED.contains(&(owner, field.name)), dialect, w),
        Cardinality::List => list(field, default, dialect, w),
        Cardinality::Map => {
            w.text("type", "object");
            w.raw_if_any("default", default);
            w.key("additionalProperties");
            element(field, dialect, w);
        }
    }
    w.texts_if_any("x-kubernetes-list-map-keys", info.list_map_keys);
    w.text_if_any("x-kubernetes-list-type", info.list_type);
    w.text_if_any("x-kubernetes-map-type", info.map_type);
    w.text_if_any("x-kubernetes-patch-merge-key", info.patch_merge_key);
    w.text_if_any("x-kubernetes-patch-strategy", info.patch_strategy);
    w.raw_if_any("x-kubernetes-validations", info.validations);
}

fn one(field: &'static Field, default: &str, undescribed: bool, dialect: Dialect, w: &mut Writer) {
    let info = field.info;
    match field.ty {
        Type::Message(inner) if inner.shape == Shape::Wrapper => {
            array_of(inner.fields.first(), default, dialect, w)
        }
        Type::Message(inner) if dialect == Dialect::V2 || (undescribed && default.is_empty()) => {
            dialect.reference_member(inner.name, w);
        }
        Type::Message(inner) => {
            w.raw_if_any("default", default);
            w.key("allOf");
            w.array(|w| dialect.reference(inner.name, w));
        }
        scalar => {
            scalar_type(scalar, w);
            w.raw_if_any("default", default);
            w.raw_if_any("maximum", info.maximum);
            w.raw_if_any("minimum", info.minimum);
            w.enum_values(info.enum_values);
        }
    }
}

fn list(field: &'static Field, default: &str, dialect: Dialect, w: &mut Writer) {
    array_of(Some(field), default, dialect, w);
}

fn array_of(field: Option<&'static Field>, default: &str, dialect: Dialect, w: &mut Writer) {
    w.text("type", "array");
    w.raw_if_any("default", default);
    if let Some(field) = field {
        w.key("items");
        element(field, dialect, w);
    }
}

/// The schema of a list's or map's element.
fn element(field: &'static Field, dialect: Dialect, w: &mut Writer) {
    let info = field.info;
    let default = if dialect == Dialect::V3 { info.item_default } else { "" };
    w.object(|w| match field.ty {
        Type::Message(inner) if inner.shape == Shape::Wrapper => {
            array_of(inner.fields.first(), default, dialect, w)
        }
        Type::Message(inner) if default.is_empty() => dialect.reference_member(inner.name, w),
        Type::Message(inner) => {
            w.raw_if_any("default", default);
            w.key("allOf");
            w.array(|w| dialect.reference(inner.name, w));
        }
        scalar => {
            scalar_type(scalar, w);
            w.raw_if_any("default", default);
            w.enum_values(info.item_enum_values);
        }
    });
}

fn scalar_type(ty: Type, w: &mut Writer) {
    let (name, format) = match ty {
        Type::String => ("string", ""),
        Type::Bytes => ("string", "byte"),
        Type::Bool => ("boolean", ""),
        Type::Int32 => ("integer", "int32"),
        Type::Int64 => ("integer", "int64"),
        Type::Double => ("number", "double"),
        Type::Any | Type::Message(_) => ("", ""),
    };
    w.text_if_any("type", name);
    w.text_if_any("format", format);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use jsontree::{Value, json};

    use super::*;
    use crate::builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_STATUSDETAILS as DETAILS;

    #[test]
    fn definitions_and_members_have_descriptions() {
        let describe: Describe = |definition, member| match member {
            "" if definition == DETAILS.name => "All of it.",
            "kind" => "What kind.",
            _ => "",
        };
        let mut w = Writer::new();
        definition(&DETAILS, Dialect::V3, &[], describe, &mut w);
        let definition: Value = serde_json::from_slice(&w.into_bytes()).unwrap();
        assert_eq!(definition["description"], "All of it.");
        assert_eq!(
            definition["properties"]["kind"],
            json!({ "description": "What kind.", "type": "string" })
        );
        assert_eq!(definition["properties"]["name"], json!({ "type": "string" }));
    }
}
