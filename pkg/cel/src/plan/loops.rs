//! Static analysis of loops: detects quantifiers, and decides if costs need cel-go's stack.

use super::{Fold, Key, NodeId, Op, Plan, Quantifier, Root, Step};
use crate::value::Constant;

/// Recognizes a comprehension that `all` or `exists` expands to. Its loop runs until the accumulator is
/// decisive, and each step joins the accumulator and a predicate by `&&` or `||`.
pub(super) fn quantifier(plan: &Plan, number: u32) -> Option<Quantifier> {
    let fold = &plan.folds[number as usize];
    let is_accumulator = |node: NodeId| is_accumulator(plan, node, number);
    let Step::Call(condition) = plan.nodes[fold.condition as usize].step else { return None };
    let condition = &plan.calls[condition as usize];
    let (Op::NotStrictlyFalse, &[undecided]) = (condition.op, plan.children(condition.args)) else {
        return None;
    };
    let (terms, decisive) = match plan.nodes[fold.step as usize].step {
        Step::And(terms) if is_accumulator(undecided) => (terms, false),
        Step::Or(terms) if is_negated(plan, undecided, is_accumulator) => (terms, true),
        _ => return None,
    };
    let &[accumulator, predicate] = plan.children(terms) else { return None };
    let Step::Constant(init) = plan.nodes[fold.init as usize].step else { return None };
    let begins = matches!(plan.constants[init as usize], Constant::Bool(first) if first != decisive);
    let fits = begins && is_accumulator(accumulator) && is_accumulator(fold.result);
    fits.then_some(Quantifier { predicate, decisive })
}

fn is_accumulator(plan: &Plan, node: NodeId, number: u32) -> bool {
    let Step::Attribute(attribute) = plan.nodes[node as usize].step else { return false };
    let attribute = plan.attribute(attribute);
    matches!(attribute.root, Root::Accumulator { fold, .. } if fold == number)
        && attribute.qualifiers.is_empty()
}

fn is_negated(plan: &Plan, node: NodeId, is_accumulator: impl Fn(NodeId) -> bool) -> bool {
    let Step::Call(call) = plan.nodes[node as usize].step else { return false };
    let call = &plan.calls[call as usize];
    matches!((call.op, plan.children(call.args)), (Op::Not, &[arg]) if is_accumulator(arg))
}

/// Returns true if the costs of a plan need cel-go's value stack (see [`crate::eval`]). This is the case if a
/// call could find a value other than the one just computed for it, or miss one.
///
/// A node only searches the ids of its own arguments. Outside loops each id is pushed at most once. In a loop
/// an id can be left from an earlier iteration. Searching for it then drops everything pushed since, which
/// matters if another call still waits for one of those values.
///
/// No call does if the id is that of the first node of an iteration, or was dropped with the first argument
/// of an earlier call. The remaining case is a call that leaves arguments behind. Only calls that stop at an
/// error between the first and the last argument do so, and only as the first node of an iteration.
pub(super) fn needs_trace(plan: &Plan) -> bool {
    let leaves = |fold: &Fold| leaves_arguments(plan, fold.condition) || leaves_arguments(plan, fold.step);
    plan.folds.iter().any(leaves)
}

/// Returns true if a node can leave arguments on the stack, except those of its first child.
fn leaves_arguments(plan: &Plan, node: NodeId) -> bool {
    let first = |nodes: &[NodeId]| nodes.first().is_some_and(|node| leaves_arguments(plan, *node));
    let stops_between = |nodes: &[NodeId]| nodes.len() > 2 || first(nodes);
    match plan.nodes[node as usize].step {
        Step::Constant(_) => false,
        Step::Attribute(attribute) | Step::Presence(attribute) => match plan.attribute(attribute).root {
            Root::Choice { condition, .. } => leaves_arguments(plan, condition),
            _ => attribute_leaves_arguments(plan, attribute),
        },
        Step::And(nodes) | Step::Or(nodes) | Step::Equal(nodes) | Step::NotEqual(nodes) => {
            first(plan.children(nodes))
        }
        Step::Call(call) => {
            let call = &plan.calls[call as usize];
            let nodes = plan.children(call.args);
            if call.stops_at_error { stops_between(nodes) } else { first(nodes) }
        }
        Step::Member { value, .. } => leaves_arguments(plan, value),
        Step::OptionalOr(a, b) | Step::OptionalOrValue(a, b) => {
            leaves_arguments(plan, a) || leaves_arguments(plan, b)
        }
        Step::List { elements: nodes, .. } | Step::Map { entries: nodes, .. } => {
            stops_between(plan.children(nodes))
        }
        Step::Struct(structure) => stops_between(plan.children(plan.structures[structure as usize].values)),
        Step::Fold(fold) => leaves_arguments(plan, plan.folds[fold as usize].range),
    }
}

/// Like [`leaves`], for an attribute, whose parts are never dropped.
fn attribute_leaves_arguments(plan: &Plan, attribute: u32) -> bool {
    let attribute = plan.attribute(attribute);
    let root = match attribute.root {
        Root::Slot(_) | Root::Accumulator { .. } => false,
        Root::Node(node) => leaves_arguments(plan, node),
        Root::Choice { condition, truthy, falsy } => {
            leaves_arguments(plan, condition)
                || attribute_leaves_arguments(plan, truthy)
                || attribute_leaves_arguments(plan, falsy)
        }
    };
    root || attribute.qualifiers.iter().any(|qualifier| match qualifier.key {
        Key::Constant(_) => false,
        Key::Attribute(key) | Key::Computed(key) => attribute_leaves_arguments(plan, key),
    })
}
