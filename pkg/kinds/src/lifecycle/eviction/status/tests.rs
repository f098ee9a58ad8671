//! Tests of the status of evictions.

use super::*;
use crate::validation::rules::Settings;
use apimachinery::time::parse_time;
use jsontree::{Value, json};

const START: &str = "2026-01-01T00:00:00Z";

fn errors(new: Value, old: Value, now: &str) -> Vec<String> {
    let object = |status: Value| {
        let meta = json!({"name": "e", "namespace": "ns", "resourceVersion": "1"});
        json!({"metadata": meta, "status": status}).as_object().cloned().unwrap_or_default()
    };
    let now = parse_time(now).unwrap_or_default();
    let context = ValidationContext { settings: Settings::default(), now };
    update("status", &object(new), &object(old), &context).iter().map(Error::to_string).collect()
}

/// Returns a status with two responders in these states; the first one started.
fn status(first: &str, second: &str) -> Value {
    json!({
        "targetResponders": [
            {"name": "a.example.com/x", "priority": 2000, "state": first},
            {"name": "b.example.com/x", "priority": 1000, "state": second},
        ],
        "responders": [{"name": "a.example.com/x", "startTime": START}, {"name": "b.example.com/x"}],
    })
}

#[test]
fn first_responder_becomes_active() {
    assert_eq!(errors(status("Active", "Inactive"), json!({}), START), [""; 0]);
    assert_eq!(
        errors(status("Inactive", "Inactive"), json!({}), START),
        [
            "status.targetResponders[0].state: Invalid value: \"Inactive\": must be one of: Active, because this \
          responder is next in line"
        ],
    );
}

#[test]
fn silent_responder_is_interrupted_after_deadline() {
    let old = status("Active", "Inactive");
    let mut new = status("Interrupted", "Active");
    new["responders"][1]["startTime"] = "2026-01-01T00:30:00Z".into();
    assert_eq!(errors(new.clone(), old.clone(), "2026-01-01T00:30:00Z"), [""; 0]);
    new["responders"][1]["startTime"] = "2026-01-01T00:10:00Z".into();
    assert_eq!(
        errors(new, old, "2026-01-01T00:10:00Z"),
        [
            "status.targetResponders[0].state: Forbidden: must stay Active because the responder is in progress and it \
          should report status.responders.heartbeatTime or status.responders.completionTime"
        ],
    );
}

#[test]
fn responders_are_kept() {
    let mut new = status("Active", "Inactive");
    new["targetResponders"] = json!([{"name": "a.example.com/x", "priority": 2000, "state": "Active"}]);
    let details = errors(new, status("Active", "Inactive"), START);
    assert!(details.iter().any(|error| error.contains("must preserve the same length")), "{details:?}");
}
