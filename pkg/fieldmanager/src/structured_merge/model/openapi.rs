//! Types of custom resources, built at run time from their published OpenAPI schema, once per schema. The
//! same conversion of the built-in types' published schemas verifies the tables.

use jsontree::Value;

use super::{Fields, Items, Keys, List, Map, Repr, Scalar, TypeRef};
use schema::builtin;
use schema::json::TREE_DEPTH_MAX;
use schema::object::Object;

/// The type of a custom resource.
#[derive(Debug, Clone)]
pub struct Schema(Node);

/// An invalid schema. Displays upstream's text without the names of the enclosing types.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SchemaError(String);

/// A type: each form that its values may have, or a reference to another type.
#[derive(Debug, Clone, Default)]
pub(super) struct Node {
    /// If set, the other fields are ignored.
    reference: Option<TypeRef<'static>>,
    pub(super) scalar: Option<Scalar>,
    pub(super) list: Option<Box<ListNode>>,
    pub(super) map: Option<Box<MapNode>>,
}

#[derive(Debug, Clone)]
pub(super) struct ListNode {
    atomic: bool,
    /// Empty for a set.
    keys: Vec<String>,
    element: Node,
}

#[derive(Debug, Clone)]
pub(super) struct MapNode {
    atomic: bool,
    /// Sorted by name.
    fields: Vec<FieldNode>,
    pub(super) element: Option<Node>,
}

#[derive(Debug, Clone)]
pub(super) struct FieldNode {
    name: String,
    node: Node,
    pub(super) default: Option<Value>,
}

impl Schema {
    /// Converts an OpenAPI v3 schema; its references are names of built-in types. Unknown fields are invalid
    /// unless `preserve_unknown_fields` is true or the schema allows them.
    ///
    /// # Errors
    /// The schema has invalid types, list types or map types, a list without items or an unresolved
    /// reference, or is nested deeper than [`TREE_DEPTH_MAX`].
    pub fn from_openapi(schema: &Value, preserve_unknown_fields: bool) -> Result<Self, SchemaError> {
        convert(schema, preserve_unknown_fields, 0).map(Schema)
    }

    /// The type of the custom resource's objects.
    pub fn type_ref(&self) -> TypeRef<'_> {
        self.0.type_ref()
    }
}

impl Node {
    pub(super) fn type_ref(&self) -> TypeRef<'_> {
        self.reference.unwrap_or(TypeRef(Repr::Custom(self)))
    }

    fn reference(reference: TypeRef<'static>) -> Self {
        Node { reference: Some(reference), ..Node::default() }
    }

    fn of_scalar(scalar: Scalar) -> Self {
        Node { scalar: Some(scalar), ..Node::default() }
    }
}

impl ListNode {
    pub(super) fn list(&self) -> List<'_> {
        let items = match (self.atomic, self.keys.as_slice()) {
            (true, _) => Items::Atomic,
            (false, []) => Items::Set,
            (false, keys) => Items::Map(Keys::Custom(keys)),
        };
        List { items, element: self.element.type_ref() }
    }
}

impl MapNode {
    pub(super) fn map(&self) -> Map<'_> {
        Map { atomic: self.atomic, fields: Fields::Custom(self) }
    }

    pub(super) fn declares_no_fields(&self) -> bool {
        self.fields.is_empty()
    }

    pub(super) fn field(&self, name: &str) -> Option<&FieldNode> {
        let at = self.fields.binary_search_by(|field| field.name.as_str().cmp(name)).ok()?;
        self.fields.get(at)
    }
}

#[cfg(test)]
impl MapNode {
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|field| field.name.as_str())
    }
}

impl FieldNode {
    pub(super) fn type_ref(&self) -> TypeRef<'_> {
        self.node.type_ref()
    }
}

fn fail<T>(text: impl Into<String>) -> Result<T, SchemaError> {
    Err(SchemaError(text.into()))
}

fn text<'v>(schema: &'v Value, name: &str) -> &'v str {
    schema.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Converts a schema at its definition or, if it contains no reference, at its use.
