//! Immutable fields.

use super::go_value::{go_value, go_values};
use api::semantic::equal_members;
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use jsontree::Value;
use schema::object::Object;
use schema::table::{Cardinality, Field, Message, Shape, Type};

pub(crate) const IMMUTABLE: &str = "field is immutable";

/// Checks that a member of an object equals that of the old object, like upstream's `ValidateImmutableField`.
/// If the type does not have the member, that is a defect of this code. The object is then rejected with an
/// internal error, because otherwise the member could change.
pub(crate) fn immutable(
    path: &Path<'_>,
    message: &'static Message,
    member: &str,
    new: &Object,
    old: &Object,
    errors: &mut ErrorList,
) {
    let Some(field) = message.member(member) else {
        errors.push(Error::internal(path, format!("{} has no member {member}", message.name)));
        return;
    };
    if !equal_members(field, new.get(member), old.get(member)) {
        errors.push(Error::invalid(path, member_value(field, new.get(member)), IMMUTABLE));
    }
}

/// Returns the value of a member for an error.
fn member_value(field: &'static Field, value: Option<&Value>) -> BadValue {
    let value = value.unwrap_or(&Value::Null);
    let absent = value.is_null() && !field.pointer;
    match (field.cardinality, field.ty) {
        (Cardinality::List, Type::Message(message)) if message.shape == Shape::Struct => {
            go_values(message, Some(value))
        }
        (Cardinality::One, Type::Message(message)) if message.shape == Shape::Struct => match value {
            Value::Object(object) => go_value(message, object),
            _ if absent => go_value(message, &Object::new()),
            _ => value.into(),
        },
        (Cardinality::One, Type::String) if absent => "".into(),
        (Cardinality::One, Type::Bool) if absent => false.into(),
        (Cardinality::One, Type::Int32 | Type::Int64) if absent => 0.into(),
        _ => value.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::json;
    use schema::builtin::{
        IO_K8S_API_CORE_V1_SECRET as SECRET, IO_K8S_API_STORAGE_V1_STORAGECLASS as STORAGE_CLASS,
    };

    fn check(message: &'static Message, member: &str, new: Value, old: Value, expected: &[&str]) {
        let mut errors = ErrorList::new();
        let object = |value: &Value| value.as_object().cloned().unwrap_or_default();
        immutable(&Path::root("f"), message, member, &object(&new), &object(&old), &mut errors);
        assert_eq!(errors.iter().map(Error::to_string).collect::<Vec<_>>(), expected, "{new}");
    }

    #[test]
    fn values_show_as_in_go() {
        check(&SECRET, "type", json!({}), json!({"type": ""}), &[]);
        check(
            &SECRET,
            "type",
            json!({}),
            json!({"type": "a"}),
            &["f: Invalid value: \"\": field is immutable"],
        );
        let class = |new, expected: &str| {
            check(&STORAGE_CLASS, "reclaimPolicy", new, json!({"reclaimPolicy": "Delete"}), &[expected]);
        };
        class(json!({}), "f: Invalid value: null: field is immutable");
        class(json!({"reclaimPolicy": "Retain"}), "f: Invalid value: \"Retain\": field is immutable");
        let old = json!({"parameters": {"a": "b"}});
        check(&STORAGE_CLASS, "parameters", json!({}), old, &["f: Invalid value: null: field is immutable"]);
    }

    #[test]
    fn unknown_member_is_refused() {
        let refused = "f: Internal error: io.k8s.api.core.v1.Secret has no member tpye";
        check(&SECRET, "tpye", json!({}), json!({}), &[refused]);
    }
}
