//! Lexer: longest match, as in cel-go's generated lexer.

/// Token kinds, numbered as in cel-go's grammar. The numbers order lists of expected tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Kind {
    Eof = 0,
    Equals = 1,
    NotEquals,
    In,
    Less,
    LessEquals,
    GreaterEquals,
    Greater,
    And,
    Or,
    LeftBracket,
    RightBracket,
    LeftBrace,
    RightBrace,
    LeftParen,
    RightParen,
    Dot,
    Comma,
    Minus,
    Not,
    Question,
    Colon,
    Plus,
    Star,
    Slash,
    Percent,
    True,
    False,
    Null,
    Float = 31,
    Int,
    Uint,
    String,
    Bytes,
    Identifier,
    EscapedIdentifier,
}

/// A token and its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Kind of the token.
    pub kind: Kind,
    /// Offset of its first code point, in code points.
    pub offset: u32,
    /// Offset of its first byte.
    pub start: u32,
    /// Offset behind its last byte.
    pub end: u32,
}

impl Token {
    /// Returns the text of the token.
    pub fn text<'a>(&self, text: &'a str) -> &'a str {
        &text[self.start as usize..self.end as usize]
    }
}

/// Unrecognized text: from the expected start of a token to the first impossible character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unrecognized {
    /// Offset of its first code point, in code points.
    pub offset: u32,
    /// Offset of its first byte.
    pub start: u32,
    /// Offset behind its last byte.
    pub end: u32,
}

/// Reads tokens from a text.
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    text: &'a str,
    position: usize,
    offset: usize,
}

/// End of a string literal, or the byte at which it became invalid.
type Literal = Result<usize, usize>;

