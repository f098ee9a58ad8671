//! Syntax tree of one expression: an arena of nodes with expanded macros, as cel-go's checker and planner
//! receive it.

use std::collections::HashMap;

/// Index of a node of a [`Syntax`]. Valid only for the tree that created it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Expr(u32);

/// An interned string of a [`Syntax`]: identifier, field, function, or text of a string literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(u32);

/// A contiguous range in a side table of the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    start: u32,
    len: u32,
}

/// A literal of the text, or a constant from a macro.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Literal {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// `1`, `-0x1`.
    Int(i64),
    /// `1u`.
    Uint(u64),
    /// `1.5`.
    Double(f64),
    /// A string with its escapes resolved.
    String(Name),
    /// A bytes literal with its escapes resolved; see [`Syntax::bytes`].
    Bytes(Span),
}

/// An entry of a map or a field of a message under construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// cel-go's id of the entry itself.
    pub id: i64,
    /// The key: an expression in maps, or a field name in messages (see [`Kind::Struct`]).
    pub key: Key,
    /// The value after the colon.
    pub value: Expr,
    /// True if written `?key: value`.
    pub optional: bool,
    /// Offset of the colon in code points.
    pub offset: u32,
}

/// The part before the colon of an [`Entry`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A map's key.
    Expr(Expr),
    /// A message's field.
    Field(Name),
}

/// An expanded comprehension macro.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Comprehension {
    /// The list or map to iterate.
    pub range: Expr,
    /// The variable for an element or map key; with two variables, the index or key.
    pub variable: Name,
    /// The optional second variable: the element or value.
    pub second: Option<Name>,
    /// Name of the accumulator, `@result` in Kubernetes.
    pub accumulator: Name,
    /// Initial value of the accumulator.
    pub init: Expr,
    /// Loop condition: the loop continues while it is true.
    pub condition: Expr,
    /// Next value of the accumulator.
    pub step: Expr,
    /// Result of the comprehension.
    pub result: Expr,
}

/// Kind of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A literal of the text, or a constant from a macro.
    Literal(Literal),
    /// A variable. A leading dot stays in the name.
    Ident(Name),
    /// `operand.field`, or `has(operand.field)` if `test` is true.
    Select {
        /// The expression before the dot.
        operand: Expr,
        /// Name of the selected field.
        field: Name,
        /// True for a presence test.
        test: bool,
    },
    /// A function or, with a target, a member function. Operators are functions with cel-go's names: `_+_`,
    /// `!_`, `_[_]`, `_?_:_`, `@in`, `_?._`, `_[?_]`, `@not_strictly_false` …
    Call {
        /// Name of the function or operator.
        function: Name,
        /// The receiver of a member call.
        target: Option<Expr>,
        /// The arguments; see [`Syntax::exprs`].
        args: Span,
    },
    /// `[a, ?b]`.
    List {
        /// The elements; see [`Syntax::exprs`].
        elements: Span,
        /// Ascending list indices of the optional elements; see [`Syntax::optional_indices`].
        optional: Span,
    },
    /// `{k: v}`; see [`Syntax::entries`].
    Map(Span),
    /// `Type{field: v}`.
    Struct {
        /// The type name as written.
        name: Name,
        /// The fields; see [`Syntax::entries`].
        fields: Span,
    },
    /// A comprehension; see [`Syntax::comprehension`].
    Comprehension(u32),
}

/// A node: its kind, cel-go's id and its position. cel-go orders errors by id and prints ids in its debug
/// output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    /// Kind of the node, with references to its children.
    pub kind: Kind,
    /// cel-go's id, from 1.
    pub id: i64,
    /// Offset in code points.
    pub offset: u32,
}

/// The tree. The parser bounds it: no more nodes than code points, depth 250.
#[derive(Clone, Debug, Default)]
pub struct Syntax {
    nodes: Vec<Node>,
    exprs: Vec<Expr>,
    optional_indices: Vec<u32>,
    entries: Vec<Entry>,
    comprehensions: Vec<Comprehension>,
    /// Concatenated text of all names.
    text: String,
    /// Range of each name in `text`.
    names: Vec<Span>,
    /// Names by text, used once there are more than [`FEW_NAMES`].
    index: HashMap<Box<str>, Name>,
    bytes: Vec<u8>,
    root: Option<Expr>,
}

/// Up to this number of names a linear search is faster than hashing.
const FEW_NAMES: usize = 32;

impl Syntax {
    /// Returns the root node; `None` before [`Syntax::set_root`].
    pub fn root(&self) -> Option<Expr> {
        self.root
    }

    /// Sets the root node.
    pub fn set_root(&mut self, root: Expr) {
        self.root = Some(root);
    }

    /// Returns the number of nodes. [`Expr::index`] is below this.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns true if the tree has no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns a node.
    ///
    /// # Panics
    /// The expression belongs to a larger tree.
    pub fn node(&self, expr: Expr) -> &Node {
        &self.nodes[expr.index()]
    }

    /// Returns the kind of a node.
    pub fn kind(&self, expr: Expr) -> Kind {
        self.node(expr).kind
    }

