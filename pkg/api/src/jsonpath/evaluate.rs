//! Evaluation of paths.

use jsontree::Object;
use smallvec::{SmallVec, smallvec};

use super::compare::evaluate_operator;
use super::{Filter, Node, SelectedValue, Slice};

/// Selected values; most steps select one.
pub(super) type Values<'a> = SmallVec<[SelectedValue<'a>; 2]>;

/// Budget of visited values for all paths of one object. Without it, repeated `..` would multiply the work.
#[derive(Debug)]
pub struct EvaluationBudget(usize);

impl Default for EvaluationBudget {
    /// Enough for any reasonable object: 100,000 values.
    fn default() -> Self {
        EvaluationBudget(100_000)
    }
}

impl EvaluationBudget {
    fn spend(&mut self, values: usize) -> Result<(), Failure> {
        match self.0.checked_sub(values) {
            Some(remaining) => {
                self.0 = remaining;
                Ok(())
            }
            None => {
                // A later, smaller step must not succeed.
                self.0 = 0;
                Err(Failure { selected: false })
            }
        }
    }
}

/// Evaluation error: a value has the wrong type for a step, such as an index of a non-list, or a comparison
/// of a number with a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failure {
    /// True if there were values before the failure. Upstream then treats the existence check of a filter as
    /// true.
    selected: bool,
}

/// Failure with at least one value.
const WITH_INPUT: Failure = Failure { selected: true };

/// Evaluates a part of a template.
pub(super) fn of_part<'a>(
    part: &'a Node,
    object: &'a Object,
    work: &mut EvaluationBudget,
) -> Result<Values<'a>, Failure> {
    step(smallvec![SelectedValue::Object(object)], part, work)
}

fn all<'a>(input: Values<'a>, nodes: &'a [Node], work: &mut EvaluationBudget) -> Result<Values<'a>, Failure> {
    nodes.iter().try_fold(input, |values, node| step(values, node, work))
}

fn step<'a>(input: Values<'a>, node: &'a Node, work: &mut EvaluationBudget) -> Result<Values<'a>, Failure> {
    work.spend(input.len().max(1))?;
    match node {
        Node::Action(nodes) => all(input, nodes, work),
        Node::Text(text) => Ok(smallvec![SelectedValue::Text(text)]),
        Node::Field(name) => Ok(input.iter().filter_map(|value| member(*value, name)).collect()),
        Node::Slice(range) => elements(&input, *range, work),
        Node::Filter(filter) => filtered(&input, filter, work),
        Node::Int(number) => Ok(input.iter().map(|_| SelectedValue::Literal(*number)).collect()),
        Node::Float(number) => Ok(input.iter().map(|_| SelectedValue::Float(*number)).collect()),
        Node::Bool(flag) => Ok(input.iter().map(|_| SelectedValue::Bool(*flag)).collect()),
        Node::Wildcard => {
            let mut out = Values::new();
            input.iter().try_for_each(|value| parts(*value, work, &mut out))?;
            Ok(out)
        }
        Node::Recursive => recursive(&input, work),
        Node::Union(paths) => {
            let mut out = Values::new();
            for path in paths {
                work.spend(input.len())?;
                out.extend(all(input.clone(), path, work)?);
            }
            Ok(out)
        }
        Node::Identifier(_) => Err(Failure { selected: !input.is_empty() }),
    }
}

fn member<'a>(value: SelectedValue<'a>, name: &str) -> Option<SelectedValue<'a>> {
    match value {
        SelectedValue::Object(members) => members.get(name).map(SelectedValue::of),
        _ => None,
    }
}

/// Appends the direct children of a value.
fn parts<'a>(
    value: SelectedValue<'a>,
    work: &mut EvaluationBudget,
    out: &mut Values<'a>,
) -> Result<(), Failure> {
    match value {
        SelectedValue::List(items) => {
            work.spend(items.len())?;
            out.extend(items.iter().map(SelectedValue::of));
        }
        SelectedValue::Object(members) => {
            work.spend(members.len())?;
            out.extend(members.values().map(SelectedValue::of));
        }
        SelectedValue::Text(text) => {
            work.spend(text.len())?;
            out.extend(text.bytes().map(SelectedValue::Byte));
        }
        _ => {}
    }
    Ok(())
}

