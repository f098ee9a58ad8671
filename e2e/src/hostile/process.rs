//! Resource usage of a process, from `/proc`.

use std::fs;

/// CPU clock ticks per second on every Linux (`sysconf(_SC_CLK_TCK)`).
const TICKS_PER_SECOND: u64 = 100;

/// A running process.
#[derive(Debug, Clone, Copy)]
pub struct Process(pub u32);

impl Process {
    /// Returns user plus system CPU time in milliseconds; `None` after it exited.
    pub fn cpu_millis(self) -> Option<u64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0)).ok()?;
        // The name is in parentheses and can contain any character; utime and stime are fields 14 and 15.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
        Some(ticks * 1000 / TICKS_PER_SECOND)
    }

    /// Returns resident memory in bytes; `None` after it exited.
    pub fn memory(self) -> Option<u64> {
        self.status("VmRSS:")
    }

    /// Returns peak memory since [`forget_peak`](Self::forget_peak) in bytes; `None` after it exited.
    pub fn memory_peak(self) -> Option<u64> {
        self.status("VmHWM:")
    }

    /// Resets the peak.
    ///
    /// # Panics
    /// The process belongs to another user.
    pub fn forget_peak(self) {
        fs::write(format!("/proc/{}/clear_refs", self.0), "5").expect("the process is ours");
    }

    fn status(self, name: &str) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? << 10)
    }
}
