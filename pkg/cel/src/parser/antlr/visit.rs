//! Walks a tree with holes in cel-go's order, to find errors beyond syntax.

use super::super::builder::{Builder, operator};
use super::grammar::{Label, Rule};
use super::tree::{Node, NodeId, Tree};
use crate::lexer::{Kind as TokenKind, Token};
use crate::source::Location;
use crate::syntax::{Entry, Expr, Key, Kind};

/// Offset of placeholder nodes; as a signed number it is -1.
const NO_OFFSET: u32 = u32::MAX;

/// cel-go's error for a field without a name.
const NO_FIELD: &str = "unsupported ident kind";

/// Builds the nodes of a tree. Returns `None`, after recording an error, if it is nested too deeply.
pub(super) fn visit(tree: &Tree, builder: &mut Builder<'_>) -> Option<Expr> {
    let root = tree.nodes.first()?.node(Label::First);
    Visitor { tree, builder, depth: 0 }.expr(root).ok()
}

/// Error: the tree is nested too deeply.
struct TooDeep;

type Visited<T> = Result<T, TooDeep>;

struct Visitor<'t, 'b, 'a> {
    tree: &'t Tree,
    builder: &'b mut Builder<'a>,
    depth: u32,
}

impl<'t, 'a> Visitor<'t, '_, 'a> {
    fn node(&self, id: NodeId) -> &'t Node {
        &self.tree.nodes[id]
    }

    /// Descends through nodes that only wrap another node.
    fn unnest(&self, mut id: Option<NodeId>) -> Option<&'t Node> {
        loop {
            let node = self.node(id?);
            let passes = match node.rule {
                Rule::Expr | Rule::Or | Rule::And | Rule::Relation | Rule::Calc => {
                    node.token(Label::Operator).is_none()
                }
                Rule::Unary | Rule::Member => node.alternative == 1,
                Rule::Primary => matches!(node.alternative, 3 | 7),
                _ => false,
            };
            if !passes {
                return Some(node);
            }
            id = node.node(Label::First);
        }
    }

    fn expr(&mut self, id: Option<NodeId>) -> Visited<Expr> {
        let Some(node) = self.unnest(id) else { return Ok(self.builder.unspecified(NO_OFFSET)) };
        match (node.rule, node.alternative) {
            (Rule::Expr, _) => self.nested(node, Self::conditional),
            (Rule::Or, _) => self.chain(node, "_||_"),
            (Rule::And, _) => self.chain(node, "_&&_"),
            (Rule::Relation | Rule::Calc, _) => self.nested(node, Self::binary),
            // In cel-go this is a literal, and therefore has a location.
            (Rule::Unary, 0) => Ok(self.builder.unspecified(node.start.offset)),
            (Rule::Unary, 2) => self.unary(node, "!_"),
            (Rule::Unary, 3) => self.unary(node, "-_"),
            (Rule::Member, 2) => self.nested(node, Self::select),
            (Rule::Member, 3) => self.nested(node, Self::member_call),
            (Rule::Member, 4) => self.nested(node, Self::index),
            (Rule::Primary, 1) => Ok(self.ident(node)),
            (Rule::Primary, 2) => self.global_call(node),
            (Rule::Primary, 4) => self.list(node),
            (Rule::Primary, 5) => self.map(node),
            (Rule::Primary, 6) => self.message(node),
            (Rule::Literal, 1..) => Ok(self.literal(node)),
            _ => Ok(self.builder.unspecified(NO_OFFSET)),
        }
    }

    /// Visits a node whose nesting is bounded.
    fn nested(&mut self, node: &'t Node, visit: fn(&mut Self, &'t Node) -> Visited<Expr>) -> Visited<Expr> {
        self.depth += 1;
        if self.depth > self.builder.options.max_depth {
            self.builder.errors.report(Location::NONE, "max recursion depth exceeded");
            return Err(TooDeep);
        }
        let visited = visit(self, node);
        self.depth -= 1;
        visited
    }

    fn conditional(&mut self, node: &'t Node) -> Visited<Expr> {
        let condition = self.expr(node.node(Label::First))?;
        let (id, offset) = self.operator(node.token(Label::Operator));
        let then = self.expr(node.node(Label::Next))?;
        let otherwise = self.expr(node.node(Label::Otherwise))?;
        Ok(self.builder.call_or_macro(id, offset, "_?_:_", None, &[condition, then, otherwise]))
    }

    /// Returns the id and offset of an operator.
    fn operator(&mut self, token: Option<Token>) -> (i64, u32) {
        match token {
            Some(token) => (self.builder.id(), token.offset),
            None => (-1, NO_OFFSET),
        }
    }

    fn chain(&mut self, node: &'t Node, function: &str) -> Visited<Expr> {
        let mut terms = vec![self.expr(node.node(Label::First))?];
        let mut operators = Vec::new();
        let mut rest = node.nodes(Label::Next);
        for token in node.tokens(Label::Operator) {
            let Some(next) = rest.next() else {
                let message = format!("unexpected character, wanted '{}'", function.trim_matches('_'));
                return Ok(self.builder.fail(node.start.offset, message));
            };
            terms.push(self.expr(Some(next))?);
            operators.push((self.builder.id(), token.offset));
        }
        Ok(self.builder.balanced(function, &terms, &operators))
    }

    fn binary(&mut self, node: &'t Node) -> Visited<Expr> {
        let token = node.token(Label::Operator);
        let Some(function) = token.and_then(|token| operator(token.kind)) else {
            return Ok(self.builder.fail(node.start.offset, "operator not found"));
        };
        let left = self.expr(node.node(Label::First))?;
        let (id, offset) = self.operator(token);
        let right = self.expr(node.node(Label::Next))?;
        Ok(self.builder.call_or_macro(id, offset, function, None, &[left, right]))
    }

    fn unary(&mut self, node: &'t Node, function: &str) -> Visited<Expr> {
        let operators: Vec<Token> = node.tokens(Label::Operator).collect();
        if operators.len().is_multiple_of(2) {
            return self.expr(node.node(Label::First));
        }
        let (id, offset) = self.operator(operators.first().copied());
        let operand = self.expr(node.node(Label::First))?;
        Ok(self.builder.call_or_macro(id, offset, function, None, &[operand]))
    }

    fn select(&mut self, node: &'t Node) -> Visited<Expr> {
        let operand = self.expr(node.node(Label::First))?;
        let (Some(name), Some(dot)) = (node.node(Label::Name), node.token(Label::Operator)) else {
            return Ok(self.builder.unspecified(node.start.offset));
        };
        let name = self.node(name);
        let field = self.field(name);
        Ok(self.builder.select(operand, dot, node.token(Label::Optional).is_some(), name.start.offset, field))
    }

    fn member_call(&mut self, node: &'t Node) -> Visited<Expr> {
        let target = self.expr(node.node(Label::First))?;
        let Some(name) = node.token(Label::Name) else {
            return Ok(self.builder.unspecified(node.start.offset));
        };
        let (id, offset) = self.operator(node.token(Label::Open));
        let args = self.arguments(node)?;
        let function = name.text(self.builder.source.text());
        Ok(self.builder.call_or_macro(id, offset, function, Some(target), &args))
    }

    fn arguments(&mut self, node: &'t Node) -> Visited<Vec<Expr>> {
        let Some(list) = node.node(Label::List) else { return Ok(Vec::new()) };
        self.node(list).nodes(Label::Next).map(|arg| self.expr(Some(arg))).collect()
    }

    fn index(&mut self, node: &'t Node) -> Visited<Expr> {
        let target = self.expr(node.node(Label::First))?;
        let Some(bracket) = node.token(Label::Operator) else {
            return Ok(self.builder.unspecified(node.start.offset));
        };
        let id = self.builder.id();
        let index = self.expr(node.node(Label::Next))?;
        Ok(self.builder.index(id, bracket, node.token(Label::Optional).is_some(), target, index))
    }

    fn ident(&mut self, node: &Node) -> Expr {
        match node.token(Label::Name) {
            Some(name) => {
                self.builder.ident(node.token(Label::LeadingDot).is_some(), node.start.offset, name)
            }
            None => self.builder.unspecified(node.start.offset),
        }
    }

    fn global_call(&mut self, node: &'t Node) -> Visited<Expr> {
        let Some(name) = node.token(Label::Name) else {
            return Ok(self.builder.unspecified(node.start.offset));
        };
        let dot = node.token(Label::LeadingDot).is_some();
        let function = match self.builder.name(dot, node.start.offset, name) {
            Ok(function) => function,
            Err(failed) => return Ok(failed),
        };
        let (id, offset) = self.operator(node.token(Label::Operator));
        let args = self.arguments(node)?;
        Ok(self.builder.call_or_macro(id, offset, &function, None, &args))
    }

    fn list(&mut self, node: &'t Node) -> Visited<Expr> {
        let (id, offset) = self.operator(node.token(Label::Operator));
        let mut elements = Vec::new();
        let mut places = Vec::new();
        let list = node.node(Label::List).map(|list| self.node(list));
        for element in list.into_iter().flat_map(|list| list.nodes(Label::Next)) {
            let element = self.node(element);
            let expr = self.expr(element.node(Label::First))?;
            if let Some(question) = self.allowed(element.token(Label::Optional), None) {
                places.extend(question.then_some(elements.len() as u32));
            }
            elements.push(expr);
        }
        let elements = self.builder.syntax.add_exprs(&elements);
        let optional = self.builder.syntax.add_optional_indices(&places);
        Ok(self.builder.syntax.add(id, offset, Kind::List { elements, optional }))
    }

    /// Returns true if there is a question mark. Returns `None` after reporting an error if optional syntax
    /// is not allowed; the error is at `place` or at the question mark.
    fn allowed(&mut self, question: Option<Token>, place: Option<u32>) -> Option<bool> {
        match question {
            Some(token) if !self.builder.options.optional_syntax => {
                self.builder.fail(place.unwrap_or(token.offset), "unsupported syntax '?'");
                None
            }
            question => Some(question.is_some()),
        }
    }

    fn map(&mut self, node: &'t Node) -> Visited<Expr> {
        let (id, offset) = self.operator(node.token(Label::Operator));
        let entries = match node.node(Label::List) {
            Some(list) => self.entries(self.node(list))?,
            None => Vec::new(),
        };
        let entries = self.builder.syntax.add_entries(&entries);
        Ok(self.builder.syntax.add(id, offset, Kind::Map(entries)))
    }

    fn message(&mut self, node: &'t Node) -> Visited<Expr> {
        let text = self.builder.source.text();
        let names: Vec<&str> = node.tokens(Label::Name).map(|name| name.text(text)).collect();
        let dot = if node.token(Label::LeadingDot).is_some() { "." } else { "" };
        let name = self.builder.syntax.intern(&format!("{dot}{}", names.join(".")));
        let (id, offset) = self.operator(node.token(Label::Operator));
        let fields = match node.node(Label::List) {
            Some(list) => self.entries(self.node(list))?,
            None => Vec::new(),
        };
        let fields = self.builder.syntax.add_entries(&fields);
        Ok(self.builder.syntax.add(id, offset, Kind::Struct { name, fields }))
    }

    /// Returns the entries of a map or the fields of a message; empty if a part of one is missing.
    fn entries(&mut self, list: &'t Node) -> Visited<Vec<Entry>> {
        let values: Vec<NodeId> = list.nodes(Label::Value).collect();
        let colons: Vec<Token> = list.tokens(Label::Colon).collect();
        let keys: Vec<NodeId> = list.nodes(Label::Key).collect();
        let is_map = list.rule == Rule::MapInitializerList;
        let mut entries = Vec::new();
        for place in 0..if is_map { colons.len() } else { keys.len() } {
            let Some(colon) = colons.get(place) else { return Ok(Vec::new()) };
            if !is_map && place >= values.len() {
                return Ok(Vec::new());
            }
            let id = self.builder.id();
            let (Some(key), Some(value)) = (keys.get(place), values.get(place)) else {
                return Ok(Vec::new());
            };
            let key = self.node(*key);
            let Some(optional) = self.allowed(key.token(Label::Optional), Some(key.start.offset)) else {
                continue;
            };
            let Some(key) = self.key(list, key)? else { continue };
            let value = self.expr(Some(*value))?;
            entries.push(Entry { id, offset: colon.offset, key, value, optional });
        }
        Ok(entries)
    }

    /// Returns the key of an entry. `None` for an invalid field name, which is an error of the whole list.
    fn key(&mut self, list: &Node, key: &'t Node) -> Visited<Option<Key>> {
        if key.rule == Rule::OptExpr {
            return Ok(Some(Key::Expr(self.expr(key.node(Label::First))?)));
        }
        let name = key.node(Label::Name).map(|name| self.field(self.node(name)));
        match name.unwrap_or(Err(NO_FIELD)) {
            Ok(name) => Ok(Some(Key::Field(self.builder.syntax.intern(name)))),
            Err(message) => {
                self.builder.fail(list.start.offset, message);
                Ok(None)
            }
        }
    }

    fn field(&self, name: &Node) -> Result<&'a str, &'static str> {
        name.token(Label::Name).ok_or(NO_FIELD).and_then(|token| self.builder.field(token))
    }

    fn literal(&mut self, node: &Node) -> Expr {
        match node.token(Label::Name) {
            Some(token) if token.kind != TokenKind::Eof => {
                let negative = node.token(Label::Sign).is_some();
                self.builder.literal(negative, node.start.offset, token)
            }
            _ => self.builder.unspecified(node.start.offset),
        }
    }
}
