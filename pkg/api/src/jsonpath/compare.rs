//! What filters compare, by the rules of Go's templates.

use std::cmp::Ordering;

use super::found::Found;

/// Whether `left operator right` holds. `None` where the two cannot be compared, or not with this operator, or nobody
/// knows it.
pub(super) fn holds(operator: &str, left: Found<'_>, right: Found<'_>) -> Option<bool> {
    match operator {
        "==" => Some(order(left, right)?.is_eq()),
        "!=" => Some(order(left, right)?.is_ne()),
        "<" => Some(ranked(left, right)?.is_lt()),
        "<=" => Some(ranked(left, right)?.is_le()),
        ">" => Some(ranked(left, right)?.is_gt()),
        ">=" => Some(ranked(left, right)?.is_ge()),
        _ => None,
    }
}

/// Booleans have no rank.
fn ranked(left: Found<'_>, right: Found<'_>) -> Option<Ordering> {
    (!matches!(left, Found::Bool(_))).then(|| order(left, right))?
}

fn order(left: Found<'_>, right: Found<'_>) -> Option<Ordering> {
    match (left, right) {
        (Found::Bool(left), Found::Bool(right)) => Some(left.cmp(&right)),
        (Found::Text(left), Found::Text(right)) => Some(left.cmp(right)),
        (Found::Float(left), Found::Float(right)) => left.partial_cmp(&right),
        _ => Some(integer(left)?.cmp(&integer(right)?)),
    }
}

fn integer(value: Found<'_>) -> Option<i64> {
    match value {
        Found::Int(number) | Found::Literal(number) => Some(number),
        Found::Byte(byte) => Some(i64::from(byte)),
        _ => None,
    }
}
