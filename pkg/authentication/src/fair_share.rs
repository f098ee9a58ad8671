//! Slots for concurrent calls, shared fairly among client addresses. A client that occupies all slots of its
//! address delays only requests from this address.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Maximum number of concurrent calls.
const CALLS_MAX: usize = 1024;
/// Maximum number of concurrent calls for one source.
const SOURCE_CALLS_MAX: usize = 128;
/// Maximum number of callers of one source, waiting ones included.
const SOURCE_CALLERS_MAX: usize = 512;
/// Maximum number of callers, waiting ones included.
const CALLERS_MAX: usize = 8192;
/// Maximum time that a caller waits for a slot.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// Origin of a call: the client address, of IPv6 the /64 network. `None` for calls on behalf of authenticated
/// users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Source(Option<IpAddr>);

impl Source {
    fn of(address: Option<IpAddr>) -> Self {
        Source(address.map(|address| match address.to_canonical() {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        }))
    }
}

/// Rejection because of too many callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("too many tokens are being authenticated")]
pub(crate) struct Busy;

/// Shared slots. Cheap to clone.
#[derive(Clone)]
pub(crate) struct FairShare {
    callers: Arc<Mutex<Callers>>,
    calls: Arc<Semaphore>,
}

#[derive(Default)]
struct Callers {
    count: usize,
    sources: HashMap<Source, SourceSlots>,
}

struct SourceSlots {
    callers: usize,
    calls: Arc<Semaphore>,
}

/// A slot, released on drop.
pub(crate) struct Slot {
    _caller: Caller,
    _permits: [OwnedSemaphorePermit; 2],
}

/// A counted caller.
struct Caller {
    share: FairShare,
    source: Source,
}

impl Default for FairShare {
    fn default() -> Self {
        FairShare { callers: Arc::default(), calls: Arc::new(Semaphore::new(CALLS_MAX)) }
    }
}

impl FairShare {
    /// Waits for a slot, at most [`WAIT_MAX`]. Callers of one source are served in order of arrival.
    pub(crate) async fn acquire(&self, address: Option<IpAddr>) -> Result<Slot, Busy> {
        let source = Source::of(address);
        let of_source = self.enter(source)?;
        let caller = Caller { share: self.clone(), source };
        let permits = timeout(WAIT_MAX, async {
            let own = of_source.acquire_owned().await.ok()?;
            let shared = Arc::clone(&self.calls).acquire_owned().await.ok()?;
            Some([own, shared])
        });
        let permits = permits.await.ok().flatten().ok_or(Busy)?;
        Ok(Slot { _caller: caller, _permits: permits })
    }

    fn enter(&self, source: Source) -> Result<Arc<Semaphore>, Busy> {
        let mut callers = self.lock();
        let of_source = callers.sources.get(&source).map_or(0, |slots| slots.callers);
        if callers.count >= CALLERS_MAX || of_source >= SOURCE_CALLERS_MAX {
            return Err(Busy);
        }
        callers.count += 1;
        let slots = callers
            .sources
            .entry(source)
            .or_insert_with(|| SourceSlots { callers: 0, calls: Arc::new(Semaphore::new(SOURCE_CALLS_MAX)) });
        slots.callers += 1;
        Ok(Arc::clone(&slots.calls))
    }

    fn lock(&self) -> MutexGuard<'_, Callers> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let mut callers = self.share.lock();
        callers.count -= 1;
        if let Some(slots) = callers.sources.get_mut(&self.source) {
            slots.callers -= 1;
            if slots.callers == 0 {
                callers.sources.remove(&self.source);
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use futures::future::join_all;

    use super::*;

    fn address(text: &str) -> Option<IpAddr> {
        Some(text.parse().unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn flooding_source_blocks_only_itself() {
        let share = FairShare::default();
        let flood = (0..2 * SOURCE_CALLERS_MAX).map(|_| share.acquire(address("192.0.2.1")));
        let taken = join_all(flood).await;
        let held = taken.iter().filter(|slot| slot.is_ok()).count();
        assert_eq!(held, SOURCE_CALLS_MAX);
        assert!(share.acquire(address("192.0.2.2")).await.is_ok());
        assert!(share.acquire(None).await.is_ok());
        assert!(share.acquire(address("::ffff:192.0.2.1")).await.is_err());
        drop(taken);
        assert!(share.acquire(address("192.0.2.1")).await.is_ok());
        let callers = share.lock();
        assert_eq!((callers.count, callers.sources.len()), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn total_limit_makes_sources_wait() {
        let share = FairShare::default();
        let mut held = Vec::new();
        for n in 0..CALLS_MAX {
            held.push(share.acquire(address(&format!("2001:db8:0:{n:x}::1"))).await.unwrap());
        }
        let released = async {
            tokio::time::sleep(WAIT_MAX / 2).await;
            held.pop();
        };
        let (slot, ()) = tokio::join!(share.acquire(address("192.0.2.1")), released);
        assert!(slot.is_ok());
    }

    #[test]
    fn ipv6_sources_are_networks() {
        assert_eq!(Source::of(address("2001:db8::1")), Source::of(address("2001:db8::ffff")));
        assert_ne!(Source::of(address("2001:db8::1")), Source::of(address("2001:db8:0:1::1")));
    }
}
