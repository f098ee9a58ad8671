//! The shape of custom resources: typed metadata and arbitrary other members.
//!
//! The schema of a CRD (pruning, defaults, validation, merging) is applied on the write path; codecs need
//! only this shape.

use jsontree::Key;

use crate::builtin::IO_K8S_APIMACHINERY_PKG_APIS_META_V1_OBJECTMETA;
use crate::table::{Cardinality, Field, FieldInfo, Member, Message, MessageInfo, Names, Shape, Type};

/// A custom resource of any kind. It has no protobuf form.
pub static CUSTOM_RESOURCE: Message = Message {
    name: "",
    wire_name: "",
    go_name: "unstructured.Unstructured",
    shape: Shape::Struct,
    type_meta: true,
    open: true,
    fields: &FIELDS,
    wire_order: &[],
    by_number: &[],
    members: &[Member::new("metadata", &FIELDS[0])],
    names: Names { multiplier: 0, shift: 0, slots: &[0] },
    info: &MessageInfo {
        kinds: &[],
        unregistered: false,
        no_openapi: true,
        map_type: "",
        unions: "",
        verbatim: true,
    },
};

static FIELDS: [Field; 1] = [Field {
    name: "metadata",
    key: "\"metadata\":",
    member: Key::const_new("metadata"),
    number: 0,
    tag: 0,
    ty: Type::Message(&IO_K8S_APIMACHINERY_PKG_APIS_META_V1_OBJECTMETA),
    cardinality: Cardinality::One,
    pointer: false,
    omit_empty: false,
    omit_zero: false,
    info: &FieldInfo {
        go_type: "",
        required: false,
        default: "",
        enum_values: &[],
        item_enum_values: &[],
        item_default: "",
        minimum: "",
        maximum: "",
        validations: "",
        patch_strategy: "",
        patch_merge_key: "",
        list_type: "",
        list_map_keys: &[],
        map_type: "",
        item_head: None,
    },
}];

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may say what must hold")]
mod tests {
    use super::*;
    use crate::{cbor, json, json_write, patch};

    const TEXT: &str = r#"{"spec":{"b":[1,2.5,{"z":null,"a":"x"}],"a":{}},"kind":"Widget","extra":true,
        "metadata":{"uid":"u","name":"w","labels":{},"generation":3,"nope":1,
            "managedFields":[{"manager":"m","fieldsV1":{"f:spec":{"f:b":{}}}}]},"apiVersion":"example.com/v1"}"#;

    #[test]
    fn unknown_members_survive_and_members_are_sorted() {
        let decoded = json::decode(&CUSTOM_RESOURCE, TEXT.as_bytes()).unwrap();
        let strict: Vec<String> = decoded.strict.iter().map(ToString::to_string).collect();
        assert_eq!(strict, [r#"unknown field "metadata.nope""#]);
        let mut out = Vec::new();
        json_write::encode(&CUSTOM_RESOURCE, &decoded.object, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            concat!(
                r#"{"apiVersion":"example.com/v1","extra":true,"kind":"Widget","metadata":{"generation":3,"#,
                r#""managedFields":[{"fieldsV1":{"f:spec":{"f:b":{}}},"manager":"m"}],"name":"w","uid":"u"},"#,
                r#""spec":{"a":{},"b":[1,2.5,{"a":"x","z":null}]}}"#,
            )
        );
    }

    #[test]
    fn all_formats_carry_the_same_object() {
        let object = json::decode(&CUSTOM_RESOURCE, TEXT.as_bytes()).unwrap().object;
        let mut binary = Vec::new();
        cbor::encode(&CUSTOM_RESOURCE, &object, &mut binary).unwrap();
        let read = cbor::decode(&CUSTOM_RESOURCE, &binary).unwrap().object;
        // Managed fields are kept as text; its white space may differ.
        let value = |object| patch::expand(&CUSTOM_RESOURCE, object).unwrap();
        assert_eq!(value(&read), value(&object));
        let collapsed = patch::collapse(&CUSTOM_RESOURCE, value(&object));
        assert_eq!(value(&collapsed.unwrap().object), value(&object));
    }

    #[test]
    fn last_duplicate_wins_and_is_reported() {
        let decoded = json::decode(&CUSTOM_RESOURCE, br#"{"a":{"b":1,"b":2},"a":3}"#).unwrap();
        let strict: Vec<String> = decoded.strict.iter().map(ToString::to_string).collect();
        assert_eq!(strict, [r#"duplicate field "a.b""#, r#"duplicate field "a""#]);
        assert_eq!(decoded.object["a"], 3);
    }
}
