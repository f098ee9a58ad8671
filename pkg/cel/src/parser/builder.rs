//! Creates nodes with cel-go's ids, for both the fast parser and the walk over a tree with syntax errors.

use std::borrow::Cow;

use super::{Options, literal, macros};
use crate::escaping::is_reserved;
use crate::lexer::{Kind as TokenKind, Token};
use crate::source::{Errors, Source};
use crate::syntax::{Expr, Kind, Literal, Syntax};

/// Maximum nodes of one tree. The macros `optMap` and `sortBy` copy their receiver, so a chain of them
/// doubles with every link; without a bound a short text could exhaust memory.
const MAX_NODES: usize = 200_000;

/// A tree under construction.
pub(super) struct Builder<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) options: &'a Options,
    pub(super) syntax: Syntax,
    pub(super) errors: Errors,
    next_id: i64,
}

impl<'a> Builder<'a> {
    pub(super) fn new(source: &'a Source<'a>, options: &'a Options) -> Builder<'a> {
        Builder { source, options, syntax: Syntax::default(), errors: Errors::default(), next_id: 1 }
    }

    pub(super) fn id(&mut self) -> i64 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// Adds a node with a new id.
    pub(super) fn add(&mut self, offset: u32, kind: Kind) -> Expr {
        let id = self.id();
        self.syntax.add(id, offset, kind)
    }

    /// Reports an error and returns a placeholder node.
    pub(super) fn fail(&mut self, offset: u32, message: impl Into<String>) -> Expr {
        let location = self.source.location(offset as i32);
        self.errors.report(location, message);
        self.unspecified(offset)
    }

    /// Adds a placeholder for a node that is missing after an error. Trees with errors are discarded, so any
    /// kind is fine that no macro treats specially.
    pub(super) fn unspecified(&mut self, offset: u32) -> Expr {
        self.add(offset, Kind::Literal(Literal::Null))
    }

    /// Returns true if macros have exceeded the node limit.
    pub(super) fn is_full(&self) -> bool {
        self.syntax.len() >= MAX_NODES
    }

    /// Adds a literal; `start` is the offset of its sign, if any.
    pub(super) fn literal(&mut self, negative: bool, start: u32, token: Token) -> Expr {
        let text = token.text(self.source.text());
        let value = match token.kind {
            TokenKind::Int => literal::int(negative, text).map(Literal::Int).ok_or("invalid int literal"),
            TokenKind::Uint => literal::uint(text).map(Literal::Uint).ok_or("invalid uint literal"),
            TokenKind::Float => {
                literal::double(negative, text).map(Literal::Double).ok_or("invalid double literal")
            }
            TokenKind::String => literal::string(text).map(|text| Literal::String(self.syntax.intern(&text))),
            TokenKind::Bytes => {
                literal::bytes(text).map(|bytes| Literal::Bytes(self.syntax.add_bytes(&bytes)))
            }
            TokenKind::True => Ok(Literal::Bool(true)),
            TokenKind::False => Ok(Literal::Bool(false)),
            _ => Ok(Literal::Null),
        };
        match value {
            Ok(value) => self.add(start, Kind::Literal(value)),
            Err(message) => self.fail(start, message),
        }
    }

    /// Adds a variable; `start` is the offset of its leading dot, if any.
    pub(super) fn ident(&mut self, dot: bool, start: u32, token: Token) -> Expr {
        match self.name(dot, start, token) {
            Ok(name) => {
                let name = self.syntax.intern(&name);
                self.add(token.offset, Kind::Ident(name))
            }
            Err(failed) => failed,
        }
    }

    /// Returns the name of a variable or function, or an error node if it is reserved.
    pub(super) fn name(&mut self, dot: bool, start: u32, token: Token) -> Result<Cow<'a, str>, Expr> {
        let text = token.text(self.source.text());
        if is_reserved(text) {
            return Err(self.fail(start, format!("reserved identifier: {text}")));
        }
        Ok(if dot { format!(".{text}").into() } else { text.into() })
    }

