//! Bounded queue that serves its users in turns. It has no clock and no runtime: waiting and waking are the
//! caller's.
//!
//! The next item belongs to the user with the lowest load, then to the user whose last turn is the longest
//! ago. Items of one user are served in order of arrival. So the items of one user delay those of another
//! user by one item at a time, and no user can fill the queue alone.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

/// Bounds of a [`FairQueue`]. One user can occupy half of each.
#[derive(Debug, Clone, Copy)]
pub struct QueueBounds {
    /// Maximum number of waiting items.
    pub items_max: usize,
    /// Maximum number of bytes that waiting items retain.
    pub bytes_max: u64,
}

/// Error for an item that exceeds a bound of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueFull;

/// Queue with turns by user.
pub struct FairQueue<T> {
    bounds: QueueBounds,
    /// Users with waiting items or load.
    users: HashMap<Arc<str>, UserQueue<T>>,
    /// Users with waiting items, in order of service.
    turns: BTreeMap<Turn, Arc<str>>,
    items: usize,
    bytes: u64,
    /// Number of the next item or turn. 0 is never used: it is the turn of a user that was just added.
    next: u64,
}

#[derive(Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    load: usize,
    number: u64,
}

struct UserQueue<T> {
    turn: Turn,
    bytes: u64,
    items: VecDeque<Item<T>>,
}

struct Item<T> {
    number: u64,
    bytes: u64,
    value: T,
}

/// Place of an item in the queue.
#[derive(Debug)]
pub struct Place {
    user: Arc<str>,
    number: u64,
}

impl Place {
    /// User of the item.
    pub fn user(&self) -> &Arc<str> {
        &self.user
    }
}

/// Item that left the queue for service.
pub struct Served<T> {
    /// User of the item.
    pub user: Arc<str>,
    /// The item.
    pub value: T,
}

impl<T> Default for UserQueue<T> {
    fn default() -> Self {
        UserQueue { turn: Turn::default(), bytes: 0, items: VecDeque::new() }
    }
}

impl<T> FairQueue<T> {
    /// Creates an empty queue.
    pub fn new(bounds: QueueBounds) -> Self {
        FairQueue { bounds, users: HashMap::new(), turns: BTreeMap::new(), items: 0, bytes: 0, next: 1 }
    }

    /// Number of waiting items.
    pub fn len(&self) -> usize {
        self.items
    }

    /// True if no item waits.
    pub fn is_empty(&self) -> bool {
        self.items == 0
    }

    /// True if an item of this user that retains `bytes` can wait.
    pub fn has_room(&self, user: &str, bytes: u64) -> bool {
        let QueueBounds { items_max, bytes_max } = self.bounds;
        let fits = |items: usize, used: u64, part: usize| {
            items < items_max / part && used.saturating_add(bytes) <= bytes_max / part as u64
        };
        let of_user = self.users.get(user);
        let items = of_user.map_or(0, |of_user| of_user.items.len());
        let bytes_of_user = of_user.map_or(0, |of_user| of_user.bytes);
        fits(self.items, self.bytes, 1) && fits(items, bytes_of_user, 2)
    }

    /// Adds an item of a user that retains `bytes` while it waits.
    ///
    /// # Errors
    /// The queue has no room for it.
    pub fn push(&mut self, user: &str, bytes: u64, value: T) -> Result<Place, QueueFull> {
        if !self.has_room(user, bytes) {
            return Err(QueueFull);
        }
        let number = self.next_number();
        let known = self.users.get_key_value(user);
        let user = known.map_or_else(|| Arc::from(user), |(user, _)| Arc::clone(user));
        let of_user = self.users.entry(Arc::clone(&user)).or_default();
        if of_user.items.is_empty() {
            of_user.turn.number = number;
            self.turns.insert(of_user.turn, Arc::clone(&user));
        }
        of_user.items.push_back(Item { number, bytes, value });
        of_user.bytes = of_user.bytes.saturating_add(bytes);
        self.items = self.items.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(Place { user, number })
    }

    /// Returns the item that [`FairQueue::pop`] would return.
    pub fn front(&self) -> Option<&T> {
        let (_, user) = self.turns.first_key_value()?;
        self.users.get(user)?.items.front().map(|item| &item.value)
    }

    /// Takes the next item. The turn of its user then comes last.
    pub fn pop(&mut self) -> Option<Served<T>> {
        let (_, user) = self.turns.first_key_value()?;
        let user = Arc::clone(user);
        let value = self.take(&user, 0)?;
        Some(Served { user, value })
    }

    /// Removes a waiting item. Returns false if it no longer waits.
    pub fn remove(&mut self, place: &Place) -> bool {
        let items = self.users.get(&place.user).map(|of_user| &of_user.items);
        let at = items.and_then(|items| items.binary_search_by_key(&place.number, |item| item.number).ok());
        at.is_some_and(|at| self.take(&place.user, at).is_some())
    }

