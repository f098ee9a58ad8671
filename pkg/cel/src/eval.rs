//! Evaluator of plans.
//!
//! The evaluator walks the plan. In parallel it maintains the state of cel-go's cost tracker: a stack of node
//! values, from which calls take the sizes of their arguments. See [`cost`].

mod arithmetic;
mod attribute;
mod authorizer;
mod call;
mod cost;
mod dispatch;
mod fold;
mod format;
mod lists;
mod maps;
mod network;
mod objects;
mod regex;
mod strings;
mod times;

use crate::arena::{Abort, Arena, Outcome};
use crate::plan::{Charge, Node, NodeId, Op, Plan, Span, Step};
use crate::step_budget::StepBudget;
use crate::value::{GrowingMap, Map, Value, equal};
use cost::{Costs, NoTrace, Trace, ValueStack};

/// Cost limit of one evaluation in Kubernetes.
pub const PER_CALL_LIMIT: u64 = 1_000_000;

/// Comprehension steps between two cancellation checks.
const CHECK_FREQUENCY: u32 = 100;

/// Maximum depth of nested nodes at run time. Parsed expressions have a depth of at most 250. However,
/// bindings are computed on first use, one inside the other, which could overflow any stack.
const DEPTH_MAX: u32 = 400;

/// Cancellation signal, for a caller that no longer needs the result.
pub trait Cancel {
    /// Returns true if the evaluation must stop.
    fn is_cancelled(&self) -> bool;
}

/// A failed or aborted evaluation, in cel-go's words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EvaluationError(String);

impl EvaluationError {
    /// True if the cost exceeded the limit of the call.
    pub fn is_over_limit(&self) -> bool {
        self.0.starts_with("operation cancelled: actual cost limit exceeded")
    }

    /// True if no overload of a function fits its arguments.
    pub fn is_missing_overload(&self) -> bool {
        self.0.starts_with("no such overload")
    }
}

/// Result and cost of an evaluation.
#[derive(Clone, Debug)]
pub struct Evaluation<'a> {
    /// The value; an error is a value too.
    pub outcome: Outcome<'a>,
    /// Cost up to the end or the abort.
    pub cost: u64,
}

impl<'a> Evaluation<'a> {
    /// Returns the value.
    ///
    /// # Errors
    /// The expression failed or was aborted.
    pub fn result(&self) -> Result<Value<'a>, EvaluationError> {
        match &self.outcome {
            Ok(Value::Error(text)) => Err(EvaluationError((*text).to_owned())),
            Ok(value) => Ok(*value),
            Err(abort) => Err(EvaluationError(abort.to_string())),
        }
    }
}

/// Runs a plan. `variables` has a value for each variable of the plan, or `None` for one that the host lacks
/// at present. The evaluation is aborted when its cost exceeds `limit`.
pub fn evaluate<'a>(
    plan: &'a Plan,
    variables: &[Option<Value<'a>>],
    arena: &'a Arena,
    limit: u64,
    cancel: Option<&dyn Cancel>,
) -> Evaluation<'a> {
    let (mut few, mut many);
    let slots = if usize::from(plan.slots) <= SLOTS_INLINE {
        few = [None; SLOTS_INLINE];
        &mut few[..]
    } else {
        many = vec![None; usize::from(plan.slots)];
        &mut many[..]
    };
    for (slot, variable) in slots.iter_mut().zip(variables) {
        *slot = *variable;
    }
    if plan.traced {
        run::<ValueStack<'_>>(plan, slots, arena, limit, cancel)
    } else {
        run::<NoTrace>(plan, slots, arena, limit, cancel)
    }
}

/// Number of variables that need no heap allocation.
const SLOTS_INLINE: usize = 16;

fn run<'a, T: Trace<'a>>(
    plan: &'a Plan,
    slots: &mut [Option<Value<'a>>],
    arena: &'a Arena,
    limit: u64,
    cancel: Option<&dyn Cancel>,
) -> Evaluation<'a> {
    let mut machine = Evaluator {
        plan,
        arena,
        work: StepBudget::default(),
        costs: Costs::<T>::new(limit),
        slots,
        cancel,
        checks: 0,
        interrupted: false,
        depth: 0,
    };
    let outcome = machine.node(plan.root);
    Evaluation { outcome, cost: machine.costs.total() }
}

