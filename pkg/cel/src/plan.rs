//! Plans: what is left of a checked expression for running it.
//!
//! A plan is made once and run often. Names of variables are slots, literals are values, constant parts are
//! computed, patterns are compiled, calls know the function that they run. Its structure follows cel-go's
//! interpreter, for the cost of running depends on it: fields and indices are steps of one [`Attribute`], not
//! calls of their own.

mod attribute;
mod builder;
mod calls;
mod charge;
mod fold;
mod loops;

pub use builder::PlanError;
pub(crate) use charge::Charge;

use crate::checked::Checked;
use crate::ext::regex::Regex;
use crate::overloads::{self, Overload, Signature};
use crate::value::{Constant, ConstantMap};

/// A node of a plan, by its place.
pub(crate) type NodeId = u32;

/// A run of neighbours in a side table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// A node and the id by which costs know its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) id: u32,
    pub(crate) step: Step,
}

/// What a node does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Constant(u32),
    /// A variable or another value, with fields and indices.
    Attribute(u32),
    /// `has(attribute)`: its last qualifier asks for presence.
    Presence(u32),
    And(Span),
    Or(Span),
    Equal(Span),
    NotEqual(Span),
    Call(u32),
    /// Whether a value is one of these constants.
    Member {
        value: NodeId,
        set: u32,
    },
    /// `a.or(b)`.
    OptionalOr(NodeId, NodeId),
    /// `a.orValue(b)`.
    OptionalOrValue(NodeId, NodeId),
    /// Elements; `optional` says which of them were written `?x`, if any.
    List {
        elements: Span,
        optional: Option<u32>,
    },
    /// Keys and values in turn.
    Map {
        entries: Span,
        optional: Option<u32>,
    },
    Fold(u32),
    Struct(u32),
}

/// A value and the way into it.
#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    /// Id of what it starts with.
    pub(crate) id: u32,
    /// The id of its value: that of its last step.
    pub(crate) result: u32,
    pub(crate) root: Root,
    pub(crate) qualifiers: Vec<Qualifier>,
}

/// What an attribute starts with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Root {
    /// A variable.
    Slot(u16),
    /// The accumulator of a comprehension, which comes to life when it is first asked for.
    Accumulator { slot: u16, fold: u32 },
    /// The value of a node.
    Node(NodeId),
    /// One of two attributes.
    Choice { condition: NodeId, truthy: u32, falsy: u32 },
}

/// A step into a value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Qualifier {
    pub(crate) id: u32,
    pub(crate) key: Key,
    /// Written `.?a` or `[?a]`.
    pub(crate) optional: bool,
    /// The last step of `has()`.
    pub(crate) test: bool,
}

/// The field or index of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Key {
    Constant(u32),
    /// A variable with fields.
    Attribute(u32),
    /// Any other expression, as an attribute around it; it is counted a little differently.
    Computed(u32),
}

/// A call of a function.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) op: Op,
    pub(crate) args: Span,
    pub(crate) charge: Charge,
    /// Whether arguments after one that fails are left alone.
    pub(crate) stops_at_error: bool,
    /// The pattern, if it is a constant.
    pub(crate) regex: Option<Box<Regex>>,
}

/// What a call runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Not,
    Negate,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Less,
    LessEquals,
    Greater,
    GreaterEquals,
    In,
    Size,
    Type,
    Dyn,
    Matches,
    Sort,
    SortBy,
    NotStrictlyFalse,
    /// An overload that the checker found.
    Overload(Function, Overload),
    /// Whichever overload fits the values.
    Dispatch(Function),
}

/// A function with overloads of its own, as opposed to an operator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) signatures: &'static [Signature],
}

impl Function {
    fn find(name: &str) -> Option<Self> {
        let (name, signatures) = overloads::function(name)?;
        Some(Self { name, signatures })
    }
}

/// An object under construction.
#[derive(Clone, Debug)]
pub(crate) struct Structure {
    pub(crate) type_name: Box<str>,
    pub(crate) fields: Box<[StructureField]>,
    pub(crate) values: Span,
}

/// A field of an object under construction.
#[derive(Clone, Debug)]
pub(crate) struct StructureField {
    pub(crate) name: Box<str>,
    /// Written `?name: value`.
    pub(crate) optional: bool,
}

/// A comprehension.
#[derive(Clone, Debug)]
pub(crate) struct Fold {
    pub(crate) range: NodeId,
    pub(crate) init: NodeId,
    pub(crate) condition: NodeId,
    pub(crate) step: NodeId,
    pub(crate) result: NodeId,
    pub(crate) accumulator: u16,
    pub(crate) variable: u16,
    pub(crate) second: Option<u16>,
    pub(crate) quantifier: Option<Quantifier>,
}

/// What `all` and `exists` ask of each element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantifier {
    pub(crate) predicate: NodeId,
    /// The value of the predicate that ends the loop, and is the result then.
    pub(crate) decisive: bool,
}

/// An expression that is ready to run.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(crate) nodes: Vec<Node>,
    pub(crate) children: Vec<NodeId>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) calls: Vec<Call>,
    pub(crate) folds: Vec<Fold>,
    pub(crate) structures: Vec<Structure>,
    pub(crate) constants: Vec<Constant>,
    pub(crate) sets: Vec<ConstantMap>,
    pub(crate) optionals: Vec<Box<[bool]>>,
    pub(crate) root: NodeId,
    pub(crate) slots: u16,
    /// Whether costs need the values of all nodes: see [`loops::needs_trace`].
    pub(crate) traced: bool,
    pub(crate) variables: Box<[Box<str>]>,
}

impl Plan {
    /// Plans an expression. `variables` are the names that the host gives values for, in the order of its slots.
    ///
    /// Fails as cel-go does when it makes a program: a constant conversion that fails, a constant pattern that
    /// does not parse, a variable that is not among the names.
    pub fn new(checked: &Checked, variables: &[&str]) -> Result<Self, PlanError> {
        builder::build(checked, variables)
    }

    pub(crate) fn children(&self, span: Span) -> &[NodeId] {
        &self.children[span.start as usize..(span.start + span.len) as usize]
    }

    pub(crate) fn attribute(&self, attribute: u32) -> &Attribute {
        &self.attributes[attribute as usize]
    }

    /// The id of an attribute's value: that of its last step.
    pub(crate) fn attribute_id(&self, attribute: u32) -> u32 {
        self.attributes[attribute as usize].result
    }

    /// About how many bytes it holds.
    pub fn resident(&self) -> usize {
        let qualifiers: usize = self.attributes.iter().map(|a| a.qualifiers.capacity()).sum();
        let constants: usize = self.constants.iter().map(Constant::heap).sum();
        size_of::<Self>()
            + self.nodes.capacity() * size_of::<Node>()
            + self.children.capacity() * size_of::<NodeId>()
            + self.attributes.capacity() * size_of::<Attribute>()
            + qualifiers * size_of::<Qualifier>()
            + self.calls.capacity() * size_of::<Call>()
            + self.folds.capacity() * size_of::<Fold>()
            + self.constants.capacity() * size_of::<Constant>()
            + constants
            + self.variables.iter().map(|name| size_of::<Box<str>>() + name.len()).sum::<usize>()
    }
}
