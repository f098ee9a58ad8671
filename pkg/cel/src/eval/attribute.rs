//! Evaluation of attributes: variables with their fields and indices.

use super::Evaluator;
use super::cost::Trace;
use crate::arena::{Abort, Outcome};
use crate::plan::{Key, Qualifier, Root};
use crate::value::{Constant, List, Map, Opaque, Value, go_type, lossless_int, text};

/// Result of one qualifier: a value, absent, or an error.
enum QualifierResult<'a> {
    Value(Value<'a>),
    Absent,
    Error(Value<'a>),
}

impl<'a, T: Trace<'a>> Evaluator<'a, '_, T> {
    /// Evaluates an attribute node.
    pub(super) fn attribute(&mut self, attribute: u32) -> Outcome<'a> {
        let this = self.plan.attribute(attribute);
        let value = match this.root {
            // Fast path for fields of a variable, which covers nearly all attributes.
            Root::Slot(slot)
                if let Some(value) = self.slots[usize::from(slot)]
                    && !matches!(value, Value::Error(_) | Value::Optional(_)) =>
            {
                self.qualified(value, &this.qualifiers)?
            }
            _ => self.resolve(attribute)?,
        };
        self.attribute_done(attribute, 0)?;
        Ok(value)
    }

    /// Evaluates `has(attribute)`.
    pub(super) fn presence(&mut self, attribute: u32) -> Outcome<'a> {
        let value = match self.resolve(attribute)? {
            Value::Optional(value) => Value::Bool(value.is_some()),
            value => value,
        };
        // A presence test is free, so the attribute's cost is refunded.
        self.attribute_done(attribute, 1)?;
        Ok(value)
    }

    /// Evaluates an attribute without accounting for it.
    pub(super) fn resolve(&mut self, attribute: u32) -> Outcome<'a> {
        let plan = self.plan;
        let this = plan.attribute(attribute);
        let value = match this.root {
            Root::Slot(slot) => match self.slots[usize::from(slot)] {
                Some(value) => value,
                None => return self.unbound(slot),
            },
            Root::Accumulator { slot, fold } => match self.slots[usize::from(slot)] {
                Some(value) => value,
                None => self.accumulator(&plan.folds[fold as usize])?,
            },
            Root::Node(node) => self.node(node)?,
            Root::Choice { condition, truthy, falsy } => {
                return match self.node(condition)? {
                    Value::Bool(true) => self.resolve(truthy),
                    Value::Bool(false) => self.resolve(falsy),
                    value => Ok(value.or_no_such_overload()),
                };
            }
        };
        match value {
            Value::Error(_) | Value::Optional(None) => Ok(value),
            Value::Optional(Some(inner)) => self.qualify_all(*inner, &this.qualifiers, true),
            value => self.qualified(value, &this.qualifiers),
        }
    }

    /// Applies qualifiers to a value that is neither an error nor optional.
    #[inline(always)]
    fn qualified(&mut self, value: Value<'a>, qualifiers: &'a [Qualifier]) -> Outcome<'a> {
        match self.fields(value, qualifiers)? {
            (value, []) => Ok(value),
            (value, rest) => self.qualify_all(value, rest, false),
        }
    }

    /// Follows member names while each leads from a map to another value. Returns the last value and the
    /// remaining qualifiers.
    #[inline(always)]
    fn fields(
        &mut self,
        mut value: Value<'a>,
        mut qualifiers: &'a [Qualifier],
    ) -> Result<(Value<'a>, &'a [Qualifier]), Abort> {
        let plan = self.plan;
        while let Some((qualifier, rest)) = qualifiers.split_first()
            && let (Key::Constant(constant), false, false) =
                (qualifier.key, qualifier.optional, qualifier.test)
            && let (Constant::String(name), Value::Map(map)) = (&plan.constants[constant as usize], value)
            && let Some(next) = map.field(name)
            && !next.is_error()
        {
            value = next;
            self.costs.charge(1)?;
            self.costs.trace.push(qualifier.id, value);
            qualifiers = rest;
        }
        Ok((value, qualifiers))
    }

    fn unbound(&self, slot: u16) -> Outcome<'a> {
        let name = self.plan.variables.get(usize::from(slot)).map_or("", |name| name);
        self.arena.error(format_args!("no such attribute(s): {name}"))
    }

    /// Accounts for an evaluated attribute.
    #[inline]
    pub(super) fn attribute_done(&mut self, attribute: u32, free: u64) -> Result<(), Abort> {
        let plan = self.plan;
        match plan.attribute(attribute).root {
            // A choice has no cost of its own.
            Root::Choice { condition, truthy, falsy } => {
                self.costs.trace.drop_id(plan.attribute_id(falsy));
                self.costs.trace.drop_id(plan.attribute_id(truthy));
                self.costs.trace.drop_id(self.id(condition));
                self.costs.refund(free);
                Ok(())
            }
            _ => {
                self.costs.trace.drop_id(plan.attribute_id(attribute));
                self.costs.charge(1 - free)
            }
        }
    }

    fn qualify_all(
        &mut self,
        mut value: Value<'a>,
        qualifiers: &'a [Qualifier],
        mut optional: bool,
    ) -> Outcome<'a> {
        for qualifier in qualifiers {
            optional |= qualifier.optional;
            match self.qualify(value, qualifier, optional)? {
                QualifierResult::Value(next) => value = next,
                QualifierResult::Absent => return Ok(Value::Optional(None)),
                QualifierResult::Error(error) => return Ok(error),
            }
        }
        if optional { self.arena.optional(value) } else { Ok(value) }
    }

    /// Applies one qualifier and accounts for it.
    fn qualify(
        &mut self,
        value: Value<'a>,
        qualifier: &'a Qualifier,
        optional: bool,
    ) -> Result<QualifierResult<'a>, Abort> {
        let plan = self.plan;
        let key = match qualifier.key {
            Key::Constant(constant) => plan.constants[constant as usize].value(),
            Key::Attribute(attribute) | Key::Computed(attribute) => {
                let key = self.resolve(attribute)?;
                match check_key(key, self.is_of_host(attribute)) {
                    Ok(()) => key,
                    Err(problem) => {
                        let error = if key.is_error() { key } else { self.arena.error(problem)? };
                        return self.step_done(qualifier, QualifierResult::Error(error), optional);
                    }
                }
            }
        };
        let mut result = self.find(value, key, optional || qualifier.test)?;
        if qualifier.test {
            result = match result {
                // Through an optional value, a non-absent result counts as present.
                QualifierResult::Absent if !optional => QualifierResult::Value(Value::Bool(false)),
                QualifierResult::Value(_) => QualifierResult::Value(Value::Bool(true)),
                result => result,
            };
        }
        self.step_done(qualifier, result, optional)
    }

    /// Returns true if the attribute leads from a host variable directly into the host's data.
    fn is_of_host(&self, attribute: u32) -> bool {
        match self.plan.attribute(attribute).root {
            Root::Slot(slot) => usize::from(slot) < self.plan.variables.len(),
            Root::Choice { truthy, falsy, .. } => self.is_of_host(truthy) || self.is_of_host(falsy),
            Root::Accumulator { .. } | Root::Node(_) => false,
        }
    }

    fn step_done(
        &mut self,
        qualifier: &Qualifier,
        result: QualifierResult<'a>,
        optional: bool,
    ) -> Result<QualifierResult<'a>, Abort> {
        let value = match result {
            QualifierResult::Value(value) => value,
            // Optional qualifiers that find nothing are not tracked.
            QualifierResult::Absent => return Ok(result),
            QualifierResult::Error(_) if optional => return Ok(result),
            QualifierResult::Error(error) => error,
        };
        if matches!(qualifier.key, Key::Computed(_)) {
            self.costs.trace.drop_id(qualifier.id);
        }
        self.costs.charge(1)?;
        self.costs.trace.push(qualifier.id, value);
        Ok(result)
    }

    /// Returns the member or element for a key.
    fn find(&self, value: Value<'a>, key: Value<'a>, quiet: bool) -> Result<QualifierResult<'a>, Abort> {
        let missing = |message: &str| -> Result<QualifierResult<'a>, Abort> {
            if quiet {
                return Ok(QualifierResult::Absent);
            }
            Ok(QualifierResult::Error(self.arena.error(format_args!("{message}: {}", text(key)))?))
        };
        match value {
            Value::Error(_) => Ok(QualifierResult::Error(value)),
            Value::Map(map) => match map.find(key) {
                Some(error @ Value::Error(_)) => Ok(QualifierResult::Error(error)),
                Some(value) => Ok(QualifierResult::Value(value)),
                None => missing("no such key"),
            },
            Value::List(list) => match index(key) {
                Ok(place) => match usize::try_from(place).ok().and_then(|place| list.get(place)) {
                    Some(_) if is_typed(list) && !matches!(key, Value::Int(_)) => {
                        let error = format_args!("unsupported index: {}", text(key)).to_string();
                        Ok(QualifierResult::Error(self.arena.error(error)?))
                    }
                    Some(value) => Ok(QualifierResult::Value(value)),
                    None => missing("index out of bounds"),
                },
                Err(problem) => Ok(QualifierResult::Error(self.arena.error(problem)?)),
            },
            Value::Opaque(Opaque::Object { type_name, fields }) => {
                let Value::String(name) = key else { return missing("no such key") };
                match self.context().object_field(type_name, fields, name, quiet)? {
                    Some(value) => Ok(QualifierResult::Value(value)),
                    None => missing("no such key"),
                }
            }
            _ => missing("no such key"),
        }
    }
}

