//! Equality of trees, equivalent to upstream's `Semantic.DeepEqual` on structs. A zero value equals an absent
//! one unless the field is a pointer. Nil lists and maps equal empty ones.

use jsontree::Value;
use schema::object::Object;
use schema::table::{Cardinality, Field, Message, Shape, Type};

/// Compares two objects of a type. `kind` and `apiVersion` are ignored.
pub fn equal(message: &Message, a: &Object, b: &Object) -> bool {
    // Most objects that are compared have equal trees, which needs no type. Not in recursion: that would compare the
    // innermost values once per level.
    a == b || equal_structs(message, a, b)
}

/// Compares two values of a field, either of which may be absent.
pub fn equal_members(field: &Field, a: Option<&Value>, b: Option<&Value>) -> bool {
    a == b || equal_fields(field, a, b)
}

fn equal_structs(message: &Message, a: &Object, b: &Object) -> bool {
    message.members.iter().all(|member| {
        let name = member.name;
        equal_fields(member.field, a.get(name), b.get(name))
    }) && (!message.open || unnamed(message, a).eq(unnamed(message, b)))
}

/// Iterates over the members of an open type that have no field.
fn unnamed<'a>(
    message: &'a Message,
    object: &'a Object,
) -> impl Iterator<Item = (&'a jsontree::Key, &'a Value)> {
    object.iter().filter(|(name, _)| !message.names(name))
}

fn equal_fields(field: &Field, a: Option<&Value>, b: Option<&Value>) -> bool {
    let a = a.unwrap_or(&Value::Null);
    let b = b.unwrap_or(&Value::Null);
    match field.cardinality {
        Cardinality::One if field.pointer && (a.is_null() || b.is_null()) => a.is_null() && b.is_null(),
        Cardinality::One => equal_values(field.ty, a, b),
        Cardinality::List => {
            let a = items(a);
            let b = items(b);
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal_values(field.ty, a, b))
        }
        Cardinality::Map => match (a.as_object(), b.as_object()) {
            (Some(a), Some(b)) => {
                a.len() == b.len()
                    && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal_values(field.ty, a, b)))
            }
            (a, b) => a.or(b).is_none_or(Object::is_empty),
        },
    }
}

fn equal_values(ty: Type, a: &Value, b: &Value) -> bool {
    match ty {
        Type::Message(message) => equal_messages(message, a, b),
        _ => is_zero(a) && is_zero(b) || a == b,
    }
}

fn equal_messages(message: &Message, a: &Value, b: &Value) -> bool {
    match message.shape {
        Shape::Struct => {
            let absent = Object::new();
            equal_structs(message, a.as_object().unwrap_or(&absent), b.as_object().unwrap_or(&absent))
        }
        Shape::Wrapper => message.fields.first().is_none_or(|field| equal_fields(field, Some(a), Some(b))),
        Shape::SchemaOrArray | Shape::SchemaOrBool | Shape::SchemaOrStringArray => {
            equal_alternatives(message, a, b)
        }
        Shape::Quantity => a == b || (is_zero_quantity(a) && is_zero_quantity(b)),
        _ => a == b || (is_zero(a) && is_zero(b)),
    }
}

/// Compares a schema, or a value that may replace it.
fn equal_alternatives(message: &Message, a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            schema_of(message).is_none_or(|schema| equal_structs(schema, a, b))
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal_alternatives(message, a, b))
        }
        (a, b) => a == b,
    }
}

/// Returns the schema type of a union of a schema and another value.
pub fn schema_of(message: &Message) -> Option<&'static Message> {
    message.fields.iter().find_map(|field| match field.ty {
        Type::Message(schema) => Some(schema),
        _ => None,
    })
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Raw(_) => false,
    }
}

fn is_zero_quantity(value: &Value) -> bool {
    value.is_null() || value.as_str() == Some("0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::json;
    use schema::builtin::{
        IO_K8S_API_CORE_V1_POD as POD,
        IO_K8S_APIEXTENSIONS_APISERVER_PKG_APIS_APIEXTENSIONS_V1_CUSTOMRESOURCEDEFINITIONVERSION as VERSION,
    };

    fn check(message: &Message, a: Value, b: Value, expected: bool) {
        let (Value::Object(a), Value::Object(b)) = (a, b) else { unreachable!("tests give objects") };
        assert_eq!(equal(message, &a, &b), expected, "{a:?} {b:?}");
        assert_eq!(equal(message, &b, &a), expected, "{b:?} {a:?}");
    }

    #[test]
    fn zero_values_equal_absent_ones() {
        check(&POD, json!({"kind": "Pod"}), json!({}), true);
        check(
            &POD,
            json!({"spec": {"hostNetwork": false, "nodeName": "", "containers": []}}),
            json!({}),
            true,
        );
        check(
            &POD,
            json!({"metadata": {"labels": {}, "creationTimestamp": null}}),
            json!({"metadata": {}}),
            true,
        );
        check(&POD, json!({"metadata": {"labels": {"a": ""}}}), json!({}), false);
        check(&POD, json!({"spec": {"containers": [{}]}}), json!({}), false);
        check(&POD, json!({"spec": {"nodeName": "a"}}), json!({"spec": {"nodeName": "b"}}), false);
    }

    #[test]
    fn pointers_to_zero_are_not_nil() {
        check(&POD, json!({"spec": {"securityContext": {}}}), json!({}), false);
        check(
            &POD,
            json!({"spec": {"securityContext": {}}}),
            json!({"spec": {"securityContext": {"runAsUser": null}}}),
            true,
        );
        check(&POD, json!({"spec": {"terminationGracePeriodSeconds": 0}}), json!({}), false);
        check(&VERSION, json!({"subresources": {"status": {}}}), json!({"subresources": {}}), false);
    }

    #[test]
    fn schemas_are_compared_inside_their_alternatives() {
        let schema = |items: Value| json!({"schema": {"openAPIV3Schema": {"items": items, "additionalProperties": true}}});
        check(&VERSION, schema(json!({"nullable": false})), schema(json!({})), true);
        check(&VERSION, schema(json!({"nullable": true})), schema(json!({})), false);
        check(&VERSION, schema(json!([{"nullable": false}])), schema(json!([{}])), true);
        check(&VERSION, schema(json!([{}])), schema(json!({})), false);
    }
}
