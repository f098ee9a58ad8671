//! Comparisons in filters, with the rules of Go's templates.

use std::cmp::Ordering;

use super::selected_value::SelectedValue;

/// Evaluates `left operator right`. Returns `None` if the values are not comparable, do not support the
/// operator, or if the operator is unknown.
pub(super) fn evaluate_operator(
    operator: &str,
    left: SelectedValue<'_>,
    right: SelectedValue<'_>,
) -> Option<bool> {
    match operator {
        "==" => Some(order(left, right)?.is_eq()),
        "!=" => Some(order(left, right)?.is_ne()),
        "<" => Some(partial_order(left, right)?.is_lt()),
        "<=" => Some(partial_order(left, right)?.is_le()),
        ">" => Some(partial_order(left, right)?.is_gt()),
        ">=" => Some(partial_order(left, right)?.is_ge()),
        _ => None,
    }
}

/// Booleans have no order.
fn partial_order(left: SelectedValue<'_>, right: SelectedValue<'_>) -> Option<Ordering> {
    (!matches!(left, SelectedValue::Bool(_))).then(|| order(left, right))?
}

fn order(left: SelectedValue<'_>, right: SelectedValue<'_>) -> Option<Ordering> {
    match (left, right) {
        (SelectedValue::Bool(left), SelectedValue::Bool(right)) => Some(left.cmp(&right)),
        (SelectedValue::Text(left), SelectedValue::Text(right)) => Some(left.cmp(right)),
        (SelectedValue::Float(left), SelectedValue::Float(right)) => left.partial_cmp(&right),
        _ => Some(integer(left)?.cmp(&integer(right)?)),
    }
}

fn integer(value: SelectedValue<'_>) -> Option<i64> {
    match value {
        SelectedValue::Int(number) | SelectedValue::Literal(number) => Some(number),
        SelectedValue::Byte(byte) => Some(i64::from(byte)),
        _ => None,
    }
}