fn is_typed(list: List<'_>) -> bool {
    matches!(list, List::Typed(..))
}

/// Error about a value that is not a key or index, in cel-go's words.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeyError {
    /// Not a field or index; contains the Go type.
    #[error("invalid qualifier type: {0}")]
    Qualifier(&'static str),
    #[error("unsupported index type '{0}' in list")]
    IndexType(String),
    /// A number that is not an integer of 64 bits.
    #[error("unsupported index value {0} in list")]
    IndexValue(String),
}

/// Checks that a value can be a field or index. Host data has plain Go types until something is computed from
/// it.
fn check_key(key: Value<'_>, of_host: bool) -> Result<(), KeyError> {
    match key {
        Value::String(_) | Value::Int(_) | Value::Uint(_) | Value::Bool(_) | Value::Double(_) => Ok(()),
        Value::List(List::Tree(_) | List::Stored(_) | List::Message(_)) if of_host => {
            Err(KeyError::Qualifier("[]interface {}"))
        }
        Value::Map(Map::Tree(_) | Map::Stored(_) | Map::Message(_)) if of_host => {
            Err(KeyError::Qualifier("map[string]interface {}"))
        }
        _ => Err(KeyError::Qualifier(go_type(key))),
    }
}

/// Converts a key to an index.
pub(super) fn index(key: Value<'_>) -> Result<i64, KeyError> {
    let place = match key {
        Value::Int(int) => Some(int),
        Value::Uint(uint) => i64::try_from(uint).ok(),
        Value::Double(double) => lossless_int(double),
        _ => return Err(KeyError::IndexType(key.type_name().to_owned())),
    };
    place.ok_or_else(|| KeyError::IndexValue(text(key).to_string()))
}
