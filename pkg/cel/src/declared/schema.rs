//! Declarations from structural schemas.

use super::{Builder, REQUEST_BYTES_MAX};
use crate::escaping::escape;
use crate::estimate::DataPosition;
use crate::types::Type;

/// Maximum schema nesting; deeper schemas are not exposed to expressions.
const DEPTH_MAX: u32 = 200;
/// Maximum JSON lengths of durations, timestamps and dates.
const DURATION_MAX: u64 = 32;
const DATE_TIME_MAX: u64 = 32;
const DATE: u64 = 12;
/// Maximum length of a resource's name. A generated name is at least one character longer than its prefix.
const NAME_LENGTH_MAX: u64 = 253;

/// Interface to a structural schema, as far as declarations need it.
pub trait Schema: Copy {
    /// `type`, empty if there is none.
    fn type_name(self) -> String;
    /// `format`, empty if there is none.
    fn format(self) -> String;
    /// `x-kubernetes-int-or-string`.
    fn is_int_or_string(self) -> bool;
    /// `x-kubernetes-embedded-resource`.
    fn is_embedded_resource(self) -> bool;
    /// `items`.
    fn items(self) -> Option<Self>;
    /// The schema in `additionalProperties`, if it is a schema.
    fn additional_properties(self) -> Option<Self>;
    /// `properties`.
    fn properties(self) -> Vec<(String, Self)>;
    /// Returns true if `required` contains a name.
    fn requires(self, name: &str) -> bool;
    /// Returns true if there is a `default` other than null.
    fn has_default(self) -> bool;
    /// `maxItems`.
    fn max_items(self) -> Option<i64>;
    /// `maxProperties`.
    fn max_properties(self) -> Option<i64>;
    /// `maxLength`.
    fn max_length(self) -> Option<i64>;
    /// Length in bytes of the longest string in `enum`; `None` without `enum`.
    fn longest_enum(self) -> Option<u64>;
}

impl Builder {
    /// Declares the data of a schema. Returns `None` if expressions may not use it. The root of a resource
    /// and embedded resources always have `apiVersion`, `kind` and `metadata`.
    pub fn schema<S: Schema>(&mut self, name: &str, schema: S, is_root: bool) -> Option<DataPosition> {
        self.declare(name, schema, is_root, 0)
    }

    fn declare<S: Schema>(
        &mut self,
        name: &str,
        schema: S,
        is_root: bool,
        depth: u32,
    ) -> Option<DataPosition> {
        if depth > DEPTH_MAX {
            return None;
        }
        if schema.is_int_or_string() {
            let max =
                schema.max_length().map_or(REQUEST_BYTES_MAX - 2, |max| non_negative(max).saturating_mul(4));
            return Some(self.simple(Type::DYN, max, 1));
        }
        match &*schema.type_name() {
            "array" => {
                let items = schema.items()?;
                let element =
                    self.declare(&format!("{name}.@idx"), items, items.is_embedded_resource(), depth + 1)?;
                let most = (REQUEST_BYTES_MAX - 2) / (self.min_serialized(element) + 1);
                Some(self.list(element, schema.max_items().map_or(most, non_negative)))
            }
            "object" if schema.additional_properties().is_some() => {
                let values = schema.additional_properties()?;
                let value =
                    self.declare(&format!("{name}.@elem"), values, values.is_embedded_resource(), depth + 1)?;
                let most = (REQUEST_BYTES_MAX - 2) / (self.min_serialized(value) + 6);
                let key = self.simple(Type::STRING, 0, 2);
                Some(self.map(key, value, schema.max_properties().map_or(most, non_negative)))
            }
            "object" => Some(self.declare_object(name, schema, is_root, depth)),
            "string" => Some(self.declare_string(schema)),
            "boolean" => Some(self.simple(Type::BOOL, 0, 4)),
            "number" => Some(self.simple(Type::DOUBLE, 0, 1)),
            "integer" => Some(self.simple(Type::INT, 0, 1)),
            _ => None,
        }
    }

