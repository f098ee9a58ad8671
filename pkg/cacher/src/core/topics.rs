//! Topics: subscriptions of watches to changes. A topic has its own queue of log positions. Its watches read
//! only these changes, are woken only by them, and do not fall behind because of changes of other objects.
//!
//! A topic exists while a watch is subscribed to it. A change belongs to the topics of both the new and the
//! previous object: a watch of one node must see a pod that leaves it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::task::Waker;

use super::slab::Slab;
use super::{Change, Selection};
use crate::Element;

/// The changes that a watch subscribes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interest<'a> {
    /// Every change.
    All,
    /// Objects whose keys have this prefix: a namespace of the resource.
    Namespace(&'a str),
    Object(&'a str),
    /// Objects whose indexed field has or had this value.
    Term(&'a str),
}

/// Assigns changes to topics.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Prefix of all keys; ends in `/`.
    pub(crate) prefix: String,
    /// The indexed field.
    pub(crate) index: Option<usize>,
}

impl Layout {
    /// The narrowest interest that covers a watch's selection.
    pub(crate) fn interest<'a>(&self, selection: &'a Selection) -> Interest<'a> {
        let scope = &selection.scope;
        if scope.exact {
            return Interest::Object(&scope.prefix);
        }
        if let Some(term) = self.index.and_then(|field| selection.predicate.required(field)) {
            return Interest::Term(term);
        }
        self.namespace(&scope.prefix).map_or(Interest::All, Interest::Namespace)
    }

    /// The interests of a change, except [`Interest::All`], without duplicates.
    fn interests<'a>(&self, change: &'a Change) -> impl Iterator<Item = Interest<'a>> {
        let key = change.key();
        let [new, prev] = [&change.new, &change.prev].map(|element| self.term(element.as_ref()));
        let namespace = self.namespace(key).map(Interest::Namespace);
        let terms = [new, prev.filter(|_| prev != new)].map(|term| term.map(Interest::Term));
        [Some(Interest::Object(key)), namespace].into_iter().chain(terms).flatten()
    }

    pub(crate) fn matches(&self, change: &Change, interest: Interest<'_>) -> bool {
        interest == Interest::All || self.interests(change).any(|other| other == interest)
    }

    /// The part of a key up to its namespace, including the slash; `None` if there is no namespace.
    fn namespace<'a>(&self, key: &'a str) -> Option<&'a str> {
        let name = key.strip_prefix(&self.prefix)?;
        let end = self.prefix.len() + name.find('/')? + 1;
        key.get(..end)
    }

    fn term<'a>(&self, element: Option<&'a Arc<Element>>) -> Option<&'a str> {
        Some(element?.header().field(self.index?))
    }
}

/// A watch's subscription to a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subscription {
    /// `None` for [`Interest::All`].
    topic: Option<u32>,
    number: u32,
}

#[derive(Debug)]
pub(crate) struct Topics {
    layout: Layout,
    all: Subscriptions,
    topics: Slab<Topic>,
    /// The topics by name: namespaces, objects, terms.
    names: [HashMap<Arc<str>, u32>; 3],
}

#[derive(Debug)]
struct Topic {
    kind: usize,
    name: Arc<str>,
    /// The positions of its changes. All changes from position `complete` on are in the queue.
    queue: VecDeque<u64>,
    complete_from: u64,
    /// Its changes before this position were dropped.
    dropped_until: u64,
    subscriptions: Subscriptions,
}

#[derive(Debug, Default)]
struct Subscriptions {
    wakers: Slab<Option<Waker>>,
    /// Number of registered wakers.
    waker_count: usize,
}

impl Subscriptions {
    fn register_waker(&mut self, number: u32, waker: &Waker) {
        match self.wakers.get_mut(number) {
            Some(Some(armed)) => armed.clone_from(waker),
            Some(empty) => {
                *empty = Some(waker.clone());
                self.waker_count += 1;
            }
            None => {}
        }
    }

    fn remove(&mut self, number: u32) {
        if let Some(Some(_)) = self.wakers.remove(number) {
            self.waker_count -= 1;
        }
    }

    fn take_wakers(&mut self, wake: &mut Vec<Waker>) {
        if self.waker_count > 0 {
            wake.extend(self.wakers.iter_mut().filter_map(Option::take));
            self.waker_count = 0;
        }
    }
}

/// The index of an interest's name table, and its name.
fn name(interest: Interest<'_>) -> Option<(usize, &str)> {
    match interest {
        Interest::All => None,
        Interest::Namespace(name) => Some((0, name)),
        Interest::Object(name) => Some((1, name)),
        Interest::Term(name) => Some((2, name)),
    }
}

