//! Compiles a schema to a [`Node`].

use jsontree::Value;
use schema::object::Object;

use super::coerce::{coerce_default, coerce_metadata_default};
use super::formats::Format;
use super::kind::Kind;
use super::node::{Additional, Bound, Constraints, List, Node, Pattern, Range, RareConstraints};
use crate::tree::{child, children, flag, list, maybe_integer, text, texts};
use cel::ext::regex::Regex;

/// Encoding of values in a schema: defaults and `enum` values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Literals {
    /// Plain values: the schema was decoded as untyped JSON.
    Plain,
    /// JSON texts, as in the trees of definitions.
    Texts,
}

impl Literals {
    fn read(self, literal: &Value) -> Value {
        match (self, literal.as_str()) {
            (Literals::Plain, _) => literal.clone(),
            (Literals::Texts, text) => self::literal(text),
        }
    }
}

/// Parses a value that trees contain as JSON text.
pub fn literal(text: Option<&str>) -> Value {
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

/// The nodes of members and items. Building them apart from their parent, and from each other, keeps the stack
/// of each level small.
struct Below {
    properties: Vec<(Box<str>, Node)>,
    additional: Additional,
    items: Option<Box<Node>>,
}

impl Below {
    fn compile(schema: &Object, literals: Literals) -> Below {
        let additional = match schema.get("additionalProperties") {
            Some(Value::Bool(true)) => Additional::Any,
            Some(Value::Bool(false)) => Additional::Forbidden,
            Some(Value::Object(schema)) => Additional::Schema(boxed(schema, literals)),
            _ => Additional::Unspecified,
        };
        Below {
            properties: properties(schema, literals),
            additional,
            items: child(schema, "items").map(|items| boxed(items, literals)),
        }
    }
}

fn boxed(schema: &Object, literals: Literals) -> Box<Node> {
    Box::new(Node::compile(schema, literals))
}

/// Compiles the declared members, in order.
fn properties(schema: &Object, literals: Literals) -> Vec<(Box<str>, Node)> {
    let mut properties = Vec::new();
    for (name, schema) in child(schema, "properties").into_iter().flatten() {
        if let Some(schema) = schema.as_object() {
            properties.push((Box::from(name.as_str()), Node::compile(schema, literals)));
        }
    }
    properties.sort_by(|(a, _): &(Box<str>, Node), (b, _)| a.cmp(b));
    properties
}

impl Node {
    /// Compiles a schema. Keywords that structural schemas do not have are ignored. Decoders limit the depth
    /// of schemas.
    pub fn compile(schema: &Object, literals: Literals) -> Node {
        let below = Below::compile(schema, literals);
        let mut node = Node::assemble(schema, literals, below);
        if literals == Literals::Plain {
            node.coerce_defaults(schema);
        }
        node
    }

    /// Builds the node of a schema from the nodes below it.
    fn assemble(schema: &Object, literals: Literals, below: Below) -> Node {
        let list = match text(schema, "x-kubernetes-list-type") {
            "set" => List::Set,
            "map" => List::Map(texts(schema, "x-kubernetes-list-map-keys").map(Box::from).collect()),
            _ => List::Atomic,
        };
        let default = schema.get("default").map(|text| literals.read(text)).filter(|value| !value.is_null());
        let embedded = flag(schema, "x-kubernetes-embedded-resource");
        let mut node = Node {
            properties: below.properties.into(),
            additional: below.additional,
            items: below.items,
            preserve: flag(schema, "x-kubernetes-preserve-unknown-fields"),
            embedded,
            nullable: flag(schema, "nullable"),
            has_defaults: default.is_some(),
            has_structure: embedded || list != List::Atomic,
            default,
            list,
            limits: limits(schema, literals),
        };
        let (defaults, structure) = node.below().fold((false, false), |(defaults, structure), below| {
            (defaults || below.has_defaults, structure || below.has_structure)
        });
        node.has_defaults |= defaults;
        node.has_structure |= structure;
        node
    }

    /// Coerces the defaults to the schema.
    fn coerce_defaults(&mut self, schema: &Object) {
        if let Some(mut value) = self.default.take() {
            coerce_default(self, &mut value);
            self.default = Some(value);
        }
        let metadata = self.properties.iter_mut().find(|(name, _)| self.embedded && &**name == "metadata");
        if let Some((_, metadata)) = metadata {
            let declared = child(schema, "properties").and_then(|properties| child(properties, "metadata"));
            let default = declared.and_then(|declared| declared.get("default")).cloned();
            coerce_metadata_default(metadata, default);
        }
    }

    /// Iterates over the nodes of members and items.
    fn below(&self) -> impl Iterator<Item = &Node> {
        let additional = match &self.additional {
            Additional::Schema(node) => Some(&**node),
            _ => None,
        };
        self.properties.iter().map(|(_, node)| node).chain(additional).chain(self.items.as_deref())
    }
}

/// Returns the type of a schema. For values, `x-kubernetes-int-or-string` replaces it. Defaults are checked
/// against the structural part of a schema, in which only the declared type counts.
fn kind(schema: &Object, literals: Literals) -> Kind {
    if literals == Literals::Plain && flag(schema, "x-kubernetes-int-or-string") {
        return Kind::IntOrString;
    }
    match text(schema, "type") {
        "" => Kind::Any,
        "array" => Kind::Array,
        "boolean" => Kind::Boolean,
        "integer" => Kind::Integer,
        "number" => Kind::Number,
        "object" => Kind::Object,
        "string" => Kind::String,
        _ => Kind::Unsupported,
    }
}

fn limits(schema: &Object, literals: Literals) -> Constraints {
    let kind = kind(schema, literals);
    let range = |min: &str, max: &str| {
        let length = |name| maybe_integer(schema, name).and_then(|length| usize::try_from(length).ok());
        Range { min: length(min), max: length(max) }
    };
    Constraints {
        kind,
        format: Format::from_name(kind, text(schema, "format")),
        characters: range("minLength", "maxLength"),
        items: range("minItems", "maxItems"),
        members: range("minProperties", "maxProperties"),
        required: texts(schema, "required").map(Box::from).collect(),
        rare: rare_constraints(schema, kind, literals),
    }
}

const RARE_MEMBERS: [&str; 9] =
    ["pattern", "minimum", "maximum", "multipleOf", "enum", "allOf", "anyOf", "oneOf", "not"];

fn rare_constraints(schema: &Object, kind: Kind, literals: Literals) -> Option<Box<RareConstraints>> {
    let unsupported = kind == Kind::Unsupported;
    if !unsupported && !RARE_MEMBERS.iter().any(|name| schema.contains_key(*name)) {
        return None;
    }
    let nodes = |name| children(schema, name).map(|schema| Node::compile(schema, literals)).collect();
    let number = |name| schema.get(name).and_then(Value::as_number).cloned();
    let bound =
        |name, exclusive| number(name).map(|value| Bound { value, exclusive: flag(schema, exclusive) });
    let pattern = Some(text(schema, "pattern")).filter(|pattern| !pattern.is_empty());
    Some(Box::new(RareConstraints {
        unsupported_type: if unsupported { text(schema, "type").into() } else { Box::default() },
        pattern: pattern.map(|text| Pattern {
            text: text.into(),
            regex: Regex::compile(text).map_err(|error| error.to_string().into()),
        }),
        minimum: bound("minimum", "exclusiveMinimum"),
        maximum: bound("maximum", "exclusiveMaximum"),
        multiple_of: number("multipleOf"),
        values: list(schema, "enum").iter().map(|text| literals.read(text)).collect(),
        all_of: nodes("allOf"),
        any_of: nodes("anyOf"),
        one_of: nodes("oneOf"),
        not: child(schema, "not").map(|schema| Node::compile(schema, literals)),
    }))
}
