//! Lexer for label selectors.
//!
//! A NUL byte ends the text, or an identifier, as in upstream's lexer, which uses zero for "no more bytes".

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token {
    End,
    OpenParen,
    CloseParen,
    Comma,
    Not,
    Equals,
    DoubleEquals,
    NotEquals,
    GreaterThan,
    LessThan,
    In,
    NotIn,
    Identifier,
}

/// Splits the text; the list always ends with [`Token::End`].
pub(super) fn tokens(text: &str) -> Vec<(Token, &str)> {
    let mut tokens = Vec::new();
    let mut rest = text;
    loop {
        let (token, literal, remaining) = next(rest);
        tokens.push((token, literal));
        if token == Token::End {
            return tokens;
        }
        rest = remaining;
    }
}

fn next(text: &str) -> (Token, &str, &str) {
    let text = text.trim_start_matches(is_space);
    let end = match text.chars().next() {
        None | Some('\0') => return (Token::End, "", ""),
        Some(c) if is_symbol(c) => symbol_len(text),
        Some(_) => text.find(|c| c == '\0' || is_symbol(c) || is_space(c)).unwrap_or(text.len()),
    };
    let (literal, rest) = text.split_at(end);
    (token_of(literal), literal, rest.strip_prefix('\0').unwrap_or(rest))
}

/// Length of a symbol: two bytes for `==` and `!=`.
fn symbol_len(text: &str) -> usize {
    if text.starts_with("==") || text.starts_with("!=") { 2 } else { 1 }
}

fn token_of(literal: &str) -> Token {
    match literal {
        "(" => Token::OpenParen,
        ")" => Token::CloseParen,
        "," => Token::Comma,
        "!" => Token::Not,
        "=" => Token::Equals,
        "==" => Token::DoubleEquals,
        "!=" => Token::NotEquals,
        ">" => Token::GreaterThan,
        "<" => Token::LessThan,
        "in" => Token::In,
        "notin" => Token::NotIn,
        _ => Token::Identifier,
    }
}

fn is_symbol(c: char) -> bool {
    matches!(c, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}
