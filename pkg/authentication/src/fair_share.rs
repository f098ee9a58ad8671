//! Slots for concurrent calls, shared fairly among sources (client addresses and reviewing users). A source that
//! occupies many slots delays only its own calls.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use thiserror::Error;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::chain::TokenOrigin;
use crate::expiring_cache::{Key, key};

/// Maximum number of concurrent calls.
const CALLS_MAX: usize = 1024;
/// Maximum number of callers, waiting ones included. It also bounds the number of sources.
const CALLERS_MAX: usize = 8192;
/// Maximum time that a caller waits for a slot.
const WAIT_MAX: Duration = Duration::from_secs(10);

/// Source of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Source {
    /// A client address, of IPv6 the /64 network.
    Address(IpAddr),
    /// Digest of the name of a user that sends token reviews.
    Reviewer(Key),
    Unknown,
}

impl From<TokenOrigin<'_>> for Source {
    fn from(origin: TokenOrigin<'_>) -> Self {
        match origin {
            TokenOrigin::Client(address) => match address.to_canonical() {
                IpAddr::V4(address) => Source::Address(address.into()),
                IpAddr::V6(address) => {
                    Source::Address(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into())
                }
            },
            TokenOrigin::Review { user } => Source::Reviewer(key(user, [])),
            TokenOrigin::Unknown => Source::Unknown,
        }
    }
}

/// Rejection because of too many callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("too many tokens are being authenticated")]
pub(crate) struct Busy;

/// Shared slots. Cheap to clone.
///
/// A source gets a slot while its calls are less than the square of the number of free slots, divided by twice
/// [`CALLS_MAX`]. So a source without calls gets any free slot, a single source uses at most 275 slots, and 64
/// sources that never return a slot leave some free. Waiting sources get slots in turns. If there are too many
/// callers, the newest waiting one of the largest source is rejected.
#[derive(Clone, Default)]
pub(crate) struct FairShare(Arc<Mutex<Callers>>);

#[derive(Default)]
struct Callers {
    /// Number of callers of all sources, waiting ones included.
    count: usize,
    /// Number of calls of all sources.
    calls: usize,
    sources: HashMap<Source, OfSource>,
    /// Sources with waiting callers, by [`OfSource::turn`].
    turns: BTreeMap<u64, Source>,
    /// The next number of a caller or turn.
    next: u64,
}

/// Callers of one source.
#[derive(Default)]
struct OfSource {
    /// Callers with a slot.
    calls: HashSet<u64>,
    /// Callers without a slot, in order of arrival. A dropped sender rejects the caller.
    waiting: BTreeMap<u64, oneshot::Sender<()>>,
    /// Place among the sources with waiting callers.
    turn: u64,
}

