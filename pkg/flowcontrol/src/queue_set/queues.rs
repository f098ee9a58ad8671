//! The queues of a level that have somebody in them, and which of them is next.

use std::collections::BTreeSet;
use std::ops::Bound::{Excluded, Unbounded};

use slab::Slab;

use super::entries::{Entries, Entry, Key};
use crate::seat_seconds::SeatSeconds;
use crate::shuffle_sharding::Hand;

/// A queue: those who wait in it, in order, and what those take who have left it to be served.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) index: u32,
    first: Option<Key>,
    last: Option<Key>,
    pub(super) length: u32,
    pub(super) executing: u32,
    /// Of those who are served or linger.
    pub(super) seats_in_use: u64,
    /// Of those who wait: while they are served, and at most.
    pub(super) initial_seats: u64,
    pub(super) seats_waiting: u64,
    pub(super) work_waiting: SeatSeconds,
    /// The reading of the meter at which the next request begins in virtual time.
    pub(super) next_dispatch: SeatSeconds,
    /// Under which virtual finish the queue stands in the order.
    finish: Option<SeatSeconds>,
}

impl Queue {
    fn is_active(&self) -> bool {
        self.length > 0 || self.executing > 0
    }
}

/// All queues.
#[derive(Debug, Default)]
pub(super) struct Queues {
    /// By index one more than the place in `used`; 0 for a queue with nobody in it. Memory that was never written to costs
    /// nothing, so a deck of millions does not either.
    places: Vec<u32>,
    used: Slab<Queue>,
    /// Those with somebody waiting.
    order: BTreeSet<(SeatSeconds, u32)>,
    active: usize,
    seats_wanted: u64,
}

impl Queues {
    /// From now on queues below `deck` are used.
    pub(super) fn reserve(&mut self, deck: u32) {
        let highest = self.used.iter().map(|(_, queue)| queue.index as usize + 1).max().unwrap_or_default();
        let wanted = (deck as usize).max(highest);
        if wanted != self.places.len() {
            // Zeroed by the system, where a longer copy would be written.
            let mut places = vec![0; wanted];
            for (place, queue) in &self.used {
                places[queue.index as usize] = place as u32 + 1;
            }
            self.places = places;
        }
    }

    /// How many there are, with those that have nobody in them.
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Queues with somebody who waits or is served.
    pub(super) fn active(&self) -> usize {
        self.active
    }

    /// Queues with somebody who waits.
    pub(super) fn waiting(&self) -> usize {
        self.order.len()
    }

    /// Seats that those take and want who came through a queue.
    pub(super) fn seats_wanted(&self) -> u64 {
        self.seats_wanted
    }

    fn place(&self, index: u32) -> Option<usize> {
        (*self.places.get(index as usize)?).checked_sub(1).map(|place| place as usize)
    }

    pub(super) fn get(&self, index: u32) -> Option<&Queue> {
        self.used.get(self.place(index)?)
    }

    fn get_mut(&mut self, index: u32) -> Option<&mut Queue> {
        self.used.get_mut(self.place(index)?)
    }

    /// All queues with somebody in them.
    pub(super) fn used(&self) -> impl Iterator<Item = &Queue> {
        self.used.iter().map(|(_, queue)| queue)
    }

    /// How many wait in a queue.
    pub(super) fn length(&self, index: u32) -> u32 {
        self.get(index).map_or(0, |queue| queue.length)
    }

