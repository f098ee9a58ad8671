//! What is written and watched. Everything about an object but its color follows from its name, so a
//! test knows from names and colors alone who has to be told of a change.

use std::fmt;

/// Those who write; each has objects of its own, all of one resource and in one namespace.
pub(crate) const WRITERS: u8 = 6;
/// Objects of each writer.
pub(crate) const SLOTS: u8 = 8;
/// Namespaces that are written to.
pub(crate) const NAMESPACES: u8 = 3;
/// Nodes that pods are on.
pub(crate) const NODES: u8 = 12;

/// A resource that is written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resource {
    Pods,
    ConfigMaps,
}

impl Resource {
    /// As in paths and in keys.
    pub(crate) fn plural(self) -> &'static str {
        match self {
            Resource::Pods => "pods",
            Resource::ConfigMaps => "configmaps",
        }
    }
}

/// A label that changes while an object lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Color {
    Red,
    Blue,
}

impl Color {
    /// Recognisable wherever it stands.
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

    /// The color of an object in whatever encoding.
    pub(crate) fn of(encoded: &[u8]) -> Option<Self> {
        [Color::Red, Color::Blue]
            .into_iter()
            .find(|color| memchr::memmem::find(encoded, color.value().as_bytes()).is_some())
    }
}

/// One object's identity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Object {
    pub(crate) writer: u8,
    pub(crate) slot: u8,
}

impl Object {
    /// `None` for an object that is none of ours.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let (writer, slot) = name.strip_prefix('w')?.split_once('-')?;
        Some(Object { writer: writer.parse().ok()?, slot: slot.parse().ok()? })
    }

    /// From a key in etcd.
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

    /// The collection that it is in.
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

/// A namespace's name.
pub(crate) fn namespace(number: u8) -> String {
    format!("bad-{number}")
}

/// A node's name.
pub(crate) fn node(number: u8) -> String {
    format!("node-{number}")
}

/// What somebody watches or lists.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scope {
    All(Resource),
    Namespace(Resource, u8),
    Name(Object),
    Node(u8),
    Color(Resource, Color),
}

impl Scope {
    /// Whether an object is in it.
    pub(crate) fn has(self, object: Object, color: Color) -> bool {
        match self {
            Scope::All(resource) => object.resource() == resource,
            Scope::Namespace(resource, number) => {
                object.resource() == resource && object.namespace() == number
            }
            Scope::Name(wanted) => object == wanted,
            Scope::Node(number) => object.resource() == Resource::Pods && object.node() == number,
            Scope::Color(resource, wanted) => object.resource() == resource && color == wanted,
        }
    }

    /// Path and query, to which more can be added with `&`.
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

    /// The scope of the `number`th of many watchers: all kinds, the narrow ones being the most.
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

/// What a watcher is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Added,
    Modified,
    Deleted,
}

/// One thing that a watcher is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) kind: Kind,
    pub(crate) object: Object,
    pub(crate) revision: i64,
}
