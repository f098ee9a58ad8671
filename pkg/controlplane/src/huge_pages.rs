//! Pages of 2 MiB for a large heap.
//!
//! The processor keeps in mind where a few thousand pages are. A heap of some hundred megabytes has more of 4 KiB, and then
//! one access in many waits until the page is looked up in memory, in a virtual machine twice over. Of huge pages it has a
//! few hundred: the server of a large simulated cluster needs some per cent less of the processor, and a few more of memory
//! (`docs/memory.md` has figures). For a small server that is not worth it: its heap would be twice as large.
//!
//! The allocator always asks for them (`thp:always` in `.cargo/config.toml`), where the kernel has them for whoever asks.
//! [`forbid`] tells the kernel to take no notice, until [`follow_size`] finds the process large enough.

use std::time::Duration;

use rustix::thread::disable_transparent_huge_pages;
use server::limits::memory::Meter;

use crate::memory::Resident;

/// What a process has in memory that is large, in bytes.
const LARGE_BYTES: u64 = 128 << 20;
/// Huge pages are for who has half of what it may take, at most: more of them take more than what was asked for.
const LIMIT_PART: u64 = 2;
/// Between two looks at the size.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Makes do with small pages. To be called before the process has asked for much.
pub fn forbid() {
    allow(false);
}

/// Allows huge pages while the process is large, but not near its limit in bytes, for ever.
pub(crate) async fn follow_size(limit: Option<u64>) {
    let mut allowed = false;
    loop {
        if let Some(bytes) = Resident.bytes()
            && allowed != is_worth_it(bytes, limit)
        {
            allowed = !allowed;
            allow(allowed);
            tracing::debug!(allowed, bytes, "huge pages");
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

fn is_worth_it(bytes: u64, limit: Option<u64>) -> bool {
    bytes >= LARGE_BYTES && limit.is_none_or(|limit| bytes < limit / LIMIT_PART)
}

/// Pages that are there already stay as they are. A kernel that has no such pages, or a sandbox that forbids the question,
/// is no reason not to serve.
fn allow(huge: bool) {
    if let Err(error) = disable_transparent_huge_pages(!huge) {
        tracing::debug!(%error, "the size of pages stays as it is");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_pages_are_for_large_processes_that_are_not_near_their_limit() {
        let mib = |number: u64| number << 20;
        for (size, limit, expected) in [
            (40, None, false),
            (127, None, false),
            (128, None, true),
            (4_000, None, true),
            (128, Some(256), false),
            (128, Some(512), true),
            (256, Some(512), false),
        ] {
            assert_eq!(is_worth_it(mib(size), limit.map(mib)), expected, "{size} of {limit:?}");
        }
    }
}