    /// Those who wait in a queue, in order.
    pub(super) fn members<'a>(
        &self,
        index: u32,
        entries: &'a Entries,
    ) -> impl Iterator<Item = &'a Entry> + use<'a> {
        let first = self.get(index).and_then(|queue| queue.first);
        let entry = |key: Option<Key>| key.and_then(|key| entries.get(key));
        std::iter::successors(entry(first), move |before| entry(before.after))
    }

    /// The queue of a hand with the least work waiting. Looked at from a card on that `turn` says, so that of equal ones
    /// each is chosen as often.
    pub(super) fn least_loaded(&self, hand: &Hand, turn: u64) -> u32 {
        let from = (turn % hand.len().max(1) as u64) as usize;
        let (before, after) = hand.split_at(from);
        let work = |index: u32| self.get(index).map_or(SeatSeconds::default(), |queue| queue.work_waiting);
        after.iter().chain(before).copied().min_by_key(|&index| work(index)).unwrap_or_default()
    }

    /// Puts a request at the end of a queue, and says how long that is then.
    pub(super) fn push(
        &mut self,
        index: u32,
        key: Key,
        entries: &mut Entries,
        virtual_time: SeatSeconds,
    ) -> u32 {
        if self.place(index).is_none()
            && let Some(place) = self.places.get_mut(index as usize)
        {
            *place = self.used.insert(Queue { index, ..Queue::default() }) as u32 + 1;
        }
        let Some(place) = self.place(index) else { return 0 };
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
        self.settle(index, entries);
        length
    }

    /// Takes a request out of its queue, wherever it stands there.
    pub(super) fn remove(&mut self, key: Key, entries: &mut Entries) {
        let Some(index) = self.unlink(key, entries) else { return };
        if let Some(queue) = self.get_mut(index)
            && !queue.is_active()
        {
            self.active -= 1;
        }
        self.settle(index, entries);
    }

    /// Takes the first request out of a queue to be served, where there are `limit` seats, and says when that begins in
    /// virtual time.
    pub(super) fn serve(&mut self, key: Key, limit: u32, entries: &mut Entries) -> SeatSeconds {
        let Some(index) = self.unlink(key, entries) else { return SeatSeconds::default() };
        let (Some(place), Some(entry)) = (self.place(index), entries.get_mut(key)) else {
            return SeatSeconds::default();
        };
        entry.fit_final_seats(limit);
        let queue = &mut self.used[place];
        let start = queue.next_dispatch;
        queue.executing += 1;
        queue.seats_in_use += entry.width();
        self.seats_wanted += entry.width();
        queue.next_dispatch += entry.total_work;
        self.settle(index, entries);
        start
    }

    /// Takes a request out of the list. What follows from that is for the caller.
    fn unlink(&mut self, key: Key, entries: &mut Entries) -> Option<u32> {
        let entry = entries.get_mut(key)?;
        let (before, after) = (entry.before.take(), entry.after.take());
        let (width, initial) = (entry.width(), u64::from(entry.request.work.initial_seats));
        let (index, work) = (entry.queue?, entry.total_work);
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
        queue.work_waiting = queue.work_waiting.less(work);
        self.seats_wanted -= width;
        Some(index)
    }

    /// A request from this queue has been served: it was guessed to be so much work and was so much.
    pub(super) fn finished(
        &mut self,
        index: u32,
        guessed: SeatSeconds,
        actual: SeatSeconds,
        entries: &Entries,
    ) {
        let Some(queue) = self.get_mut(index) else { return };
        queue.executing -= 1;
        queue.next_dispatch = (queue.next_dispatch + actual).less(guessed);
        if !queue.is_active() {
            self.active -= 1;
        }
        self.settle(index, entries);
    }

    /// A request from this queue has given back its seats.
    pub(super) fn freed(&mut self, index: u32, width: u64, entries: &Entries) {
        let Some(queue) = self.get_mut(index) else { return };
        queue.seats_in_use -= width;
        self.seats_wanted -= width;
        self.settle(index, entries);
    }

    /// Puts a queue that has changed where it belongs in the order.
    ///
    /// A queue that has not been able to use what it was due does not save that up: its next request begins no earlier in
    /// virtual time than it arrived.
    fn settle(&mut self, index: u32, entries: &Entries) {
        let Some(place) = self.place(index) else { return };
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
            self.places[index as usize] = 0;
        }
    }

    /// Who is next: the first of the queue that would finish it first in virtual time; of equal ones, of the next one
    /// behind `robin`, which was served last.
    pub(super) fn next(&self, robin: u32) -> Option<(u32, Key)> {
        let &(finish, lowest) = self.order.first()?;
        let behind = self.order.range((Excluded((finish, robin)), Unbounded)).next();
        let index = behind.filter(|(other, _)| *other == finish).map_or(lowest, |&(_, index)| index);
        Some((index, self.get(index)?.first?))
    }
}
