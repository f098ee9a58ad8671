//! Cost estimates that libraries define per overload: cel-go's sets and lists.

use super::functions::Call;
use super::{Argument, Estimate, Estimator, LIST, Range, TRAVERSAL};
use crate::overloads::Overload;
use crate::syntax::{Kind, Literal};

impl Estimator<'_> {
    pub(super) fn by_overload(&mut self, call: &Call<'_>, overload: Overload) -> Option<Estimate> {
        use Overload as O;
        let estimate = match (overload, call.target.as_ref(), call.args) {
            (O::ListSetsContainsList | O::ListSetsIntersectsList, _, [a, b]) => self.sets(a, b, 1.0),
            (O::ListSetsEquivalentList, _, [a, b]) => self.sets(a, b, 2.0),
            (O::ListSlice, Some(target), [from, to]) => {
                let size = self.size_of(target);
                let start = self.literal_int(from, 0);
                let end = self.literal_int(to, size.max);
                allocating(1.0, Range::fixed(end.wrapping_sub(start)))
            }
            (O::ListsRange, None, [count]) => {
                allocating(1.0, Range::fixed(self.literal_int(count, u64::MAX)))
            }
            (O::ListReverse, Some(target), []) => allocating(1.0, self.size_of(target)),
            (O::ListFlatten, Some(target), []) => allocating(1.0, self.size_of(target)),
            (O::ListFlattenInt, Some(target), [depth]) => {
                let depth = self.literal_int(depth, u64::MAX);
                allocating(depth as f64, self.size_of(target))
            }
            (O::ListDistinct, Some(target), []) => self.pairs(target, 2.0),
            (O::ListStringSort | O::ListBytesSort, Some(target), []) => self.pairs(target, 2.0 + TRAVERSAL),
            (overload, Some(target), []) if sorts(overload) => self.pairs(target, 2.0),
            (O::ListStringSortByAssociatedKeys | O::ListBytesSortByAssociatedKeys, Some(_), [keys]) => {
                self.pairs(keys, 2.0 + TRAVERSAL)
            }
            (overload, Some(_), [keys]) if sorts_by_keys(overload) => self.pairs(keys, 2.0),
            _ => return None,
        };
        Some(estimate)
    }

    fn sets(&mut self, a: &Argument, b: &Argument, factor: f64) -> Estimate {
        let pairs = self.size_of(a).times(self.size_of(b));
        Estimate::new(pairs.scale(factor).plus(Range::fixed(1)))
    }

    /// Estimates a function that compares all pairs of elements.
    fn pairs(&mut self, list: &Argument, factor: f64) -> Estimate {
        let size = self.size_of(list);
        allocating(factor, size.times(size))
    }

    /// Returns the value of an integer literal, or `otherwise`.
    fn literal_int(&self, argument: &Argument, otherwise: u64) -> u64 {
        let kind = argument.expr.map(|expr| self.checked.syntax.kind(expr));
        match kind {
            Some(Kind::Literal(Literal::Int(value))) => u64::try_from(value).unwrap_or(0),
            _ => otherwise,
        }
    }
}

/// Estimates a function that creates a list of this size.
fn allocating(factor: f64, size: Range) -> Estimate {
    Estimate::sized(size.scale(factor).plus(Range::fixed(1)).plus(LIST), size)
}

fn sorts(overload: Overload) -> bool {
    use Overload as O;
    matches!(
        overload,
        O::ListBoolSort
            | O::ListDoubleSort
            | O::ListGoogleProtobufDurationSort
            | O::ListGoogleProtobufTimestampSort
            | O::ListIntSort
            | O::ListUintSort
    )
}

fn sorts_by_keys(overload: Overload) -> bool {
    use Overload as O;
    matches!(
        overload,
        O::ListBoolSortByAssociatedKeys
            | O::ListDoubleSortByAssociatedKeys
            | O::ListGoogleProtobufDurationSortByAssociatedKeys
            | O::ListGoogleProtobufTimestampSortByAssociatedKeys
            | O::ListIntSortByAssociatedKeys
            | O::ListUintSortByAssociatedKeys
    )
}