    /// Returns the name of a field, with optional backticks removed.
    pub(super) fn field(&self, token: Token) -> Result<&'a str, &'static str> {
        let text = token.text(self.source.text());
        match token.kind {
            TokenKind::EscapedIdentifier if self.options.escaped_identifiers => Ok(&text[1..text.len() - 1]),
            TokenKind::EscapedIdentifier => Err("unsupported syntax: '`'"),
            _ => Ok(text),
        }
    }

    /// Adds `operand.field` or `operand.?field`; `place` is the offset of the field.
    pub(super) fn select(
        &mut self,
        operand: Expr,
        dot: Token,
        optional: bool,
        place: u32,
        field: Result<&str, &'static str>,
    ) -> Expr {
        let name = field.unwrap_or_else(|message| {
            self.fail(place, message);
            ""
        });
        let field = self.syntax.intern(name);
        if !optional {
            return self.add(dot.offset, Kind::Select { operand, field, test: false });
        }
        if !self.options.optional_syntax {
            return self.fail(dot.offset, "unsupported syntax '.?'");
        }
        let name = self.add(place, Kind::Literal(Literal::String(field)));
        let id = self.id();
        self.call(id, dot.offset, "_?._", None, &[operand, name])
    }

    /// Adds `target[index]` or `target[?index]`; `id` belongs to the bracket.
    pub(super) fn index(
        &mut self,
        id: i64,
        bracket: Token,
        optional: bool,
        target: Expr,
        index: Expr,
    ) -> Expr {
        if optional && !self.options.optional_syntax {
            return self.fail(bracket.offset, "unsupported syntax '[?'");
        }
        let function = if optional { "_[?_]" } else { "_[_]" };
        self.call(id, bracket.offset, function, None, &[target, index])
    }

    /// Adds a call or expands a macro.
    pub(super) fn call_or_macro(
        &mut self,
        id: i64,
        offset: u32,
        function: &str,
        target: Option<Expr>,
        args: &[Expr],
    ) -> Expr {
        if let Some(expansion) = self.options.macros.find(function, args.len(), target.is_some()) {
            match macros::expand(self, expansion, offset, target, args) {
                Ok(Some(_)) if self.is_full() => {
                    return self.fail(offset, format!("macro expansion exceeds limit: {MAX_NODES} nodes"));
                }
                Ok(Some(expr)) => return expr,
                Ok(None) => {}
                Err((at, message)) => return self.fail(at, message),
            }
        }
        self.call(id, offset, function, target, args)
    }

    /// Adds a call with a given id.
    pub(super) fn call(
        &mut self,
        id: i64,
        offset: u32,
        function: &str,
        target: Option<Expr>,
        args: &[Expr],
    ) -> Expr {
        let function = self.syntax.intern(function);
        let args = self.syntax.add_exprs(args);
        self.syntax.add(id, offset, Kind::Call { function, target, args })
    }

    /// Adds a chain of `&&` or `||` as a balanced tree. `operators` holds the ids and offsets between the
    /// terms.
    pub(super) fn balanced(&mut self, function: &str, terms: &[Expr], operators: &[(i64, u32)]) -> Expr {
        let middle = operators.len() / 2;
        let Some((id, offset)) = operators.get(middle).copied() else { return terms[0] };
        let left = self.balanced(function, &terms[..=middle], &operators[..middle]);
        let right = self.balanced(function, &terms[middle + 1..], &operators[middle + 1..]);
        self.call(id, offset, function, None, &[left, right])
    }
}

/// Returns the function of a binary operator.
pub(super) fn operator(kind: TokenKind) -> Option<&'static str> {
    Some(match kind {
        TokenKind::Equals => "_==_",
        TokenKind::NotEquals => "_!=_",
        TokenKind::In => "@in",
        TokenKind::Less => "_<_",
        TokenKind::LessEquals => "_<=_",
        TokenKind::Greater => "_>_",
        TokenKind::GreaterEquals => "_>=_",
        TokenKind::Plus => "_+_",
        TokenKind::Minus => "_-_",
        TokenKind::Star => "_*_",
        TokenKind::Slash => "_/_",
        TokenKind::Percent => "_%_",
        _ => return None,
    })
}