/// Runs a call with one argument, outside any plan.
pub(crate) fn constant_call<'a>(op: Op, arg: Value<'a>, arena: &'a Arena) -> Outcome<'a> {
    let context = Context { arena, work: &StepBudget::default() };
    context.run(op, &[arg], None)
}

/// Context of function calls.
#[derive(Clone, Copy)]
struct Context<'a, 'w> {
    arena: &'a Arena,
    work: &'w StepBudget,
}

struct Evaluator<'a, 'c, T> {
    plan: &'a Plan,
    arena: &'a Arena,
    work: StepBudget,
    costs: Costs<T>,
    slots: &'c mut [Option<Value<'a>>],
    cancel: Option<&'c dyn Cancel>,
    checks: u32,
    interrupted: bool,
    depth: u32,
}

impl<'a, T: Trace<'a>> Evaluator<'a, '_, T> {
    fn context(&self) -> Context<'a, '_> {
        Context { arena: self.arena, work: &self.work }
    }

    fn id(&self, node: NodeId) -> u32 {
        self.plan.nodes[node as usize].id
    }

    /// Runs a node and accounts for its cost.
    fn node(&mut self, node: NodeId) -> Outcome<'a> {
        let Node { id, step } = self.plan.nodes[node as usize];
        if self.depth >= DEPTH_MAX {
            return Err(Abort::CostLimit);
        }
        self.depth += 1;
        let outcome = self.step(step);
        self.depth -= 1;
        self.note(id, &outcome);
        outcome
    }

    /// Passes the value of a node to cost tracking.
    #[inline(always)]
    fn note(&mut self, id: u32, outcome: &Outcome<'a>) {
        if let (true, Ok(value)) = (T::ON, outcome) {
            self.costs.trace.push(id, *value);
        }
    }

    /// Runs a node; fast path for constants and attributes.
    #[inline(always)]
    fn operand(&mut self, node: NodeId) -> Outcome<'a> {
        let plan = self.plan;
        let Node { id, step } = plan.nodes[node as usize];
        let outcome = match step {
            Step::Constant(constant) => Ok(plan.constants[constant as usize].value()),
            Step::Attribute(attribute) => self.attribute(attribute),
            _ => return self.node(node),
        };
        self.note(id, &outcome);
        outcome
    }

    #[inline(always)]
    fn step(&mut self, step: Step) -> Outcome<'a> {
        let plan = self.plan;
        match step {
            Step::Constant(constant) => Ok(plan.constants[constant as usize].value()),
            Step::Attribute(attribute) => self.attribute(attribute),
            Step::Presence(attribute) => self.presence(attribute),
            Step::And(terms) => self.logic(terms, false),
            Step::Or(terms) => self.logic(terms, true),
            Step::Equal(sides) => self.equality(sides, false),
            Step::NotEqual(sides) => self.equality(sides, true),
            Step::Call(call) => self.call(&plan.calls[call as usize]),
            Step::Member { value, set } => self.member(value, set),
            Step::OptionalOr(a, b) => match self.node(a)? {
                Value::Optional(None) => self.node(b),
                value => Ok(value),
            },
            Step::OptionalOrValue(a, b) => match self.node(a)? {
                Value::Optional(Some(value)) => Ok(*value),
                Value::Optional(None) => self.node(b),
                value => Ok(value),
            },
            Step::List { elements, optional } => self.list(elements, optional),
            Step::Map { entries, optional } => self.map(entries, optional),
            Step::Struct(structure) => self.structure(&plan.structures[structure as usize]),
            Step::Fold(fold) => self.fold(&plan.folds[fold as usize]),
        }
    }

    /// Evaluates `&&` and `||`: the first deciding value wins over errors.
    fn logic(&mut self, terms: Span, decisive: bool) -> Outcome<'a> {
        let plan = self.plan;
        let mut decided = false;
        let mut failed = None;
        for term in plan.children(terms) {
            match self.node(*term) {
                Ok(Value::Bool(value)) if value == decisive => {
                    decided = true;
                    break;
                }
                Ok(Value::Bool(_)) => {}
                other => failed = failed.or(Some(other?.or_no_such_overload())),
            }
        }
        for term in plan.children(terms) {
            self.costs.trace.drop_id(plan.nodes[*term as usize].id);
        }
        Ok(match failed {
            Some(error) if !decided => error,
            _ => Value::Bool(decided == decisive),
        })
    }

    fn equality(&mut self, sides: Span, negated: bool) -> Outcome<'a> {
        let plan = self.plan;
        let nodes = plan.children(sides);
        let a = self.operand(nodes[0])?;
        let b = self.operand(nodes[1])?;
        // Kubernetes' cost rule covers `==` only.
        let charge = if negated { Charge::Smaller } else { Charge::Equality };
        self.charge_binary_call(charge, [nodes[0], nodes[1]], [a, b])?;
        if a.is_error() || b.is_error() {
            return Ok(if a.is_error() { a } else { b });
        }
        let result = equal(a, b, &self.work)?;
        Ok(if negated { Value::Bool(!matches!(result, Value::Bool(true))) } else { result })
    }

    #[inline(never)]
    fn member(&mut self, value: NodeId, set: u32) -> Outcome<'a> {
        let value = self.node(value)?;
        match value {
            Value::Error(_) => Ok(value),
            Value::Bytes(_) => Err(unhashable()),
            _ => Ok(Value::Bool(self.plan.sets[set as usize].has(value))),
        }
    }

    #[inline(never)]
    fn list(&mut self, elements: Span, optional: Option<u32>) -> Outcome<'a> {
        let plan = self.plan;
        let nodes = plan.children(elements);
        let mut values = self.arena.values(nodes.len())?;
        let mut failed = None;
        for (place, node) in nodes.iter().enumerate() {
            let value = self.node(*node)?;
            let is_optional = optional.is_some_and(|flags| plan.optionals[flags as usize][place]);
            match value {
                Value::Error(_) => failed = Some(value),
                Value::Optional(None) if is_optional => continue,
                Value::Optional(Some(value)) if is_optional => values.push(*value),
                _ if is_optional => failed = Some(self.not_optional("list element", None, value)?),
                _ => values.push(value),
            }
            if failed.is_some() {
                break;
            }
        }
        self.constructed(nodes, 10)?;
        failed.map_or_else(|| self.arena.filled(values.into_bump_slice()), Ok)
    }

    #[inline(never)]
    fn map(&mut self, entries: Span, optional: Option<u32>) -> Outcome<'a> {
        let plan = self.plan;
        let nodes = plan.children(entries);
        let map = GrowingMap::new(self.arena.bump());
        let mut failed = None;
        for (place, pair) in nodes.chunks_exact(2).enumerate() {
            let key = self.node(pair[0])?;
            if key.is_error() {
                failed = Some(key);
                break;
            }
            let value = self.node(pair[1])?;
            if value.is_error() {
                failed = Some(value);
                break;
            }
            if matches!(key, Value::Bytes(_)) {
                return Err(unhashable());
            }
            let is_optional = optional.is_some_and(|flags| plan.optionals[flags as usize][place]);
            let included = match value {
                Value::Optional(None) if is_optional => {
                    map.remove(key);
                    true
                }
                Value::Optional(Some(value)) if is_optional => map.replace(key, *value),
                _ if is_optional => {
                    failed = Some(self.not_optional("entry", Some(key), value)?);
                    break;
                }
                _ => map.replace(key, value),
            };
            if !included {
                return Err(Abort::CostLimit);
            }
        }
        self.constructed(nodes, 30)?;
        match failed {
            Some(error) => Ok(error),
            None => Ok(Value::Map(Map::Growing(self.arena.alloc(map)?))),
        }
    }

    fn not_optional(&self, noun: &str, key: Option<Value<'a>>, value: Value<'a>) -> Outcome<'a> {
        let key = key.map_or(String::new(), |key| format!(" '{}'", crate::value::text(key)));
        let value = crate::value::text(value);
        self.arena
            .error(format_args!("cannot initialize optional {noun}{key} from non-optional value {value}"))
    }

    /// Accounts for a list or a map.
    fn constructed(&mut self, nodes: &[NodeId], cost: u64) -> Result<(), Abort> {
        let plan = self.plan;
        self.costs.trace.drop_all(nodes.iter().map(|node| plan.nodes[*node as usize].id));
        self.costs.charge(cost)
    }
}

/// Go maps cannot have such keys, and cel-go does not check before inserting.
fn unhashable() -> Abort {
    Abort::Internal("runtime error: hash of unhashable type types.Bytes".into())
}

#[cfg(test)]
mod tests;
