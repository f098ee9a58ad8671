//! Parser of valid expressions: precedence climbing, from tokens to nodes in one pass. It aborts at the first
//! error; the ANTLR interpreter then produces the errors.

use super::Options;
use super::builder::{Builder, operator};
use crate::lexer::{Kind as TokenKind, Lexer, Token};
use crate::source::Source;
use crate::syntax::{Entry, Expr, Key, Kind, Syntax};

/// Parses a text without errors; `None` if there is any error.
pub(super) fn parse(source: &Source<'_>, options: &Options) -> Option<Syntax> {
    let mut climber =
        Climber { tokens: tokens(source.text())?, next: 0, depth: 0, builder: Builder::new(source, options) };
    let root = climber.expr()?;
    climber.expect(TokenKind::Eof)?;
    let mut builder = climber.builder;
    if !builder.errors.is_empty() || root.height > options.max_depth {
        return None;
    }
    builder.syntax.set_root(root.expr);
    Some(builder.syntax)
}

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut lexer = Lexer::new(text);
    let mut tokens = Vec::with_capacity(text.len() / 4 + 2);
    loop {
        let token = lexer.next_token().ok()?;
        tokens.push(token);
        if token.kind == TokenKind::Eof {
            return Some(tokens);
        }
    }
}

/// A node and its nesting depth as cel-go counts it: operators with two or three operands, selections,
/// indices and member calls.
#[derive(Clone, Copy)]
struct Parsed {
    expr: Expr,
    height: u32,
}

struct Climber<'a> {
    tokens: Vec<Token>,
    next: usize,
    /// Number of open `calc` rules of the grammar, which is the most deeply nested rule.
    depth: u32,
    builder: Builder<'a>,
}

