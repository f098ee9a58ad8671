//! Comparison of pod tolerations and removal of redundant ones (upstream's `pkg/util/tolerations`). An index
//! keeps the work linear in the number of tolerations.

use std::collections::{BTreeSet, HashMap};

use api::tree::{maybe_integer, text};
use jsontree::Value;
use schema::object::Object;

/// Merges both lists. Drops every toleration that another one covers.
pub(crate) fn merge(first: &[Value], second: &[Value]) -> Vec<Value> {
    let all: Vec<(&Value, Toleration<'_>)> = first
        .iter()
        .chain(second)
        .filter_map(|value| Some((value, Toleration::of(value.as_object()?))))
        .collect();
    let mut retained = Index::default();
    let mut later = Index::default();
    all.iter().for_each(|(_, toleration)| later.insert(*toleration));
    let mut merged = Vec::with_capacity(all.len());
    for (value, toleration) in all {
        later.remove(&toleration);
        if !retained.covers(&toleration) && !later.covered_by_other(&toleration) {
            retained.insert(toleration);
            merged.push(value.clone());
        }
    }
    merged
}

/// True if each toleration is covered by one of `allowed`. An empty list allows everything.
pub(crate) fn all_covered(tolerations: &[Value], allowed: &[Value]) -> bool {
    let mut index = Index::default();
    allowed.iter().filter_map(Value::as_object).for_each(|allowed| index.insert(Toleration::of(allowed)));
    let mut tolerations = tolerations.iter().filter_map(Value::as_object);
    allowed.is_empty() || tolerations.all(|toleration| index.covers(&Toleration::of(toleration)))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Toleration<'v> {
    key: &'v str,
    operator: &'v str,
    value: &'v str,
    effect: &'v str,
    seconds: Option<i64>,
}

/// The part of a toleration that decides coverage, except the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct CoveredRange<'v> {
    key: &'v str,
    effect: &'v str,
    /// `None` for any.
    value: Option<&'v str>,
}

/// Toleration seconds. `None` means forever and is greater than any number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limit(Option<i64>);

impl Ord for Limit {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0.is_none(), self.0).cmp(&(other.0.is_none(), other.0))
    }
}

impl PartialOrd for Limit {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<'v> Toleration<'v> {
    fn of(object: &'v Object) -> Self {
        let [key, operator, value, effect] =
            ["key", "operator", "value", "effect"].map(|name| text(object, name));
        Self { key, operator, value, effect, seconds: maybe_integer(object, "tolerationSeconds") }
    }

    /// Returns the covered range; `None` if the toleration covers only itself. An empty operator means
    /// `Equal` only here, as in upstream.
    fn covered_range(&self) -> Option<CoveredRange<'v>> {
        let value = match self.operator {
            "" | "Equal" => Some(self.value),
            "Exists" => None,
            _ => return None,
        };
        Some(CoveredRange { key: self.key, effect: self.effect, value })
    }

    /// Returns the time limit. Seconds apply only to the effect `NoExecute`.
    fn limit(&self) -> Limit {
        Limit(self.seconds.filter(|_| self.effect == "NoExecute"))
    }

    /// Returns the ranges of all tolerations that could cover this one.
    fn covering_ranges(&self) -> impl Iterator<Item = CoveredRange<'v>> {
        let Self { key, operator, value, effect, .. } = *self;
        let reaches = move |effect| {
            let exact = (operator == "Equal").then_some(CoveredRange { key, effect, value: Some(value) });
            let any_key = (!key.is_empty()).then_some(CoveredRange { key: "", effect, value: None });
            [exact, Some(CoveredRange { key, effect, value: None }), any_key]
        };
        let any_effect = (!effect.is_empty()).then(|| reaches(""));
        reaches(effect).into_iter().chain(any_effect.into_iter().flatten()).flatten()
    }
}

/// Multiset of tolerations, indexed by covered range and ordered by time.
#[derive(Default)]
struct Index<'v> {
    all: HashMap<Toleration<'v>, usize>,
    by_range: HashMap<CoveredRange<'v>, BTreeSet<(Limit, Toleration<'v>)>>,
}

impl<'v> Index<'v> {
    fn insert(&mut self, toleration: Toleration<'v>) {
        let count = self.all.entry(toleration).or_default();
        *count = count.saturating_add(1);
        if let Some(reach) = toleration.covered_range() {
            self.by_range.entry(reach).or_default().insert((toleration.limit(), toleration));
        }
    }

