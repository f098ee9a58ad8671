//! The non-empty queues of a level, and the selection of the next one.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};

use slab::Slab;

use super::entries::{Entries, Entry, Key};
use crate::seat_seconds::SeatSeconds;
use crate::shuffle_sharding::Hand;

/// A queue: its waiting requests in order, and the seats of the requests that left it to execute.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) index: u32,
    first: Option<Key>,
    last: Option<Key>,
    pub(super) length: u32,
    pub(super) executing: u32,
    /// Seats of executing requests and final seats.
    pub(super) seats_in_use: u64,
    /// Seats of waiting requests: `initial_seats` during execution, `seats_waiting` at most.
    pub(super) initial_seats: u64,
    pub(super) seats_waiting: u64,
    pub(super) work_waiting: SeatSeconds,
    /// Virtual start of the next request.
    pub(super) next_dispatch: SeatSeconds,
    /// Virtual finish under which the queue is in `order`.
    finish: Option<SeatSeconds>,
}

impl Queue {
    fn is_active(&self) -> bool {
        self.length > 0 || self.executing > 0
    }
}

#[derive(Debug, Default)]
pub(super) struct Queues {
    /// By queue index: one more than the position in `used`, or 0 for an empty queue. Untouched pages of a
    /// zeroed allocation cost no memory, so a deck of millions costs nothing.
    positions: Vec<u32>,
    used: Slab<Queue>,
    /// Queues with waiting requests.
    order: BTreeSet<(SeatSeconds, u32)>,
    active: usize,
    seats_wanted: u64,
}

impl Queues {
    /// Makes room for queues below `deck`.
    pub(super) fn reserve(&mut self, deck: u32) {
        let highest = self.used.iter().map(|(_, queue)| queue.index as usize + 1).max().unwrap_or_default();
        let length = (deck as usize).max(highest);
        if length != self.positions.len() {
            // A zeroed allocation is lazy, whereas a longer copy would touch every page.
            let mut positions = vec![0; length];
            for (slot, queue) in &self.used {
                positions[queue.index as usize] = slot as u32 + 1;
            }
            self.positions = positions;
        }
    }

    /// Returns the number of queues, including empty ones.
    pub(super) fn len(&self) -> usize {
        self.positions.len()
    }

    /// Returns the number of queues with waiting or executing requests.
    pub(super) fn active(&self) -> usize {
        self.active
    }

    /// Returns the number of queues with waiting requests.
    pub(super) fn waiting(&self) -> usize {
        self.order.len()
    }

    /// Returns the seats that queued requests use and want.
    pub(super) fn seats_wanted(&self) -> u64 {
        self.seats_wanted
    }

    fn position(&self, index: u32) -> Option<usize> {
        (*self.positions.get(index as usize)?).checked_sub(1).map(|place| place as usize)
    }

    pub(super) fn get(&self, index: u32) -> Option<&Queue> {
        self.used.get(self.position(index)?)
    }

    fn get_mut(&mut self, index: u32) -> Option<&mut Queue> {
        self.used.get_mut(self.position(index)?)
    }

    /// All non-empty queues.
    pub(super) fn used(&self) -> impl Iterator<Item = &Queue> {
        self.used.iter().map(|(_, queue)| queue)
    }

    /// Returns the number of waiting requests in a queue.
    pub(super) fn length(&self, index: u32) -> u32 {
        self.get(index).map_or(0, |queue| queue.length)
    }

