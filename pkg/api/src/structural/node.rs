//! A schema, compiled.

use jsontree::{Number, Value};

use super::formats::Format;
use cel::ext::regex::Regex;

/// What a schema says of a value, and of what is in it.
#[derive(Debug, Default)]
pub struct Node {
    /// Members that are declared, by name.
    pub(super) properties: Box<[(Box<str>, Node)]>,
    /// What other members may be.
    pub(super) additional: Additional,
    /// What items of a list are.
    pub(super) items: Option<Box<Node>>,
    /// Members that nobody declared are kept.
    pub(super) preserve: bool,
    /// The value is an object of any kind, with metadata.
    pub(super) embedded: bool,
    /// The value may be null.
    pub(super) nullable: bool,
    /// Never null.
    pub(super) default: Option<Value>,
    /// What tells items of a list apart.
    pub(super) list: List,
    /// Whether this or anything below has a default.
    pub(super) has_defaults: bool,
    /// Whether this or anything below is a set, a list with keys, or an embedded object.
    pub(super) has_structure: bool,
    /// What a value must be.
    pub(super) limits: Constraints,
}

/// Members that are not declared.
#[derive(Debug, Default)]
pub(super) enum Additional {
    /// Nothing is said of them.
    #[default]
    Unsaid,
    /// They may be anything.
    Any,
    /// There may not be any.
    Forbidden,
    /// They are all the same.
    Schema(Box<Node>),
}

/// What tells items of a list apart.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum List {
    /// Nothing.
    #[default]
    Atomic,
    /// Themselves.
    Set,
    /// The values of these members.
    Map(Box<[Box<str>]>),
}

/// A type of OpenAPI.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// Any.
    #[default]
    Any,
    Array,
    Boolean,
    Integer,
    Number,
    Object,
    String,
    /// `x-kubernetes-int-or-string`.
    IntOrString,
}

/// What a value must be, besides what its members and items must be.
#[derive(Debug, Default)]
pub(super) struct Constraints {
    pub(super) kind: Kind,
    pub(super) format: Option<Format>,
    /// Lengths of strings, in characters; of lists; of maps.
    pub(super) characters: Range,
    pub(super) items: Range,
    pub(super) members: Range,
    /// Names of members that must be there.
    pub(super) required: Box<[Box<str>]>,
    /// Rarely given.
    pub(super) more: Option<Box<RareConstraints>>,
}

/// Limits that few schemas have.
#[derive(Debug, Default)]
pub(super) struct RareConstraints {
    pub(super) pattern: Option<Pattern>,
    pub(super) minimum: Option<Bound>,
    pub(super) maximum: Option<Bound>,
    pub(super) multiple_of: Option<Number>,
    /// The only values; empty for any.
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

/// A bound of a number.
#[derive(Debug)]
pub(super) struct Bound {
    pub(super) value: Number,
    /// The bound itself is no good.
    pub(super) exclusive: bool,
}

/// A pattern of a string.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) text: Box<str>,
    /// What is wrong with it, if it is none.
    pub(super) regex: Result<Regex, Box<str>>,
}

impl Node {
    /// What items of a list are.
    pub fn items(&self) -> Option<&Node> {
        self.items.as_deref()
    }

    /// What a declared member is.
    pub fn property(&self, name: &str) -> Option<&Node> {
        let at = self.properties.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
        self.properties.get(at).map(|(_, node)| node)
    }

    /// What a member is; `None` if nothing is said of it.
    pub(super) fn member(&self, name: &str) -> Option<&Node> {
        self.property(name).or(match &self.additional {
            Additional::Schema(node) => Some(node),
            _ => None,
        })
    }

    /// Whether a null is out of place here.
    pub(super) fn rejects_null(&self) -> bool {
        !self.nullable
    }
}

impl Kind {
    /// As a schema spells it.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Kind::Any => "",
            Kind::Array => "array",
            Kind::Boolean => "boolean",
            Kind::Integer => "integer",
            Kind::Number => "number",
            Kind::Object => "object",
            Kind::String => "string",
            Kind::IntOrString => "integer,string",
        }
    }

    /// Whether whole numbers are of this type.
    pub(super) fn accepts_integers(self) -> bool {
        matches!(self, Kind::Integer | Kind::IntOrString)
    }
}
