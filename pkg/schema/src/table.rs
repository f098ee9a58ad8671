//! The tables that describe the JSON and wire formats of built-in types.
//!
//! `build.rs` compiles the IDL in `proto/` into `static` values of these types, so that nothing is computed,
//! parsed or allocated at startup. Engines walk the tables; no engine depends on a particular kind.

mod names;

pub use names::{NO_MEMBER, Names, Word};

use jsontree::Key;

use crate::proto::TypeMetaHead;

/// A type: a struct, a named slice, or one of the few with a custom JSON form.
#[derive(Debug)]
pub struct Message {
    /// OpenAPI definition name, for example `io.k8s.api.core.v1.Pod`. Unique.
    pub name: &'static str,
    /// Protobuf message name, for example `k8s.io.api.core.v1.Pod`; empty if there is no wire form.
    pub wire_name: &'static str,
    /// The Go type in decoding errors, for example `v1.Pod`.
    pub go_name: &'static str,
    /// Relation between JSON and wire format.
    pub shape: Shape,
    /// True if the JSON starts with `kind` and `apiVersion`. On the wire they are in the envelope.
    pub type_meta: bool,
    /// True if unknown members are kept, as any values. Such objects are encoded as JSON or CBOR, never as
    /// protobuf, with members in bytewise order of their names ([`custom`](crate::custom)).
    pub open: bool,
    /// Fields in JSON member order, without `TypeMeta`.
    pub fields: &'static [Field],
    /// Indices into `fields` in ascending field number, without fields that have no number.
    pub wire_order: &'static [u16],
    /// Field number to index into `fields` plus one; 0 if no field has the number.
    pub by_number: &'static [u16],
    /// All JSON members, including those of inlined structs, sorted by name (bytewise).
    pub members: &'static [Member],
    /// Hash table of the members.
    pub names: Names,
    /// Data for OpenAPI documents and merges only.
    pub info: &'static MessageInfo,
}

/// A JSON member of a struct, possibly of a struct inlined into it.
#[derive(Debug)]
pub struct Member {
    /// JSON name.
    pub name: &'static str,
    /// The hash of the name.
    word: Word,
    /// The field that contains the value, in the innermost inlined struct.
    pub field: &'static Field,
}

impl Member {
    /// A member whose value is in a field.
    pub const fn new(name: &'static str, field: &'static Field) -> Self {
        Member { name, word: Word::of(name.as_bytes()), field }
    }
}

/// Relation between a type's JSON and its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// A JSON object with the fields as members.
    Struct,
    /// A bare JSON array; on the wire a message with the elements in its single field.
    Wrapper,
    /// `resource.Quantity`: JSON string (numbers accepted); wire `{1: string}`.
    Quantity,
    /// `intstr.IntOrString`: JSON number or string; wire `{1: type, 2: int, 3: string}`.
    IntOrString,
    /// `metav1.Time`: RFC 3339 in seconds, `null` when zero; wire `{1: seconds, 2: nanos}`.
    Time,
    /// `metav1.MicroTime`: RFC 3339 with six fraction digits; wire as `Time`.
    MicroTime,
    /// `metav1.Duration`: JSON string such as `1m0s`; wire `{1: nanoseconds}`.
    Duration,
    /// `metav1.FieldsV1`: raw JSON; wire `{1: bytes}`.
    FieldsV1,
    /// `runtime.RawExtension`: raw JSON; wire `{1: bytes}`.
    RawExtension,
    /// `runtime.Unknown`: the envelope itself.
    Unknown,
    /// `apiextensions.JSON`: raw JSON; wire `{1: bytes}`.
    Json,
    /// `JSONSchemaPropsOrArray`: a schema or an array of them; wire `{1: schema, 2: schemas}`.
    SchemaOrArray,
    /// `JSONSchemaPropsOrBool`: a schema or a boolean; wire `{1: bool, 2: schema}`.
    SchemaOrBool,
    /// `JSONSchemaPropsOrStringArray`: a schema or strings; wire `{1: schema, 2: strings}`.
    SchemaOrStringArray,
}

impl Shape {
    /// True if JSON contains the value verbatim and the wire format contains that text as bytes in field 1.
    pub fn is_raw_json(self) -> bool {
        matches!(self, Shape::FieldsV1 | Shape::RawExtension | Shape::Json)
    }
}

/// A field of a built-in type.
#[derive(Debug)]
pub struct Field {
    /// JSON name; empty for an inlined struct, whose members are in the parent's object.
    pub name: &'static str,
    /// The encoded key, `"name":`.
    pub key: &'static str,
    /// The name as an object key: copying it is cheaper than creating a key from text.
    pub member: Key,
    /// Field number; 0 if the field is not on the wire.
    pub number: u32,
    /// The tag of the field on the wire (number and wire type; for maps and lists the wire type of an entry).
    pub tag: u32,
    /// Type of the value, of the items of a list, or of the values of a map.
    pub ty: Type,
    /// Number of values.
    pub cardinality: Cardinality,
    /// True for a Go pointer: absent and zero differ, and zero is encoded if present. Fields that are not
    /// pointers, lists, maps or bytes are always encoded on the wire.
    pub pointer: bool,
    /// True if omitted from JSON when empty (Go's `omitempty`, which never omits a struct).
    pub omit_empty: bool,
    /// True if omitted from JSON when zero (Go's `omitzero`, which omits structs too).
    pub omit_zero: bool,
    /// Data for OpenAPI documents and merges only.
    pub info: &'static FieldInfo,
}

