//! Memory of the servers during a run.

use e2e::Server;

/// Samples of all servers in order, in bytes.
#[derive(Default)]
pub(super) struct Memory(Vec<u64>);

impl Memory {
    /// Takes one sample of each server; all must run.
    pub(super) fn sample(&mut self, servers: &mut [Server]) {
        self.0.extend(servers.iter_mut().map(Server::memory_bytes));
    }

    /// Formats the means of the first and the last quarter and the maximum, in MiB.
    pub(super) fn report(&self) -> String {
        let quarter = (self.0.len() / 4).max(1);
        let mean = |samples: &[u64]| {
            let sum: u64 = samples.iter().sum();
            sum as f64 / samples.len().max(1) as f64 / f64::from(1 << 20)
        };
        let first = self.0.chunks(quarter).next();
        let last = self.0.rchunks(quarter).next();
        let most = self.0.iter().max().copied().unwrap_or_default() >> 20;
        let first = mean(first.unwrap_or_default());
        let last = mean(last.unwrap_or_default());
        format!(
            "memory of a server: {first:.1} MiB in the first quarter, {last:.1} in the last, {most} at most"
        )
    }
}
