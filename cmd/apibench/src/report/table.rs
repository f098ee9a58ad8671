//! Result table for standard output.

use std::fmt::Write as _;

use super::{Results, Summary, ratio};
use crate::start::Started;
use crate::stats::Window;

const HEADINGS: [&str; 14] = [
    "workload",
    "server",
    "ops/s",
    "p50 ms",
    "p99 ms",
    "max ms",
    "CPU ms/op",
    "CPU range",
    "peak MiB",
    "KB/op",
    "errors",
    "CPU ×",
    "p99 ×",
    "memory ×",
];

/// Number of text columns; numeric columns are right-aligned.
const TEXT_COLUMNS: usize = 2;

/// Formats one row per workload and server. The last columns are ratios to the first server. Notes follow
/// below their row.
pub(crate) fn table(results: &Results, servers: &[String]) -> String {
    let mut rows = vec![Row { cells: HEADINGS.map(str::to_owned).to_vec(), notes: Vec::new() }];
    for (workload, summaries) in results.by_workload(servers) {
        let baseline = summaries.first().filter(|(server, _)| servers.first().is_some_and(|s| s == server));
        let baseline = baseline.map(|(_, summary)| summary.clone()).unwrap_or_default();
        for (at, (server, summary)) in summaries.iter().enumerate() {
            let is_baseline = at == 0;
            rows.push(row(if is_baseline { workload } else { "" }, server, summary, &baseline, is_baseline));
        }
    }
    render(&rows)
}

/// Formats one row per started server.
pub(crate) fn startup_table(started: &[Started]) -> String {
    let headings = ["start", "ready ms", "CPU ms", "MiB"].map(str::to_owned).to_vec();
    let mut rows = vec![Row { cells: headings, notes: Vec::new() }];
    for start in started {
        let memory = start.rss_kib.map(|kib| kib as f64);
        let cells =
            vec![start.server.clone(), number(Some(start.ready_ms)), number(start.cpu_ms), mib(memory)];
        rows.push(Row { cells, notes: Vec::new() });
    }
    render(&rows)
}

struct Row {
    cells: Vec<String>,
    notes: Vec<String>,
}

fn row(workload: &str, server: &str, summary: &Summary, baseline: &Summary, is_baseline: bool) -> Row {
    let times = |value, baseline| match ratio(value, baseline).filter(|_| !is_baseline) {
        Some(ratio) => format!("{ratio:.2}"),
        None => String::new(),
    };
    let cells = vec![
        workload.to_owned(),
        server.to_owned(),
        number(summary.rate),
        number(summary.p50_ms),
        number(summary.p99_ms),
        number(summary.max_ms),
        number(summary.cpu_ms_per_op),
        range(summary.cpu_ms_per_op_min, summary.cpu_ms_per_op_max),
        mib(summary.rss_peak_kib),
        number(summary.bytes_per_op.map(|bytes| bytes / 1e3)),
        summary.errors.to_string(),
        times(summary.cpu_ms_per_op, baseline.cpu_ms_per_op),
        times(summary.p99_ms, baseline.p99_ms),
        times(summary.rss_peak_kib, baseline.rss_peak_kib),
    ];
    let mut notes: Vec<String> = summary.note.iter().cloned().collect();
    let extra: Vec<_> =
        summary.extra.iter().map(|(key, value)| format!("{key} {}", number(Some(*value)))).collect();
    if !extra.is_empty() {
        notes.push(extra.join(", "));
    }
    notes.extend(summary.windows.iter().map(over_time));
    Row { cells, notes }
}

/// Formats a section of a run in one line.
fn over_time(window: &Window) -> String {
    format!(
        "until {:>4.0} s: {:>6}/s, p50 {:>5} ms, p99 {:>5} ms, {:>5} MiB",
        window.until_s,
        number(Some(window.rate)),
        number(window.p50_ms),
        number(window.p99_ms),
        mib(window.rss_kib)
    )
}