/// Type of a single value.
#[derive(Debug, Clone, Copy)]
pub enum Type {
    /// UTF-8 text.
    String,
    /// Bytes; base64 in JSON.
    Bytes,
    /// Boolean.
    Bool,
    /// 32-bit signed integer.
    Int32,
    /// 64-bit signed integer; a JSON number, not a string.
    Int64,
    /// 64-bit floating-point number.
    Double,
    /// Any JSON value; not on the wire.
    Any,
    /// Another type of the tables.
    Message(&'static Message),
}

/// Number of values of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cardinality {
    /// A single value.
    One,
    /// A list of values.
    List,
    /// A map from string to the element type. On the wire: entries `{1: key, 2: value}` sorted by key.
    Map,
}

/// Rarely used data of [`Message`].
#[derive(Debug)]
pub struct MessageInfo {
    /// The kinds under which the type is registered, as `group/version/Kind`; `*` for every group.
    pub kinds: &'static [&'static str],
    /// True if upstream no longer registers the kinds. Only stored objects can have them.
    pub unregistered: bool,
    /// True if there is no OpenAPI definition.
    pub no_openapi: bool,
    /// `x-kubernetes-map-type` of the struct itself, or empty.
    pub map_type: &'static str,
    /// `x-kubernetes-unions` as JSON, or empty.
    pub unions: &'static str,
    /// True if values of the type can contain verbatim JSON or values of any type. Managed fields do not count.
    pub verbatim: bool,
}

/// Rarely used data of [`Field`].
#[derive(Debug)]
pub struct FieldInfo {
    /// The Go type in decoding errors, without a pointer's star, if it is a named type that cannot be derived
    /// from the element type.
    pub go_type: &'static str,
    /// True if listed under `required` in OpenAPI.
    pub required: bool,
    /// OpenAPI `default` as JSON; empty for none.
    pub default: &'static str,
    /// OpenAPI `enum` values of the field.
    pub enum_values: &'static [&'static str],
    /// OpenAPI `enum` values of a list's items.
    pub item_enum_values: &'static [&'static str],
    /// OpenAPI default of list items or map values, as JSON; empty for none.
    pub item_default: &'static str,
    /// OpenAPI `minimum`, as JSON; empty for none.
    pub minimum: &'static str,
    /// OpenAPI `maximum`, as JSON; empty for none.
    pub maximum: &'static str,
    /// `x-kubernetes-validations` as JSON; empty for none.
    pub validations: &'static str,
    /// `x-kubernetes-patch-strategy`; empty for none.
    pub patch_strategy: &'static str,
    /// `x-kubernetes-patch-merge-key`; empty for none.
    pub patch_merge_key: &'static str,
    /// `x-kubernetes-list-type`; empty for none.
    pub list_type: &'static str,
    /// `x-kubernetes-list-map-keys`; empty for none.
    pub list_map_keys: &'static [&'static str],
    /// `x-kubernetes-map-type`, which overrides that of the field's type; empty for none.
    pub map_type: &'static str,
    /// The `kind` and `apiVersion` that the items of a list always have when decoded, although they are not
    /// on the wire.
    pub item_head: Option<TypeMetaHead<'static>>,
}

impl Message {
    /// Finds a JSON member by its exact name, including members of inlined structs.
    pub fn member(&self, name: &str) -> Option<&'static Field> {
        self.find_member(name.as_bytes(), Word::alone(name.as_bytes())).map(|(_, member)| member.field)
    }

    /// Finds a JSON member and its index by its exact name.
    #[inline(always)]
    pub fn find_member(&self, name: &[u8], word: Word) -> Option<(usize, &'static Member)> {
        let at = self.names.find(word);
        let member = self.members.get(at)?;
        (member.word == word && (word.is_all() || member.name.as_bytes() == name)).then_some((at, member))
    }

    /// True if the type has a JSON member of this name, including `kind` and `apiVersion`. An open type
    /// accepts other members, too.
    pub fn names(&self, name: &str) -> bool {
        self.member(name).is_some() || self.type_meta && matches!(name, "kind" | "apiVersion")
    }

    #[inline]
    pub(crate) fn field_by_number(&self, number: u32) -> Option<&'static Field> {
        let slot = *self.by_number.get(number as usize)?;
        self.fields.get(usize::from(slot).checked_sub(1)?)
    }
}

impl Field {
    /// True if the field is a struct inlined into its parent's JSON object.
    pub fn inlined(&self) -> bool {
        self.name.is_empty()
    }
}

impl PartialEq for Message {
    /// Types are equal when they are the same type.
    fn eq(&self, other: &Message) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Message {}
