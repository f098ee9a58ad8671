//! The protobuf types that cel-go's own tests use.

use cel::types::{Shape, Type, Types};

const PACKAGES: [&str; 2] = ["google.expr.proto3.test.", "google.expr.proto2.test."];
const MESSAGES: [&str; 3] = ["TestAllTypes", "TestAllTypes.NestedMessage", "NestedTestAllTypes"];
const CONSTANTS: [(&str, i64); 6] = [
    ("TestAllTypes.NestedEnum.FOO", 0),
    ("TestAllTypes.NestedEnum.BAR", 1),
    ("TestAllTypes.NestedEnum.BAZ", 2),
    ("GlobalEnum.GOO", 0),
    ("GlobalEnum.GAR", 1),
    ("GlobalEnum.GAZ", 2),
];

/// Splits a name into its package and local name.
fn local(name: &str) -> Option<(&'static str, &str)> {
    PACKAGES.iter().find_map(|package| Some((*package, name.strip_prefix(package)?)))
}

/// Returns a message type of the tests.
pub(crate) fn find_type(types: &mut Types, name: &str) -> Option<Type> {
    let (_, message) = local(name)?;
    MESSAGES.contains(&message).then(|| types.object(name))
}

/// Returns the type of a field of a test message.
pub(crate) fn find_field(types: &mut Types, object: &str, field: &str) -> Option<Type> {
    let (package, message) = local(object)?;
    match (message, field) {
        ("TestAllTypes.NestedMessage", "bb") => Some(Type::INT),
        ("NestedTestAllTypes", "child") => Some(types.object(object)),
        ("NestedTestAllTypes", "payload") => Some(types.object(&format!("{package}TestAllTypes"))),
        ("TestAllTypes", "list_value") => Some(types.list(Type::DYN)),
        ("TestAllTypes", "null_value") => Some(Type::NULL),
        ("TestAllTypes", "in") => Some(Type::BOOL),
        ("TestAllTypes", _) => {
            if let Some(one) = field.strip_prefix("single_").or_else(|| field.strip_prefix("standalone_")) {
                return scalar(types, package, one);
            }
            if let Some(one) = field.strip_prefix("repeated_") {
                let element = scalar(types, package, one)?;
                return Some(types.list(element));
            }
            let (key, value) = field.strip_prefix("map_")?.split_once('_')?;
            let key = scalar(types, package, key)?;
            let value = scalar(types, package, value)?;
            Some(types.map(key, value))
        }
        _ => None,
    }
}

fn scalar(types: &mut Types, package: &str, name: &str) -> Option<Type> {
    Some(match name {
        "int32" | "int64" | "sint32" | "sint64" | "sfixed32" | "sfixed64" | "nested_enum" | "enum" => {
            Type::INT
        }
        "uint32" | "uint64" | "fixed32" | "fixed64" => Type::UINT,
        "float" | "double" => Type::DOUBLE,
        "bool" => Type::BOOL,
        "string" => Type::STRING,
        "bytes" => Type::BYTES,
        "any" => Type::ANY,
        "duration" => Type::DURATION,
        "timestamp" => Type::TIMESTAMP,
        "value" => Type::DYN,
        "struct" => types.map(Type::STRING, Type::DYN),
        "nested_message" | "message" => types.object(&format!("{package}TestAllTypes.NestedMessage")),
        "nested_type" => types.object(&format!("{package}NestedTestAllTypes")),
        _ => {
            let of = scalar(types, package, name.strip_suffix("_wrapper")?)?;
            types.intern(Shape::Wrapper(of))
        }
    })
}

/// Returns an enum constant of the tests.
pub(crate) fn find_constant(name: &str) -> Option<i64> {
    let (_, constant) = local(name)?;
    CONSTANTS.iter().find(|(constant_name, _)| *constant_name == constant).map(|(_, value)| *value)
}
