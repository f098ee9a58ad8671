//! Huge pages (2 MiB) for a large heap.
//!
//! Huge pages reduce TLB misses. The TLB covers a few thousand pages, but a heap of some hundred megabytes
//! has more pages of 4 KiB. A miss requires a page table walk, which costs twice as much in a virtual
//! machine. With huge pages, the server of a large simulated cluster needs a few per cent less CPU and a few
//! per cent more memory (`docs/memory.md` has numbers). For a small server they would double the heap.
//!
//! The allocator always requests them (`thp:always` in `.cargo/config.toml`). [`disable`] disables them in the
//! kernel until [`adjust_to_size`] finds the process large enough.

use std::time::Duration;

use rustix::thread::disable_transparent_huge_pages;
use server::limits::memory::Meter;

use crate::memory::ResidentMeter;

/// Minimum resident size in bytes for huge pages.
const LARGE_BYTES: u64 = 128 << 20;
/// Huge pages are used only below this fraction of the memory limit, because they take more memory than
/// requested.
const LIMIT_DIVISOR: u64 = 2;
/// Interval of size checks.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Disables huge pages. Call it before the process has allocated much memory.
pub fn disable() {
    set_enabled(false);
}

/// Enables huge pages while the process is large and not near `limit` (in bytes). Never returns.
pub(crate) async fn adjust_to_size(limit: Option<u64>) {
    let mut allowed = false;
    loop {
        if let Some(bytes) = ResidentMeter.bytes()
            && allowed != is_beneficial(bytes, limit)
        {
            allowed = !allowed;
            set_enabled(allowed);
            tracing::debug!(allowed, bytes, "huge pages");
        }
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}

fn is_beneficial(bytes: u64, limit: Option<u64>) -> bool {
    bytes >= LARGE_BYTES && limit.is_none_or(|limit| bytes < limit / LIMIT_DIVISOR)
}

/// Enables or disables huge pages. Existing pages are unaffected. Errors are only logged: the kernel may lack
/// huge pages, or a sandbox may forbid the call.
fn set_enabled(huge: bool) {
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
            assert_eq!(is_beneficial(mib(size), limit.map(mib)), expected, "{size} of {limit:?}");
        }
    }
}
