//! Resource usage of the server, its store and the load generator during a step, and other load on their
//! cores.

#![allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::process;

/// Sampling interval of memory.
const SAMPLE: Duration = Duration::from_millis(250);

/// Usage in one step. CPU values are in cores: 1 is a core that is always busy.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct Usage {
    /// Cores available to the server.
    pub(crate) server_cores: Option<f64>,
    pub(crate) server_cpu: Option<f64>,
    /// CPU use by other processes on the server's cores, if the server has dedicated cores.
    pub(crate) others_cpu: Option<f64>,
    /// Peak resident memory of the server in MiB.
    pub(crate) server_mib: Option<f64>,
    /// CPU of the server's store.
    pub(crate) store_cpu: Option<f64>,
    /// Cores available to the load generator.
    pub(crate) client_cores: f64,
    /// CPU of the load generator.
    pub(crate) client_cpu: f64,
}

impl Usage {
    /// Returns the utilization of their cores by the load generator and the store.
    pub(crate) fn client_share(&self) -> f64 {
        (self.client_cpu + self.store_cpu.unwrap_or(0.0)) / self.client_cores.max(1.0)
    }
}

/// Counters of processes and cores at one moment, in CPU milliseconds.
#[derive(Debug, Default)]
struct CpuCounters {
    server: Option<f64>,
    store: Option<f64>,
    client: Option<f64>,
    server_cores: f64,
}

/// Sampler of one step.
#[derive(Debug)]
pub(crate) struct UsageSampler {
    server: Option<u32>,
    store: Option<u32>,
    server_cores: Vec<usize>,
    client_cores: Vec<usize>,
    start: Instant,
    first: CpuCounters,
}

impl UsageSampler {
    /// Starts sampling a server and its store.
    pub(crate) fn start(server: Option<u32>, store: Option<u32>) -> Self {
        let of = |pid: Option<u32>| pid.map(cores_of).unwrap_or_default();
        let mut watch = Self {
            server,
            store,
            server_cores: of(server),
            client_cores: cores_of(std::process::id()),
            start: Instant::now(),
            first: CpuCounters::default(),
        };
        watch.first = watch.look();
        watch
    }

    fn look(&self) -> CpuCounters {
        let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        CpuCounters {
            server: self.server.and_then(process::cpu_ms),
            store: self.store.and_then(process::cpu_ms),
            client: process::cpu_ms(std::process::id()),
            server_cores: busy_ms(&stat, &self.server_cores),
        }
    }

    /// Returns the usage during `time` from now on.
    pub(crate) async fn during(mut self, time: Duration) -> Usage {
        self.start = Instant::now();
        self.first = self.look();
        let end = self.start + time;
        let mut peak = None;
        while Instant::now() < end {
            peak = peak.max(self.server.and_then(process::rss_kib));
            tokio::time::sleep(SAMPLE.min(end.saturating_duration_since(Instant::now()))).await;
        }
        let last = self.look();
        let wall = self.start.elapsed().as_secs_f64() * 1e3;
        let share = |now: Option<f64>, then: Option<f64>| Some((now? - then?) / wall);
        let server_cpu = share(last.server, self.first.server);
        let server_busy = (last.server_cores - self.first.server_cores) / wall;
        let apart = self.server_cores.iter().all(|core| !self.client_cores.contains(core));
        Usage {
            server_cores: self.server.map(|_| self.server_cores.len() as f64),
            server_cpu,
            others_cpu: server_cpu.filter(|_| apart).map(|cpu| (server_busy - cpu).max(0.0)),
            server_mib: peak.map(|kib| kib as f64 / 1024.0),
            store_cpu: share(last.store, self.first.store),
            client_cores: self.client_cores.len() as f64,
            client_cpu: share(last.client, self.first.client).unwrap_or_default(),
        }
    }
}

/// Returns the cores that a process may use.
fn cores_of(pid: u32) -> Vec<usize> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list.map(|list| parse_cores(list.trim())).unwrap_or_default()
}

/// Parses a list such as `0-2,7`.
fn parse_cores(list: &str) -> Vec<usize> {
    let parse = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<usize>().ok()?..=last.parse::<usize>().ok()?.min(4096))
    };
    list.split(',').filter_map(parse).flatten().collect()
}

/// Returns the busy time of `cores` from `/proc/stat`: user, nice, system, (idle, iowait,) irq, softirq.
fn busy_ms(stat: &str, cores: &[usize]) -> f64 {
    let mut ticks = 0;
    for line in stat.lines() {
        let Some((name, times)) = line.split_once(' ') else { continue };
        let number = name.strip_prefix("cpu").and_then(|number| number.parse::<usize>().ok());
        if number.is_some_and(|number| cores.contains(&number)) {
            let times = times.split_ascii_whitespace().map(|time| time.parse::<u64>().unwrap_or(0));
            ticks +=
                times.enumerate().filter(|(at, _)| [0, 1, 2, 5, 6].contains(at)).map(|(_, t)| t).sum::<u64>();
        }
    }
    ticks as f64 * process::TICK_MS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_lists_are_parsed() {
        assert_eq!(parse_cores("0-2,7"), [0, 1, 2, 7]);
        assert_eq!(parse_cores("3"), [3]);
        assert_eq!(parse_cores(""), [0_usize; 0]);
    }

    #[test]
    fn idle_time_is_not_busy() {
        let stat = "cpu  9 9 9 9 9 9 9 9\ncpu0 10 1 5 100 50 1 2 8 0 0\ncpu1 7 0 0 1 0 0 0 0 0 0\nctxt 5\n";
        assert_eq!(busy_ms(stat, &[0]), 190.0);
        assert_eq!(busy_ms(stat, &[0, 1]), 260.0);
    }

    #[test]
    fn own_process_has_cores() {
        assert!(!cores_of(std::process::id()).is_empty());
    }
}
