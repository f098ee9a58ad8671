//! What checking an expression gives: its tree with names resolved, the type of every node and what every
//! identifier and call refers to.

use crate::overloads::Overload;
use crate::syntax::{Expr, Name, Syntax};
use crate::types::{Type, Types};

/// What a node refers to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reference {
    /// Nothing: literals, selections of fields, lists, maps, comprehensions.
    #[default]
    None,
    /// A variable, declared or of a comprehension. The node is a `Kind::Ident` with the same name.
    Variable(Name),
    /// A type, used as a value (a `Kind::Ident`) or for making a message (a `Kind::Struct`).
    Type(Name),
    /// A constant of an enumeration; none of Kubernetes' own types has any.
    Constant(Name),
    /// Functions; see [`Checked::overloads`]. More than one if the arguments' types leave it open.
    Overloads {
        /// Place of the first.
        start: u32,
        /// How many there are.
        len: u32,
    },
}

impl Reference {
    /// The functions that it refers to.
    pub(crate) fn overloads(self, table: &[Overload]) -> &[Overload] {
        match self {
            Reference::Overloads { start, len } => &table[start as usize..(start + len) as usize],
            _ => &[],
        }
    }
}

/// A checked expression.
///
/// Its tree differs from the parsed one where a name with dots turned out to be one name: a selection became the
/// identifier `a.b`, a member call `a.b(c)` the call of the function `a.b`. Nodes that this leaves unreachable
/// stay in the arena.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The tree.
    pub syntax: Syntax,
    /// Types that nodes have.
    pub types: Types,
    pub(crate) type_of: Vec<Type>,
    pub(crate) references: Vec<Reference>,
    pub(crate) overloads: Vec<Overload>,
}

impl Checked {
    /// Type of a node; type variables that nothing bound are `dyn`.
    pub fn type_of(&self, expr: Expr) -> Type {
        self.type_of[expr.index()]
    }

    /// What a node refers to.
    pub fn reference(&self, expr: Expr) -> Reference {
        self.references[expr.index()]
    }

    /// The overloads that a call may run, in cel-go's order. Empty if the node is no call.
    pub fn overloads(&self, expr: Expr) -> &[Overload] {
        self.reference(expr).overloads(&self.overloads)
    }

    /// Type of the whole expression.
    pub fn result(&self) -> Type {
        self.syntax.root().map_or(Type::ERROR, |root| self.type_of(root))
    }
}
