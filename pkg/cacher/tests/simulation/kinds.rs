//! The resources of the simulation, their keys, values and client views. Selection is implemented a second
//! time here, independently of the cache, so that errors show.

use std::sync::Arc;

use apimachinery::labels::Selector;
use bytes::Bytes;
use cacher::{
    EventType, Field, FieldTerm, HeaderBuilder, Ingest, IngestError, Predicate, ResourceConfig, Scope,
};
use storage::Revision;

use super::history::{Change, Object};
use super::random::Random;

/// Prefix of all keys of the system.
pub const ROOT: &str = "/registry";
/// Keys of no resource: below the root and outside of it. The cache's progress past them depends on the
/// store's progress notifications.
pub const STRANGERS: [&str; 2] = ["/registry/masterleases/host", "/elsewhere/compact_rev_key"];
/// Chosen for their order: `a-b/` comes before `a/`, and `a` is a prefix of `ab`.
const NAMESPACES: [&str; 3] = ["a", "a-b", "ab"];
const NAMES: [&str; 4] = ["w", "x", "x-1", "y"];
const NODES: [&str; 4] = ["", "n1", "n2", "n3"];
/// The empty color is an object without the label.
const COLORS: [&str; 3] = ["", "blue", "red"];

#[derive(Debug)]
pub struct Kind {
    pub prefix: &'static str,
    pub namespaced: bool,
    pub cached: bool,
    pub indexed: bool,
    /// True if the resource is installed and retired repeatedly.
    pub comes_and_goes: bool,
}

const KIND: Kind = Kind { prefix: "", namespaced: true, cached: true, indexed: false, comes_and_goes: false };

/// All resources: an indexed one, one whose prefix has two segments, one without namespaces, an uncached one,
/// and two that are installed and retired.
pub static KINDS: [Kind; 6] = [
    Kind { prefix: "/registry/pods/", indexed: true, ..KIND },
    Kind { prefix: "/registry/services/specs/", ..KIND },
    Kind { prefix: "/registry/minions/", namespaced: false, ..KIND },
    Kind { prefix: "/registry/events/", cached: false, ..KIND },
    Kind { prefix: "/registry/example.com/widgets/", comes_and_goes: true, indexed: true, ..KIND },
    Kind { prefix: "/registry/example.com/gadgets/", comes_and_goes: true, cached: false, ..KIND },
];

impl Kind {
    /// A random resource, weighted.
    pub fn random(random: &mut Random) -> &'static Kind {
        &KINDS[random.pick(&[0usize, 0, 0, 0, 1, 1, 2, 3, 4, 4, 5])]
    }

    pub fn config(&self) -> ResourceConfig {
        ResourceConfig {
            prefix: self.prefix.to_owned(),
            group: String::new(),
            resource: self.prefix.trim_matches('/').to_owned(),
            cached: self.cached,
            index: self.indexed.then_some(0),
            ingest: Arc::new(Reader),
        }
    }

    pub fn random_key(&self, random: &mut Random) -> String {
        let name = random.pick(&NAMES);
        if self.namespaced {
            format!("{}{}/{name}", self.prefix, random.pick(&NAMESPACES))
        } else {
            format!("{}{name}", self.prefix)
        }
    }
}

/// A unique value.
pub fn random_value(random: &mut Random) -> Bytes {
    let node = random.pick(&NODES);
    let color = random.pick(&COLORS);
    format!("{node} {color} {:016x}", random.next()).into()
}

/// Node and color of a value.
fn traits(value: &[u8]) -> (&str, &str) {
    let text = std::str::from_utf8(value).unwrap();
    let mut parts = text.split(' ');
    (parts.next().unwrap(), parts.next().unwrap())
}

/// Decodes values for the cache.
struct Reader;

impl Ingest for Reader {
    fn ingest(&self, value: Bytes, header: &mut HeaderBuilder) -> Result<Bytes, IngestError> {
        let (node, color) = traits(&value);
        header.push_field(node);
        if !color.is_empty() {
            header.push_label("color", color);
        }
        Ok(value)
    }
}

