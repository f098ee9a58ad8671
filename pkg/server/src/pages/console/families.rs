//! Converts histograms of the metrics to JSON, so that the console shows the same counts as Prometheus.

use component_base::metrics::Distribution;
use jsontree::{Value, json};

/// Returns histograms with their names, busiest first. Each has `name`, `count`, `sum`, and cumulative
/// `buckets`. Empty ones are left out.
pub fn histograms(mut named: Vec<(String, Distribution)>, rows_max: usize) -> Value {
    named.retain(|(_, distribution)| distribution.count > 0);
    named.sort_by_key(|(_, distribution)| std::cmp::Reverse(distribution.count));
    named.truncate(rows_max);
    let row = |(name, Distribution { buckets, count, sum }): (String, Distribution)| {
        let buckets: Vec<(f64, f64)> =
            buckets.into_iter().map(|(bound, below)| (bound, below as f64)).collect();
        json!({ "name": super::text(&name), "count": count as f64, "sum": sum, "buckets": buckets })
    };
    named.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busiest_histograms_come_first() {
        let named = |name: &str, count, sum| {
            (name.to_owned(), Distribution { buckets: vec![(0.1, count)], count, sum })
        };
        let all = || vec![named("put", 1, 0.0), named("get", 7, 3.5), named("list", 0, 0.0)];
        let expected = json!([
            { "name": "get", "count": 7.0, "sum": 3.5, "buckets": [[0.1, 7.0]] },
            { "name": "put", "count": 1.0, "sum": 0.0, "buckets": [[0.1, 1.0]] },
        ]);
        assert_eq!(histograms(all(), 10), expected);
        assert_eq!(histograms(all(), 1).as_array().map(Vec::len), Some(1));
        assert_eq!(histograms(Vec::new(), 10), json!([]));
    }
}