    /// Increases the load of a user until [`FairQueue::release`].
    pub fn occupy(&mut self, user: &Arc<str>) {
        self.change_load(user, |load| load.saturating_add(1));
    }

    /// Decreases the load of a user.
    pub fn release(&mut self, user: &Arc<str>) {
        self.change_load(user, |load| load.saturating_sub(1));
    }

    /// Takes the item at a position of its user's queue. A user whose first item leaves gets the last turn.
    fn take(&mut self, user: &Arc<str>, at: usize) -> Option<T> {
        let number = self.next_number();
        let of_user = self.users.get_mut(user)?;
        let item = of_user.items.remove(at)?;
        of_user.bytes = of_user.bytes.saturating_sub(item.bytes);
        self.items = self.items.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(item.bytes);
        if at == 0 {
            self.turns.remove(&of_user.turn);
            of_user.turn.number = number;
            if !of_user.items.is_empty() {
                self.turns.insert(of_user.turn, Arc::clone(user));
            }
        }
        self.forget_idle(user);
        Some(item.value)
    }

    fn change_load(&mut self, user: &Arc<str>, change: impl FnOnce(usize) -> usize) {
        let of_user = self.users.entry(Arc::clone(user)).or_default();
        let waits = self.turns.remove(&of_user.turn).is_some();
        of_user.turn.load = change(of_user.turn.load);
        if waits {
            self.turns.insert(of_user.turn, Arc::clone(user));
        }
        self.forget_idle(user);
    }

    fn forget_idle(&mut self, user: &Arc<str>) {
        if self.users.get(user).is_some_and(|of_user| of_user.items.is_empty() && of_user.turn.load == 0) {
            self.users.remove(user);
        }
    }

    fn next_number(&mut self) -> u64 {
        let number = self.next;
        self.next = number.wrapping_add(1);
        number
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn queue(items_max: usize, bytes_max: u64) -> FairQueue<u32> {
        FairQueue::new(QueueBounds { items_max, bytes_max })
    }

    fn drain(queue: &mut FairQueue<u32>) -> Vec<u32> {
        std::iter::from_fn(|| {
            let front = queue.front().copied();
            let served = queue.pop().map(|served| served.value);
            assert_eq!(front, served);
            served
        })
        .collect()
    }

    #[test]
    fn users_are_served_in_turns() {
        let mut queue = queue(100, 100);
        for (user, value) in [("a", 1), ("a", 2), ("a", 3), ("b", 11), ("c", 21), ("b", 12)] {
            queue.push(user, 0, value).unwrap();
        }
        assert_eq!(drain(&mut queue), [1, 11, 21, 2, 12, 3]);
        assert!(queue.users.is_empty() && queue.turns.is_empty() && queue.is_empty());
    }

    #[test]
    fn user_with_lowest_load_is_first() {
        let mut queue = queue(100, 100);
        queue.push("a", 0, 1).unwrap();
        let a = queue.pop().unwrap().user;
        queue.occupy(&a);
        queue.push("a", 0, 2).unwrap();
        queue.push("b", 0, 11).unwrap();
        queue.push("b", 0, 12).unwrap();
        assert_eq!(queue.pop().unwrap().value, 11);
        queue.release(&a);
        assert_eq!(drain(&mut queue), [2, 12]);
        assert!(queue.users.is_empty());
    }

    #[test]
    fn one_user_gets_half_of_items() {
        let mut queue = queue(4, 100);
        assert!(queue.push("a", 0, 1).is_ok() && queue.push("a", 0, 2).is_ok());
        assert_eq!(queue.push("a", 0, 3).unwrap_err(), QueueFull);
        assert!(queue.push("b", 0, 4).is_ok() && queue.push("c", 0, 5).is_ok());
        assert_eq!(queue.push("d", 0, 6).unwrap_err(), QueueFull);
        assert_eq!(queue.len(), 4);
    }

    #[test]
    fn one_user_gets_half_of_bytes() {
        let mut queue = queue(100, 10);
        let first = queue.push("a", 4, 1).unwrap();
        assert_eq!(queue.push("a", 2, 2).unwrap_err(), QueueFull);
        assert!(queue.push("a", 1, 2).is_ok() && queue.push("b", 5, 3).is_ok());
        assert!(!queue.has_room("c", 1) && queue.has_room("c", 0));
        assert!(queue.remove(&first));
        assert!(queue.has_room("c", 4));
    }

    #[test]
    fn removed_item_is_not_served() {
        let mut queue = queue(100, 100);
        let first = queue.push("a", 1, 1).unwrap();
        let second = queue.push("a", 1, 2).unwrap();
        queue.push("a", 1, 3).unwrap();
        assert!(queue.remove(&second) && !queue.remove(&second));
        assert_eq!(queue.pop().unwrap().value, 1);
        assert!(!queue.remove(&first));
        assert_eq!(drain(&mut queue), [3]);
        assert!(queue.users.is_empty() && queue.bytes == 0);
    }
}
