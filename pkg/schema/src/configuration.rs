//! Files of configuration that have a kind and a version, such as `AuthenticationConfiguration`: read as strictly as
//! upstream's codecs read them, against a small table of the members that there are.

use apimachinery::go_json;
use apimachinery::go_quote::Quoted;
use serde_json::{Map, Value};

use crate::json::errors::{not_registered, strict_decoding_error};

/// A kind of file.
#[derive(Debug, Clone, Copy)]
pub struct ConfigurationFile {
    /// The group of its API.
    pub group: &'static str,
    /// The versions in which it may be written. All have the same members.
    pub versions: &'static [&'static str],
    /// What upstream calls the set of types that it reads the file by.
    pub scheme: &'static str,
    /// Its members; the kind is their name.
    pub members: &'static Members,
}

/// What a Go struct consists of.
#[derive(Debug)]
pub struct Members {
    /// The struct's name.
    pub name: &'static str,
    /// Its members besides kind and version.
    pub all: &'static [(&'static str, Shape)],
}

/// What a member may be. `null` is the same as nothing everywhere.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// A string.
    Text,
    /// A boolean.
    Bool,
    /// A number without a fraction, which fits Go's `int32`.
    Int32,
    /// A struct.
    Struct(&'static Members),
    /// A list.
    List(&'static Shape),
    /// Whatever it is: nobody reads it.
    Any,
}

impl Shape {
    /// The Go type, as errors call it.
    fn go_type(self, version: &str) -> String {
        match self {
            Shape::Text => "string".to_owned(),
            Shape::Bool => "bool".to_owned(),
            Shape::Int32 => "int32".to_owned(),
            Shape::Struct(members) => format!("{version}.{}", members.name),
            Shape::List(element) => format!("[]{}", element.go_type(version)),
            Shape::Any => "interface {}".to_owned(),
        }
    }
}

/// What a file says: its version, and its members without those that are `null`.
#[derive(Debug, Clone, PartialEq)]
pub struct Configuration {
    /// The version that it is written in, without the group.
    pub version: &'static str,
    /// Everything but kind and version.
    pub members: Map<String, Value>,
}

impl ConfigurationFile {
    /// Reads a text, YAML or JSON.
    ///
    /// # Errors
    /// What upstream says of the text: it is of another kind, or has members that there are not, or that are not
    /// what they should be.
    pub fn read(&self, text: &[u8]) -> Result<Configuration, String> {
        match self.read_leniently(text)? {
            (configuration, None) => Ok(configuration),
            (_, Some(strict)) => Err(strict),
        }
    }

    /// Reads a text as [`read`](Self::read) does, and leaves members out that there are not. With it comes what a
    /// strict reader says of them.
    ///
    /// # Errors
    /// As [`read`](Self::read), but for those members.
    pub fn read_leniently(&self, text: &[u8]) -> Result<(Configuration, Option<String>), String> {
        let yaml = crate::yaml::to_json(text).map_err(|error| error.to_string())?;
        let meta = crate::json::type_meta(&yaml.json).map_err(|error| error.to_string())?;
        let (api_version, kind) = (meta.api_version.as_ref(), meta.kind.as_ref());
        let shown = String::from_utf8_lossy(&yaml.json);
        if kind.is_empty() {
            return Err(format!("Object 'Kind' is missing in '{shown}'"));
        }
        if api_version.is_empty() {
            return Err(format!("Object 'apiVersion' is missing in '{shown}'"));
        }
        let given = api_version.strip_prefix(self.group).and_then(|rest| rest.strip_prefix('/'));
        let version = self.versions.iter().find(|version| given == Some(**version));
        let Some(version) = version.filter(|_| kind == self.members.name) else {
            return Err(not_registered(kind, api_version, self.scheme));
        };
        let mut object: Map<String, Value> =
            serde_json::from_slice(&yaml.json).map_err(|error| error.to_string())?;
        object.retain(|name, _| name != "kind" && name != "apiVersion");
        let mut reading = Reading { version, path: String::new(), names: Vec::new(), unknown: Vec::new() };
        let members = reading.members(self.members, object)?;
        let duplicates = yaml.strict_error().map(|error| error.to_string());
        let strict: Vec<String> = duplicates.into_iter().chain(reading.unknown).collect();
        let strict = (!strict.is_empty()).then(|| strict_decoding_error(&strict));
        Ok((Configuration { version, members }, strict))
    }
}

/// Where a reader is. Tables are no deeper than a few levels, and so is the recursion over them.
struct Reading {
    version: &'static str,
    /// The way to the struct, with places in lists and a dot at its end.
    path: String,
    /// The names on the way.
    names: Vec<&'static str>,
    /// Members that there are not.
    unknown: Vec<String>,
}

impl Reading {
    fn members(
        &mut self,
        of: &'static Members,
        object: Map<String, Value>,
    ) -> Result<Map<String, Value>, String> {
        let mut read = Map::new();
        for (name, value) in object {
            let Some((known, shape)) = of.all.iter().find(|(known, _)| *known == name) else {
                self.unknown.push(format!("unknown field {}", Quoted(&format!("{}{name}", self.path))));
                continue;
            };
            self.names.push(known);
            let length = self.path.len();
            self.path.push_str(known);
            let value = self.value(of, *shape, value)?;
            self.path.truncate(length);
            self.names.pop();
            if !value.is_null() {
                read.insert(name, value);
            }
        }
        Ok(read)
    }

    fn value(&mut self, within: &'static Members, shape: Shape, value: Value) -> Result<Value, String> {
        let fits_int32 =
            |number: &serde_json::Number| number.as_i64().is_some_and(|n| i32::try_from(n).is_ok());
        match (shape, value) {
            (Shape::Any, _) | (_, Value::Null) => Ok(Value::Null),
            (Shape::Text, value @ Value::String(_)) | (Shape::Bool, value @ Value::Bool(_)) => Ok(value),
            (Shape::Int32, Value::Number(number)) if fits_int32(&number) => Ok(Value::Number(number)),
            (Shape::Int32, Value::Number(number)) => {
                Err(self.mistyped(within, shape, &format!("number {number}")))
            }
            (Shape::Struct(members), Value::Object(object)) => {
                let length = self.path.len();
                self.path.push('.');
                let read = self.members(members, object)?;
                self.path.truncate(length);
                Ok(Value::Object(read))
            }
            (Shape::List(element), Value::Array(items)) => {
                let length = self.path.len();
                let mut read = Vec::with_capacity(items.len());
                for (index, item) in items.into_iter().enumerate() {
                    self.path.push_str(&format!("[{index}]"));
                    let item = self.value(within, *element, item)?;
                    self.path.truncate(length);
                    // What is nothing in a list is the element's zero.
                    read.push(if item.is_null() { zero(*element) } else { item });
                }
                Ok(Value::Array(read))
            }
            (shape, value) => Err(self.mistyped(within, shape, go_json::kind_of(&value))),
        }
    }

    fn mistyped(&self, within: &'static Members, shape: Shape, given: &str) -> String {
        format!(
            "json: cannot unmarshal {given} into Go struct field {}.{} of type {}",
            within.name,
            self.names.join("."),
            shape.go_type(self.version)
        )
    }
}

fn zero(shape: Shape) -> Value {
    match shape {
        Shape::Text => Value::from(""),
        Shape::Bool => Value::from(false),
        Shape::Int32 => Value::from(0),
        Shape::Struct(_) => Value::Object(Map::new()),
        Shape::List(_) => Value::Array(Vec::new()),
        Shape::Any => Value::Null,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    const INNER: Members = Members { name: "Inner", all: &[("url", Shape::Text), ("enabled", Shape::Bool)] };
    const FILE: ConfigurationFile = ConfigurationFile {
        group: "g.io",
        versions: &["v1", "v1beta1"],
        scheme: "scheme.go:1",
        members: &Members {
            name: "Outer",
            all: &[("inner", Shape::List(&Shape::Struct(&INNER))), ("count", Shape::Int32)],
        },
    };

    fn read(text: &str) -> Result<Value, String> {
        FILE.read(text.as_bytes()).map(|read| json!([read.version, read.members]))
    }

    #[test]
    fn a_file_says_what_it_says_in_any_of_its_versions() {
        let text =
            "kind: Outer\napiVersion: g.io/v1beta1\ninner: [{url: a, enabled: null}, null]\ncount: 3\n";
        assert_eq!(read(text), Ok(json!(["v1beta1", {"inner": [{"url": "a"}, {}], "count": 3}])));
        assert_eq!(read(r#"{"kind":"Outer","apiVersion":"g.io/v1"}"#), Ok(json!(["v1", {}])));
    }

    #[test]
    fn a_file_is_refused_in_upstreams_words() {
        let check = |text: &str, expected: &str| assert_eq!(read(text), Err(expected.to_owned()), "{text}");
        let head = "kind: Outer\napiVersion: g.io/v1\n";
        check("apiVersion: g.io/v1", "Object 'Kind' is missing in '{\"apiVersion\":\"g.io/v1\"}'");
        check("kind: Outer", "Object 'apiVersion' is missing in '{\"kind\":\"Outer\"}'");
        check(
            "kind: Outer\napiVersion: g.io/v2",
            "no kind \"Outer\" is registered for version \"g.io/v2\" in scheme \"scheme.go:1\"",
        );
        check(
            &format!("{head}inner: [{{}}, {{urls: a}}]\nmore: 1\n"),
            "strict decoding error: unknown field \"inner[1].urls\", unknown field \"more\"",
        );
        check(
            &format!("{head}inner: [{{url: 3}}]"),
            "json: cannot unmarshal number into Go struct field Inner.inner.url of type string",
        );
        check(
            &format!("{head}inner: x"),
            "json: cannot unmarshal string into Go struct field Outer.inner of type []v1.Inner",
        );
        check(
            &format!("{head}count: 3000000000"),
            "json: cannot unmarshal number 3000000000 into Go struct field Outer.count of type int32",
        );
    }
}
