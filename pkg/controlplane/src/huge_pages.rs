//! Huge pages (2 MiB) for a large heap.
//!
//! Huge pages reduce TLB misses. The TLB covers a few thousand pages, but a heap of some hundred megabytes
//! has more pages of 4 KiB. A miss requires a page table walk, which costs twice as much in a virtual
//! machine. With huge pages, the server of a large simulated cluster needs a few per cent less CPU and a few
//! per cent more memory (`docs/memory.md` has numbers). For a small server they would double the heap.
//!
//! The allocator always requests them (`thp:always` in `.cargo/config.toml`). [`forbid`] disables them in the
//! kernel until [`follow_size`] finds the process large enough.

use std::time::Duration;

use rustix::thread::disable_transparent_huge_pages;
use server::limits::memory::Meter;

use crate::memory::Resident;

/// Minimum resident size in bytes for huge pages.
const LARGE_BYTES: u64 = 128 << 20;
/// Huge pages are used only below this fraction of the memory limit, because they take more memory than
/// requested.
const LIMIT_PART: u64 = 2;
/// Interval of size checks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Disables huge pages. Call it before the process has allocated much memory.
pub fn forbid() {
    allow(false);
}

/// Enables huge pages while the process is large and not near `limit` (in bytes). Never returns.
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

/// Enables or disables huge pages. Existing pages are unaffected. Errors are only logged: the kernel may lack
/// huge pages, or a sandbox may forbid the call.
fn allow(huge: bool) {
    if let Err(error) = disable_transparent_huge_pages(!huge) {
        tracing::debug!(%error, "cannot change the page size");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn huge_pages_need_large_process_below_limit() {
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
