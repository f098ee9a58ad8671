//! CPU and memory of a server process from `/proc`, and a meter that samples them during a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

/// Milliseconds per tick in `/proc/PID/stat`: USER_HZ is 100 on every relevant Linux.
pub(crate) const TICK_MS: f64 = 10.0;

/// Sampling interval for peak memory.
const SAMPLE: Duration = Duration::from_millis(20);

/// Returns the user and system time used so far in milliseconds, with a resolution of 10 ms.
pub(crate) fn cpu_ms(pid: u32) -> Option<f64> {
    parse_stat(&std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Returns resident memory in KiB.
pub(crate) fn rss_kib(pid: u32) -> Option<u64> {
    parse_status(&std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?)
}

/// Parses fields 14 and 15 (utime, stime), counted from the end of the command name, which can contain any
/// character.
fn parse_stat(stat: &str) -> Option<f64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some((user + system) as f64 * TICK_MS)
}

fn parse_status(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

/// Resource usage between [`Meter::start`] and [`Meter::stop`]. Empty without a pid.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Usage {
    /// Wall-clock time in seconds.
    pub(crate) seconds: f64,
    /// User and system time.
    pub(crate) cpu_ms: Option<f64>,
    /// User and system time of apibench itself.
    pub(crate) client_cpu_ms: Option<f64>,
    /// Resident memory at the start.
    pub(crate) rss_before_kib: Option<u64>,
    /// Resident memory at the end.
    pub(crate) rss_after_kib: Option<u64>,
    /// Maximum sample in between.
    pub(crate) rss_peak_kib: Option<u64>,
}

/// Samples one process.
#[derive(Debug)]
pub(crate) struct Meter {
    pid: Option<u32>,
    started: Instant,
    cpu_ms: Option<f64>,
    client_cpu_ms: Option<f64>,
    rss_kib: Option<u64>,
    peak_kib: Arc<AtomicU64>,
    sampler: JoinHandle<()>,
}

impl Meter {
    /// Records the current values and starts sampling memory.
    #[allow(clippy::disallowed_methods, reason = "a command measures with the real clock")]
    pub(crate) fn start(pid: Option<u32>) -> Self {
        let peak_kib = Arc::new(AtomicU64::new(0));
        let sampler = tokio::spawn(sample(pid, Arc::clone(&peak_kib)));
        let cpu_ms = pid.and_then(cpu_ms);
        let rss_kib = pid.and_then(rss_kib);
        let client_cpu_ms = self::cpu_ms(std::process::id());
        Self { pid, started: Instant::now(), cpu_ms, client_cpu_ms, rss_kib, peak_kib, sampler }
    }

    /// Returns the difference to the start.
    pub(crate) fn stop(self) -> Usage {
        let seconds = self.started.elapsed().as_secs_f64();
        let cpu = self.pid.and_then(cpu_ms);
        let rss = self.pid.and_then(rss_kib);
        let sampled_peak = self.peak_kib.load(Ordering::Relaxed);
        Usage {
            seconds,
            cpu_ms: cpu.zip(self.cpu_ms).map(|(now, then)| now - then),
            client_cpu_ms: cpu_ms(std::process::id()).zip(self.client_cpu_ms).map(|(now, then)| now - then),
            rss_before_kib: self.rss_kib,
            rss_after_kib: rss,
            rss_peak_kib: rss.map(|rss| rss.max(sampled_peak).max(self.rss_kib.unwrap_or(0))),
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.sampler.abort();
    }
}

async fn sample(pid: Option<u32>, peak_kib: Arc<AtomicU64>) {
    let Some(pid) = pid else { return };
    let mut ticks = tokio::time::interval(SAMPLE);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    while let Some(rss) = rss_kib(pid) {
        peak_kib.fetch_max(rss, Ordering::Relaxed);
        ticks.tick().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_parsing_skips_special_command_names() {
        let stat = "42 (a) b (c) S 1 42 42 0 -1 4194560 100 0 0 0 731 219 5 6 20 0 9 0 12345 1 2";
        assert_eq!(parse_stat(stat), Some(9500.0));
        assert_eq!(parse_stat("42 (a) S 1"), None);
        assert_eq!(parse_stat(""), None);
    }

    #[test]
    fn memory_is_the_resident_set() {
        assert_eq!(parse_status("Name:\tx\nVmHWM:\t  900 kB\nVmRSS:\t   812 kB\nThreads:\t3\n"), Some(812));
        assert_eq!(parse_status("Name:\tzombie\n"), None);
    }

    #[test]
    fn own_process_has_metrics() {
        assert!(rss_kib(std::process::id()).is_some_and(|kib| kib > 0));
        assert!(cpu_ms(std::process::id()).is_some());
    }
}