impl Topics {
    pub(crate) fn new(layout: Layout) -> Self {
        Topics { layout, all: Subscriptions::default(), topics: Slab::default(), names: Default::default() }
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Subscribes a watch that continues at a position. `recent` are the log's changes from there on.
    pub(crate) fn subscribe<'a>(
        &mut self,
        interest: Interest<'_>,
        position: u64,
        recent: impl DoubleEndedIterator<Item = (u64, &'a Arc<Change>)>,
    ) -> Subscription {
        let Some((kind, name)) = name(interest) else {
            return Subscription { topic: None, number: self.all.wakers.insert(None) };
        };
        let existing = self.names.get(kind).and_then(|names| names.get(name)).copied();
        let number = existing.unwrap_or_else(|| self.create(kind, name));
        let Topics { layout, topics, .. } = self;
        let mut subscription = Subscription { topic: Some(number), number: 0 };
        if let Some(topic) = topics.get_mut(number) {
            let complete = topic.complete_from;
            let missing = recent.filter(|(at, change)| *at < complete && layout.matches(change, interest));
            missing.rev().for_each(|(at, _)| topic.queue.push_front(at));
            topic.complete_from = complete.min(position);
            subscription.number = topic.subscriptions.wakers.insert(None);
        }
        subscription
    }

    fn create(&mut self, kind: usize, name: &str) -> u32 {
        let name: Arc<str> = name.into();
        let queue = VecDeque::new();
        let subscriptions = Subscriptions::default();
        let topic = Topic {
            kind,
            name: Arc::clone(&name),
            queue,
            complete_from: u64::MAX,
            dropped_until: 0,
            subscriptions,
        };
        let number = self.topics.insert(topic);
        if let Some(names) = self.names.get_mut(kind) {
            names.insert(name, number);
        }
        number
    }

    /// Unsubscribes; the last one removes the topic.
    pub(crate) fn unsubscribe(&mut self, subscription: Subscription) {
        let Some(number) = subscription.topic else {
            return self.all.remove(subscription.number);
        };
        let Some(topic) = self.topics.get_mut(number) else { return };
        topic.subscriptions.remove(subscription.number);
        if topic.subscriptions.wakers.len() > 0 {
            return;
        }
        let Some(topic) = self.topics.remove(number) else { return };
        if let Some(names) = self.names.get_mut(topic.kind) {
            names.remove(&topic.name);
            if names.capacity() > 4 * names.len().max(16) {
                names.shrink_to(2 * names.len());
            }
        }
    }

    /// Number of subscriptions to the topic of an interest.
    pub(crate) fn subscription_count(&self, interest: Interest<'_>) -> usize {
        let Some((kind, name)) = name(interest) else { return self.all.wakers.len() };
        let number = self.names.get(kind).and_then(|names| names.get(name));
        number.and_then(|number| self.topics.get(*number)).map_or(0, |topic| topic.subscriptions.wakers.len())
    }

    /// Registers a waker for the next change of the topic.
    pub(crate) fn arm(&mut self, subscription: Subscription, waker: &Waker) {
        match subscription.topic {
            None => self.all.register_waker(subscription.number, waker),
            Some(number) => {
                if let Some(topic) = self.topics.get_mut(number) {
                    topic.subscriptions.register_waker(subscription.number, waker);
                }
            }
        }
    }

    /// The positions of a topic's changes from a position on. `None` if some of them were dropped.
    pub(crate) fn queue(&self, topic: u32, from: u64) -> Option<impl Iterator<Item = u64> + use<'_>> {
        let topic = self.topics.get(topic)?;
        let start = topic.queue.partition_point(|position| *position < from);
        (from >= topic.dropped_until).then(|| topic.queue.range(start..).copied())
    }

    /// Adds a change to its topics and moves the wakers to `wake`.
    pub(crate) fn publish(&mut self, position: u64, change: &Change, wake: &mut Vec<Waker>) {
        self.all.take_wakers(wake);
        self.for_each_topic(change, |topic| {
            topic.queue.push_back(position);
            topic.subscriptions.take_wakers(wake);
        });
    }

    /// Removes the oldest change.
    pub(crate) fn remove_oldest(&mut self, position: u64, change: &Change) {
        self.for_each_topic(change, |topic| {
            if topic.queue.front() == Some(&position) {
                topic.queue.pop_front();
                topic.dropped_until = position + 1;
            }
        });
    }

    fn for_each_topic(&mut self, change: &Change, mut visit: impl FnMut(&mut Topic)) {
        let Topics { layout, topics, names, .. } = self;
        if names.iter().all(HashMap::is_empty) {
            return;
        }
        for (kind, name) in layout.interests(change).filter_map(name) {
            let number = names.get(kind).and_then(|names| names.get(name));
            if let Some(topic) = number.and_then(|number| topics.get_mut(*number)) {
                visit(topic);
            }
        }
    }

    /// Removes all topics and subscriptions and moves all wakers to `wake`.
    pub(crate) fn close(&mut self, wake: &mut Vec<Waker>) {
        self.all.take_wakers(wake);
        self.topics.iter_mut().for_each(|topic| topic.subscriptions.take_wakers(wake));
        self.all = Subscriptions::default();
        self.topics = Slab::default();
        self.names = Default::default();
    }
}

impl Subscription {
    /// The number of the topic; `None` for everything.
    pub(crate) fn topic(self) -> Option<u32> {
        self.topic
    }
}

#[cfg(test)]
impl Topics {
    pub(crate) fn len(&self) -> usize {
        self.topics.len()
    }
}
