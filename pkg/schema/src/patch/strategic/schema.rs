//! Merge strategies of members, from the tables.

use super::{Error, failed};
use crate::table::{Cardinality, Field, Message, Shape, Type};

/// The type of an object in a patch.
#[derive(Clone, Copy)]
pub(super) enum Schema {
    Struct(&'static Message),
    /// Another Go type, which has no members to look up.
    Other(&'static str),
}

/// The merge strategy of a member.
pub(super) struct MergeStrategy {
    /// Type of the member, or of the items of a list.
    pub(super) schema: Schema,
    /// True for the strategy `merge`.
    pub(super) merges: bool,
    /// True for the strategy `replace`.
    pub(super) replaces: bool,
    /// Empty for none.
    pub(super) merge_key: &'static str,
}

impl Schema {
    /// Looks up a member that is an object.
    pub(super) fn field(self, name: &str) -> Result<MergeStrategy, Error> {
        let field = self.lookup(name)?;
        let schema = match field.cardinality {
            Cardinality::One => element(field),
            Cardinality::List => Schema::Other("slice"),
            Cardinality::Map => Schema::Other("map"),
        };
        Ok(merging(field, schema))
    }

    /// Looks up a member that is a list.
    pub(super) fn list_field(self, name: &str) -> Result<MergeStrategy, Error> {
        let field = self.lookup(name)?;
        match (field.cardinality, field.ty) {
            (Cardinality::List, _) => Ok(merging(field, element(field))),
            (Cardinality::One, Type::Message(message)) if message.shape == Shape::Wrapper => {
                Ok(merging(field, Schema::Other("string")))
            }
            // Upstream dereferences a pointer without checking its target's type.
            (Cardinality::One, _) if field.pointer => Ok(merging(field, element(field))),
            _ => failed(format!("expected slice or array type, but got: {}", self.kind())),
        }
    }

    /// The type's name in errors.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Schema::Struct(_) => "struct",
            Schema::Other(kind) => kind,
        }
    }

    fn lookup(self, name: &str) -> Result<&'static Field, Error> {
        let message = match self {
            Schema::Struct(message) => message,
            Schema::Other(kind) => {
                return failed(format!(
                    "merging an object in json but data type is not struct, instead is: {kind}"
                ));
            }
        };
        let fields = if message.shape == Shape::Struct { message.members } else { &[] };
        let exact = fields.iter().find(|member| member.name == name);
        let member_entry =
            exact.or_else(|| fields.iter().find(|member| member.name.eq_ignore_ascii_case(name)));
        match member_entry {
            Some(member) => Ok(member.field),
            None => {
                let name = apimachinery::go_quote::quote(name);
                let kind = bare_name(message);
                failed(format!("unable to find api field in struct {kind} for the json field {name}"))
            }
        }
    }
}

fn element(field: &Field) -> Schema {
    match field.ty {
        Type::Message(message) if message.shape == Shape::Wrapper => Schema::Other("slice"),
        Type::Message(message) => Schema::Struct(message),
        Type::String => Schema::Other("string"),
        Type::Bytes => Schema::Other("slice"),
        Type::Bool => Schema::Other("bool"),
        Type::Int32 => Schema::Other("int32"),
        Type::Int64 => Schema::Other("int64"),
        Type::Double => Schema::Other("float64"),
        Type::Any => Schema::Other("interface"),
    }
}

fn merging(field: &Field, schema: Schema) -> MergeStrategy {
    let merge_key = field.info.patch_merge_key;
    let merges = has_strategy(field, "merge");
    MergeStrategy { schema, merges, replaces: has_strategy(field, "replace"), merge_key }
}

pub(super) fn has_strategy(field: &Field, name: &str) -> bool {
    field.info.patch_strategy.split(',').any(|strategy| strategy == name)
}

fn bare_name(message: &Message) -> &'static str {
    message.go_name.rsplit_once('.').map_or(message.go_name, |(_, name)| name)
}
