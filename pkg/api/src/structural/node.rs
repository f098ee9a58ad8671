//! Compiled schema.

use jsontree::{Number, Value};

use super::formats::Format;
use super::kind::Kind;
use cel::ext::regex::Regex;

/// Constraints on a value and on its members and items.
#[derive(Debug, Default)]
pub struct Node {
    /// Declared members by name.
    pub(super) properties: Box<[(Box<str>, Node)]>,
    pub(super) additional: Additional,
    pub(super) items: Option<Box<Node>>,
    /// Keeps undeclared members (`x-kubernetes-preserve-unknown-fields`).
    pub(super) preserve: bool,
    /// True for an embedded object of any kind, with metadata.
    pub(super) embedded: bool,
    pub(super) nullable: bool,
    /// Default; never null.
    pub(super) default: Option<Value>,
    /// Identity of the items of a list.
    pub(super) list: List,
    /// True if this node or any below has a default.
    pub(super) has_defaults: bool,
    /// True if this node or any below is a set, a list with keys, or an embedded object.
    pub(super) has_structure: bool,
    pub(super) limits: Constraints,
}

/// Constraints on undeclared members.
#[derive(Debug, Default)]
pub(super) enum Additional {
    /// Not specified.
    #[default]
    Unspecified,
    /// Any value is allowed.
    Any,
    /// Not allowed.
    Forbidden,
    /// All have this schema.
    Schema(Box<Node>),
}

/// Identity of the items of a list.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum List {
    /// No identity.
    #[default]
    Atomic,
    /// Identity by value.
    Set,
    /// Identity by the values of these members.
    Map(Box<[Box<str>]>),
}

/// Constraints on a value, except those on its members and items.
#[derive(Debug, Default)]
pub(super) struct Constraints {
    pub(super) kind: Kind,
    pub(super) format: Option<Format>,
    /// Length limits: characters of strings, items of lists, members of maps.
    pub(super) characters: Range,
    pub(super) items: Range,
    pub(super) members: Range,
    pub(super) required: Box<[Box<str>]>,
    /// Rarely used constraints.
    pub(super) rare: Option<Box<RareConstraints>>,
}

impl Constraints {
    /// Returns the type's name in the schema.
    pub(super) fn type_name(&self) -> &str {
        match (self.kind, &self.rare) {
            (Kind::Unsupported, Some(rare)) => &rare.unsupported_type,
            _ => self.kind.as_str(),
        }
    }
}

/// Constraints that few schemas have.
#[derive(Debug, Default)]
pub(super) struct RareConstraints {
    /// Name of an unsupported type; empty for the others.
    pub(super) unsupported_type: Box<str>,
    pub(super) pattern: Option<Pattern>,
    pub(super) minimum: Option<Bound>,
    pub(super) maximum: Option<Bound>,
    pub(super) multiple_of: Option<Number>,
    /// Allowed values; empty for any.
    pub(super) values: Box<[Value]>,
    pub(super) all_of: Box<[Node]>,
    pub(super) any_of: Box<[Node]>,
    pub(super) one_of: Box<[Node]>,
    pub(super) not: Option<Node>,
}

/// A range of lengths.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Range {
    pub(super) min: Option<usize>,
    pub(super) max: Option<usize>,
}

#[derive(Debug)]
pub(super) struct Bound {
    pub(super) value: Number,
    /// True if the bound itself is excluded.
    pub(super) exclusive: bool,
}

#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) text: Box<str>,
    /// Compiled pattern, or its syntax error.
    pub(super) regex: Result<Regex, Box<str>>,
}

impl Node {
    pub fn items(&self) -> Option<&Node> {
        self.items.as_deref()
    }

    pub fn property(&self, name: &str) -> Option<&Node> {
        let at = self.properties.binary_search_by(|(property, _)| (**property).cmp(name)).ok()?;
        self.properties.get(at).map(|(_, node)| node)
    }

    /// Returns the schema of a member, or `None` if it is not specified.
    pub(super) fn member(&self, name: &str) -> Option<&Node> {
        self.property(name).or(match &self.additional {
            Additional::Schema(node) => Some(node),
            _ => None,
        })
    }

    pub(super) fn rejects_null(&self) -> bool {
        !self.nullable
    }
}
