//! The debug pages: upstream's columns (`apf_controller_debug.go`), aligned like Go's `tabwriter`.

use std::fmt::{self, Write};
use std::time::Duration;

use apimachinery::time::{GO_ZERO_TIME, UnixTime, format_duration};

use crate::config::Distinguisher;
use crate::plan::Plan;
use crate::queue_set::RequestRow;
use crate::request::Request;

const LEVEL_COLUMNS: [&str; 10] = [
    "PriorityLevelName",
    "ActiveQueues",
    "IsIdle",
    "IsQuiescing",
    "WaitingRequests",
    "ExecutingRequests",
    "DispatchedRequests",
    "RejectedRequests",
    "TimedoutRequests",
    "CancelledRequests",
];
const QUEUE_COLUMNS: [&str; 9] = [
    "PriorityLevelName",
    "Index",
    "PendingRequests",
    "ExecutingRequests",
    "SeatsInUse",
    "NextDispatchR",
    "InitialSeatsSum",
    "MaxSeatsSum",
    "TotalWorkSum",
];
const REQUEST_COLUMNS: [&str; 10] = [
    "PriorityLevelName",
    "FlowSchemaName",
    "QueueIndex",
    "RequestIndexInQueue",
    // Sic.
    "FlowDistingsher",
    "ArriveTime",
    "InitialSeats",
    "FinalSeats",
    "AdditionalLatency",
    "StartTime",
];
const DETAIL_COLUMNS: [&str; 8] =
    ["UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource"];

/// Formats one row per level.
pub(crate) fn priority_levels(plan: &Plan) -> String {
    let mut table = Table::new(&[&LEVEL_COLUMNS]);
    for (name, planned) in &plan.levels {
        let summary = planned.level.lock().summary();
        table.row([
            name.to_string(),
            summary.active_queues.to_string(),
            (summary.waiting == 0 && summary.executing == 0).to_string(),
            planned.quiescing.to_string(),
            summary.waiting.to_string(),
            summary.executing.to_string(),
            summary.dispatched.to_string(),
            summary.rejected.to_string(),
            // Upstream counts timed-out requests as cancelled.
            "0".to_owned(),
            summary.cancelled.to_string(),
        ]);
    }
    table.to_string()
}

/// Formats one row per queue.
pub(crate) fn queues(plan: &Plan) -> String {
    let mut table = Table::new(&[&QUEUE_COLUMNS]);
    for (name, planned) in &plan.levels {
        let rows = planned.level.lock().queue_rows();
        for row in rows {
            table.row([
                name.to_string(),
                row.index.to_string(),
                row.waiting.to_string(),
                row.executing.to_string(),
                row.seats_in_use.to_string(),
                row.next_dispatch.to_string(),
                row.initial_seats.to_string(),
                row.max_seats.to_string(),
                row.total_work.to_string(),
            ]);
        }
    }
    table.to_string()
}

/// Formats one row per waiting or executing request.
pub(crate) fn requests(plan: &Plan, details: bool, zero: UnixTime) -> String {
    let columns: [&[&str]; 2] = [&REQUEST_COLUMNS, &DETAIL_COLUMNS];
    let mut table = Table::new(if details { &columns } else { &columns[..1] });
    for (name, planned) in &plan.levels {
        let rows = planned.level.lock().request_rows();
        for row in rows {
            let cells = request_cells(name, &row, zero);
            if details {
                table.row(cells.into_iter().chain(detail_cells(&row.request)))
            } else {
                table.row(cells)
            }
        }
    }
    table.to_string()
}

fn request_cells(level: &str, row: &RequestRow, zero: UnixTime) -> [String; 10] {
    let number = |number: Option<usize>| number.map_or("-1".to_owned(), |number| number.to_string());
    let distinguished = match row.schema.distinguisher {
        Some(Distinguisher::ByUser) => &*row.request.user,
        Some(Distinguisher::ByNamespace) => &row.request.context.info.namespace,
        None => "",
    };
    let work = row.request.work;
    let latency = i64::try_from(work.additional_latency.as_nanos()).unwrap_or(i64::MAX);
    [
        level.to_owned(),
        row.schema.name.to_string(),
        number(row.queue.map(|queue| queue as usize)),
        number(row.queue_position),
        distinguished.to_owned(),
        rfc3339_nano(after(zero, row.arrived)),
        work.initial_seats.to_string(),
        work.final_seats.to_string(),
        format_duration(latency),
        rfc3339_nano(row.started.map_or(GO_ZERO_TIME, |started| after(zero, started))),
    ]
}

fn detail_cells(request: &Request) -> [String; 8] {
    let info = &request.context.info;
    let slash = if info.group.is_empty() { "" } else { "/" };
    let group_version = format!("{}{slash}{}", info.group, info.version);
    [
        &*request.user,
        &info.verb,
        &info.path,
        &info.namespace,
        &info.name,
        &group_version,
        &info.resource,
        &info.subresource,
    ]
    .map(str::to_owned)
}

fn after(zero: UnixTime, passed: Duration) -> UnixTime {
    let nanos = u64::from(zero.nanos) + u64::from(passed.subsec_nanos());
    let carried = nanos / 1_000_000_000;
    let nanos = nanos % 1_000_000_000;
    let passed = i64::try_from(passed.as_secs().saturating_add(carried)).unwrap_or(i64::MAX);
    UnixTime { seconds: zero.seconds.saturating_add(passed), nanos: u32::try_from(nanos).unwrap_or_default() }
}

/// Formats a time like Go's `RFC3339Nano`: the fraction has no trailing zeros.
fn rfc3339_nano(time: UnixTime) -> String {
    let seconds = time.rfc3339().to_string();
    let fraction = format!(".{:09}", time.nanos);
    let fraction = fraction.trim_end_matches('0').trim_end_matches('.');
    format!("{}{fraction}Z", seconds.trim_end_matches('Z'))
}

/// Aligned table with a comma after every cell but the last. As upstream, every cell but the last is at least
/// eight wide.
struct Table {
    rows: Vec<Vec<String>>,
}

/// Minimum width of a column, including the space after it.
const WIDTH_MIN: usize = 8;

impl Table {
    fn new(columns: &[&[&str]]) -> Self {
        let heads = columns.concat().into_iter().map(str::to_owned).collect();
        Table { rows: vec![heads] }
    }

    /// Appends a row with a cell for each column. Control characters in cells are replaced, because clients
    /// control some of the text.
    fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let plain = |cell: String| {
            if cell.contains(char::is_control) { cell.replace(char::is_control, "?") } else { cell }
        };
        self.rows.push(cells.into_iter().map(plain).collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut widths = vec![WIDTH_MIN; self.rows.first().map_or(0, Vec::len)];
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count() + 2);
            }
        }
        let mut padded = String::new();
        for row in &self.rows {
            let Some((last, others)) = row.split_last() else { continue };
            for (cell, width) in others.iter().zip(&widths) {
                padded.clear();
                write!(padded, "{cell},")?;
                write!(f, "{padded:width$}")?;
            }
            writeln!(f, "{last}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
