//! Cost estimates of calls. Precedence: a library's rule for the overload, Kubernetes' rule for the function
//! name, the standard rule.

use super::{Argument, Entries, Estimate, Estimator, PATTERN, Range, TRAVERSAL};
use crate::overloads::Overload;
use crate::syntax::Expr;

/// A call to estimate.
pub(super) struct Call<'a> {
    pub(super) expr: Expr,
    pub(super) function: &'a str,
    pub(super) target: Option<Argument>,
    pub(super) args: &'a [Argument],
    pub(super) costs: &'a [Range],
}

impl Estimator<'_> {
    /// Estimates the cost of an overload including its arguments but not the receiver.
    pub(super) fn cost_overload(&mut self, call: &Call<'_>, overload: Overload) -> Estimate {
        let arguments = call.costs.iter().fold(Range::fixed(0), |sum, cost| sum.plus(*cost));
        let estimate = match self.by_overload(call, overload) {
            None if self.kubernetes => self.by_library(call, overload),
            found => found,
        };
        if let Some(estimate) = estimate {
            return Estimate { cost: estimate.cost.plus(arguments), size: estimate.size };
        }
        match (overload, call.costs) {
            (Overload::LogicalAnd | Overload::LogicalOr, [left, right]) => {
                Estimate::new(Range { min: left.min, max: left.plus(*right).max })
            }
            (Overload::Conditional, [condition, then, otherwise]) => {
                let size = self.join_branches(call);
                let cost = condition.plus(then.union(*otherwise));
                Estimate { cost, size }
            }
            _ => {
                let estimate = self.by_standard(call, overload);
                Estimate { cost: estimate.cost.plus(arguments), size: estimate.size }
            }
        }
    }

    fn join_branches(&mut self, call: &Call<'_>) -> Option<Range> {
        let [_, then, otherwise] = call.args else { return None };
        let entries = Entries::union(self.entries_of(then), self.entries_of(otherwise));
        if entries.is_some() {
            self.entries[call.expr.index()] = entries;
        }
        Some(unknown(then).union(unknown(otherwise)))
    }

    fn entries_of(&self, argument: &Argument) -> Option<Entries> {
        argument.expr.and_then(|expr| self.entries(expr))
    }

    fn by_standard(&mut self, call: &Call<'_>, overload: Overload) -> Estimate {
        use Overload as O;
        let one = Range::fixed(1);
        match (overload, call.target.as_ref(), call.args) {
            (O::StringFormat, Some(target), _) => Estimate::new(unknown(target).scale(TRAVERSAL)),
            (O::StringToBytes, _, [arg]) => {
                let size = unknown(arg);
                let bytes = Range { min: size.min, max: size.max.wrapping_mul(4) };
                Estimate::sized(size.scale(TRAVERSAL), bytes)
            }
            (O::BytesToString, _, [arg]) => {
                let size = unknown(arg);
                Estimate::sized(size.scale(TRAVERSAL), Range { min: size.min / 4, max: size.max })
            }
            (O::StringsQuote, _, [arg]) => {
                let size = unknown(arg);
                let max = size.max.wrapping_mul(2).wrapping_add(2);
                Estimate::sized(size.scale(TRAVERSAL), Range { min: size.min.wrapping_add(2), max })
            }
            (O::StartsWithString | O::EndsWithString, _, [arg]) => {
                Estimate::new(unknown(arg).scale(TRAVERSAL))
            }
            (O::InList, _, [_, list]) => Estimate::new(unknown(list).scale(1.0)),
            (O::MatchesString, Some(text), [pattern]) | (O::Matches, None, [text, pattern]) => {
                let text = unknown(text).plus(one).scale(TRAVERSAL);
                Estimate::new(text.times(unknown(pattern).scale(PATTERN)))
            }
            (O::ContainsString, Some(target), [part]) => {
                Estimate::new(unknown(target).scale(TRAVERSAL).times(unknown(part).scale(TRAVERSAL)))
            }
            (O::AddString | O::AddBytes | O::AddList, _, [left, right]) => {
                let size = unknown(left).plus(unknown(right));
                let entries = Entries::union(self.entries_of(left), self.entries_of(right));
                if entries.is_some() {
                    self.entries[call.expr.index()] = entries;
                }
                let cost = if overload == O::AddList { one } else { size.scale(TRAVERSAL) };
                Estimate::sized(cost, size)
            }
            (overload, _, [left, right]) if compares_sizes(overload) => {
                let max = unknown(left).max.min(unknown(right).max);
                Estimate::new(Range { min: u64::from(max > 0), max }.scale(TRAVERSAL))
            }
            _ => Estimate::new(one),
        }
    }
}

/// Returns the computed size of an argument, or an unbounded range.
pub(super) fn unknown(argument: &Argument) -> Range {
    argument.size.unwrap_or(Range::UNKNOWN)
}

/// Returns true for comparisons that traverse both operands.
fn compares_sizes(overload: Overload) -> bool {
    use Overload as O;
    matches!(
        overload,
        O::LessString
            | O::GreaterString
            | O::LessEqualsString
            | O::GreaterEqualsString
            | O::LessBytes
            | O::GreaterBytes
            | O::LessEqualsBytes
            | O::GreaterEqualsBytes
            | O::Equals
            | O::NotEquals
    )
}
