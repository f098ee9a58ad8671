//! Converts histograms of a metrics page to JSON, so that the console shows the same counts as Prometheus.

use std::collections::BTreeMap;

use jsontree::{Value, json};

/// Cumulative buckets of a histogram with their bounds, and the sum.
#[derive(Default)]
struct Sum {
    below: Vec<(f64, f64)>,
    sum: f64,
    count: f64,
}

/// Returns the histograms of a family, summed up by the value of one label, busiest first. Each has `name`,
/// `count`, `sum`, and cumulative `buckets`, the last of which covers all values. `page` is in the Prometheus
/// text format, and labels must not contain escaped quotes.
pub fn histograms(page: &str, family: &str, label: &str, rows_max: usize) -> Value {
    let mut sums = BTreeMap::<&str, Sum>::new();
    for line in page.lines() {
        let Some((series, value)) = line.rsplit_once(' ') else { continue };
        let Some(rest) = series.strip_prefix(family) else { continue };
        let Some((kind, labels)) = rest.split_once('{') else { continue };
        let (Some(name), Ok(value)) = (label_of(labels, label), value.parse::<f64>()) else { continue };
        let row = sums.entry(name).or_default();
        match (kind, label_of(labels, "le")) {
            ("_sum", _) => row.sum += value,
            ("_count", _) => row.count += value,
            ("_bucket", Some(bound)) => {
                let Some(bound) = bound.parse().ok().filter(|bound: &f64| bound.is_finite()) else {
                    continue;
                };
                match row.below.iter_mut().find(|(known, _)| *known == bound) {
                    Some((_, below)) => *below += value,
                    None => row.below.push((bound, value)),
                }
            }
            _ => {}
        }
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by(|(_, one), (_, other)| other.count.total_cmp(&one.count));
    rows.truncate(rows_max);
    let row = |(name, Sum { below, sum, count }): (&str, Sum)| json!({ "name": super::text(name), "count": count, "sum": sum, "buckets": below });
    rows.into_iter().map(row).collect()
}

/// Returns the value of a label in `a="b",c="d"}`.
fn label_of<'a>(labels: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = labels;
    loop {
        let (label, after) = rest.split_once("=\"")?;
        let (value, next) = after.split_once('"')?;
        if label.trim_start_matches(',') == name {
            return Some(value);
        }
        rest = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histograms_are_added_up_by_a_label() {
        let page = "# HELP t x\nt_bucket{op=\"get\",r=\"a\",le=\"0.1\"} 1\nt_bucket{op=\"get\",r=\"a\",le=\"+Inf\"} 2\n\
                    t_sum{op=\"get\",r=\"a\"} 3\nt_count{op=\"get\",r=\"a\"} 2\nt_bucket{op=\"get\",r=\"b\",le=\"0.1\"} 5\n\
                    t_sum{op=\"get\",r=\"b\"} 0.5\nt_count{op=\"get\",r=\"b\"} 5\nt_count{op=\"put\",r=\"b\"} 1\n\
                    tt_count{op=\"put\"} 9\nother 1\n";
        let expected = json!([
            { "name": "get", "count": 7.0, "sum": 3.5, "buckets": [[0.1, 6.0]] },
            { "name": "put", "count": 1.0, "sum": 0.0, "buckets": [] },
        ]);
        assert_eq!(histograms(page, "t", "op", 10), expected);
        assert_eq!(histograms(page, "t", "op", 1).as_array().map(Vec::len), Some(1));
        assert_eq!(histograms(page, "nothing", "op", 10), json!([]));
    }
}
