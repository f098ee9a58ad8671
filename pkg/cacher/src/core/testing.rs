//! Shared test helpers: readable elements, a model history, a deterministic random generator, counting
//! wakers.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Wake, Waker};

use apimachinery::labels;
use bytes::Bytes;
use storage::{KeyValue, Revision};

use super::{Change, KeyChange, Selection};
use crate::{Element, EventType, Field, FieldTerm, HeaderBuilder, Ingest, IngestError, Predicate, Scope};

/// A value is `node app text`: the node is field 0, the app is a label. `broken` is malformed, `unserved` has
/// an unserved version.
struct Words;

impl Ingest for Words {
    fn ingest(&self, value: Bytes, header: &mut HeaderBuilder) -> Result<Bytes, IngestError> {
        let mut words = std::str::from_utf8(&value).unwrap().split(' ');
        match words.next() {
            Some("broken") => return Err(IngestError::decode("not a value")),
            Some("unserved") => return Err(IngestError::Unserved("not a version".into())),
            node => header.push_field(node.unwrap_or("")),
        }
        header.push_label("app", words.next().unwrap_or(""));
        Ok(value)
    }
}

pub(crate) fn element(key: &str, revision: Revision, value: &str) -> Arc<Element> {
    let value = Bytes::from(value.to_owned());
    Element::new(KeyValue::new(key, value, revision), &Words)
}

pub(crate) fn put(key: &str, revision: Revision, value: &str) -> KeyChange {
    KeyChange::Put(element(key, revision, value))
}

pub(crate) fn delete(key: &str, revision: Revision) -> KeyChange {
    KeyChange::Delete { key: key.to_owned(), revision }
}

pub(crate) fn value(element: &Element) -> String {
    String::from_utf8(element.value().unwrap().to_vec()).unwrap()
}

/// A selection by scope (a whole key if it does not end in `/`), and by node and app if these are not empty.
pub(crate) fn select(prefix: &str, node: &str, app: &str) -> Selection {
    let scope = Scope { prefix: prefix.to_owned(), exact: !prefix.ends_with('/') };
    let mut predicate = Predicate::default();
    if !node.is_empty() {
        let value = node.to_owned();
        predicate.fields = [FieldTerm { field: Field::Header(0), equal: true, value }].into_iter().collect();
    }
    if !app.is_empty() {
        predicate.labels = labels::Selector::parse(&format!("app={app}")).unwrap();
    }
    Selection { scope, predicate, lenient: false }
}

/// An event in tests: type, key, value, revision.
pub(crate) type Seen = (EventType, String, String, Revision);

pub(crate) fn seen(kind: EventType, element: &Element, revision: Revision) -> Seen {
    (kind, element.key().to_owned(), value(element), revision)
}

/// The event of a change for a selection.
pub(crate) fn event_for(change: &Change, selection: &Selection) -> Option<Seen> {
    let seen_by = change.event_for(selection).unwrap();
    seen_by.map(|(kind, element)| seen(kind, element, change.revision))
}

/// The model: the complete history.
pub(crate) struct History {
    pub(crate) revision: Revision,
    objects: Objects,
    steps: Vec<Step>,
}

impl History {
    /// An empty history at a revision.
    pub(crate) fn new(revision: Revision) -> Self {
        History { revision, objects: Objects::new(), steps: Vec::new() }
    }
}

struct Step {
    revision: Revision,
    key: String,
    element: Option<Arc<Element>>,
    prev: Option<Arc<Element>>,
}

type Objects = BTreeMap<String, Arc<Element>>;

impl History {
    pub(crate) fn at(&self, revision: Revision) -> Objects {
        let mut objects = Objects::new();
        for step in self.steps.iter().take_while(|step| step.revision <= revision) {
            match &step.element {
                Some(element) => objects.insert(step.key.clone(), Arc::clone(element)),
                None => objects.remove(&step.key),
            };
        }
        objects
    }

    /// The expected list at a revision.
    pub(crate) fn list(&self, selection: &Selection, revision: Revision) -> Vec<Seen> {
        let matches = |element: &Arc<Element>| wants(selection, element);
        let objects = self.at(revision).into_values().filter(matches);
        objects.map(|element| seen(EventType::Added, &element, element.revision())).collect()
    }