    /// The waiting requests of a queue, in order.
    pub(super) fn members<'a>(
        &self,
        index: u32,
        entries: &'a Entries,
    ) -> impl Iterator<Item = &'a Entry> + use<'a> {
        let first = self.get(index).and_then(|queue| queue.first);
        let entry = |key: Option<Key>| key.and_then(|key| entries.get(key));
        std::iter::successors(entry(first), move |before| entry(before.after))
    }

    /// Returns the queue of a hand with the least waiting work. The scan starts at a card that `turn`
    /// selects, so that ties are spread evenly.
    pub(super) fn least_loaded(&self, hand: &Hand, turn: u64) -> u32 {
        let from = (turn % hand.len().max(1) as u64) as usize;
        let (before, after) = hand.split_at(from);
        let work = |index: u32| self.get(index).map_or(SeatSeconds::default(), |queue| queue.work_waiting);
        after.iter().chain(before).copied().min_by_key(|&index| work(index)).unwrap_or_default()
    }

    /// Appends a request to a queue and returns the new length.
    pub(super) fn push(
        &mut self,
        index: u32,
        key: Key,
        entries: &mut Entries,
        virtual_time: SeatSeconds,
    ) -> u32 {
        if self.position(index).is_none()
            && let Some(place) = self.positions.get_mut(index as usize)
        {
            *place = self.used.insert(Queue { index, ..Queue::default() }) as u32 + 1;
        }
        let Some(place) = self.position(index) else { return 0 };
        let Some(queue) = self.used.get_mut(place) else { return 0 };
        if !queue.is_active() {
            queue.next_dispatch = virtual_time;
            self.active += 1;
        }
        let before = queue.last.replace(key);
        match before.and_then(|before| entries.get_mut(before)) {
            Some(before) => before.after = Some(key),
            None => queue.first = Some(key),
        }
        queue.length += 1;
        if let Some(entry) = entries.get_mut(key) {
            entry.before = before;
            let width = entry.width();
            queue.initial_seats += u64::from(entry.request.work.initial_seats);
            queue.seats_waiting += width;
            queue.work_waiting += entry.total_work;
            self.seats_wanted += width;
        }
        let length = queue.length;
        self.reorder(index, entries);
        length
    }

    /// Removes a request from its queue, at any position.
    pub(super) fn remove(&mut self, key: Key, entries: &mut Entries) {
        let Some(index) = self.unlink(key, entries) else { return };
        if let Some(queue) = self.get_mut(index)
            && !queue.is_active()
        {
            self.active -= 1;
        }
        self.reorder(index, entries);
    }

    /// Takes the first request out of a queue for execution. `limit` is the number of the level's seats, which bounds its
    /// final seats. Returns its virtual start.
    pub(super) fn serve(&mut self, key: Key, limit: u32, entries: &mut Entries) -> SeatSeconds {
        let Some(index) = self.unlink(key, entries) else { return SeatSeconds::default() };
        let (Some(place), Some(entry)) = (self.position(index), entries.get_mut(key)) else {
            return SeatSeconds::default();
        };
        entry.fit_final_seats(limit);
        let queue = &mut self.used[place];
        let start = queue.next_dispatch;
        queue.executing += 1;
        queue.seats_in_use += entry.width();
        self.seats_wanted += entry.width();
        queue.next_dispatch += entry.total_work;
        self.reorder(index, entries);
        start
    }

    /// Removes a request from the linked list. The caller updates the rest.
    fn unlink(&mut self, key: Key, entries: &mut Entries) -> Option<u32> {
        let entry = entries.get_mut(key)?;
        let before = entry.before.take();
        let after = entry.after.take();
        let width = entry.width();
        let initial = u64::from(entry.request.work.initial_seats);
        let index = entry.queue?;
        let work = entry.total_work;
        if let Some(before) = before.and_then(|before| entries.get_mut(before)) {
            before.after = after;
        }
        if let Some(after) = after.and_then(|after| entries.get_mut(after)) {
            after.before = before;
        }
        let queue = self.get_mut(index)?;
        if before.is_none() {
            queue.first = after;
        }
        if after.is_none() {
            queue.last = before;
        }
        queue.length -= 1;
        queue.initial_seats -= initial;
        queue.seats_waiting -= width;
        queue.work_waiting = queue.work_waiting.saturating_sub(work);
        self.seats_wanted -= width;
        Some(index)
    }

    /// Corrects the virtual start of a queue when a request ends: the estimated work is replaced by the
    /// actual work.
    pub(super) fn finished(
        &mut self,
        index: u32,
        guessed: SeatSeconds,
        actual: SeatSeconds,
        entries: &Entries,
    ) {
        let Some(queue) = self.get_mut(index) else { return };
        queue.executing -= 1;
        queue.next_dispatch = (queue.next_dispatch + actual).saturating_sub(guessed);
        if !queue.is_active() {
            self.active -= 1;
        }
        self.reorder(index, entries);
    }

    /// Releases the seats of a request from this queue.
    pub(super) fn freed(&mut self, index: u32, width: u64, entries: &Entries) {
        let Some(queue) = self.get_mut(index) else { return };
        queue.seats_in_use -= width;
        self.seats_wanted -= width;
        self.reorder(index, entries);
    }

    /// Moves a changed queue to its place in the order.
    ///
    /// A queue cannot save up unused entitlement: its next request starts no earlier in virtual time than it
    /// arrived.
    fn reorder(&mut self, index: u32, entries: &Entries) {
        let Some(place) = self.position(index) else { return };
        let Some(queue) = self.used.get_mut(place) else { return };
        let first = queue.first.and_then(|first| entries.get(first));
        if let Some(first) = first {
            queue.next_dispatch = queue.next_dispatch.max(first.arrived_virtual);
        }
        let finish = first.map(|first| queue.next_dispatch + first.total_work);
        if finish != queue.finish {
            if let Some(finish) = queue.finish {
                self.order.remove(&(finish, index));
            }
            self.order.extend(finish.map(|finish| (finish, index)));
            queue.finish = finish;
        }
        if !queue.is_active() && queue.seats_in_use == 0 {
            self.used.remove(place);
            self.positions[index as usize] = 0;
        }
    }

    /// Returns the next request: the first of the queue with the smallest virtual finish. Ties go to the next
    /// queue after `robin`, which was served last.
    pub(super) fn next(&self, robin: u32) -> Option<(u32, Key)> {
        let &(finish, lowest) = self.order.first()?;
        let behind = self.order.range((Excluded((finish, robin)), Unbounded)).next();
        let index = behind.filter(|(other, _)| *other == finish).map_or(lowest, |&(_, index)| index);
        Some((index, self.get(index)?.first?))
    }
}
