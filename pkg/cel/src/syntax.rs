//! The syntax tree of one expression: an arena of nodes in which macros are already expanded, as cel-go's
//! checker and planner see it.

use std::collections::HashMap;

/// A node of a [`Syntax`], by its place in the arena. Valid for the tree that made it alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Expr(u32);

/// A string of a [`Syntax`] (identifier, field, function, string literal's text), kept once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(u32);

/// A run of neighbours in one of the arena's side tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    start: u32,
    len: u32,
}

/// A literal.
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
    /// The key (an expression in maps; see [`Kind::Struct`] for fields).
    pub key: Key,
    /// The value.
    pub value: Expr,
    /// Whether it was written `?key: value`.
    pub optional: bool,
    /// Offset of its colon into the text, in code points.
    pub offset: u32,
}

/// What stands before the colon of an [`Entry`].
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
    /// The list or map that is walked.
    pub range: Expr,
    /// The variable of an element (of a map's key); with two variables the index or key.
    pub variable: Name,
    /// The second variable, if there is one: the element or the value.
    pub second: Option<Name>,
    /// The accumulator, `@result` in Kubernetes' dialect.
    pub accumulator: Name,
    /// The accumulator's first value.
    pub init: Expr,
    /// Goes on while this is true.
    pub condition: Expr,
    /// The accumulator's next value.
    pub step: Expr,
    /// The value of the whole.
    pub result: Expr,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A literal.
    Literal(Literal),
    /// A variable, perhaps with a leading dot, which stays in the name.
    Ident(Name),
    /// `operand.field`, or `has(operand.field)` if `test` says so.
    Select {
        /// The left side.
        operand: Expr,
        /// The field.
        field: Name,
        /// Whether presence alone is asked for.
        test: bool,
    },
    /// A function or, with a target, a member function. Operators are functions with cel-go's names: `_+_`,
    /// `!_`, `_[_]`, `_?_:_`, `@in`, `_?._`, `_[?_]`, `@not_strictly_false` …
    Call {
        /// The name.
        function: Name,
        /// The receiver, if it was called as a member.
        target: Option<Expr>,
        /// The arguments; see [`Syntax::exprs`].
        args: Span,
    },
    /// `[a, ?b]`.
    List {
        /// The elements; see [`Syntax::exprs`].
        elements: Span,
        /// Places (in the list) of the optional ones, ascending; see [`Syntax::places`].
        optional: Span,
    },
    /// `{k: v}`; see [`Syntax::entries`].
    Map(Span),
    /// `Type{field: v}`.
    Struct {
        /// The type's name as it was written.
        name: Name,
        /// The fields; see [`Syntax::entries`].
        fields: Span,
    },
    /// A comprehension; see [`Syntax::comprehension`].
    Comprehension(u32),
}

/// A node's kind, the id that cel-go gives it (they order errors and name nodes in its own printouts), and
/// where it stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Node {
    /// What it is.
    pub kind: Kind,
    /// cel-go's id, from 1.
    pub id: i64,
    /// Offset into the text, in code points.
    pub offset: u32,
}

/// The tree. Its bounds are the parser's: no more nodes than code points, depth 250.
#[derive(Clone, Debug, Default)]
pub struct Syntax {
    nodes: Vec<Node>,
    exprs: Vec<Expr>,
    places: Vec<u32>,
    entries: Vec<Entry>,
    comprehensions: Vec<Comprehension>,
    /// The text of all names, one behind the other.
    text: String,
    /// Where each of them is in the text.
    names: Vec<Span>,
    /// The names by their text, once there are too many to look through.
    index: HashMap<Box<str>, Name>,
    bytes: Vec<u8>,
    root: Option<Expr>,
}

/// Up to as many names are looked through one by one, which is faster than to hash them.
const FEW_NAMES: usize = 32;

impl Syntax {
    /// The whole expression; none before [`Syntax::set_root`].
    pub fn root(&self) -> Option<Expr> {
        self.root
    }

    /// Says which node is the whole expression.
    pub fn set_root(&mut self, root: Expr) {
        self.root = Some(root);
    }

    /// How many nodes there are: [`Expr::index`] is below this.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A node.
    pub fn node(&self, expr: Expr) -> &Node {
        &self.nodes[expr.index()]
    }

    /// What a node is.
    pub fn kind(&self, expr: Expr) -> Kind {
        self.node(expr).kind
    }

    /// A name's text.
    pub fn name(&self, name: Name) -> &str {
        &self.text[self.names[name.0 as usize].range()]
    }

    /// Arguments or elements.
    pub fn exprs(&self, span: Span) -> &[Expr] {
        &self.exprs[span.range()]
    }

    /// Places of optional elements.
    pub fn places(&self, span: Span) -> &[u32] {
        &self.places[span.range()]
    }

    /// Entries of a map or fields of a message.
    pub fn entries(&self, span: Span) -> &[Entry] {
        &self.entries[span.range()]
    }

    /// A bytes literal.
    pub fn bytes(&self, span: Span) -> &[u8] {
        &self.bytes[span.range()]
    }

    /// A comprehension, by the number in its [`Kind::Comprehension`].
    pub fn comprehension(&self, number: u32) -> &Comprehension {
        &self.comprehensions[number as usize]
    }

    /// Calls a function with every child of a node, in the order of the text (a comprehension's: range,
    /// accumulator, condition, step, result).
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

    /// Adds a node.
    pub fn add(&mut self, id: i64, offset: u32, kind: Kind) -> Expr {
        let expr = Expr(self.nodes.len() as u32);
        self.nodes.push(Node { kind, id, offset });
        expr
    }

    /// Makes a node something else; its id and place stay.
    pub fn replace(&mut self, expr: Expr, kind: Kind) {
        self.nodes[expr.index()].kind = kind;
    }

    /// The name with this text, made if it is new.
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

    /// The name with this text, if the expression has it.
    pub fn find_name(&self, text: &str) -> Option<Name> {
        if self.names.len() >= FEW_NAMES {
            return self.index.get(text).copied();
        }
        let bytes = text.as_bytes();
        let place = self.names.iter().position(|span| self.text.as_bytes()[span.range()] == *bytes)?;
        Some(Name(place as u32))
    }

    /// Keeps arguments or elements.
    pub fn add_exprs(&mut self, exprs: &[Expr]) -> Span {
        append(&mut self.exprs, exprs)
    }

    /// Keeps places of optional elements.
    pub fn add_places(&mut self, places: &[u32]) -> Span {
        append(&mut self.places, places)
    }

    /// Keeps entries.
    pub fn add_entries(&mut self, entries: &[Entry]) -> Span {
        append(&mut self.entries, entries)
    }

    /// Keeps a bytes literal.
    pub fn add_bytes(&mut self, bytes: &[u8]) -> Span {
        append(&mut self.bytes, bytes)
    }

    /// Keeps a comprehension.
    pub fn add_comprehension(&mut self, comprehension: Comprehension) -> Kind {
        self.comprehensions.push(comprehension);
        Kind::Comprehension(self.comprehensions.len() as u32 - 1)
    }
}

impl Expr {
    /// Its place in tables that run beside the tree (types, references, slots).
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Name {
    /// Its place in tables that run beside the names.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Span {
    fn range(self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }

    /// How many there are.
    pub fn len(self) -> usize {
        self.len as usize
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// Appends to a side table. Tables stay far below 2^32 entries: an expression has at most 100,000 code points.
fn append<T: Copy>(table: &mut Vec<T>, items: &[T]) -> Span {
    let span = Span { start: table.len() as u32, len: items.len() as u32 };
    table.extend_from_slice(items);
    span
}