    /// The expected events after a revision.
    pub(crate) fn events(&self, selection: &Selection, after: Revision) -> Vec<Seen> {
        let steps = self.steps.iter().filter(|step| step.revision > after);
        let event = |step: &Step| {
            let old = step.prev.as_ref().filter(|element| wants(selection, element));
            let new = step.element.as_ref().filter(|element| wants(selection, element));
            let (kind, element) = match (old, new) {
                (None, None) => return None,
                (None, Some(new)) => (EventType::Added, new),
                (Some(_), Some(new)) => (EventType::Modified, new),
                (Some(old), None) => (EventType::Deleted, old),
            };
            Some(seen(kind, element, step.revision))
        };
        steps.filter_map(event).collect()
    }

    /// For each change from the `nth` on: true if its topic can concern a watch. By scope alone, or by node
    /// if `index` is true and the watch selects a node.
    pub(crate) fn concerned(&self, selection: &Selection, index: bool, nth: usize) -> Vec<bool> {
        let node = selection.predicate.required(0).filter(|_| index && !selection.scope.exact);
        let on_node = |element: &Option<Arc<Element>>| {
            element.as_ref().is_some_and(|element| Some(element.header().field(0)) == node)
        };
        let concerned = |step: &Step| match node {
            Some(_) => on_node(&step.element) || on_node(&step.prev),
            None => selection.scope.contains(&step.key),
        };
        self.steps.iter().skip(nth).map(concerned).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    /// Adds a change at the current revision.
    fn step(&mut self, incoming: &KeyChange) {
        let key = incoming.key().to_owned();
        let prev = self.objects.remove(&key);
        let element = match incoming {
            KeyChange::Put(element) => Some(Arc::clone(element)),
            KeyChange::Delete { .. } => None,
        };
        self.objects.extend(element.iter().map(|element| (key.clone(), Arc::clone(element))));
        self.steps.push(Step { revision: self.revision, key, element, prev });
    }

    /// Adds a few random revisions. Some of them delete several keys at once.
    pub(crate) fn happen(&mut self, dice: &mut Dice, keys: &[String]) -> Vec<KeyChange> {
        let mut batch = Vec::new();
        for _ in 0..=dice.roll(3) {
            self.revision += 1 + dice.roll(3) as Revision;
            let begin = batch.len();
            if !self.objects.is_empty() && dice.roll(4) == 0 {
                let first = dice.roll(self.objects.len());
                let deleted = self.objects.keys().skip(first).take(1 + dice.roll(3));
                batch.extend(deleted.map(|key| delete(key, self.revision)));
            } else {
                let words = (dice.roll(4), ["x", "y"][dice.roll(2)], self.revision);
                let value = format!("n{} {} {}", words.0, words.1, words.2);
                batch.push(put(&keys[dice.roll(keys.len())], self.revision, &value));
            }
            batch[begin..].iter().for_each(|incoming| self.step(incoming));
        }
        batch
    }
}

fn wants(selection: &Selection, element: &Element) -> bool {
    selection.scope.contains(element.key()) && selection.predicate.matches(element)
}

/// Keys of a resource whose namespaces are prefixes of each other, and of one without namespaces.
pub(crate) fn keys(prefix: &str) -> Vec<String> {
    if prefix.ends_with("nodes/") {
        return (0..9).map(|name| format!("{prefix}{name}")).collect();
    }
    let names = |namespace| (0..5).map(move |name| format!("{prefix}{namespace}/{name}"));
    ["a", "a-b", "ab"].into_iter().flat_map(names).collect()
}

/// A random selection of any kind.
pub(crate) fn any_selection(dice: &mut Dice, prefix: &str, keys: &[String]) -> Selection {
    let scope = match dice.roll(6) {
        0 => keys[dice.roll(keys.len())].clone(),
        1 | 2 if !prefix.ends_with("nodes/") => format!("{prefix}{}/", ["a", "a-b", "ab"][dice.roll(3)]),
        _ => prefix.to_owned(),
    };
    select(&scope, ["", "n0", "n1"][dice.roll(3)], ["", "", "x"][dice.roll(3)])
}

/// Deterministic pseudo-random numbers (xorshift64).
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % sides
    }
}

/// A waker that counts wake-ups.
#[derive(Default)]
pub(crate) struct Wakes(AtomicUsize);

impl Wake for Wakes {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

impl Wakes {
    pub(crate) fn waker(self: &Arc<Self>) -> Waker {
        Waker::from(Arc::clone(self))
    }

    /// Returns the number of wake-ups since the last call.
    pub(crate) fn take(&self) -> usize {
        self.0.swap(0, SeqCst)
    }
}