    fn remove(&mut self, toleration: &Toleration<'v>) {
        let Some(count) = self.all.get_mut(toleration) else { return };
        *count = count.saturating_sub(1);
        if *count > 0 {
            return;
        }
        self.all.remove(toleration);
        if let Some(same_range) = toleration.covered_range().and_then(|reach| self.by_range.get_mut(&reach)) {
            same_range.remove(&(toleration.limit(), *toleration));
        }
    }

    /// True if a toleration in the index covers `narrow`.
    fn covers(&self, narrow: &Toleration<'v>) -> bool {
        self.all.contains_key(narrow) || self.covered_by_other(narrow)
    }

    /// True if a toleration other than `narrow` covers it.
    fn covered_by_other(&self, narrow: &Toleration<'v>) -> bool {
        narrow.covering_ranges().filter_map(|reach| self.by_range.get(&reach)).any(|same_range| {
            let longest = same_range.iter().rev().find(|(_, wide)| wide != narrow);
            longest.is_some_and(|(limit, _)| *limit >= Limit(narrow.seconds))
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use jsontree::json;

    use super::*;

    fn check(first: Value, second: Value, expected: Value) {
        let items = |list: &Value| list.as_array().cloned().unwrap_or_default();
        assert_eq!(merge(&items(&first), &items(&second)), items(&expected), "{first} {second}");
    }

    #[test]
    fn covered_tolerations_are_dropped() {
        let exact = json!({"key": "a", "operator": "Equal", "value": "1", "effect": "NoSchedule"});
        let key = json!({"key": "a", "operator": "Exists"});
        let everything = json!({"operator": "Exists"});
        let other = json!({"key": "b", "operator": "Exists"});
        check(json!([exact]), json!([exact]), json!([exact]));
        check(json!([exact]), json!([key]), json!([key]));
        check(json!([key]), json!([exact, other]), json!([key, other]));
        check(json!([key, other]), json!([everything]), json!([everything]));
        check(json!([]), json!([]), json!([]));
    }

    /// Upstream's pairwise comparison, rule by rule.
    fn covers(wide: &Value, narrow: &Value) -> bool {
        let wide = Toleration::of(wide.as_object().unwrap());
        let narrow = Toleration::of(narrow.as_object().unwrap());
        if wide == narrow {
            return true;
        }
        let any_key = wide.key.is_empty() && wide.operator == "Exists";
        if !(wide.key == narrow.key || any_key) || !(wide.effect == narrow.effect || wide.effect.is_empty()) {
            return false;
        }
        let limit = wide.seconds.filter(|_| wide.effect == "NoExecute");
        if limit.is_some_and(|limit| narrow.seconds.is_none_or(|seconds| seconds > limit)) {
            return false;
        }
        match wide.operator {
            "" | "Equal" => narrow.operator == "Equal" && wide.value == narrow.value,
            operator => operator == "Exists",
        }
    }

    #[test]
    fn index_matches_pairwise_comparison() {
        let mut all = Vec::new();
        for number in 0..288 {
            let pick = |of: &[Value], divisor: usize| of[number / divisor % of.len()].clone();
            all.push(json!({
                "key": pick(&[json!(""), json!("a"), json!("b")], 1),
                "operator": pick(&[json!(""), json!("Equal"), json!("Exists"), json!("Gt")], 3),
                "value": pick(&[json!("1"), json!("2")], 12),
                "effect": pick(&[json!(""), json!("NoExecute"), json!("NoSchedule"), json!("NoExecute")], 24),
                "tolerationSeconds": pick(&[json!(null), json!(1), json!(2)], 96),
            }));
        }
        // A deterministic walk through many small lists.
        let mut at: usize = 1;
        for _ in 0..3000 {
            let mut some = Vec::new();
            for _ in 0..6 {
                at = (at * 1103 + 12_345) % 1_000_003;
                some.push(all[at % all.len()].clone());
            }
            let mut expected: Vec<Value> = Vec::new();
            for (i, one) in some.iter().enumerate() {
                let later = some[i + 1..].iter().filter(|other| *other != one);
                if !expected.iter().chain(later).any(|other| covers(other, one)) {
                    expected.push(one.clone());
                }
            }
            let (first, second) = some.split_at(3);
            assert_eq!(merge(first, second), expected, "{some:?}");
            let covered = first.iter().all(|one| second.iter().any(|other| covers(other, one)));
            assert_eq!(all_covered(first, second), covered, "{some:?}");
        }
    }

    #[test]
    fn shorter_time_does_not_cover_longer() {
        let short = json!({"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1});
        let long = json!({"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 2});
        check(json!([short]), json!([long]), json!([long]));
    }
}
