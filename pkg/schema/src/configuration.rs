//! Versioned configuration files such as `AuthenticationConfiguration`, decoded as strictly as by upstream's
//! codecs, against small tables of their members.

use std::borrow::Cow;

use apimachinery::go_json;
use apimachinery::go_quote::Quoted;
use jsontree::{Object, Value};

use crate::json::errors::{not_registered, strict_decoding_error};

/// A type of configuration file: its accepted kinds and its members.
#[derive(Debug, Clone, Copy)]
pub struct ConfigurationFile {
    /// The accepted group versions and kinds. All of them have the same members.
    pub kinds: &'static [FileKind],
    /// Upstream's name of the decoding scheme, for errors.
    pub scheme: &'static str,
    /// True if unknown and duplicate members are errors.
    pub strict: bool,
    /// The members at the top level, without `kind` and `apiVersion`.
    pub members: &'static Members,
}

/// A group, version and kind of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileKind {
    /// The API group, such as `apiserver.config.k8s.io`.
    pub group: &'static str,
    /// The version without the group, such as `v1beta1`.
    pub version: &'static str,
    /// The kind, such as `AuthenticationConfiguration`.
    pub kind: &'static str,
}

/// A rejected file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The kind is missing or not registered.
    #[error("{0}")]
    Unknown(String),
    /// The text is not valid YAML, or not a valid object of its kind.
    #[error("{0}")]
    Invalid(String),
}

impl From<ReadError> for String {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Unknown(text) | ReadError::Invalid(text) => text,
        }
    }
}

/// The members of a Go struct.
#[derive(Debug)]
pub struct Members {
    /// The struct's name, with its package (`v1.Toleration`) if that is not the file's version.
    pub name: &'static str,
    /// Its members, without kind and version.
    pub all: &'static [(&'static str, Shape)],
}

/// The type of a member. `null` means absent for all types.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// A string.
    Text,
    /// A boolean.
    Bool,
    /// An integer in the range of Go's `int32`.
    Int32,
    /// An integer in the range of Go's `int64`.
    Int64,
    /// Any value, kept unchanged.
    Any,
    /// An object with known members.
    Struct(&'static Members),
    /// A list with elements of one type.
    List(&'static Shape),
}

impl Shape {
    fn go_type(self, version: &str) -> String {
        match self {
            Shape::Text => "string".to_owned(),
            Shape::Bool => "bool".to_owned(),
            Shape::Int32 => "int32".to_owned(),
            Shape::Int64 => "int64".to_owned(),
            Shape::Any => "runtime.Unknown".to_owned(),
            Shape::Struct(members) if members.name.contains('.') => members.name.to_owned(),
            Shape::Struct(members) => format!("{version}.{}", members.name),
            Shape::List(element) => format!("[]{}", element.go_type(version)),
        }
    }
}

/// A decoded file: its version, and its members without those that are `null`.
#[derive(Debug, Clone, PartialEq)]
pub struct Configuration {
    /// The file's version, without the group.
    pub version: &'static str,
    /// All members except kind and version.
    pub members: Object,
}

impl ConfigurationFile {
    /// Decodes a text, YAML or JSON.
    ///
    /// # Errors
    /// Upstream's error: the file is of another kind, or has unknown or invalid members.
    pub fn read(&self, text: &[u8]) -> Result<Configuration, ReadError> {
        match self.read_leniently(text)? {
            (_, Some(strict)) if self.strict => Err(ReadError::Invalid(strict)),
            (configuration, _) => Ok(configuration),
        }
    }

    /// Decodes a text like [`read`](Self::read), but drops unknown members. Also returns the strict decoding
    /// error for them.
    ///
    /// # Errors
    /// As for [`read`](Self::read), except for unknown members.
    pub fn read_leniently(&self, text: &[u8]) -> Result<(Configuration, Option<String>), ReadError> {
        let (json, duplicates) = as_json(text)?;
        let kind = self.kind_of(&json, text)?;
        let mut object: Object =
            serde_json::from_slice(&json).map_err(|error| ReadError::Invalid(error.to_string()))?;
        object.retain(|name, _| name != "kind" && name != "apiVersion");
        let mut reading = FileDecoder {
            version: kind.version,
            path: String::new(),
            names: Vec::new(),
            unknown: Vec::new(),
        };
        let members = reading.members(self.members, object)?;
        let strict: Vec<String> = duplicates.into_iter().chain(reading.unknown).collect();
        let strict = (!strict.is_empty()).then(|| strict_decoding_error(strict));
        Ok((Configuration { version: kind.version, members }, strict))
    }

    /// The file's registered kind; `json` is the converted `text`.
    fn kind_of(&self, json: &[u8], text: &[u8]) -> Result<&'static FileKind, ReadError> {
        let meta = crate::json::type_meta(json).map_err(|error| ReadError::Invalid(error.to_string()))?;
        let api_version = meta.api_version.as_ref();
        let kind = meta.kind.as_ref();
        let missing = |member: &str| {
            let document = String::from_utf8_lossy(text);
            Err(ReadError::Unknown(format!("Object '{member}' is missing in '{document}'")))
        };
        if kind.is_empty() {
            return missing("Kind");
        }
        if api_version.is_empty() {
            return missing("apiVersion");
        }
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        self.kinds
            .iter()
            .find(|candidate| (candidate.group, candidate.version, candidate.kind) == (group, version, kind))
            .ok_or_else(|| ReadError::Unknown(not_registered(kind, api_version, self.scheme)))
    }
}

