//! Plans: the executable form of a checked expression.
//!
//! A plan is built once and run often. Variables are slots, literals are values, constant parts are
//! precomputed, patterns are compiled, and calls are bound to functions. The structure follows cel-go's
//! interpreter because the runtime cost depends on it: fields and indices are steps of one [`Attribute`], not
//! separate calls.

mod attribute;
mod builder;
mod calls;
mod charge;
mod fold;
mod loops;

pub use builder::PlanError;
pub(crate) use charge::Charge;

use std::collections::BTreeSet;

use crate::checked::{Checked, Reference};
use crate::ext::regex::Regex;
use crate::overloads::{self, Overload, Signature};
use crate::value::{Constant, ConstantMap};

/// Index of a plan node.
pub(crate) type NodeId = u32;

/// A contiguous range in a side table.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) len: u32,
}

/// A node and the id under which cost tracking records its value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Node {
    pub(crate) id: u32,
    pub(crate) step: Step,
}

/// Operation of a node.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Constant(u32),
    /// A variable or other value, with fields and indices.
    Attribute(u32),
    /// `has(attribute)`: the last qualifier tests for presence.
    Presence(u32),
    And(Span),
    Or(Span),
    Equal(Span),
    NotEqual(Span),
    Call(u32),
    /// Tests if a value is in a constant set.
    Member {
        value: NodeId,
        set: u32,
    },
    /// `a.or(b)`.
    OptionalOr(NodeId, NodeId),
    /// `a.orValue(b)`.
    OptionalOrValue(NodeId, NodeId),
    /// Elements; `optional` lists those written `?x`.
    List {
        elements: Span,
        optional: Option<u32>,
    },
    /// Alternating keys and values.
    Map {
        entries: Span,
        optional: Option<u32>,
    },
    Fold(u32),
    Struct(u32),
}

/// A root value and a path of qualifiers.
#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    /// Id of the root.
    pub(crate) id: u32,
    /// Id of the attribute's value, which is the id of the last qualifier.
    pub(crate) result: u32,
    pub(crate) root: Root,
    pub(crate) qualifiers: Vec<Qualifier>,
}

/// Returns the id of an attribute's value.
fn value_id(attributes: &[Attribute], attribute: u32) -> u32 {
    let this = &attributes[attribute as usize];
    if let Root::Choice { truthy, falsy, .. } = this.root {
        // Fields after a choice belong to both branches.
        let truthy = value_id(attributes, truthy);
        let falsy = value_id(attributes, falsy);
        return if truthy == falsy { truthy } else { this.id };
    }
    this.qualifiers.last().map_or(this.id, |last| last.id)
}

/// Root of an attribute.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Root {
    Slot(u16),
    /// The accumulator of a comprehension, which is computed on first use.
    Accumulator {
        slot: u16,
        fold: u32,
    },
    /// The value of a node.
    Node(NodeId),
    /// One of two attributes.
    Choice {
        condition: NodeId,
        truthy: u32,
        falsy: u32,
    },
}

/// One step of an attribute.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Qualifier {
    pub(crate) id: u32,
    pub(crate) key: Key,
    /// True if written `.?a` or `[?a]`.
    pub(crate) optional: bool,
    /// True for the last step of `has()`.
    pub(crate) test: bool,
}

/// Field or index of a qualifier.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Key {
    Constant(u32),
    /// A variable with fields.
    Attribute(u32),
    /// Any other expression, wrapped in an attribute; its cost differs slightly.
    Computed(u32),
}

/// A call of a function.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) op: Op,
    pub(crate) args: Span,
    pub(crate) charge: Charge,
    /// True if arguments after a failed one are not evaluated.
    pub(crate) stops_at_error: bool,
    /// The compiled pattern, if it is constant.
    pub(crate) regex: Option<Box<Regex>>,
}

/// Implementation of a call.
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
    /// The single overload that the checker selected.
    Overload(Function, Overload),
    /// Runtime dispatch on the argument values.
    Dispatch(Function),
}

/// A function with overloads, as opposed to an operator.
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
    /// True if written `?name: value`.
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

/// The predicate of `all` and `exists`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantifier {
    pub(crate) predicate: NodeId,
    /// Predicate value that ends the loop and becomes its result.
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
    /// True if costs need the values of all nodes: see [`loops::needs_trace`].
    pub(crate) traced: bool,
    pub(crate) variables: Box<[Box<str>]>,
}

impl Plan {
    /// Plans an expression. `variables` are the host's variable names in slot order.
    ///
    /// Fails in the cases where cel-go fails to create a program: a constant conversion that fails, an
    /// invalid constant pattern, or a variable that is not in `variables`.
    pub fn new(checked: &Checked, variables: &[&str]) -> Result<Self, PlanError> {
        builder::build(checked, variables)
    }

    /// Checks that a plan of the expression can be made, whatever variables the host offers. The errors are
    /// also in branches that are never evaluated.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn validate(checked: &Checked) -> Result<(), PlanError> {
        let names: BTreeSet<&str> = checked
            .references
            .iter()
            .filter_map(|reference| match reference {
                Reference::Variable(name) => Some(checked.syntax.name(*name)),
                _ => None,
            })
            .collect();
        builder::build(checked, &Vec::from_iter(names)).map(drop)
    }

    pub(crate) fn children(&self, span: Span) -> &[NodeId] {
        &self.children[span.start as usize..(span.start + span.len) as usize]
    }

    pub(crate) fn attribute(&self, attribute: u32) -> &Attribute {
        &self.attributes[attribute as usize]
    }

    /// Returns the id of an attribute's value, which is the id of the last qualifier.
    pub(crate) fn attribute_id(&self, attribute: u32) -> u32 {
        self.attributes[attribute as usize].result
    }

    /// Returns the approximate size in bytes.
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