/// A slot, released on drop.
pub(crate) struct Slot(#[expect(dead_code, reason = "releases the slot")] Caller);

/// A caller, with or without a slot. It leaves on drop.
struct Caller {
    share: FairShare,
    source: Source,
    number: u64,
}

impl FairShare {
    /// Waits for a slot, at most [`WAIT_MAX`]. Callers of one source are served in order of arrival.
    pub(crate) async fn acquire(&self, origin: TokenOrigin<'_>) -> Result<Slot, Busy> {
        let source = Source::from(origin);
        let (granted, grant) = oneshot::channel();
        let number = self.lock().enter(source, granted)?;
        let caller = Caller { share: self.clone(), source, number };
        match timeout(WAIT_MAX, grant).await {
            Ok(Ok(())) => Ok(Slot(caller)),
            _ => Err(Busy),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Callers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Callers {
    /// Adds a caller and returns its number. `granted` is notified when the caller has a slot.
    fn enter(&mut self, source: Source, granted: oneshot::Sender<()>) -> Result<u64, Busy> {
        if self.count >= CALLERS_MAX {
            self.reject_one_for(source)?;
        }
        let number = self.next_number();
        let of_source = self.sources.entry(source).or_default();
        of_source.waiting.insert(number, granted);
        self.count += 1;
        if of_source.waiting.len() == 1 {
            of_source.turn = number;
            self.turns.insert(number, source);
        }
        self.grant();
        Ok(number)
    }

    /// Rejects the newest waiting caller of the largest source, unless the newcomer's source is about as large.
    fn reject_one_for(&mut self, newcomer: Source) -> Result<(), Busy> {
        let source_len = self.sources.get(&newcomer).map_or(0, OfSource::len);
        let waiting = self.sources.iter().filter(|(_, of_source)| !of_source.waiting.is_empty());
        let (source, largest) = waiting.max_by_key(|(_, of_source)| of_source.len()).ok_or(Busy)?;
        if largest.len() <= source_len + 1 {
            return Err(Busy);
        }
        let source = *source;
        let newest = largest.waiting.last_key_value().map(|(number, _)| *number).ok_or(Busy)?;
        self.remove(source, newest);
        Ok(())
    }

    /// Removes a caller. Does nothing if it was removed before.
    fn remove(&mut self, source: Source, number: u64) {
        let Some(of_source) = self.sources.get_mut(&source) else { return };
        if of_source.calls.remove(&number) {
            self.calls -= 1;
        } else if of_source.waiting.remove(&number).is_none() {
            return;
        }
        self.count -= 1;
        if of_source.waiting.is_empty() {
            self.turns.remove(&of_source.turn);
        }
        if of_source.len() == 0 {
            self.sources.remove(&source);
        }
    }

    /// Gives the free slots to waiting callers, one per source and turn.
    fn grant(&mut self) {
        while let Some((turn, source)) = self.next_source() {
            self.turns.remove(&turn);
            let next = self.next_number();
            let Some(of_source) = self.sources.get_mut(&source) else { continue };
            let Some((number, granted)) = of_source.waiting.pop_first() else { continue };
            of_source.calls.insert(number);
            self.calls += 1;
            if !of_source.waiting.is_empty() {
                of_source.turn = next;
                self.turns.insert(next, source);
            }
            // A caller that has given up since leaves on drop.
            let _ = granted.send(());
        }
    }

    /// Returns the next source that may have another slot.
    fn next_source(&self) -> Option<(u64, Source)> {
        let free = CALLS_MAX - self.calls;
        let calls = |source| self.sources.get(source).map_or(0, |of_source| of_source.calls.len());
        let next = self.turns.iter().find(|(_, source)| calls(source) * 2 * CALLS_MAX < free * free);
        next.map(|(turn, source)| (*turn, *source))
    }

    fn next_number(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        number
    }
}

impl OfSource {
    fn len(&self) -> usize {
        self.calls.len() + self.waiting.len()
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        let mut callers = self.share.lock();
        callers.remove(self.source, self.number);
        callers.grant();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::pin::Pin;

    use futures::future::{FutureExt, join_all};
    use tokio::task::unconstrained;

    use super::*;

    type Acquisition<'f> = Pin<Box<dyn Future<Output = Result<Slot, Busy>> + 'f>>;

    fn client(text: &str) -> TokenOrigin<'static> {
        TokenOrigin::Client(text.parse().unwrap())
    }

    /// The client of an IPv6 network with this number.
    fn network(number: usize) -> TokenOrigin<'static> {
        client(&format!("2001:db8:0:{number:x}::1"))
    }

    /// Starts `count` callers. Returns those without a slot and those with one.
    fn start<'f>(
        share: &'f FairShare,
        origin: TokenOrigin<'f>,
        count: usize,
    ) -> (Vec<Acquisition<'f>>, Vec<Slot>) {
        let mut waiting: Vec<Acquisition<'f>> = Vec::new();
        let mut held = Vec::new();
        for _ in 0..count {
            let mut caller: Acquisition<'f> = Box::pin(unconstrained(share.acquire(origin)));
            match caller.as_mut().now_or_never() {
                Some(slot) => held.extend(slot.ok()),
                None => waiting.push(caller),
            }
        }
        (waiting, held)
    }

    fn is_empty(share: &FairShare) -> bool {
        let callers = share.lock();
        callers.count + callers.calls + callers.sources.len() + callers.turns.len() == 0
    }

    #[tokio::test(start_paused = true)]
    async fn flooding_source_blocks_only_itself() {
        let share = FairShare::default();
        let flood = (0..CALLERS_MAX).map(|_| share.acquire(client("192.0.2.1")));
        let slots = join_all(flood).await;
        let held = slots.iter().filter(|slot| slot.is_ok()).count();
        assert_eq!(held, 275);
        assert!(share.acquire(client("192.0.2.2")).await.is_ok());
        assert!(share.acquire(TokenOrigin::Unknown).await.is_ok());
        assert!(share.acquire(client("::ffff:192.0.2.1")).await.is_err());
        drop(slots);
        assert!(share.acquire(client("192.0.2.1")).await.is_ok());
        assert!(is_empty(&share));
    }

    #[tokio::test(start_paused = true)]
    async fn many_flooding_networks_block_only_themselves() {
        let share = FairShare::default();
        let floods: Vec<_> = (0..64).map(|number| start(&share, network(number), 512)).collect();
        assert_eq!(share.lock().count, CALLERS_MAX);
        let (_, small) = start(&share, client("192.0.2.1"), 1);
        assert_eq!(small.len(), 1);
        drop((floods, small));
        assert!(is_empty(&share));
    }

    #[tokio::test(start_paused = true)]
    async fn small_source_displaces_newest_of_largest() {
        let share = FairShare::default();
        let held: Vec<_> = (0..CALLS_MAX).map(|number| start(&share, network(number), 1)).collect();
        let (mut flood, _) = start(&share, client("192.0.2.1"), CALLERS_MAX);
        let (small, _) = start(&share, client("192.0.2.2"), 3);
        assert_eq!(small.len(), 3);
        let rejected = |caller: &mut Acquisition<'_>| caller.now_or_never().is_some();
        let newest = flood.split_off(flood.len() - 3);
        assert!(newest.into_iter().all(|mut caller| rejected(&mut caller)));
        assert!(!flood.iter_mut().any(rejected));
        drop((held, flood, small));
        assert!(is_empty(&share));
    }

    #[tokio::test(start_paused = true)]
    async fn slots_are_granted_in_turns() {
        let share = FairShare::default();
        let mut held: Vec<_> = (0..CALLS_MAX).map(|number| start(&share, network(number), 1)).collect();
        let (flood, _) = start(&share, client("192.0.2.1"), 500);
        let (mut late, _) = start(&share, client("192.0.2.2"), 1);
        held.truncate(CALLS_MAX - 2);
        assert!(late[0].as_mut().now_or_never().is_some_and(|slot| slot.is_ok()));
        drop((held, flood, late));
        assert!(is_empty(&share));
    }

    #[tokio::test(start_paused = true)]
    async fn total_limit_makes_sources_wait() {
        let share = FairShare::default();
        let mut held = Vec::new();
        for number in 0..CALLS_MAX {
            held.push(share.acquire(network(number)).await.unwrap());
        }
        let released = async {
            tokio::time::sleep(WAIT_MAX / 2).await;
            held.pop();
        };
        let (slot, ()) = tokio::join!(share.acquire(client("192.0.2.1")), released);
        assert!(slot.is_ok());
    }

    #[test]
    fn ipv6_sources_are_networks() {
        let source = |text| Source::from(client(text));
        assert_eq!(source("2001:db8::1"), source("2001:db8::ffff"));
        assert_ne!(source("2001:db8::1"), source("2001:db8:0:1::1"));
    }

    #[test]
    fn reviewers_are_sources() {
        let source = |user| Source::from(TokenOrigin::Review { user });
        assert_eq!(source("a"), source("a"));
        assert_ne!(source("a"), source("b"));
    }
}