/// Converts a text to JSON, and returns the duplicate keys.
fn as_json(text: &[u8]) -> Result<(Cow<'_, [u8]>, Vec<String>), ReadError> {
    if text.trim_ascii_start().first() == Some(&b'{')
        && let Ok(untyped) = crate::json::decode_untyped(text)
    {
        return Ok((text.into(), untyped.strict.iter().map(ToString::to_string).collect()));
    }
    let yaml = crate::yaml::to_json(text).map_err(|error| ReadError::Invalid(error.to_string()))?;
    let duplicates = yaml.strict_error().map(|error| error.to_string()).into_iter().collect();
    Ok((yaml.json.into(), duplicates))
}

/// Decoder state. Tables have only a few levels, and so has the recursion.
struct FileDecoder {
    version: &'static str,
    /// Path of the struct, with list indices and a trailing dot.
    path: String,
    /// Names of the members on the path.
    names: Vec<&'static str>,
    unknown: Vec<String>,
}

impl FileDecoder {
    fn members(&mut self, of: &'static Members, object: Object) -> Result<Object, ReadError> {
        let mut read = Object::new();
        for (name, value) in object {
            let Some((member_name, shape)) = of.all.iter().find(|(member_name, _)| *member_name == name)
            else {
                self.unknown.push(format!("unknown field {}", Quoted(&format!("{}{name}", self.path))));
                continue;
            };
            self.names.push(member_name);
            let length = self.path.len();
            self.path.push_str(member_name);
            let value = self.value(of, *shape, value)?;
            self.path.truncate(length);
            self.names.pop();
            if !value.is_null() {
                read.insert(name, value);
            }
        }
        Ok(read)
    }

    fn value(&mut self, within: &'static Members, shape: Shape, value: Value) -> Result<Value, ReadError> {
        let fits_int32 =
            |number: &jsontree::Number| number.as_i64().is_some_and(|n| i32::try_from(n).is_ok());
        match (shape, value) {
            (_, Value::Null) => Ok(Value::Null),
            (Shape::Any, value) => Ok(value),
            (Shape::Text, value @ Value::String(_)) | (Shape::Bool, value @ Value::Bool(_)) => Ok(value),
            (Shape::Int32, Value::Number(number)) if fits_int32(&number) => Ok(Value::Number(number)),
            (Shape::Int64, Value::Number(number)) if number.is_i64() => Ok(Value::Number(number)),
            (Shape::Int32 | Shape::Int64, Value::Number(number)) => {
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
                    // A `null` in a list is the element's zero value.
                    read.push(if item.is_null() { zero(*element) } else { item });
                }
                Ok(Value::Array(read))
            }
            (shape, value) => Err(self.mistyped(within, shape, go_json::kind_of(&value))),
        }
    }

    fn mistyped(&self, within: &'static Members, shape: Shape, actual: &str) -> ReadError {
        ReadError::Invalid(format!(
            "json: cannot unmarshal {actual} into Go struct field {}.{} of type {}",
            within.name.rsplit('.').next().unwrap_or_default(),
            self.names.join("."),
            shape.go_type(self.version)
        ))
    }
}