fn convert(schema: &Value, preserve: bool, depth: usize) -> Result<Node, SchemaError> {
    if depth > TREE_DEPTH_MAX {
        return fail("schema nests too deeply");
    }
    let preserves = schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
    let preserve = preserve || preserves;
    let list = || list(schema, preserve, depth).map(|list| Some(Box::new(list)));
    let map = || map(schema, preserve, depth).map(|map| Some(Box::new(map)));
    match text(schema, "type") {
        "" => Ok(Node { reference: None, scalar: Some(Scalar::Untyped), list: list()?, map: map()? }),
        "object" => Ok(Node { map: map()?, ..Node::default() }),
        "array" => Ok(Node { list: list()?, ..Node::default() }),
        "integer" | "number" => Ok(Node::of_scalar(Scalar::Numeric)),
        "boolean" => Ok(Node::of_scalar(Scalar::Boolean)),
        "string" => Ok(Node::of_scalar(match text(schema, "format") {
            "" | "byte" => Scalar::String,
            _ => Scalar::Untyped,
        })),
        other => fail(format!("unrecognized type: '{other}'")),
    }
}

/// Converts a schema at its use. A reference may be wrapped, to allow a default or an extension beside it.
fn reference(schema: &Value, preserve: bool, depth: usize) -> Result<Node, SchemaError> {
    let target = match (schema.get("$ref"), schema.get("allOf").and_then(Value::as_array)) {
        (Some(target), _) => target.as_str(),
        (None, Some(all)) => match all.as_slice() {
            [only] => only.get("$ref").and_then(Value::as_str),
            _ => None,
        },
        (None, None) => None,
    };
    let Some(target) = target else { return convert(schema, preserve, depth + 1) };
    let name = target.rsplit_once('/').map_or(target, |(_, name)| name);
    map_type(schema)?;
    match builtin::message(name) {
        Some(message) => {
            Ok(Node::reference(TypeRef::of_message(message, text(schema, "x-kubernetes-map-type"))))
        }
        None => fail(format!("no type found matching: {name}")),
    }
}

fn map(schema: &Value, preserve: bool, depth: usize) -> Result<MapNode, SchemaError> {
    let none = Object::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let field = |(name, schema): (&jsontree::Key, &Value)| {
        let node = reference(schema, preserve, depth)?;
        let default = schema.get("default").filter(|default| !default.is_null()).cloned();
        Ok(FieldNode { name: name.to_string(), node, default })
    };
    // Objects are sorted by name.
    let fields = properties.iter().map(field).collect::<Result<Vec<_>, SchemaError>>()?;
    let free = Some(Node::reference(TypeRef::DEDUCED));
    let element = match schema.get("additionalProperties") {
        None if preserve || properties.is_empty() => free,
        None | Some(Value::Bool(false)) => None,
        Some(Value::Bool(true)) => free,
        Some(schema) => Some(reference(schema, preserve, depth)?),
    };
    Ok(MapNode { atomic: map_type(schema)?, fields, element })
}

/// True if the map is atomic.
fn map_type(schema: &Value) -> Result<bool, SchemaError> {
    match text(schema, "x-kubernetes-map-type") {
        "" | "granular" => Ok(false),
        "atomic" => Ok(true),
        other => fail(format!("unknown map type {other}")),
    }
}

fn list(schema: &Value, preserve: bool, depth: usize) -> Result<ListNode, SchemaError> {
    let element = match schema.get("items") {
        Some(items) => reference(items, preserve, depth)?,
        None if text(schema, "type").is_empty() => Node::reference(TypeRef::UNTYPED),
        None => return fail("`items` must be specified on arrays"),
    };
    let patch_key = text(schema, "x-kubernetes-patch-merge-key");
    let (atomic, keys) = match text(schema, "x-kubernetes-list-type") {
        "atomic" => (true, Vec::new()),
        "set" => (false, Vec::new()),
        "map" => (false, map_keys(schema)?),
        "" => match text(schema, "x-kubernetes-patch-strategy") {
            "merge" | "merge,retainKeys" if patch_key.is_empty() => (false, Vec::new()),
            "merge" | "merge,retainKeys" => (false, vec![patch_key.to_owned()]),
            "" | "retainKeys" => (true, Vec::new()),
            other => return fail(format!("unknown patch strategy {other}")),
        },
        other => return fail(format!("unknown list type {other}")),
    };
    Ok(ListNode { atomic, keys, element })
}

fn map_keys(schema: &Value) -> Result<Vec<String>, SchemaError> {
    match schema.get("x-kubernetes-list-map-keys") {
        None => fail("missing map keys"),
        Some(Value::Array(keys)) => Ok(keys.iter().filter_map(Value::as_str).map(str::to_owned).collect()),
        Some(other) => fail(format!("uninterpreted map keys: {other}")),
    }
}