/// Formats three significant digits, but never rounds the integer part.
fn number(value: Option<f64>) -> String {
    match value {
        None => "-".to_owned(),
        Some(value) if value.abs() >= 100.0 || value == 0.0 => format!("{value:.0}"),
        Some(value) if value.abs() >= 10.0 => format!("{value:.1}"),
        Some(value) if value.abs() >= 1.0 => format!("{value:.2}"),
        Some(value) => format!("{value:.3}"),
    }
}

fn range(min: Option<f64>, max: Option<f64>) -> String {
    if min.is_some() { format!("{}–{}", number(min), number(max)) } else { number(None) }
}

fn mib(kib: Option<f64>) -> String {
    number(kib.map(|kib| kib / 1024.0))
}

fn render(rows: &[Row]) -> String {
    let columns = rows.iter().map(|row| row.cells.len()).max().unwrap_or(0);
    let length = |row: &Row, column: usize| row.cells.get(column).map_or(0, |cell| cell.chars().count());
    let widths: Vec<usize> =
        (0..columns).map(|column| rows.iter().map(|row| length(row, column)).max().unwrap_or(0)).collect();
    let text_columns = if columns == HEADINGS.len() { TEXT_COLUMNS } else { 1 };
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, &width)) in row.cells.iter().zip(&widths).enumerate() {
            // Writing to a String cannot fail.
            let _ = if column < text_columns {
                write!(line, "{cell:<width$}  ")
            } else {
                write!(line, "{cell:>width$}  ")
            };
        }
        out.push_str(line.trim_end());
        out.push('\n');
        for note in &row.notes {
            let _ = writeln!(out, "    {note}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::tests::measured;
    use super::*;
    use crate::stats::Measured;

    #[test]
    fn numbers_have_three_significant_digits() {
        let cases = [
            (None, "-"),
            (Some(0.0), "0"),
            (Some(0.01234), "0.012"),
            (Some(1.239), "1.24"),
            (Some(12.39), "12.4"),
            (Some(51234.5), "51234"),
        ];
        for (value, expected) in cases {
            assert_eq!(number(value), expected);
        }
    }

    #[test]
    fn rows_are_grouped_with_ratios() {
        let mut results = Results::default();
        results.add("get", "ours", measured(100.0));
        results.add("get", "theirs", measured(250.0));
        let text = table(&results, &["ours".to_owned(), "theirs".to_owned()]);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("workload  server"), "{text}");
        assert!(lines[1].starts_with("get       ours    "), "{text}");
        assert!(!lines[1].contains("2.50  2.50"), "{text}");
        let cells: Vec<&str> = lines[2].split_whitespace().collect();
        assert_eq!(cells, ["theirs", "50.0", "-", "-", "-", "2.50", "2.50–2.50", "-", "0", "0", "2.50"]);
    }

    #[test]
    fn missing_baseline_yields_no_ratio() {
        let mut results = Results::default();
        results.add("get", "theirs", measured(250.0));
        let text = table(&results, &["ours".to_owned(), "theirs".to_owned()]);
        assert_eq!(text.lines().count(), 2);
        assert!(text.trim_end().ends_with('0'), "{text}");
    }

    #[test]
    fn windows_are_listed_below_their_row() {
        let part = |until_s| Window { until_s, rate: 10.0, p50_ms: Some(1.5), ..Window::default() };
        let mut results = Results::default();
        results.add("saturation", "ours", Measured { windows: vec![part(5.0), part(10.0)], ..measured(1.0) });
        let text = table(&results, &["ours".to_owned()]);
        let lines: Vec<&str> = text.lines().skip(2).map(str::trim).collect();
        let expected =
            |until: &str| format!("until {until} s:   10.0/s, p50  1.50 ms, p99     - ms,     - MiB");
        assert_eq!(lines, [expected("   5"), expected("  10")], "{text}");
    }

    #[test]
    fn notes_are_listed_below_their_row() {
        let mut results = Results::default();
        let skipped = Measured { skipped: Some("no apply".into()), ..Measured::default() };
        results.add("apply", "ours", skipped);
        let text = table(&results, &["ours".to_owned()]);
        assert!(text.ends_with("\n    skipped: no apply\n"), "{text}");
    }
}
