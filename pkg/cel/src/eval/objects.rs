//! Construction of the objects of mutations: `Object{…}` and `JSONPatch{…}`.

use super::cost::Trace;
use super::{Context, Evaluator};
use crate::arena::Outcome;
use crate::plan::Structure;
use crate::value::{Opaque, Value};

/// Type of JSON patch operations; all other types are parts of an object.
const JSON_PATCH: &str = "JSONPatch";

impl<'a, T: Trace<'a>> Evaluator<'a, '_, T> {
    #[inline(never)]
    pub(super) fn structure(&mut self, structure: &'a Structure) -> Outcome<'a> {
        let plan = self.plan;
        let nodes = plan.children(structure.values);
        let mut fields = Vec::with_capacity(nodes.len());
        let mut failed = None;
        for (field, node) in structure.fields.iter().zip(nodes) {
            let value = self.node(*node)?;
            match value {
                Value::Error(_) => failed = Some(value),
                Value::Optional(None) if field.optional => fields.retain(|(name, _)| *name != &*field.name),
                Value::Optional(Some(value)) if field.optional => fields.push((&*field.name, *value)),
                _ if field.optional => {
                    failed = Some(self.not_optional("entry", Some(Value::String(&field.name)), value)?);
                }
                _ => fields.push((&*field.name, value)),
            }
            if failed.is_some() {
                break;
            }
        }
        self.constructed(nodes, 40)?;
        match failed {
            Some(error) => Ok(error),
            None => self.context().object(&structure.type_name, fields),
        }
    }
}

impl<'a> Context<'a, '_> {
    fn object(self, type_name: &'a str, mut fields: Vec<(&'a str, Value<'a>)>) -> Outcome<'a> {
        if type_name != JSON_PATCH && type_name != "Object" && !type_name.starts_with("Object.") {
            return self.arena.error(format_args!("unknown type '{type_name}'"));
        }
        for (name, value) in &fields {
            let is_text = type_name == JSON_PATCH && *name != "value";
            if is_text && !matches!(value, Value::String(_)) {
                let go = go_native_type(*value);
                return self
                    .arena
                    .error(format_args!("unexpected type {go} for JSONPatchType '{name}' field"));
            }
        }
        fields.sort_by_key(|(name, _)| *name);
        let mut copied = bumpalo::collections::Vec::new_in(self.arena.bump());
        copied.try_reserve_exact(fields.len()).map_err(|_| crate::arena::Abort::CostLimit)?;
        copied.extend(fields);
        self.arena.opaque(Opaque::Object { type_name, fields: copied.into_bump_slice() })
    }

    /// Returns a field. For a presence test, an unset field is `None`. Otherwise it is null in objects and
    /// empty in patches.
    pub(super) fn object_field(
        self,
        type_name: &str,
        fields: &[(&'a str, Value<'a>)],
        name: &str,
        asks_presence: bool,
    ) -> Result<Option<Value<'a>>, crate::arena::Abort> {
        let field = fields.iter().find(|(field, _)| *field == name).map(|(_, value)| *value);
        if type_name == JSON_PATCH {
            let set = field.filter(|value| !matches!(value, Value::String("")) || name == "value");
            return Ok(if asks_presence { set } else { Some(field.unwrap_or(Value::String(""))) });
        }
        match field {
            Some(value) => self.as_data(value).map(Some),
            None => Ok((!asks_presence).then_some(Value::Null)),
        }
    }

    /// Converts the content of an object to plain data: nested objects become maps.
    fn as_data(self, value: Value<'a>) -> Outcome<'a> {
        self.work.run_nested(|| self.data_of(value))
    }

    fn data_of(self, value: Value<'a>) -> Outcome<'a> {
        match value {
            Value::Opaque(Opaque::Object { type_name, fields }) if *type_name != JSON_PATCH => {
                let mut entries = Vec::with_capacity(fields.len());
                for (name, value) in *fields {
                    self.work.spend(1)?;
                    entries.push((Value::String(name), self.as_data(*value)?));
                }
                self.arena.map(entries)
            }
            value => Ok(value),
        }
    }
}

/// Returns the native Go type name of a value.
fn go_native_type(value: Value<'_>) -> &'static str {
    match value {
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Uint(_) => "uint64",
        Value::Double(_) => "float64",
        Value::Bytes(_) => "[]uint8",
        Value::Null => "structpb.NullValue",
        value => crate::value::go_type(value),
    }
}
