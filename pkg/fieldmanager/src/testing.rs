//! Managed-field entries for tests, and a counter of allocated bytes.

use apimachinery::time::UnixTime;
use jsontree::{Value, json};
use tikv_jemalloc_ctl::thread::allocatedp;

#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Returns the number of bytes that a call allocates, including those that it frees.
pub(crate) fn allocated<T>(call: impl FnOnce() -> T) -> u64 {
    let counter = allocatedp::read().unwrap();
    let before = counter.get();
    drop(call());
    counter.get() - before
}

/// Returns 2026-01-01T00:00:00Z plus `seconds`.
pub(crate) fn at(seconds: i64) -> UnixTime {
    UnixTime::from_seconds(1_767_225_600 + seconds)
}

pub(crate) fn time(seconds: i64) -> String {
    at(seconds).rfc3339().to_string()
}

/// Returns an entry with the time of [`at`]. `who` is a manager, optionally with a subresource:
/// `kubelet/status`.
pub(crate) fn entry(owner: &str, operation: &str, api_version: &str, seconds: i64, fields: &str) -> Value {
    let mut entry = untimed(owner, operation, api_version, fields);
    entry["time"] = json!(time(seconds));
    entry
}

pub(crate) fn untimed(owner: &str, operation: &str, api_version: &str, fields: &str) -> Value {
    let (manager, subresource) = owner.split_once('/').unwrap_or((owner, ""));
    let mut entry = json!({
        "manager": manager,
        "operation": operation,
        "apiVersion": api_version,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    });
    if !subresource.is_empty() {
        entry["subresource"] = json!(subresource);
    }
    entry
}
