//! What a process has taken so far, as Linux counts it.

use std::fs;

/// Ticks of a processor's clock in a second, as every Linux has them (`sysconf(_SC_CLK_TCK)`).
const TICKS_PER_SECOND: u64 = 100;

/// A running process.
#[derive(Debug, Clone, Copy)]
pub struct Process(pub u32);

impl Process {
    /// Time of processors, user's and system's, in milliseconds; `None` when it has ended.
    pub fn cpu_millis(self) -> Option<u64> {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0)).ok()?;
        // Its name is in parentheses and may hold anything; utime and stime are the 14th and 15th field.
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = fields.get(11)?.parse::<u64>().ok()? + fields.get(12)?.parse::<u64>().ok()?;
        Some(ticks * 1000 / TICKS_PER_SECOND)
    }

    /// What it has of the machine's memory, in bytes; `None` when it has ended.
    pub fn memory(self) -> Option<u64> {
        self.status("VmRSS:")
    }

    /// The most that it had since [`forget_peak`](Self::forget_peak), in bytes; `None` when it has ended.
    pub fn memory_peak(self) -> Option<u64> {
        self.status("VmHWM:")
    }

    /// Begins a new peak.
    ///
    /// # Panics
    /// When the process is not ours.
    pub fn forget_peak(self) {
        fs::write(format!("/proc/{}/clear_refs", self.0), "5").expect("the process is ours");
    }

    fn status(self, name: &str) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.0)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? << 10)
    }
}
