//! Result of type checking: the tree with resolved names, the type of every node, and the target of every
//! identifier and call.

use crate::overloads::Overload;
use crate::syntax::{Expr, Name, Syntax};
use crate::types::{Type, Types};

/// Target of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reference {
    /// No target: literals, field selections, lists, maps, comprehensions.
    #[default]
    None,
    /// A variable, declared or from a comprehension. The node is a `Kind::Ident` with the same name.
    Variable(Name),
    /// A type, used as a value (a `Kind::Ident`) or for constructing a message (a `Kind::Struct`).
    Type(Name),
    /// An enum constant; Kubernetes' own types have none.
    Constant(Name),
    /// Function overloads; see [`Checked::overloads`]. There are several if the argument types leave the
    /// choice open.
    Overloads {
        /// Index of the first overload.
        start: u32,
        /// Number of overloads.
        len: u32,
    },
}

impl Reference {
    /// Returns the overloads in `table`.
    pub(crate) fn overloads(self, table: &[Overload]) -> &[Overload] {
        match self {
            Reference::Overloads { start, len } => &table[start as usize..(start + len) as usize],
            _ => &[],
        }
    }
}

/// A checked expression.
///
/// Its tree differs from the parsed tree where a qualified name was resolved: a selection became the
/// identifier `a.b`, and a member call `a.b(c)` became a call of the function `a.b`. Unreachable nodes stay
/// in the arena.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The tree with resolved names.
    pub syntax: Syntax,
    /// Type table of the nodes.
    pub types: Types,
    pub(crate) type_of: Vec<Type>,
    pub(crate) references: Vec<Reference>,
    pub(crate) overloads: Vec<Overload>,
}

impl Checked {
    /// Returns the type of a node; unbound type variables are `dyn`.
    pub fn type_of(&self, expr: Expr) -> Type {
        self.type_of[expr.index()]
    }

    /// Returns the target of a node.
    pub fn reference(&self, expr: Expr) -> Reference {
        self.references[expr.index()]
    }

    /// Returns the candidate overloads of a call, in cel-go's order. Empty if the node is no call.
    pub fn overloads(&self, expr: Expr) -> &[Overload] {
        self.reference(expr).overloads(&self.overloads)
    }

    /// Returns the type of the whole expression.
    pub fn result(&self) -> Type {
        self.syntax.root().map_or(Type::ERROR, |root| self.type_of(root))
    }
}
