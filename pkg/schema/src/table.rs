//! The tables: what a built-in type looks like in JSON and on the wire.
//!
//! `build.rs` compiles the IDL in `proto/` into `static` values of these types, so nothing is
//! computed, parsed or allocated at start-up. Engines walk them; no engine knows a kind by name.

mod names;

pub use names::{NO_MEMBER, Names, Word};

use jsontree::Key;

use crate::proto::TypeMetaHead;

/// A type: a struct, a named slice, or one of the few with a hand-made JSON form.
#[derive(Debug)]
pub struct Message {
    /// OpenAPI definition name, for example `io.k8s.api.core.v1.Pod`. Unique.
    pub name: &'static str,
    /// Protobuf message name, for example `k8s.io.api.core.v1.Pod`; empty when there is no wire form.
    pub wire_name: &'static str,
    /// The Go type as decode errors spell it, for example `v1.Pod`.
    pub go_name: &'static str,
    /// How JSON and wire relate.
    pub shape: Shape,
    /// Whether JSON has `kind` and `apiVersion` in front of the fields (on the wire they are in the
    /// envelope).
    pub type_meta: bool,
    /// Whether members that no field names are kept, as any values. Such objects are JSON or CBOR, never on the
    /// wire, and their members are written in bytewise order of their names ([`custom`](crate::custom)).
    pub open: bool,
    /// In JSON member order, `TypeMeta` left out.
    pub fields: &'static [Field],
    /// Indices into `fields` in ascending field number; fields without a number left out.
    pub wire_order: &'static [u16],
    /// Field number to index into `fields` plus one; 0 where no field has the number.
    pub by_number: &'static [u16],
    /// All JSON members, those of inlined structs included, sorted by name (bytewise).
    pub members: &'static [Member],
    /// Finds a name among the members.
    pub names: Names,
    /// What only documents and merges need.
    pub info: &'static MessageInfo,
}

/// A JSON member of a struct, possibly of a struct inlined into it.
#[derive(Debug)]
pub struct Member {
    /// JSON name.
    pub name: &'static str,
    /// The same, as names are looked up.
    word: Word,
    /// The field that holds the value, in the innermost inlined struct.
    pub field: &'static Field,
}

impl Member {
    /// A member whose value a field holds.
    pub const fn new(name: &'static str, field: &'static Field) -> Self {
        Member { name, word: Word::of(name.as_bytes()), field }
    }
}

/// How a type's JSON relates to its fields.
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
    /// Whether JSON carries the value verbatim and the wire carries that text as bytes in field 1.
    pub fn is_raw_json(self) -> bool {
        matches!(self, Shape::FieldsV1 | Shape::RawExtension | Shape::Json)
    }
}

/// A field of a struct.
#[derive(Debug)]
pub struct Field {
    /// JSON name; empty for an inlined struct, whose members stand in the parent's object.
    pub name: &'static str,
    /// `"name":`, ready to be written.
    pub key: &'static str,
    /// The name, ready to be put into an object: a copy of it costs less than one made of the text.
    pub member: Key,
    /// Field number; 0 when the field is not on the wire.
    pub number: u32,
    /// The tag that introduces the field on the wire (number and wire type; for maps and lists the
    /// wire type of one entry).
    pub tag: u32,
    /// Element type.
    pub ty: Type,
    /// One, many, or a map with string keys.
    pub cardinality: Cardinality,
    /// A Go pointer: absent and zero are different, and zero is written when present. Fields that
    /// are no pointers, lists, maps or bytes are always written to the wire.
    pub pointer: bool,
    /// Left out of JSON when empty (Go's `omitempty`; never leaves out a struct).
    pub omit_empty: bool,
    /// Left out of JSON when zero (Go's `omitzero`; leaves out structs too).
    pub omit_zero: bool,
    /// What only documents and merges need.
    pub info: &'static FieldInfo,
}

/// Element type of a field.
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
    /// IEEE double.
    Double,
    /// Any JSON value; not on the wire.
    Any,
    /// Another type.
    Message(&'static Message),
}

/// How many values a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cardinality {
    /// One value.
    One,
    /// A list.
    List,
    /// A map from string to the element type. On the wire: entries `{1: key, 2: value}` sorted by key.
    Map,
}

/// The cold side of [`Message`].
#[derive(Debug)]
pub struct MessageInfo {
    /// The kinds under which the type is registered, as `group/version/Kind`; `*` for every group.
    pub kinds: &'static [&'static str],
    /// Has no OpenAPI definition.
    pub no_openapi: bool,
    /// `x-kubernetes-map-type` of the struct itself, or empty.
    pub map_type: &'static str,
    /// `x-kubernetes-unions` as JSON, or empty.
    pub unions: &'static str,
}

/// The cold side of [`Field`].
#[derive(Debug)]
pub struct FieldInfo {
    /// The Go type as decode errors spell it, where it is a named one that cannot be told from the
    /// element type; a pointer's star left out.
    pub go_type: &'static str,
    /// Listed under `required` in OpenAPI.
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
    /// `x-kubernetes-patch-strategy`, or empty.
    pub patch_strategy: &'static str,
    /// `x-kubernetes-patch-merge-key`, or empty.
    pub patch_merge_key: &'static str,
    /// `x-kubernetes-list-type`, or empty.
    pub list_type: &'static str,
    /// `x-kubernetes-list-map-keys`.
    pub list_map_keys: &'static [&'static str],
    /// `x-kubernetes-map-type`, or empty.
    pub map_type: &'static str,
    /// What the items of a list call themselves wherever they are read, although it is not on the wire.
    pub item_head: Option<TypeMetaHead<'static>>,
}

impl Message {
    /// Finds a JSON member by its exact name, members of inlined structs included.
    pub fn member(&self, name: &str) -> Option<&'static Field> {
        self.find_member(name.as_bytes(), Word::alone(name.as_bytes())).map(|(_, member)| member.field)
    }

    /// Finds a JSON member by its exact name, and its index.
    #[inline(always)]
    pub fn find_member(&self, name: &[u8], word: Word) -> Option<(usize, &'static Member)> {
        let at = self.names.find(word);
        let member = self.members.get(at)?;
        (member.word == word && (word.is_all() || member.name.as_bytes() == name)).then_some((at, member))
    }

    /// Whether a JSON member is one of the type's own, `kind` and `apiVersion` included. An open type takes
    /// others too.
    pub fn names(&self, name: &str) -> bool {
        self.member(name).is_some() || self.type_meta && matches!(name, "kind" | "apiVersion")
    }

    /// Finds a field by its number.
    #[inline]
    pub fn field_by_number(&self, number: u32) -> Option<&'static Field> {
        let slot = *self.by_number.get(number as usize)?;
        self.fields.get(usize::from(slot).checked_sub(1)?)
    }
}

impl Field {
    /// Whether the field is a struct inlined into its parent's JSON object.
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