    /// Returns the text of a name.
    pub fn name(&self, name: Name) -> &str {
        &self.text[self.names[name.0 as usize].range()]
    }

    /// Returns arguments or elements.
    pub fn exprs(&self, span: Span) -> &[Expr] {
        &self.exprs[span.range()]
    }

    /// Returns the indices of optional elements.
    pub fn optional_indices(&self, span: Span) -> &[u32] {
        &self.optional_indices[span.range()]
    }

    /// Returns the entries of a map or the fields of a message.
    pub fn entries(&self, span: Span) -> &[Entry] {
        &self.entries[span.range()]
    }

    /// Returns the value of a bytes literal.
    pub fn bytes(&self, span: Span) -> &[u8] {
        &self.bytes[span.range()]
    }

    /// Returns a comprehension by the number in its [`Kind::Comprehension`].
    pub fn comprehension(&self, number: u32) -> &Comprehension {
        &self.comprehensions[number as usize]
    }

    /// Calls a function with every child of a node, in text order. A comprehension's order is range,
    /// accumulator, condition, step, result.
    pub fn for_each_child(&self, expr: Expr, mut visit: impl FnMut(Expr)) {
        match self.kind(expr) {
            Kind::Literal(_) | Kind::Ident(_) => {}
            Kind::Select { operand, .. } => visit(operand),
            Kind::Call { target, args, .. } => {
                target.into_iter().for_each(&mut visit);
                self.exprs(args).iter().copied().for_each(visit);
            }
            Kind::List { elements, .. } => self.exprs(elements).iter().copied().for_each(visit),
            Kind::Map(entries) | Kind::Struct { fields: entries, .. } => {
                for entry in self.entries(entries) {
                    if let Key::Expr(key) = entry.key {
                        visit(key);
                    }
                    visit(entry.value);
                }
            }
            Kind::Comprehension(number) => {
                let Comprehension { range, init, condition, step, result, .. } = *self.comprehension(number);
                [range, init, condition, step, result].into_iter().for_each(visit);
            }
        }
    }

    /// Adds a node; `offset` is in code points.
    pub fn add(&mut self, id: i64, offset: u32, kind: Kind) -> Expr {
        let expr = Expr(self.nodes.len() as u32);
        self.nodes.push(Node { kind, id, offset });
        expr
    }

    /// Replaces the kind of a node; its id and position stay.
    pub fn replace(&mut self, expr: Expr, kind: Kind) {
        self.nodes[expr.index()].kind = kind;
    }

    /// Returns the name with this text, and stores new texts.
    pub fn intern(&mut self, text: &str) -> Name {
        if let Some(name) = self.find_name(text) {
            return name;
        }
        let name = Name(self.names.len() as u32);
        self.names.push(Span { start: self.text.len() as u32, len: text.len() as u32 });
        self.text.push_str(text);
        if self.names.len() == FEW_NAMES {
            let all = (0..=name.0).map(Name);
            self.index = all.map(|name| (self.name(name).into(), name)).collect();
        } else if self.names.len() > FEW_NAMES {
            self.index.insert(text.into(), name);
        }
        name
    }

    pub(crate) fn find_name(&self, text: &str) -> Option<Name> {
        if self.names.len() >= FEW_NAMES {
            return self.index.get(text).copied();
        }
        let bytes = text.as_bytes();
        let place = self.names.iter().position(|span| self.text.as_bytes()[span.range()] == *bytes)?;
        Some(Name(place as u32))
    }

    /// Stores arguments or elements.
    pub fn add_exprs(&mut self, exprs: &[Expr]) -> Span {
        append(&mut self.exprs, exprs)
    }

    /// Stores indices of optional elements.
    pub fn add_optional_indices(&mut self, places: &[u32]) -> Span {
        append(&mut self.optional_indices, places)
    }

    /// Stores entries.
    pub fn add_entries(&mut self, entries: &[Entry]) -> Span {
        append(&mut self.entries, entries)
    }

    /// Stores a bytes literal.
    pub fn add_bytes(&mut self, bytes: &[u8]) -> Span {
        append(&mut self.bytes, bytes)
    }

    /// Stores a comprehension.
    pub fn add_comprehension(&mut self, comprehension: Comprehension) -> Kind {
        self.comprehensions.push(comprehension);
        Kind::Comprehension(self.comprehensions.len() as u32 - 1)
    }
}

impl Expr {
    /// Returns the index into tables parallel to the tree (types, references, slots).
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Name {
    /// Returns the index into tables parallel to the names.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Span {
    fn range(self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }

    /// Returns the number of entries in the side table.
    pub fn len(self) -> usize {
        self.len as usize
    }

    /// Returns true if the span has no entries.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// Appends to a side table. Tables stay far below 2^32 entries, because an expression has at most 100,000
/// code points.
fn append<T: Copy>(table: &mut Vec<T>, items: &[T]) -> Span {
    let span = Span { start: table.len() as u32, len: items.len() as u32 };
    table.extend_from_slice(items);
    span
}
