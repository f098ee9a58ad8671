//! Structural schemas in JSON form.

use jsontree::Value as Json;

use crate::declared::schema::Schema;

/// A schema in its JSON form.
#[derive(Clone, Copy, Debug)]
pub struct JsonSchema<'s>(pub &'s Json);

impl JsonSchema<'_> {
    fn text(self, name: &str) -> String {
        self.0[name].as_str().unwrap_or("").to_owned()
    }
}

impl Schema for JsonSchema<'_> {
    fn type_name(self) -> String {
        self.text("type")
    }

    fn format(self) -> String {
        self.text("format")
    }

    fn is_int_or_string(self) -> bool {
        self.0["x-kubernetes-int-or-string"] == true
    }

    fn is_embedded_resource(self) -> bool {
        self.0["x-kubernetes-embedded-resource"] == true
    }

    fn items(self) -> Option<Self> {
        self.0.get("items").map(JsonSchema)
    }

    fn additional_properties(self) -> Option<Self> {
        self.0.get("additionalProperties").filter(|schema| schema.is_object()).map(JsonSchema)
    }

    fn properties(self) -> Vec<(String, Self)> {
        let properties = self.0.get("properties").and_then(Json::as_object);
        properties
            .into_iter()
            .flatten()
            .map(|(name, schema)| (name.to_string(), JsonSchema(schema)))
            .collect()
    }

    fn requires(self, name: &str) -> bool {
        self.0["required"].as_array().is_some_and(|names| names.iter().any(|other| other == name))
    }

    fn has_default(self) -> bool {
        self.0.get("default").is_some_and(|default| !default.is_null())
    }

    fn max_items(self) -> Option<i64> {
        self.0["maxItems"].as_i64()
    }

    fn max_properties(self) -> Option<i64> {
        self.0["maxProperties"].as_i64()
    }

    fn max_length(self) -> Option<i64> {
        self.0["maxLength"].as_i64()
    }

    fn longest_enum(self) -> Option<u64> {
        let values = self.0.get("enum").and_then(Json::as_array).filter(|values| !values.is_empty())?;
        Some(values.iter().filter_map(Json::as_str).map(|value| value.len() as u64).max().unwrap_or(0))
    }
}
