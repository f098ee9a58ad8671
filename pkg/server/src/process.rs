//! The `process_*` metrics, read from `/proc/self`.

use std::fs;

use component_base::metrics::{Counter, Family, Gauge, MetricsRegistry, Page, Stability};

/// Bytes per page and clock ticks per second on every Linux this server runs on.
const PAGE_BYTES: u64 = 4096;
const TICKS_PER_SECOND: f64 = 100.0;

const CPU_SECONDS: Family<Counter, 0> = Family::counter(
    Stability::Internal,
    "process_cpu_seconds_total",
    "Total user and system CPU time spent in seconds.",
    [],
);
const MAX_FDS: Family<Gauge, 0> =
    Family::gauge(Stability::Internal, "process_max_fds", "Maximum number of open file descriptors.", []);
const RECEIVED: Family<Counter, 0> = Family::counter(
    Stability::Internal,
    "process_network_receive_bytes_total",
    "Number of bytes received by the process over the network.",
    [],
);
const SENT_BYTES: Family<Counter, 0> = Family::counter(
    Stability::Internal,
    "process_network_transmit_bytes_total",
    "Number of bytes sent by the process over the network.",
    [],
);
const OPEN_FDS: Family<Gauge, 0> =
    Family::gauge(Stability::Internal, "process_open_fds", "Number of open file descriptors.", []);
const RESIDENT: Family<Gauge, 0> =
    Family::gauge(Stability::Internal, "process_resident_memory_bytes", "Resident memory size in bytes.", []);
pub(crate) const START: Family<Gauge, 0> = Family::gauge(
    Stability::Internal,
    "process_start_time_seconds",
    "Start time of the process since unix epoch in seconds.",
    [],
);
const VIRTUAL: Family<Gauge, 0> =
    Family::gauge(Stability::Internal, "process_virtual_memory_bytes", "Virtual memory size in bytes.", []);
const VIRTUAL_MAX: Family<Gauge, 0> = Family::gauge(
    Stability::Internal,
    "process_virtual_memory_max_bytes",
    "Maximum amount of virtual memory available in bytes.",
    [],
);

/// Registers the metrics of the process.
pub(crate) fn register(registry: &MetricsRegistry, start_time_seconds: i64) {
    registry.collect(
        &[
            &CPU_SECONDS,
            &MAX_FDS,
            &RECEIVED,
            &SENT_BYTES,
            &OPEN_FDS,
            &RESIDENT,
            &START,
            &VIRTUAL,
            &VIRTUAL_MAX,
        ],
        move |page| write(page, start_time_seconds),
    );
}

/// Writes the available metrics; outside Linux only the start time.
fn write(page: &mut Page<'_>, start_time_seconds: i64) {
    let read = |file: &str| fs::read_to_string(format!("/proc/self/{file}")).unwrap_or_default();
    let stat = read("stat");
    let statm = read("statm");
    let limits = read("limits");
    let network = read("net/netstat");
    let pages = |index: usize| {
        let pages: u64 = statm.split(' ').nth(index)?.parse().ok()?;
        Some((pages * PAGE_BYTES) as f64)
    };
    let open_fds = fs::read_dir("/proc/self/fd").ok().map(|fds| fds.count() as f64);
    for (family, value) in [
        (&CPU_SECONDS, cpu_seconds(&stat)),
        (&RECEIVED, octets(&network, "InOctets")),
        (&SENT_BYTES, octets(&network, "OutOctets")),
    ] {
        value.inspect(|value| page.family(family).add([], *value));
    }
    for (family, value) in [
        (&MAX_FDS, soft_limit(&limits, "Max open files")),
        (&OPEN_FDS, open_fds),
        (&RESIDENT, pages(1)),
        (&START, Some(start_time_seconds as f64)),
        (&VIRTUAL, pages(0)),
        (&VIRTUAL_MAX, soft_limit(&limits, "Max address space")),
    ] {
        value.inspect(|value| page.family(family).add([], *value));
    }
}

/// Returns the resident memory in bytes; `None` if it cannot be read.
pub(crate) fn resident_bytes() -> Option<u64> {
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    Some(pages * PAGE_BYTES)
}

/// Returns the user and system CPU time so far in seconds; `None` if it cannot be read.
pub(crate) fn cpu_seconds_so_far() -> Option<f64> {
    cpu_seconds(&fs::read_to_string("/proc/self/stat").ok()?)
}

/// utime + stime: fields 14 and 15, counted after the command in parentheses, which is field 2.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(") ")?;
    let mut fields = fields.split(' ').skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / TICKS_PER_SECOND)
}

fn soft_limit(limits: &str, name: &str) -> Option<f64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    match line.split_whitespace().next()? {
        // Prometheus clients use the largest number for this.
        "unlimited" => Some(u64::MAX as f64),
        limit => limit.parse().ok(),
    }
}

/// Returns a number of `IpExt`, which has names on one line and values on the next.
fn octets(network: &str, name: &str) -> Option<f64> {
    let mut lines = network.lines().filter_map(|line| line.strip_prefix("IpExt:"));
    let names = lines.next()?;
    let values = lines.next()?;
    let (_, value) = names.split_whitespace().zip(values.split_whitespace()).find(|(one, _)| *one == name)?;
    value.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_follows_any_command_name() {
        let stat = "7 (a) b (c)) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 4 0 12345 1000000 500";
        assert_eq!(cpu_seconds(stat), Some(3.0));
        assert_eq!(cpu_seconds(""), None);
    }

    #[test]
    fn limits_are_read_by_name() {
        let limits = "Limit   Soft Limit  Hard Limit  Units\nMax open files            1024                 4096                 files\n";
        assert_eq!(soft_limit(limits, "Max open files"), Some(1024.0));
        assert_eq!(soft_limit(limits, "Max cpu time"), None);
        assert_eq!(
            soft_limit("Max address space  unlimited  unlimited bytes\n", "Max address space"),
            Some(u64::MAX as f64)
        );
    }

    #[test]
    fn network_bytes_are_read_by_name() {
        let network = "TcpExt: A B\nTcpExt: 1 2\nIpExt: InNoRoutes InOctets OutOctets\nIpExt: 0 17 4\n";
        assert_eq!(octets(network, "InOctets"), Some(17.0));
        assert_eq!(octets(network, "OutOctets"), Some(4.0));
        assert_eq!(octets("TcpExt: InOctets\n", "InOctets"), None);
    }

    #[test]
    fn this_process_has_memory() {
        let registry = MetricsRegistry::default();
        register(&registry, 17);
        let out = registry.to_string();
        assert!(out.contains("process_start_time_seconds 17\n"), "{out}");
        assert!(out.contains("\nprocess_resident_memory_bytes "), "{out}");
    }
}
