//! Determines the possible styles of a string.

use super::resolve::{Scalar, is_sexagesimal, plain};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
}

/// Chooses the style of a string. A simple key must stay on one line.
pub(super) fn style(text: &str, simple_key: bool) -> Style {
    let shape = Shape::of(text);
    let mut style = match plain(text) {
        _ if text.contains('\n') => Style::Literal,
        Scalar::Text if !is_sexagesimal(text) => Style::Plain,
        _ => Style::DoubleQuoted,
    };
    if simple_key && shape.multiline {
        style = Style::DoubleQuoted;
    }
    if style == Style::Plain && !shape.plain_allowed {
        style = Style::SingleQuoted;
    }
    if style == Style::SingleQuoted && !shape.single_quoted_allowed {
        style = Style::DoubleQuoted;
    }
    if style == Style::Literal && (!shape.literal_allowed || simple_key) {
        style = Style::DoubleQuoted;
    }
    style
}

/// True if a key needs no question mark.
pub(super) fn is_simple_key(text: &str) -> bool {
    const LENGTH_MAX: usize = 128;
    text.len() <= LENGTH_MAX && !text.chars().any(is_break)
}

/// Properties of a string's characters.
struct Shape {
    multiline: bool,
    plain_allowed: bool,
    single_quoted_allowed: bool,
    literal_allowed: bool,
}

impl Shape {
    fn of(text: &str) -> Shape {
        let mut special = false;
        let mut multiline = false;
        let mut space_after_break = false;
        let mut break_after_space = false;
        let mut previous = None;
        for c in text.chars() {
            special |= !is_printable(c);
            multiline |= is_break(c);
            space_after_break |= c == ' ' && previous.is_some_and(is_break);
            break_after_space |= is_break(c) && previous == Some(' ');
            previous = Some(c);
        }
        let first = text.chars().next();
        let edge_space = first == Some(' ') || previous == Some(' ');
        let forbidden = break_after_space || special;
        Shape {
            multiline,
            plain_allowed: !(forbidden || multiline || edge_space || has_indicators(text)),
            single_quoted_allowed: !(forbidden || space_after_break),
            literal_allowed: !(forbidden || previous == Some(' ') || text.is_empty()),
        }
    }
}

/// True if the text contains syntax characters.
fn has_indicators(text: &str) -> bool {
    let blank_or_end = |c: Option<char>| matches!(c, None | Some(' ' | '\t'));
    let second = text.chars().nth(1);
    let at_start = match text.chars().next() {
        Some(
            '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%' | '@' | '`',
        ) => true,
        Some('?' | ':' | '-') => blank_or_end(second),
        _ => false,
    };
    let inside = || {
        let mut chars = text.chars().peekable();
        let mut previous = chars.next();
        while let Some(c) = chars.next() {
            let after_blank = previous.is_some_and(|p| matches!(p, ' ' | '\t' | '\0') || is_break(p));
            if c == ':' && blank_or_end(chars.peek().copied()) || c == '#' && after_blank {
                return true;
            }
            previous = Some(c);
        }
        false
    };
    at_start || text.starts_with("---") || text.starts_with("...") || inside()
}

pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// True for characters that need no escape. Characters beyond the basic plane need one.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}') && c != '\u{feff}'
}