impl<'a> Lexer<'a> {
    /// Creates a lexer at the start of a text.
    pub fn new(text: &'a str) -> Lexer<'a> {
        Lexer { text, position: 0, offset: 0 }
    }

    /// Returns the next token, or [`Kind::Eof`] repeatedly at the end. Unrecognized text is returned as an
    /// error and skipped.
    pub fn next_token(&mut self) -> Result<Token, Unrecognized> {
        self.skip_hidden();
        let start = self.position;
        let offset = self.offset;
        let recognized = self.recognize(start);
        let end = match recognized {
            Ok((_, end)) => end,
            Err(dead) => dead + self.text[dead..].chars().next().map_or(0, char::len_utf8),
        };
        self.advance(end);
        let offset = offset as u32;
        let start = start as u32;
        let end = end as u32;
        match recognized {
            Ok((kind, _)) => Ok(Token { kind, offset, start, end }),
            Err(_) => Err(Unrecognized { offset, start, end }),
        }
    }

    fn advance(&mut self, end: usize) {
        let passed = &self.text[self.position..end];
        self.offset += if passed.is_ascii() { passed.len() } else { passed.chars().count() };
        self.position = end;
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(0)
    }

    /// Returns the offset behind a run of bytes that satisfy a predicate.
    fn run(&self, from: usize, holds: impl Fn(u8) -> bool) -> usize {
        let bytes = &self.text.as_bytes()[from..];
        from + bytes.iter().position(|byte| !holds(*byte)).unwrap_or(bytes.len())
    }

    fn skip_hidden(&mut self) {
        loop {
            let blank = |byte| matches!(byte, b'\t' | b' ' | b'\r' | b'\n' | 0x0c);
            let mut end = self.run(self.position, blank);
            if self.text[end..].starts_with("//") {
                end = self.run(end, |byte| byte != b'\n');
            }
            if end == self.position {
                return;
            }
            self.advance(end);
        }
    }

    /// Returns the longest token at this offset, or the byte at which no token was possible any more.
    fn recognize(&self, at: usize) -> Result<(Kind, usize), usize> {
        if at == self.text.len() {
            return Ok((Kind::Eof, at));
        }
        let first = self.byte(at);
        match first {
            b'r' | b'R' | b'b' | b'B' => Ok(self.prefixed(at)),
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => Ok(self.identifier(at)),
            b'0'..=b'9' => Ok(self.number(at)),
            b'.' if self.byte(at + 1).is_ascii_digit() => {
                let end = self.run(at + 1, |byte| byte.is_ascii_digit());
                Ok((Kind::Float, self.exponent(end).unwrap_or(end)))
            }
            b'"' | b'\'' => self.quoted(at).map(|end| (Kind::String, end)),
            b'`' => self.escaped_identifier(at),
            _ => self.operator(at, first),
        }
    }

    fn operator(&self, at: usize, first: u8) -> Result<(Kind, usize), usize> {
        let second = self.byte(at + 1);
        let double = match (first, second) {
            (b'=', b'=') => Some(Kind::Equals),
            (b'!', b'=') => Some(Kind::NotEquals),
            (b'<', b'=') => Some(Kind::LessEquals),
            (b'>', b'=') => Some(Kind::GreaterEquals),
            (b'&', b'&') => Some(Kind::And),
            (b'|', b'|') => Some(Kind::Or),
            _ => None,
        };
        if let Some(kind) = double {
            return Ok((kind, at + 2));
        }
        let kind = match first {
            b'<' => Kind::Less,
            b'>' => Kind::Greater,
            b'[' => Kind::LeftBracket,
            b']' => Kind::RightBracket,
            b'{' => Kind::LeftBrace,
            b'}' => Kind::RightBrace,
            b'(' => Kind::LeftParen,
            b')' => Kind::RightParen,
            b'.' => Kind::Dot,
            b',' => Kind::Comma,
            b'-' => Kind::Minus,
            b'!' => Kind::Not,
            b'?' => Kind::Question,
            b':' => Kind::Colon,
            b'+' => Kind::Plus,
            b'*' => Kind::Star,
            b'/' => Kind::Slash,
            b'%' => Kind::Percent,
            b'=' | b'&' | b'|' => return Err(at + 1),
            _ => return Err(at),
        };
        Ok((kind, at + 1))
    }

    fn identifier(&self, at: usize) -> (Kind, usize) {
        let end = self.run(at, is_word);
        let kind = match &self.text[at..end] {
            "in" => Kind::In,
            "true" => Kind::True,
            "false" => Kind::False,
            "null" => Kind::Null,
            _ => Kind::Identifier,
        };
        (kind, end)
    }

    /// Lexes text that starts with `b` or `r`: a literal such as `br'…'`, or an identifier.
    fn prefixed(&self, at: usize) -> (Kind, usize) {
        let bytes = matches!(self.byte(at), b'b' | b'B');
        let kind = if bytes { Kind::Bytes } else { Kind::String };
        let mut quote = at + usize::from(bytes);
        let raw = matches!(self.byte(quote), b'r' | b'R');
        quote += usize::from(raw);
        if matches!(self.byte(quote), b'"' | b'\'') {
            let literal = if raw { self.raw(quote) } else { self.quoted(quote) };
            if let Ok(end) = literal {
                return (kind, end);
            }
        }
        self.identifier(at)
    }

    fn number(&self, at: usize) -> (Kind, usize) {
        let suffix = |end: usize| match self.byte(end) {
            b'u' | b'U' => (Kind::Uint, end + 1),
            _ => (Kind::Int, end),
        };
        if self.byte(at) == b'0' && self.byte(at + 1) == b'x' && self.byte(at + 2).is_ascii_hexdigit() {
            return suffix(self.run(at + 2, |byte| byte.is_ascii_hexdigit()));
        }
        let end = self.run(at, |byte| byte.is_ascii_digit());
        if self.byte(end) == b'.' && self.byte(end + 1).is_ascii_digit() {
            let fraction = self.run(end + 1, |byte| byte.is_ascii_digit());
            return (Kind::Float, self.exponent(fraction).unwrap_or(fraction));
        }
        self.exponent(end).map_or_else(|| suffix(end), |end| (Kind::Float, end))
    }

    fn exponent(&self, at: usize) -> Option<usize> {
        if !matches!(self.byte(at), b'e' | b'E') {
            return None;
        }
        let digits = at + 1 + usize::from(matches!(self.byte(at + 1), b'+' | b'-'));
        let end = self.run(digits, |byte| byte.is_ascii_digit());
        (end > digits).then_some(end)
    }

    fn escaped_identifier(&self, at: usize) -> Result<(Kind, usize), usize> {
        let end = self.run(at + 1, |byte| is_word(byte) || matches!(byte, b'.' | b'-' | b'/' | b' '));
        match self.byte(end) {
            b'`' if end > at + 1 => Ok((Kind::EscapedIdentifier, end + 1)),
            _ => Err(end),
        }
    }

    /// Lexes a literal with escapes, in single or triple quotes. If triple quotes are unterminated, the first
    /// two are an empty literal.
    fn quoted(&self, at: usize) -> Literal {
        let quote = self.byte(at);
        if self.is_triple(at, quote) {
            return Ok(self.quoted_until(at + 3, |at| self.is_triple(at, quote), 3).unwrap_or(at + 2));
        }
        self.quoted_until(at + 1, |at| self.byte(at) == quote, 1)
    }

    /// Reads characters and escapes up to the closing quotes. `quotes` is one, then lines must not end, or
    /// three.
    fn quoted_until(&self, mut at: usize, closes: impl Fn(usize) -> bool, quotes: usize) -> Literal {
        while at < self.text.len() {
            if closes(at) {
                return Ok(at + quotes);
            }
            match self.byte(at) {
                b'\\' => at = self.escape(at + 1)?,
                b'\n' | b'\r' if quotes == 1 => return Err(at),
                _ => at += 1,
            }
        }
        Err(at)
    }

    fn raw(&self, at: usize) -> Literal {
        let quote = self.byte(at);
        if self.is_triple(at, quote) {
            let closing = if quote == b'"' { "\"\"\"" } else { "'''" };
            return Ok(self.text[at + 3..].find(closing).map_or(at + 2, |length| at + 3 + length + 3));
        }
        let end = self.run(at + 1, |byte| byte != quote && !matches!(byte, b'\n' | b'\r'));
        if self.byte(end) == quote { Ok(end + 1) } else { Err(end) }
    }

    fn is_triple(&self, at: usize, quote: u8) -> bool {
        (at..at + 3).all(|at| self.byte(at) == quote)
    }

    /// Returns the end of an escape, starting at the character after the backslash.
    fn escape(&self, at: usize) -> Literal {
        let digits = |count: usize, holds: fn(&u8) -> bool| {
            let wrong = (at + 1..=at + count).find(|at| !holds(&self.byte(*at)));
            wrong.map_or(Ok(at + 1 + count), Err)
        };
        match self.byte(at) {
            b'a' | b'b' | b'f' | b'n' | b'r' | b't' | b'v' | b'"' | b'\'' | b'\\' | b'?' | b'`' => Ok(at + 1),
            b'x' | b'X' => digits(2, u8::is_ascii_hexdigit),
            b'u' => digits(4, u8::is_ascii_hexdigit),
            b'U' => digits(8, u8::is_ascii_hexdigit),
            b'0'..=b'3' => digits(2, |byte| matches!(byte, b'0'..=b'7')),
            _ => Err(at),
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}