fn zero(shape: Shape) -> Value {
    match shape {
        Shape::Text => Value::from(""),
        Shape::Bool => Value::from(false),
        Shape::Int32 | Shape::Int64 => Value::from(0),
        Shape::Any => Value::Null,
        Shape::Struct(_) => Value::Object(Object::new()),
        Shape::List(_) => Value::Array(Vec::new()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use jsontree::json;

    use super::*;

    const INNER: Members = Members { name: "Inner", all: &[("url", Shape::Text), ("enabled", Shape::Bool)] };
    const FILE: ConfigurationFile = ConfigurationFile {
        kinds: &[
            FileKind { group: "g.io", version: "v1", kind: "Outer" },
            FileKind { group: "g.io", version: "v1beta1", kind: "Outer" },
            FileKind { group: "old.io", version: "v1", kind: "Old" },
        ],
        scheme: "scheme.go:1",
        strict: true,
        members: &Members {
            name: "Outer",
            all: &[
                ("inner", Shape::List(&Shape::Struct(&INNER))),
                ("count", Shape::Int32),
                ("any", Shape::Any),
                ("long", Shape::Int64),
            ],
        },
    };

    fn read(text: &str) -> Result<Value, ReadError> {
        FILE.read(text.as_bytes()).map(|read| json!([read.version, read.members]))
    }

    #[test]
    fn all_versions_parse_equally() {
        let text =
            "kind: Outer\napiVersion: g.io/v1beta1\ninner: [{url: a, enabled: null}, null]\ncount: 3\n";
        assert_eq!(read(text), Ok(json!(["v1beta1", {"inner": [{"url": "a"}, {}], "count": 3}])));
        assert_eq!(read(r#"{"kind":"Outer","apiVersion":"g.io/v1"}"#), Ok(json!(["v1", {}])));
        assert_eq!(read(r#"{"kind":"Old","apiVersion":"old.io/v1"}"#), Ok(json!(["v1", {}])));
        let text = "kind: Outer\napiVersion: g.io/v1\nany: {a: [1]}\nlong: 3000000000\n";
        assert_eq!(read(text), Ok(json!(["v1", {"any": {"a": [1]}, "long": 3_000_000_000_i64}])));
    }

    #[test]
    fn lenient_decoding_drops_unknown_members() {
        let lenient = ConfigurationFile { strict: false, ..FILE };
        let text = b"kind: Outer\napiVersion: g.io/v1\ncount: 1\ncount: 2\nmore: 1\n";
        assert_eq!(Value::Object(lenient.read(text).unwrap().members), json!({"count": 2}));
    }

    #[test]
    fn unknown_kind_differs_from_invalid_file() {
        let unknown = |text: &str| matches!(FILE.read(text.as_bytes()), Err(ReadError::Unknown(_)));
        assert!(unknown("{}"));
        assert!(unknown(""));
        assert!(unknown("kind: Other\napiVersion: g.io/v1"));
        assert!(!unknown("kind: Outer\napiVersion: g.io/v1\ncount: x"));
        assert!(!unknown("kind: [1"));
    }

    #[test]
    fn invalid_files_get_upstream_errors() {
        let check = |text: &str, expected: &str| {
            assert_eq!(read(text).unwrap_err().to_string(), expected, "{text}");
        };
        let head = "kind: Outer\napiVersion: g.io/v1\n";
        check("apiVersion: g.io/v1", "Object 'Kind' is missing in 'apiVersion: g.io/v1'");
        check("kind: Outer", "Object 'apiVersion' is missing in 'kind: Outer'");
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
            r#"{"kind":"Outer","apiVersion":"g.io/v1","inner":[{"url":"a","url":"b"}]}"#,
            "strict decoding error: duplicate field \"inner[0].url\"",
        );
        check(
            &format!("{head}count: 3000000000"),
            "json: cannot unmarshal number 3000000000 into Go struct field Outer.count of type int32",
        );
    }
}