impl Climber<'_> {
    fn peek(&self) -> TokenKind {
        self.tokens[self.next].kind
    }

    /// Returns the kind of a later token.
    fn peek_at(&self, ahead: usize) -> TokenKind {
        self.tokens.get(self.next + ahead).map_or(TokenKind::Eof, |token| token.kind)
    }

    fn next_token(&mut self) -> Token {
        let token = self.tokens[self.next];
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    fn eat(&mut self, kind: TokenKind) -> Option<Token> {
        (self.peek() == kind).then(|| self.next_token())
    }

    fn expect(&mut self, kind: TokenKind) -> Option<Token> {
        self.eat(kind)
    }

    fn expr(&mut self) -> Option<Parsed> {
        let condition = self.chain(TokenKind::Or, "_||_", Self::and)?;
        let Some(question) = self.eat(TokenKind::Question) else { return Some(condition) };
        let id = self.builder.id();
        let then = self.chain(TokenKind::Or, "_||_", Self::and)?;
        self.expect(TokenKind::Colon)?;
        // This recursion does not pass through `calc`, so it needs its own bound.
        self.enter()?;
        let otherwise = self.expr()?;
        self.depth -= 1;
        let args = [condition.expr, then.expr, otherwise.expr];
        let expr = self.builder.call_or_macro(id, question.offset, "_?_:_", None, &args);
        Some(Parsed { expr, height: 1 + condition.height.max(then.height).max(otherwise.height) })
    }

    fn and(&mut self) -> Option<Parsed> {
        self.chain(TokenKind::And, "_&&_", Self::relation)
    }

    /// Parses terms between `&&` or `||`.
    fn chain(
        &mut self,
        kind: TokenKind,
        function: &str,
        term: fn(&mut Self) -> Option<Parsed>,
    ) -> Option<Parsed> {
        let first = term(self)?;
        if self.peek() != kind {
            return Some(first);
        }
        let mut terms = vec![first.expr];
        let mut operators = Vec::new();
        let mut height = first.height;
        while let Some(token) = self.eat(kind) {
            let next = term(self)?;
            operators.push((self.builder.id(), token.offset));
            terms.push(next.expr);
            height = height.max(next.height);
        }
        Some(Parsed { expr: self.builder.balanced(function, &terms, &operators), height })
    }

    fn relation(&mut self) -> Option<Parsed> {
        let mut left = self.calc(0)?;
        while matches!(self.peek() as u8, 1..=7) {
            let token = self.next_token();
            left = self.binary(left, token, 0)?;
        }
        Some(left)
    }

    /// Parses sums and products, up to an operator with a precedence below `least`.
    fn calc(&mut self, least: u8) -> Option<Parsed> {
        self.enter()?;
        let mut left = self.unary()?;
        loop {
            let binds = match self.peek() {
                TokenKind::Star | TokenKind::Slash | TokenKind::Percent => 2,
                TokenKind::Plus | TokenKind::Minus => 1,
                _ => 0,
            };
            if binds == 0 || binds < least {
                self.depth -= 1;
                return Some(left);
            }
            let token = self.next_token();
            left = self.binary(left, token, binds + 1)?;
        }
    }

    fn binary(&mut self, left: Parsed, token: Token, least: u8) -> Option<Parsed> {
        let id = self.builder.id();
        let right = self.calc(least)?;
        let args = [left.expr, right.expr];
        let expr = self.builder.call_or_macro(id, token.offset, operator(token.kind)?, None, &args);
        Some(Parsed { expr, height: 1 + left.height.max(right.height) })
    }

    fn enter(&mut self) -> Option<()> {
        self.depth += 1;
        (self.depth <= self.builder.options.max_depth).then_some(())
    }

    fn unary(&mut self) -> Option<Parsed> {
        let token = self.tokens[self.next];
        let function = match token.kind {
            TokenKind::Not => "!_",
            TokenKind::Minus if !self.is_negative_number() => "-_",
            _ => return self.member(),
        };
        let mut count = 0;
        while self.eat(token.kind).is_some() {
            count += 1;
        }
        if count % 2 == 0 {
            return self.member();
        }
        let id = self.builder.id();
        let operand = self.member()?;
        let expr = self.builder.call_or_macro(id, token.offset, function, None, &[operand.expr]);
        Some(Parsed { expr, ..operand })
    }

    /// Returns true if the next token is a minus that is the sign of a literal.
    fn is_negative_number(&self) -> bool {
        self.peek() == TokenKind::Minus && matches!(self.peek_at(1), TokenKind::Int | TokenKind::Float)
    }

    fn member(&mut self) -> Option<Parsed> {
        let mut sub = self.primary()?;
        loop {
            sub = match self.peek() {
                TokenKind::Dot
                    if self.peek_at(1) == TokenKind::Identifier
                        && self.peek_at(2) == TokenKind::LeftParen =>
                {
                    self.member_call(sub)?
                }
                TokenKind::Dot => self.select(sub)?,
                TokenKind::LeftBracket => self.index(sub)?,
                _ => return Some(sub),
            };
        }
    }

    fn member_call(&mut self, target: Parsed) -> Option<Parsed> {
        self.next_token();
        let name = self.next_token();
        let open = self.next_token();
        let id = self.builder.id();
        let (args, height) = self.arguments()?;
        let function = name.text(self.builder.source.text());
        let expr = self.builder.call_or_macro(id, open.offset, function, Some(target.expr), &args);
        Some(Parsed { expr, height: 1 + height.max(target.height) })
    }

    fn select(&mut self, operand: Parsed) -> Option<Parsed> {
        let dot = self.next_token();
        let optional = self.eat(TokenKind::Question).is_some();
        let field = self.field()?;
        let name = self.builder.field(field);
        let expr = self.builder.select(operand.expr, dot, optional, field.offset, name);
        Some(Parsed { expr, height: operand.height + 1 })
    }

    fn field(&mut self) -> Option<Token> {
        self.eat(TokenKind::Identifier).or_else(|| self.eat(TokenKind::EscapedIdentifier))
    }

    fn index(&mut self, target: Parsed) -> Option<Parsed> {
        let bracket = self.next_token();
        let optional = self.eat(TokenKind::Question).is_some();
        let id = self.builder.id();
        let index = self.expr()?;
        self.expect(TokenKind::RightBracket)?;
        let expr = self.builder.index(id, bracket, optional, target.expr, index.expr);
        Some(Parsed { expr, height: 1 + target.height.max(index.height) })
    }

    /// Parses arguments and the closing parenthesis.
    fn arguments(&mut self) -> Option<(Vec<Expr>, u32)> {
        let mut args = Vec::new();
        let mut height = 0;
        if self.eat(TokenKind::RightParen).is_some() {
            return Some((args, height));
        }
        loop {
            let arg = self.expr()?;
            args.push(arg.expr);
            height = height.max(arg.height);
            if self.eat(TokenKind::Comma).is_none() {
                self.expect(TokenKind::RightParen)?;
                return Some((args, height));
            }
        }
    }

    fn primary(&mut self) -> Option<Parsed> {
        let token = self.next_token();
        match token.kind {
            TokenKind::Identifier => self.name_or_call(false, token.offset, token),
            TokenKind::Dot => {
                let name = self.expect(TokenKind::Identifier)?;
                self.name_or_call(true, token.offset, name)
            }
            TokenKind::LeftParen => {
                let inner = self.expr()?;
                self.expect(TokenKind::RightParen)?;
                Some(inner)
            }
            TokenKind::LeftBracket => self.list(token),
            TokenKind::LeftBrace => self.map(token),
            TokenKind::Minus => {
                let number = self.next_token();
                let is_number = matches!(number.kind, TokenKind::Int | TokenKind::Float);
                is_number.then(|| self.builder.literal(true, token.offset, number)).map(leaf)
            }
            kind if is_literal(kind) => Some(leaf(self.builder.literal(false, token.offset, token))),
            _ => None,
        }
    }

    /// Parses an element that starts with a name: a variable, a call, or a message.
    fn name_or_call(&mut self, dot: bool, start: u32, name: Token) -> Option<Parsed> {
        if self.peek() == TokenKind::LeftParen {
            let function = self.builder.name(dot, start, name).ok()?;
            let open = self.next_token();
            let id = self.builder.id();
            let (args, height) = self.arguments()?;
            let expr = self.builder.call_or_macro(id, open.offset, &function, None, &args);
            return Some(Parsed { expr, height });
        }
        let mut dots = 0;
        while self.peek_at(2 * dots) == TokenKind::Dot && self.peek_at(2 * dots + 1) == TokenKind::Identifier
        {
            dots += 1;
        }
        if self.peek_at(2 * dots) == TokenKind::LeftBrace {
            return self.message(dot, name, dots);
        }
        Some(leaf(self.builder.ident(dot, start, name)))
    }

    fn message(&mut self, dot: bool, name: Token, dots: usize) -> Option<Parsed> {
        let mut full = if dot { ".".to_owned() } else { String::new() };
        full.push_str(name.text(self.builder.source.text()));
        for _ in 0..dots {
            self.next_token();
            full.push('.');
            full.push_str(self.next_token().text(self.builder.source.text()));
        }
        let brace = self.next_token();
        let id = self.builder.id();
        let (fields, height) = self.entries(|climber| {
            let field = climber.field()?;
            let name = climber.builder.field(field).ok()?;
            Some((Key::Field(climber.builder.syntax.intern(name)), 0))
        })?;
        let fields = self.builder.syntax.add_entries(&fields);
        let name = self.builder.syntax.intern(&full);
        let expr = self.builder.syntax.add(id, brace.offset, Kind::Struct { name, fields });
        Some(Parsed { expr, height })
    }

    fn map(&mut self, brace: Token) -> Option<Parsed> {
        let id = self.builder.id();
        let (entries, height) = self.entries(|climber| {
            let key = climber.expr()?;
            Some((Key::Expr(key.expr), key.height))
        })?;
        let entries = self.builder.syntax.add_entries(&entries);
        Some(Parsed { expr: self.builder.syntax.add(id, brace.offset, Kind::Map(entries)), height })
    }

    /// Parses entries and the closing brace, with an optional trailing comma.
    fn entries(&mut self, key: impl Fn(&mut Self) -> Option<(Key, u32)>) -> Option<(Vec<Entry>, u32)> {
        let mut entries = Vec::new();
        let mut height = 0;
        loop {
            let comma = if entries.is_empty() { None } else { Some(self.eat(TokenKind::Comma)) };
            if entries.is_empty()
                && self.peek() == TokenKind::Comma
                && self.peek_at(1) == TokenKind::RightBrace
            {
                self.next_token();
            }
            if self.eat(TokenKind::RightBrace).is_some() {
                return Some((entries, height));
            }
            if comma == Some(None) {
                return None;
            }
            let id = self.builder.id();
            let optional = self.optional()?;
            let (key, key_height) = key(self)?;
            let offset = self.expect(TokenKind::Colon)?.offset;
            let value = self.expr()?;
            height = height.max(key_height).max(value.height);
            entries.push(Entry { id, offset, key, value: value.expr, optional });
        }
    }

    fn list(&mut self, bracket: Token) -> Option<Parsed> {
        let id = self.builder.id();
        let mut elements = Vec::new();
        let mut places = Vec::new();
        let mut height = 0;
        if self.peek() == TokenKind::Comma && self.peek_at(1) == TokenKind::RightBracket {
            self.next_token();
        }
        while self.eat(TokenKind::RightBracket).is_none() {
            if self.optional()? {
                places.push(elements.len() as u32);
            }
            let element = self.expr()?;
            elements.push(element.expr);
            height = height.max(element.height);
            if self.peek() != TokenKind::RightBracket {
                self.expect(TokenKind::Comma)?;
            }
        }
        let elements = self.builder.syntax.add_exprs(&elements);
        let optional = self.builder.syntax.add_optional_indices(&places);
        let expr = self.builder.syntax.add(id, bracket.offset, Kind::List { elements, optional });
        Some(Parsed { expr, height })
    }

    /// Consumes a question mark if present. Fails if optional syntax is not allowed.
    fn optional(&mut self) -> Option<bool> {
        let optional = self.eat(TokenKind::Question).is_some();
        (!optional || self.builder.options.optional_syntax).then_some(optional)
    }
}

fn leaf(expr: Expr) -> Parsed {
    Parsed { expr, height: 0 }
}

fn is_literal(kind: TokenKind) -> bool {
    matches!(kind as u8, 26..=28 | 31..=35)
}