/// Returns each value before its descendants; values without children are omitted.
fn recursive<'a>(input: &Values<'a>, work: &mut EvaluationBudget) -> Result<Values<'a>, Failure> {
    let mut out = Values::new();
    let mut open = Values::new();
    open.extend(input.iter().rev().copied());
    while let Some(value) = open.pop() {
        if !value.has_parts() {
            continue;
        }
        out.push(value);
        // The bytes of a text have no children.
        if !matches!(value, SelectedValue::Text(_)) {
            let begin = open.len();
            parts(value, work, &mut open)?;
            if let Some(added) = open.get_mut(begin..) {
                added.reverse();
            }
        }
    }
    Ok(out)
}

fn elements<'a>(
    input: &Values<'a>,
    range: Slice,
    work: &mut EvaluationBudget,
) -> Result<Values<'a>, Failure> {
    let mut out = Values::new();
    for value in input {
        let items = match value {
            SelectedValue::Null => continue,
            SelectedValue::List(items) => *items,
            _ => return Err(WITH_INPUT),
        };
        let (first, end) = bounds(range, items.len());
        if first == end {
            // Upstream also skips the lists after this one.
            return Ok(out);
        }
        let within = usize::try_from(first).ok().zip(usize::try_from(end).ok());
        let selected = within.filter(|(first, _)| *first < items.len());
        let selected = selected.and_then(|(first, end)| items.get(first..end)).ok_or(WITH_INPUT)?;
        let step = usize::try_from(range.step.unwrap_or(1)).ok().filter(|step| *step > 0);
        let step = step.ok_or(WITH_INPUT)?;
        work.spend(selected.len().div_ceil(step))?;
        out.extend(selected.iter().step_by(step).map(SelectedValue::of));
    }
    Ok(out)
}

/// Returns start and end of a range in a list of `len` elements, counted from the start of the list.
fn bounds(range: Slice, len: usize) -> (i64, i64) {
    let len = i64::try_from(len).unwrap_or(i64::MAX);
    let first = range.first.unwrap_or(0);
    let first = if first < 0 { first.wrapping_add(len) } else { first };
    let end = range.end.unwrap_or(len);
    // For a single index of -1, the end is 0 and means the end of the list.
    let end = if end < 0 || (end == 0 && range.single) { end.wrapping_add(len) } else { end };
    (first, end)
}

fn filtered<'a>(
    input: &Values<'a>,
    filter: &'a Filter,
    work: &mut EvaluationBudget,
) -> Result<Values<'a>, Failure> {
    let mut out = Values::new();
    for value in input {
        let SelectedValue::List(items) = value else { return Err(WITH_INPUT) };
        for item in *items {
            if matches_filter(SelectedValue::of(item), filter, !out.is_empty(), work)? {
                out.push(SelectedValue::of(item));
            }
        }
    }
    Ok(out)
}

/// `selected` is true if an earlier element passed.
fn matches_filter(
    item: SelectedValue<'_>,
    filter: &Filter,
    selected: bool,
    work: &mut EvaluationBudget,
) -> Result<bool, Failure> {
    work.spend(1)?;
    let Some((operator, right)) = &filter.comparison else {
        let left = all(smallvec![item], &filter.left, work);
        return Ok(left.map_or_else(|failure| failure.selected, |values| !values.is_empty()));
    };
    let Some(left) = only(item, &filter.left, work)? else { return Ok(false) };
    let Some(right) = only(item, right, work)? else { return Ok(false) };
    evaluate_operator(operator, left, right).ok_or(Failure { selected })
}

/// Returns the single value that a side of a comparison selects, if any.
fn only<'a>(
    item: SelectedValue<'a>,
    nodes: &'a [Node],
    work: &mut EvaluationBudget,
) -> Result<Option<SelectedValue<'a>>, Failure> {
    match &*all(smallvec![item], nodes, work).map_err(|_| WITH_INPUT)? {
        [] => Ok(None),
        [value] => Ok(Some(*value)),
        _ => Err(WITH_INPUT),
    }
}
