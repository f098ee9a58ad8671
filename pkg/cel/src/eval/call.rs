//! Calls: arguments, their cost, and the function.

use super::{Context, Machine};
use crate::arena::{Abort, Outcome};
use crate::ext::regex::Regex;
use crate::overloads::{Overload, Signature, TYPES};
use crate::plan::{Call, Function, Op};
use crate::types::{Shape, Type};
use crate::value::Value;

impl<'a> Machine<'a, '_> {
    pub(super) fn call(&mut self, call: &'a Call) -> Outcome<'a> {
        let plan = self.plan;
        let nodes = plan.children(call.args);
        if matches!(call.op, Op::NotStrictlyFalse) {
            let value = self.node(nodes[0])?;
            let ids = nodes.iter().map(|node| plan.nodes[*node as usize].id);
            if self.costs.take_args(ids).is_some() {
                self.costs.charge(1)?;
            }
            return Ok(Value::Bool(!matches!(value, Value::Bool(false))));
        }
        let mut values = [Value::Null; ARGS_MAX];
        let Some(values) = values.get_mut(..nodes.len()) else {
            return Err(Abort::Internal("too many arguments".into()));
        };
        let mut failed = None;
        for (value, node) in values.iter_mut().zip(nodes) {
            *value = self.node(*node)?;
            if value.is_error() {
                failed = failed.or(Some(*value));
                if call.stops_at_error {
                    break;
                }
            }
        }
        let ids = nodes.iter().map(|node| plan.nodes[*node as usize].id);
        let Some(sized) = self.costs.take_args(ids) else {
            // An argument was left alone, so cel-go does not charge the call.
            return match failed {
                Some(error) => Ok(error),
                None => self.context().run(call.op, values, call.regex.as_deref()),
            };
        };
        if !call.charge.needs_result() || failed.is_some() {
            let result = failed.unwrap_or(Value::Null);
            self.costs.charge(call.charge.cost(sized.values(), result))?;
        }
        let Some(error) = failed else {
            self.affordable(call, values)?;
            let result = self.context().run(call.op, values, call.regex.as_deref())?;
            if call.charge.needs_result() {
                self.costs.charge(call.charge.cost(sized.values(), result))?;
            }
            return Ok(result);
        };
        Ok(error)
    }

    /// Refuses to make a list that is longer than its cost may be.
    fn affordable(&mut self, call: &Call, args: &[Value<'a>]) -> Result<(), Abort> {
        if let (Op::Overload(_, Overload::ListsRange), [Value::Int(len)]) = (call.op, args)
            && *len > 0
            && !self.costs.affords(*len as u64)
        {
            self.costs.charge((*len as u64).saturating_add(11))?;
        }
        Ok(())
    }
}

/// Arguments that any function takes at most.
const ARGS_MAX: usize = 4;

impl<'a> Context<'a, '_> {
    /// Runs what a call runs. No argument is an error.
    pub(super) fn run(self, op: Op, args: &[Value<'a>], regex: Option<&Regex>) -> Outcome<'a> {
        match op {
            Op::Overload(function, overload) => {
                let fits = function.signatures.iter().find(|signature| signature.overload == overload);
                if unguarded(overload) || fits.is_some_and(|signature| self.fits(signature, args)) {
                    return self.overload(overload, args, regex);
                }
                self.no_such_overload(function, args)
            }
            Op::Dispatch(function) => {
                for signature in function.signatures.iter().filter(|s| s.args.len() == args.len()) {
                    if unguarded(signature.overload) || self.fits(signature, args) {
                        return self.overload(signature.overload, args, regex);
                    }
                }
                self.no_such_overload(function, args)
            }
            op => self.operator(op, args, regex),
        }
    }

    fn no_such_overload(self, function: Function, args: &[Value<'a>]) -> Outcome<'a> {
        let types: Vec<_> = args.iter().map(|arg| arg.type_name()).collect();
        self.arena.error(format_args!("no such overload: {}({})", function.name, types.join(", ")))
    }

    fn fits(self, signature: &Signature, args: &[Value<'a>]) -> bool {
        signature.args.len() == args.len() && signature.args.iter().zip(args).all(|(ty, arg)| fits(*ty, *arg))
    }
}

/// Overloads that look at their arguments themselves.
fn unguarded(overload: Overload) -> bool {
    use Overload::*;
    matches!(overload, ContainsString | EndsWithString | StartsWithString | ListFlatten | ListFlattenInt)
}

/// Whether a value has a type, as far as cel-go looks: at the first element of lists and maps.
fn fits(ty: Type, value: Value<'_>) -> bool {
    let Some(info) = TYPES.get(ty.0 as usize) else { return false };
    match (info.shape, value) {
        (Shape::Dyn | Shape::Any | Shape::Param(_), _) => true,
        (Shape::Bool, Value::Bool(_))
        | (Shape::Bytes, Value::Bytes(_))
        | (Shape::Double, Value::Double(_))
        | (Shape::Duration, Value::Duration(_))
        | (Shape::Int, Value::Int(_))
        | (Shape::Null, Value::Null)
        | (Shape::String, Value::String(_))
        | (Shape::Timestamp, Value::Timestamp(_))
        | (Shape::Type(_), Value::Type(_))
        | (Shape::Uint, Value::Uint(_)) => true,
        (Shape::List(element), Value::List(list)) => list.get(0).is_none_or(|first| fits(element, first)),
        (Shape::Map(key, element), Value::Map(map)) => {
            map.iter().next().is_none_or(|(k, v)| fits(key, k) && fits(element, v))
        }
        (Shape::Struct(name) | Shape::Opaque(name, _), value) => {
            crate::overloads::TYPE_NAMES.get(name.0 as usize) == Some(&value.type_name())
        }
        _ => false,
    }
}