/// The objects that a client selects.
#[derive(Debug, Clone)]
pub struct View {
    pub kind: &'static Kind,
    pub scope: Scope,
    name: Option<&'static str>,
    node: Option<(bool, &'static str)>,
    color: Option<(bool, &'static str)>,
}

impl View {
    pub fn everything(kind: &'static Kind) -> Self {
        let scope = Scope { prefix: kind.prefix.to_owned(), exact: false };
        View { kind, scope, name: None, node: None, color: None }
    }

    pub fn random(random: &mut Random) -> Self {
        let mut view = View::everything(Kind::random(random));
        match random.below(4) {
            0 => view.scope = Scope { prefix: view.kind.random_key(random), exact: true },
            1 if view.kind.namespaced => {
                view.scope.prefix = format!("{}{}/", view.kind.prefix, random.pick(&NAMESPACES));
            }
            _ => {}
        }
        if random.chance(350) {
            view.node = Some((random.chance(750), random.pick(&NODES)));
        }
        if random.chance(250) {
            view.color = Some((random.chance(600), random.pick(&["blue", "red"])));
        }
        if random.chance(80) {
            view.name = Some(random.pick(&NAMES));
        }
        view
    }

    /// The name in the tally.
    pub fn label(&self) -> &'static str {
        match (self.interest(), self.is_everything()) {
            (Interest::Object, _) => "of one object",
            (Interest::Node(_), _) => "of an indexed value",
            (Interest::Prefix, true) if self.scope.prefix != self.kind.prefix => "of a namespace",
            (Interest::Prefix, true) => "of everything",
            (Interest::Prefix, false) => "with a selector",
        }
    }

    pub fn predicate(&self) -> Predicate {
        let term = |field, (equal, value): (bool, &str)| FieldTerm { field, equal, value: value.to_owned() };
        let name = self.name.map(|name| term(Field::Name, (true, name)));
        let node = self.node.map(|node| term(Field::Header(0), node));
        let color =
            self.color.map(|(equal, color)| format!("color{}{color}", if equal { "=" } else { "!=" }));
        Predicate {
            labels: color.map(|text| Selector::parse(&text).unwrap()).unwrap_or_default(),
            fields: name.into_iter().chain(node).collect(),
            ..Predicate::default()
        }
    }

    pub fn is_everything(&self) -> bool {
        self.name.is_none() && self.node.is_none() && self.color.is_none()
    }

    pub fn shows(&self, object: &Object) -> bool {
        let (node, color) = traits(&object.value);
        let agrees =
            |term: Option<(bool, &str)>, value| term.is_none_or(|(equal, to)| (value == to) == equal);
        self.scope.contains(&object.key)
            && self.name.is_none_or(|name| object.key.rsplit('/').next() == Some(name))
            && agrees(self.node, node)
            && agrees(self.color, color)
    }

    /// The view's event for a change: type, object and revision.
    pub fn event<'a>(&self, change: &'a Change) -> Option<(EventType, &'a Object, Revision)> {
        let visible = |object: &'a Option<Object>| object.as_ref().filter(|object| self.shows(object));
        let (kind, object) = match (visible(&change.prev), visible(&change.new)) {
            (None, None) => return None,
            (None, Some(new)) => (EventType::Added, new),
            (Some(_), Some(new)) => (EventType::Modified, new),
            (Some(prev), None) => (EventType::Deleted, prev),
        };
        Some((kind, object, change.revision))
    }

    /// True if a watch of this view must read the change, even if it does not match. Such changes can overrun
    /// the watch.
    pub fn is_touched_by(&self, change: &Change) -> bool {
        let sides = || change.prev.iter().chain(&change.new);
        match self.interest() {
            Interest::Object | Interest::Prefix => self.scope.contains(&change.key),
            Interest::Node(node) => {
                change.key.starts_with(self.kind.prefix) && sides().any(|side| traits(&side.value).0 == node)
            }
        }
    }

    fn interest(&self) -> Interest {
        match self.node {
            _ if self.scope.exact => Interest::Object,
            Some((true, node)) if self.kind.indexed => Interest::Node(node),
            _ => Interest::Prefix,
        }
    }
}

/// The topic of a view's watch.
enum Interest {
    Object,
    /// The objects on a node, by the index.
    Node(&'static str),
    /// Everything in its scope.
    Prefix,
}
