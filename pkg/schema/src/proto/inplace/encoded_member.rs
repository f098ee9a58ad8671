//! Members as in JSON: Go encodes some zero values and omits others.

use super::{MemberRef, MessageRef, NotInPlace};
use crate::table::{Cardinality, Field, Shape, Type};

impl<'a> MessageRef<'a> {
    /// The member as in JSON: `None` if Go omits it, `Absent` for `null`, and the zero value if Go encodes
    /// it.
    ///
    /// # Errors
    /// The bytes up to the member are irregular, or its zero value is of a rare type.
    #[inline(always)]
    pub fn encoded_member(&self, name: &str) -> Result<Option<MemberRef<'a>>, NotInPlace> {
        match self.field_named(name) {
            Some(field) => encoded_value(field, self.value(name, field)?),
            None => Ok(None),
        }
    }

    /// The members as in JSON, by name, with values as for [`encoded_member`](Self::encoded_member). They do not include
    /// `kind` and `apiVersion`, which are not in the message.
    pub fn json_members(
        self,
    ) -> impl Iterator<Item = Result<(&'static str, MemberRef<'a>), NotInPlace>> + use<'a> {
        self.message.members.iter().filter_map(move |member| {
            let value =
                self.value(member.name, member.field).and_then(|value| encoded_value(member.field, value));
            value.transpose().map(|value| value.map(|value| (member.name, value)))
        })
    }
}

#[inline(always)]
fn encoded_value<'a>(
    field: &'static Field,
    value: MemberRef<'a>,
) -> Result<Option<MemberRef<'a>>, NotInPlace> {
    Ok(match value {
        MemberRef::Absent => zero(field)?,
        MemberRef::Message(message) if field.omit_zero && !message.is_set()? => None,
        value => Some(value),
    })
}

/// Go's JSON for a field without a value: see [`left_out`](crate::json_write::typed::left_out).
#[inline(never)]
fn zero<'a>(field: &'static Field) -> Result<Option<MemberRef<'a>>, NotInPlace> {
    let inner = match field.ty {
        Type::Message(inner) if field.cardinality == Cardinality::One => Some(inner),
        _ => None,
    };
    let is_struct = inner.is_some_and(|inner| inner.shape != Shape::Wrapper) && !field.pointer;
    if field.omit_zero && !field.pointer || field.omit_empty && !is_struct {
        return Ok(None);
    }
    if field.pointer || field.cardinality != Cardinality::One {
        return Ok(Some(MemberRef::Absent));
    }
    Ok(Some(match (field.ty, inner) {
        (Type::String, _) => MemberRef::Text(""),
        (Type::Bool, _) => MemberRef::Bool(false),
        (Type::Int32 | Type::Int64, _) => MemberRef::Int(0),
        (Type::Bytes, _) => MemberRef::Absent,
        (_, Some(inner)) => match inner.shape {
            Shape::Struct => MemberRef::Message(MessageRef::new(inner, &[])),
            Shape::Quantity => MemberRef::Quantity("0"),
            Shape::IntOrString => MemberRef::Int(0),
            Shape::Time | Shape::MicroTime => MemberRef::Absent,
            _ => return Err(NotInPlace),
        },
        _ => return Err(NotInPlace),
    }))
}
