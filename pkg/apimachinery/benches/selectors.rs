//! Benchmarks of label selectors with large value sets. Every change of a resource is matched against the selector of every
//! watch.
#![allow(clippy::unwrap_used, reason = "a benchmark may stop where it cannot go on")]

use apimachinery::labels::{Operator, Requirement, Selector};
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

/// A label of an object that the largest set contains, in the middle.
const LABEL: &str = "app-006000";

fn set(count: usize, step: usize) -> Selector {
    let mut values: Vec<String> = (0..count).map(|number| format!("app-{number:06}")).collect();
    values.sort_by_key(|value| value.bytes().map(|byte| usize::from(byte) * step % 257).collect::<Vec<_>>());
    let path = &apimachinery::field::Path::NIL;
    Selector::new(vec![Requirement::new("app".to_owned(), Operator::In, values, path).unwrap()])
}

/// A set as parsed from a query, in ascending order.
#[divan::bench(args = [1, 4, 16, 32, 33, 64, 1_000, 12_000])]
fn ascending(bencher: Bencher<'_, '_>, count: usize) {
    let selector = set(count, 1);
    bencher.bench(|| selector.matches_pairs([("app", black_box(LABEL))]));
}

/// A set as given in an object.
#[divan::bench(args = [33, 12_000])]
fn shuffled(bencher: Bencher<'_, '_>, count: usize) {
    let selector = set(count, 100);
    bencher.bench(|| selector.matches_pairs([("app", black_box(LABEL))]));
}