    fn declare_string<S: Schema>(&mut self, schema: S) -> DataPosition {
        let max_length = schema.max_length().map(non_negative);
        match &*schema.format() {
            "byte" => self.simple(Type::BYTES, max_length.unwrap_or(REQUEST_BYTES_MAX - 2), 2),
            "duration" => self.simple(Type::DURATION, DURATION_MAX, 3),
            "date" => self.simple(Type::TIMESTAMP, DATE, DATE),
            "date-time" => self.simple(Type::TIMESTAMP, DATE_TIME_MAX, 21),
            _ => {
                // A code point has up to four bytes.
                let max = max_length.map(|max| max.saturating_mul(4)).or_else(|| schema.longest_enum());
                self.simple(Type::STRING, max.unwrap_or(REQUEST_BYTES_MAX - 2), 2)
            }
        }
    }

    fn declare_object<S: Schema>(
        &mut self,
        name: &str,
        schema: S,
        is_root: bool,
        depth: u32,
    ) -> DataPosition {
        let mut properties = schema.properties();
        let replaces_meta = is_root && !has_meta(&properties);
        if replaces_meta {
            properties.retain(|(name, _)| !matches!(&**name, "apiVersion" | "kind" | "metadata"));
        }
        let mut fields = Vec::with_capacity(properties.len());
        let mut min_serialized = 2;
        for (property, schema_of) in properties {
            let path = format!("{name}.{}", escape(&property).unwrap_or_default());
            let declared = self.declare(&path, schema_of, schema_of.is_embedded_resource(), depth + 1);
            let Some(place) = declared else { continue };
            if schema.requires(&property) && !schema_of.has_default() {
                min_serialized += property.len() as u64 + self.min_serialized(place) + 4;
            }
            fields.extend(escape(&property).map(|escaped| (escaped, place)));
        }
        if replaces_meta {
            let text = self.simple(Type::STRING, REQUEST_BYTES_MAX - 2, 2);
            let meta = self.declare_meta(name, schema);
            for (property, place) in [("apiVersion", text), ("kind", text), ("metadata", meta)] {
                if schema.requires(property) {
                    min_serialized += property.len() as u64 + self.min_serialized(place) + 4;
                }
                fields.push((property.to_owned(), place));
            }
        }
        self.object(name, fields, min_serialized)
    }

    /// Declares `metadata` with names of limited length. A schema can limit them further.
    fn declare_meta<S: Schema>(&mut self, name: &str, schema: S) -> DataPosition {
        let meta = property(&schema.properties(), "metadata").map(S::properties).unwrap_or_default();
        let mut fields = Vec::with_capacity(2);
        for (member, max) in [("name", NAME_LENGTH_MAX), ("generateName", NAME_LENGTH_MAX - 1)] {
            let declared = property(&meta, member).and_then(S::max_length).map_or(max, non_negative);
            fields.push((member.to_owned(), self.simple(Type::STRING, 4 * declared.min(max), 2)));
        }
        self.object(&format!("{name}.metadata"), fields, 2)
    }
}

/// Returns the schema of a property.
fn property<S: Schema>(properties: &[(String, S)], name: &str) -> Option<S> {
    properties.iter().find(|(property, _)| property == name).map(|(_, schema)| *schema)
}

/// Returns true if a resource's schema declares the common object members itself.
fn has_meta<S: Schema>(properties: &[(String, S)]) -> bool {
    let find = |properties: &[(String, S)], name: &str, ty: &str| {
        property(properties, name).filter(|schema| schema.type_name() == ty)
    };
    let Some(meta) = find(properties, "metadata", "object") else { return false };
    let meta = meta.properties();
    find(properties, "kind", "string").is_some()
        && find(properties, "apiVersion", "string").is_some()
        && find(&meta, "name", "string").is_some()
        && find(&meta, "generateName", "string").is_some()
}

fn non_negative(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}
