//! The `process_*` metrics, read from `/proc/self`.

use std::fmt::Write;
use std::fs;

/// Bytes per page and clock ticks per second on every Linux this server runs on.
const PAGE_BYTES: u64 = 4096;
const TICKS_PER_SECOND: f64 = 100.0;

/// Writes what can be read; elsewhere than on Linux that is only the start time.
pub(crate) fn write(out: &mut String, start_time_seconds: i64) {
    let mut metric = |name: &str, kind: &str, help: &str, value: Option<f64>| {
        if let Some(value) = value {
            let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}");
        }
    };
    let stat = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let pages = |index: usize| {
        let pages: u64 = statm.split(' ').nth(index)?.parse().ok()?;
        Some((pages * PAGE_BYTES) as f64)
    };
    let open_fds = fs::read_dir("/proc/self/fd").ok().map(|fds| fds.count() as f64);
    metric(
        "process_cpu_seconds_total",
        "counter",
        "User and system CPU time spent, in seconds.",
        cpu_seconds(&stat),
    );
    metric(
        "process_max_fds",
        "gauge",
        "The most file descriptors that may be open.",
        soft_limit(&limits, "Max open files"),
    );
    metric("process_open_fds", "gauge", "Open file descriptors.", open_fds);
    metric("process_resident_memory_bytes", "gauge", "Resident memory, in bytes.", pages(1));
    metric(
        "process_start_time_seconds",
        "gauge",
        "When the process started, in seconds since 1970.",
        Some(start_time_seconds as f64),
    );
    metric("process_virtual_memory_bytes", "gauge", "Virtual memory, in bytes.", pages(0));
}

/// utime + stime: fields 14 and 15, counted behind the command in parentheses, which is field 2.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / TICKS_PER_SECOND)
}

fn soft_limit(limits: &str, name: &str) -> Option<f64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_found_behind_any_command_name() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 4 0 12345 1000000 500";
        assert_eq!(cpu_seconds(stat), Some(3.0));
        assert_eq!(cpu_seconds(""), None);
    }

    #[test]
    fn limits_are_read_by_name() {
        let limits = "Limit   Soft Limit  Hard Limit  Units\nMax open files            1024                 4096                 files\n";
        assert_eq!(soft_limit(limits, "Max open files"), Some(1024.0));
        assert_eq!(soft_limit(limits, "Max cpu time"), None);
    }

    #[test]
    fn this_process_has_memory() {
        let mut out = String::new();
        write(&mut out, 17);
        assert!(out.contains("process_start_time_seconds 17\n"), "{out}");
        assert!(out.contains("\nprocess_resident_memory_bytes "), "{out}");
    }
}
