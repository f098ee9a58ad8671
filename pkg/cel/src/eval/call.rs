//! Evaluation of calls: arguments, cost, and the function.

use super::cost::Trace;
use super::{Context, Evaluator};
use crate::arena::{Abort, Outcome};
use crate::ext::regex::Regex;
use crate::overloads::{Overload, Signature, TYPES};
use crate::plan::{Call, Charge, Function, NodeId, Op};
use crate::types::{Shape, Type};
use crate::value::Value;

impl<'a, T: Trace<'a>> Evaluator<'a, '_, T> {
    pub(super) fn call(&mut self, call: &'a Call) -> Outcome<'a> {
        match (call.op, self.plan.children(call.args)) {
            (Op::NotStrictlyFalse, &[arg]) => {
                let value = self.node(arg)?;
                self.charge_call(Charge::One, &[arg], &[value])?;
                Ok(Value::Bool(!matches!(value, Value::Bool(false))))
            }
            (_, &[a, b]) if !call.stops_at_error && !call.charge.needs_result() => self.binary(call, a, b),
            (_, nodes) => self.function(call, nodes),
        }
    }

    /// Runs a call with two arguments that are both always evaluated.
    fn binary(&mut self, call: &'a Call, left: NodeId, right: NodeId) -> Outcome<'a> {
        let a = self.operand(left)?;
        let b = self.operand(right)?;
        self.charge_binary_call(call.charge, [left, right], [a, b])?;
        match (call.op, a, b) {
            (_, Value::Error(_), _) => Ok(a),
            (_, _, Value::Error(_)) => Ok(b),
            (Op::Less, Value::Int(a), Value::Int(b)) => Ok(Value::Bool(a < b)),
            (Op::LessEquals, Value::Int(a), Value::Int(b)) => Ok(Value::Bool(a <= b)),
            (Op::Greater, Value::Int(a), Value::Int(b)) => Ok(Value::Bool(a > b)),
            (Op::GreaterEquals, Value::Int(a), Value::Int(b)) => Ok(Value::Bool(a >= b)),
            (Op::Overload(_, Overload::StartsWithString), Value::String(text), Value::String(prefix)) => {
                Ok(Value::Bool(text.starts_with(prefix)))
            }
            _ => self.context().run(call.op, &[a, b], call.regex.as_deref()),
        }
    }

    #[inline(never)]
    fn function(&mut self, call: &'a Call, nodes: &[NodeId]) -> Outcome<'a> {
        let mut values = [Value::Null; ARGS_MAX];
        let Some(values) = values.get_mut(..nodes.len()) else {
            return Err(Abort::Internal("too many arguments".into()));
        };
        let mut failed = None;
        let mut evaluated = 0;
        for (value, node) in values.iter_mut().zip(nodes) {
            *value = self.operand(*node)?;
            evaluated += 1;
            if value.is_error() {
                failed = failed.or(Some(*value));
                if call.stops_at_error {
                    break;
                }
            }
        }
        if call.charge.needs_result() && failed.is_none() {
            return self.call_and_charge(call, values);
        }
        // cel-go does not charge a call if an argument was skipped.
        self.charge_call(call.charge, nodes, values.get(..evaluated).unwrap_or_default())?;
        match failed {
            Some(error) => Ok(error),
            None => self.context().run(call.op, values, call.regex.as_deref()),
        }
    }

    /// Charges a call by its evaluated arguments.
    fn charge_call(&mut self, charge: Charge, nodes: &[NodeId], args: &[Value<'a>]) -> Result<(), Abort> {
        let plan = self.plan;
        let ids = nodes.iter().map(|node| plan.nodes[*node as usize].id);
        match self.costs.trace.pop_call_cost(charge, ids, args)? {
            Some(cost) => self.costs.charge(cost),
            None => Ok(()),
        }
    }

    /// Like [`charge_call`](Self::charge_call), for two evaluated arguments.
    #[inline(always)]
    pub(super) fn charge_binary_call(
        &mut self,
        charge: Charge,
        nodes: [NodeId; 2],
        args: [Value<'a>; 2],
    ) -> Result<(), Abort> {
        let ids = nodes.map(|node| self.id(node));
        match self.costs.trace.pop_binary_call_cost(charge, ids, args)? {
            Some(cost) => self.costs.charge(cost),
            None => Ok(()),
        }
    }

    /// Runs a call whose cost depends on its result.
    #[inline(never)]
    fn call_and_charge(&mut self, call: &'a Call, args: &[Value<'a>]) -> Outcome<'a> {
        let plan = self.plan;
        let ids = plan.children(call.args).iter().map(|node| plan.nodes[*node as usize].id);
        let sized = self.costs.trace.take_args(ids, args);
        if sized.is_some() {
            self.check_range_cost(call, args)?;
        }
        let result = self.context().run(call.op, args, call.regex.as_deref())?;
        if let Some(sized) = sized {
            self.costs.charge(call.charge.cost(sized.values(), result))?;
        }
        Ok(result)
    }

    /// Rejects a list whose length would exceed the cost limit.
    fn check_range_cost(&mut self, call: &Call, args: &[Value<'a>]) -> Result<(), Abort> {
        if let (Op::Overload(_, Overload::ListsRange), [Value::Int(len)]) = (call.op, args)
            && *len > 0
            && !self.costs.is_within_limit(*len as u64)
        {
            self.costs.charge((*len as u64).saturating_add(11))?;
        }
        Ok(())
    }
}

/// Maximum number of arguments of any function.
const ARGS_MAX: usize = 4;

impl<'a> Context<'a, '_> {
    /// Runs the function of a call. No argument is an error value.
    pub(super) fn run(self, op: Op, args: &[Value<'a>], regex: Option<&Regex>) -> Outcome<'a> {
        match op {
            Op::Overload(function, overload) => {
                let fits = || function.signatures.iter().find(|signature| signature.overload == overload);
                if checks_own_arguments(overload)
                    || fits().is_some_and(|signature| self.matches_signature(signature, args))
                {
                    return self.overload(overload, args, regex);
                }
                self.no_such_overload(function, args, regex)
            }
            Op::Dispatch(function) => {
                for signature in function.signatures.iter().filter(|s| s.args.len() == args.len()) {
                    if checks_own_arguments(signature.overload) || self.matches_signature(signature, args) {
                        return self.overload(signature.overload, args, regex);
                    }
                }
                self.no_such_overload(function, args, regex)
            }
            op => self.operator(op, args, regex),
        }
    }

    fn no_such_overload(self, function: Function, args: &[Value<'a>], regex: Option<&Regex>) -> Outcome<'a> {
        // A search with a constant pattern is a separate function in cel-go, with a shorter error.
        if regex.is_some() {
            return Ok(Value::NO_SUCH_OVERLOAD);
        }
        let types: Vec<_> = args.iter().map(|arg| arg.type_name()).collect();
        self.arena.error(format_args!("no such overload: {}({})", function.name, types.join(", ")))
    }

    fn matches_signature(self, signature: &Signature, args: &[Value<'a>]) -> bool {
        signature.args.len() == args.len()
            && signature.args.iter().zip(args).all(|(ty, arg)| has_type(*ty, *arg))
    }
}

/// Returns true for overloads that check their arguments themselves.
fn checks_own_arguments(overload: Overload) -> bool {
    use Overload::*;
    matches!(overload, ContainsString | EndsWithString | StartsWithString | ListFlatten | ListFlattenInt)
}

/// Returns true if a value has a type. Like cel-go, checks only the first element of lists and maps.
fn has_type(ty: Type, value: Value<'_>) -> bool {
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
        (Shape::List(element), Value::List(list)) => list.get(0).is_none_or(|first| has_type(element, first)),
        (Shape::Map(key, element), Value::Map(map)) => {
            map.iter().next().is_none_or(|(k, v)| has_type(key, k) && has_type(element, v))
        }
        (Shape::Struct(name) | Shape::Opaque(name, _), value) => {
            crate::overloads::TYPE_NAMES.get(name.0 as usize) == Some(&value.type_name())
        }
        _ => false,
    }
}
