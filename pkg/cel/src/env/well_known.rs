//! Well-known protobuf messages. They exist in every environment, although Kubernetes does not use them.

use crate::types::{Shape, Type, Types};

const PACKAGE: &str = "google.protobuf.";

/// Returns the CEL type of a message.
pub(super) fn find_type(types: &mut Types, name: &str) -> Option<Type> {
    let ty = match name.strip_prefix(PACKAGE)? {
        "Any" => Type::ANY,
        "Duration" => Type::DURATION,
        "Timestamp" => Type::TIMESTAMP,
        "Value" => Type::DYN,
        "ListValue" => types.list(Type::DYN),
        "Struct" => types.map(Type::STRING, Type::DYN),
        "Empty" => types.object(name),
        wrapper => {
            let of = wrapped(wrapper)?;
            types.intern(Shape::Wrapper(of))
        }
    };
    Some(ty)
}

/// Returns the value type of a wrapper message.
fn wrapped(name: &str) -> Option<Type> {
    Some(match name {
        "BoolValue" => Type::BOOL,
        "BytesValue" => Type::BYTES,
        "DoubleValue" | "FloatValue" => Type::DOUBLE,
        "Int32Value" | "Int64Value" => Type::INT,
        "StringValue" => Type::STRING,
        "UInt32Value" | "UInt64Value" => Type::UINT,
        _ => return None,
    })
}

/// Returns the type of a field of a well-known message.
pub(super) fn find_field(types: &mut Types, object: &str, field: &str) -> Option<Type> {
    Some(match (object.strip_prefix(PACKAGE)?, field) {
        ("Any", "type_url") => Type::STRING,
        ("Any", "value") => Type::BYTES,
        ("Duration" | "Timestamp", "seconds" | "nanos") => Type::INT,
        ("Struct", "fields") => types.map(Type::STRING, Type::DYN),
        ("ListValue", "values") => types.list(Type::DYN),
        ("Value", "null_value") => Type::NULL,
        ("Value", "number_value") => Type::DOUBLE,
        ("Value", "string_value") => Type::STRING,
        ("Value", "bool_value") => Type::BOOL,
        ("Value", "struct_value") => types.map(Type::STRING, Type::DYN),
        ("Value", "list_value") => types.list(Type::DYN),
        (wrapper, "value") => wrapped(wrapper)?,
        _ => return None,
    })
}
