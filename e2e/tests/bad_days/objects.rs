//! Test objects. Everything about an object except its color follows from its name, so names and colors alone
//! determine the watchers of a change.

use std::fmt;

/// Number of writers; each has its own objects, all of one resource in one namespace.
pub(crate) const WRITERS: u8 = 6;
/// Number of objects per writer.
pub(crate) const SLOTS: u8 = 8;
pub(crate) const NAMESPACES: u8 = 3;
/// Number of nodes for the pods.
pub(crate) const NODES: u8 = 12;

/// A written resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    Pods,
    ConfigMaps,
}

impl Resource {
    /// Returns the name in paths and keys.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Resource::Pods => "pods",
            Resource::ConfigMaps => "configmaps",
        }
    }
}

/// A label that changes during an object's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Color {
    Red,
    Blue,
}

impl Color {
    /// Returns a value that is recognizable in any encoding.
    pub(crate) fn value(self) -> &'static str {
        match self {
            Color::Red => "color-red",
            Color::Blue => "color-blue",
        }
    }

    pub(crate) fn other(self) -> Self {
        match self {
            Color::Red => Color::Blue,
            Color::Blue => Color::Red,
        }
    }

    /// Finds the color of an encoded object.
    pub(crate) fn of(encoded: &[u8]) -> Option<Self> {
        [Color::Red, Color::Blue]
            .into_iter()
            .find(|color| memchr::memmem::find(encoded, color.value().as_bytes()).is_some())
    }
}

/// Identity of an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Object {
    pub(crate) writer: u8,
    pub(crate) slot: u8,
}

impl Object {
    /// Parses an object name; `None` for other objects.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let (writer, slot) = name.strip_prefix('w')?.split_once('-')?;
        Some(Object { writer: writer.parse().ok()?, slot: slot.parse().ok()? })
    }

    /// Parses a key in etcd.
    pub(crate) fn of_key(key: &str) -> Option<Self> {
        let object = Self::parse(key.rsplit_once('/')?.1)?;
        (key == object.key()).then_some(object)
    }

    fn key(self) -> String {
        format!("/registry/{}/{}/{self}", self.resource().plural(), namespace(self.namespace()))
    }

    pub(crate) fn resource(self) -> Resource {
        if self.writer.is_multiple_of(2) { Resource::Pods } else { Resource::ConfigMaps }
    }

    pub(crate) fn namespace(self) -> u8 {
        self.writer / 2 % NAMESPACES
    }

    pub(crate) fn node(self) -> u8 {
        (self.writer * SLOTS + self.slot) % NODES
    }

    /// Returns the path of its collection.
    pub(crate) fn collection(self) -> String {
        format!("/api/v1/namespaces/{}/{}", namespace(self.namespace()), self.resource().plural())
    }
}

impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "w{}-{}", self.writer, self.slot)
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Returns the name of a namespace.
pub(crate) fn namespace(number: u8) -> String {
    format!("bad-{number}")
}

/// Returns the name of a node.
pub(crate) fn node(number: u8) -> String {
    format!("node-{number}")
}

/// Scope of a watch or list.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scope {
    All(Resource),
    Namespace(Resource, u8),
    Name(Object),
    Node(u8),
    Color(Resource, Color),
}

impl Scope {
    /// Returns true if the scope contains an object.
    pub(crate) fn has(self, object: Object, color: Color) -> bool {
        match self {
            Scope::All(resource) => object.resource() == resource,
            Scope::Namespace(resource, number) => {
                object.resource() == resource && object.namespace() == number
            }
            Scope::Name(selected) => object == selected,
            Scope::Node(number) => object.resource() == Resource::Pods && object.node() == number,
            Scope::Color(resource, selected) => object.resource() == resource && color == selected,
        }
    }

    /// Returns path and query, which can be extended with `&`.
    pub(crate) fn path(self) -> String {
        match self {
            Scope::All(resource) => format!("/api/v1/{}?", resource.plural()),
            Scope::Namespace(resource, number) => {
                format!("/api/v1/namespaces/{}/{}?", namespace(number), resource.plural())
            }
            Scope::Name(object) => format!("{}?fieldSelector=metadata.name%3D{object}", object.collection()),
            Scope::Node(number) => format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{}", node(number)),
            Scope::Color(resource, color) => {
                format!("/api/v1/{}?labelSelector=color%3D{}", resource.plural(), color.value())
            }
        }
    }

    /// Returns the scope of watcher number `number`: all kinds occur, mostly narrow ones.
    pub(crate) fn of_watcher(number: usize) -> Self {
        let pick = |of: u8| u8::try_from(number / 20 % usize::from(of)).unwrap_or_default();
        let resource = if number.is_multiple_of(2) { Resource::Pods } else { Resource::ConfigMaps };
        let object = Object { writer: pick(WRITERS), slot: pick(SLOTS) };
        match number % 20 {
            0 | 1 => Scope::All(resource),
            2..=4 => Scope::Namespace(resource, pick(NAMESPACES)),
            5 => Scope::Color(resource, Color::Red),
            6 => Scope::Color(resource, Color::Blue),
            7..=13 => Scope::Name(object),
            _ => Scope::Node(pick(NODES)),
        }
    }
}

/// Event type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Added,
    Modified,
    Deleted,
}

/// A watch event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) kind: Kind,
    pub(crate) object: Object,
    pub(crate) revision: i64,
}
