//! Values as formatted by Go's `%v` and `%#v`, including upstream's wrapper.

use std::fmt::{self, Display};

use apimachinery::go_quote::quote;
use jsontree::Value;

use crate::structured_merge::path::Readable;

/// `%v`: `&{map[a:1]}`.
pub(super) struct Plain<'v>(pub(super) &'v Value);

/// `%#v`: `&value.valueUnstructured{Value:1}`.
pub(super) struct Sharp<'v>(pub(super) &'v Value);

/// `%T`: `map[string]interface {}`.
pub(super) use schema::object::go_type as type_name;

impl Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("&{")?;
        plain(self.0, f)?;
        f.write_str("}")
    }
}

fn plain(value: &Value, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match value {
        Value::Null => f.write_str("<nil>"),
        Value::String(text) => f.write_str(text),
        Value::Bool(_) | Value::Number(_) | Value::Raw(_) => Readable(value).fmt(f),
        Value::Array(items) => {
            f.write_str("[")?;
            for (at, item) in items.iter().enumerate() {
                f.write_str(if at == 0 { "" } else { " " })?;
                plain(item, f)?;
            }
            f.write_str("]")
        }
        Value::Object(members) => {
            f.write_str("map[")?;
            for (at, (name, value)) in members.iter().enumerate() {
                write!(f, "{}{name}:", if at == 0 { "" } else { " " })?;
                plain(value, f)?;
            }
            f.write_str("]")
        }
    }
}

impl Display for Sharp<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("&value.valueUnstructured{Value:")?;
        sharp(self.0, f)?;
        f.write_str("}")
    }
}

fn sharp(value: &Value, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match value {
        Value::Null => f.write_str("interface {}(nil)"),
        Value::String(text) => f.write_str(&quote(text)),
        Value::Bool(_) | Value::Number(_) | Value::Raw(_) => Readable(value).fmt(f),
        Value::Array(items) => {
            f.write_str("[]interface {}{")?;
            for (at, item) in items.iter().enumerate() {
                f.write_str(if at == 0 { "" } else { ", " })?;
                sharp(item, f)?;
            }
            f.write_str("}")
        }
        Value::Object(members) => {
            f.write_str("map[string]interface {}{")?;
            for (at, (name, value)) in members.iter().enumerate() {
                write!(f, "{}{}:", if at == 0 { "" } else { ", " }, quote(name))?;
                sharp(value, f)?;
            }
            f.write_str("}")
        }
    }
}
