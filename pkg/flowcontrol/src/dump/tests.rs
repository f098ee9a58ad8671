//! The debug pages as upstream prints them.

use super::*;
use crate::control::FlowControl;
use crate::level::Admission;
use crate::request::WorkEstimate;
use crate::testing::{class, list_by, one_level, queuing, request};

fn busy() -> (FlowControl, Vec<Admission>) {
    let (flow, clock) = one_level(1, queuing(2, 1, 10));
    clock.set(Duration::from_millis(1_500));
    let work =
        WorkEstimate { initial_seats: 1, final_seats: 3, additional_latency: Duration::from_millis(5) };
    let admit = |work| flow.request_seats(&class(&flow, "ann"), request(work));
    let mut admissions = vec![admit(WorkEstimate::ONE), admit(work)];
    let masters = flow.classify(&list_by("root", &["system:masters".to_owned()]));
    admissions.push(flow.request_seats(&masters, request(WorkEstimate::ONE)));
    (flow, admissions)
}

#[test]
fn levels_are_rows() {
    let (flow, _admissions) = busy();
    let expected = "\
PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, ExecutingRequests, DispatchedRequests, RejectedRequests, TimedoutRequests, CancelledRequests
catch-all,         0,            true,   false,       0,               0,                 0,                  0,                0,                0
exempt,            0,            false,  false,       0,               1,                 1,                  0,                0,                0
only,              1,            false,  false,       1,               1,                 1,                  0,                0,                0
";
    assert_eq!(flow.dump_priority_levels(), expected);
}

#[test]
fn narrow_columns_are_eight_wide() {
    let (flow, _admissions) = busy();
    let expected = "\
PriorityLevelName, Index,  PendingRequests, ExecutingRequests, SeatsInUse, NextDispatchR, InitialSeatsSum, MaxSeatsSum, TotalWorkSum
only,              0,      0,               0,                 0,          0.00000000ss,  0,               0,           0.00000000ss
only,              1,      1,               1,                 1,          0.00300000ss,  1,               3,           0.01800000ss
";
    assert_eq!(flow.dump_queues(), expected);
}

#[test]
fn requests_are_rows() {
    let (flow, _admissions) = busy();
    let zero = UnixTime { seconds: 1_700_000_000, nanos: 750_000_000 };
    let expected = "\
PriorityLevelName, FlowSchemaName, QueueIndex, RequestIndexInQueue, FlowDistingsher, ArriveTime,                InitialSeats, FinalSeats, AdditionalLatency, StartTime
exempt,            exempt,         -1,         -1,                  ,                2023-11-14T22:13:22.25Z,   1,            0,          0s,                2023-11-14T22:13:22.25Z
only,              all,            1,          0,                   ann,             2023-11-14T22:13:22.25Z,   1,            3,          5ms,               0001-01-01T00:00:00Z
only,              all,            1,          -1,                  ann,             2023-11-14T22:13:22.25Z,   1,            0,          0s,                2023-11-14T22:13:22.25Z
"
    .replace("ArriveTime,                ", "ArriveTime,              ")
    .replace("22.25Z,   ", "22.25Z, ");
    assert_eq!(flow.dump_requests(false, zero), expected);
    let details = flow.dump_requests(true, zero);
    let head = details.lines().next().unwrap();
    let row = details.lines().nth(1).unwrap();
    let words = |line: &str| line.split(',').skip(10).map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
    assert_eq!(words(head), DETAIL_COLUMNS);
    assert_eq!(words(row), ["ann", "list", "/api/v1/namespaces/a/pods", "a", "", "v1", "pods", ""]);
}

#[test]
fn names_cannot_break_lines() {
    let mut table = Table::new(&[&["a", "b"]]);
    table.row(["x\ny\t".to_owned(), "z\u{7f}".to_owned()]);
    assert_eq!(table.to_string(), "a,      b\nx?y?,   z?\n");
}
