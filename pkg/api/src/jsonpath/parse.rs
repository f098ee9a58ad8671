//! Parser of templates.

use apimachinery::go_quote::is_printable;
use std::fmt;

use super::unquote::unquote;
use super::{Filter, JsonPath, Node, Slice};

/// Syntax error of a template, with upstream's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParseError {
    /// The text ends within braces.
    UnclosedAction,
    /// `[` without `]`.
    UnterminatedArray,
    /// `[?(` without its end.
    UnterminatedFilter,
    /// `[?(…)` without the last bracket.
    UnclosedFilter,
    /// Unmatched quote.
    UnterminatedQuote,
    /// Character that starts no token.
    Unrecognized(char),
    /// Malformed number.
    Number(String),
    /// Content of brackets that is neither a name nor a range.
    Index(String),
    /// Malformed number in a range.
    IndexNumber(String),
    /// `..` twice.
    Recursive,
    /// Quoted text with unknown escapes.
    Quoted(String),
    /// More than [`JsonPath::STEPS_MAX`] steps.
    TooLong,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParseError::UnclosedAction => f.write_str("unclosed action"),
            ParseError::UnterminatedArray => f.write_str("unterminated array"),
            ParseError::UnterminatedFilter => f.write_str("unterminated filter"),
            ParseError::UnclosedFilter => f.write_str("unclosed array expect ]"),
            ParseError::UnterminatedQuote => f.write_str("unterminated quoted string"),
            ParseError::Unrecognized(c) => {
                write!(f, "unrecognized character in action: U+{:04X}", u32::from(*c))?;
                if is_printable(*c) { write!(f, " '{c}'") } else { Ok(()) }
            }
            ParseError::Number(text) => write!(f, "cannot parse number {text}"),
            ParseError::Index(text) => write!(f, "invalid array index {text}"),
            ParseError::IndexNumber(text) => write!(f, "array index {text} is not a number"),
            ParseError::Recursive => f.write_str("invalid multiple recursive descent"),
            ParseError::Quoted(text) => write!(f, "unquote string {text} error invalid syntax"),
            ParseError::TooLong => write!(f, "more than {} steps", JsonPath::STEPS_MAX),
        }
    }
}

impl std::error::Error for ParseError {}

/// Limit of nested paths. A filter ends at its first closing parenthesis, and a union at its first bracket.
/// So valid paths are not nested much deeper.
const DEPTH_MAX: usize = 8;

/// Parses the parts of a template.
pub(super) fn template(text: &str) -> Result<Vec<Node>, ParseError> {
    let mut steps = JsonPath::STEPS_MAX;
    Reader { rest: text, depth: 0, steps: &mut steps }.parts()
}

struct Reader<'t> {
    rest: &'t str,
    depth: usize,
    /// Remaining steps.
    steps: &'t mut usize,
}

impl<'t> Reader<'t> {
    fn parts(mut self) -> Result<Vec<Node>, ParseError> {
        let mut parts = Vec::new();
        while let Some((text, action)) = self.rest.split_once('{') {
            if !text.is_empty() {
                self.add(&mut parts, Node::Text(text.into()))?;
            }
            self.rest = action;
            let action = self.action()?;
            self.add(&mut parts, Node::Action(action))?;
        }
        if !self.rest.is_empty() {
            let text = Node::Text(self.rest.into());
            self.add(&mut parts, text)?;
        }
        Ok(parts)
    }

    /// Parses up to and including the closing brace.
    fn action(&mut self) -> Result<Vec<Node>, ParseError> {
        let mut nodes = Vec::new();
        loop {
            if let Some(rest) = self.rest.strip_prefix('}') {
                self.rest = rest;
                return Ok(nodes);
            }
            self.step(&mut nodes)?;
        }
    }

    /// Parses a nested path.
    fn inner(&mut self, text: &str) -> Result<Vec<Node>, ParseError> {
        let depth = self.depth.saturating_add(1);
        if depth > DEPTH_MAX {
            return Err(ParseError::TooLong);
        }
        let text = [text, "}"].concat();
        let mut reader = Reader { rest: &text, depth, steps: &mut *self.steps };
        let nodes = reader.action()?;
        // If a brace ends the path too early, upstream continues to parse and discards the result.
        reader.parts()?;
        Ok(nodes)
    }

    fn add(&mut self, nodes: &mut Vec<Node>, node: Node) -> Result<(), ParseError> {
        *self.steps = self.steps.checked_sub(1).ok_or(ParseError::TooLong)?;
        nodes.push(node);
        Ok(())
    }

    fn step(&mut self, nodes: &mut Vec<Node>) -> Result<(), ParseError> {
        if let Some(rest) = self.rest.strip_prefix("[?(") {
            self.rest = rest;
            return self.filter(nodes);
        }
        if let Some(rest) = self.rest.strip_prefix("..") {
            self.rest = rest;
            return self.recursive(nodes);
        }
        let mut chars = self.rest.chars();
        match chars.next() {
            None | Some('\r' | '\n') => return Err(ParseError::UnclosedAction),
            // The current value and the root object are the same: the start of the path.
            Some(' ' | '@' | '$') => self.rest = chars.as_str(),
            Some('[') => {
                self.rest = chars.as_str();
                return self.brackets(nodes);
            }
            Some(quote @ ('"' | '\'')) => return self.quoted(quote, nodes),
            Some('.') => {
                self.rest = chars.as_str();
                return self.field(nodes);
            }
            Some(c) if c == '+' || c == '-' || c.is_numeric() => return self.number(nodes),
            Some(c) if is_word(c) => return self.word(nodes),
            Some(c) => return Err(ParseError::Unrecognized(c)),
        }
        Ok(())
    }

    /// Consumes the text before the first character that matches `ends`.
    fn until(&mut self, ends: impl Fn(char) -> bool) -> &'t str {
        let at = self.rest.find(ends).unwrap_or(self.rest.len());
        let (text, rest) = self.rest.split_at_checked(at).unwrap_or((self.rest, ""));
        self.rest = rest;
        text
    }

    fn word(&mut self, nodes: &mut Vec<Node>) -> Result<(), ParseError> {
        let node = match self.until(is_terminator) {
            "true" => Node::Bool(true),
            "false" => Node::Bool(false),
            word => Node::Identifier(word.into()),
        };
        self.add(nodes, node)
    }

    fn recursive(&mut self, nodes: &mut Vec<Node>) -> Result<(), ParseError> {
        if matches!(nodes.last(), Some(Node::Recursive)) {
            return Err(ParseError::Recursive);
        }
        self.add(nodes, Node::Recursive)?;
        match self.rest.chars().next() {
            Some(c) if is_word(c) => self.field(nodes),
            _ => Ok(()),
        }
    }

    fn number(&mut self, nodes: &mut Vec<Node>) -> Result<(), ParseError> {
        let sign = usize::from(self.rest.starts_with(['+', '-']));
        let digits = self.rest.get(sign..).unwrap_or_default();
        let len = digits.find(|c: char| c != '.' && !c.is_numeric()).unwrap_or(digits.len());
        let (text, rest) = self.rest.split_at_checked(sign.saturating_add(len)).unwrap_or((self.rest, ""));
        self.rest = rest;
        let float = || text.parse().ok().filter(|number: &f64| number.is_finite()).map(Node::Float);
        let number = text.parse().ok().map(Node::Int).or_else(float);
        let number = number.ok_or_else(|| ParseError::Number(text.to_owned()))?;
        self.add(nodes, number)
    }

    fn field(&mut self, nodes: &mut Vec<Node>) -> Result<(), ParseError> {
        let mut name = String::new();
        let mut escaped = false;
        let mut end = self.rest.len();
        for (at, c) in self.rest.char_indices() {
            if !escaped && is_terminator(c) {
                end = at;
                break;
            }
            escaped = !escaped && c == '\\';
            if c != '\\' {
                name.push(c);
            }
        }
        self.rest = self.rest.get(end..).unwrap_or_default();
        self.add(nodes, if name == "*" { Node::Wildcard } else { Node::Field(name.into()) })
    }

    fn quoted(&mut self, quote: char, nodes: &mut Vec<Node>) -> Result<(), ParseError> {
        let mut before = quote;
        for (at, c) in self.rest.char_indices().skip(1) {
            if c == '\n' {
                break;
            }
            if c == quote && before != '\\' {
                let (text, rest) = self.rest.split_at_checked(at.saturating_add(1)).unwrap_or_default();
                self.rest = rest;
                let unquoted = text.get(1..at).and_then(|inner| unquote(inner, quote));
                let unquoted = unquoted.ok_or_else(|| ParseError::Quoted(text.to_owned()))?;
                return self.add(nodes, Node::Text(unquoted.into()));
            }
            before = c;
        }
        Err(ParseError::UnterminatedQuote)
    }

    /// Parses brackets without a filter.
    fn brackets(&mut self, nodes: &mut Vec<Node>) -> Result<(), ParseError> {
        let inside = self.rest.split_once(']').filter(|(inside, _)| !inside.contains('\n'));
        let (inside, rest) = inside.ok_or(ParseError::UnterminatedArray)?;
        self.rest = rest;
        if inside.contains(',') {
            let paths =
                inside.split(',').map(|path| self.inner(&["[", path.trim_matches(' '), "]"].concat()));
            let paths = paths.collect::<Result<_, _>>()?;
            return self.add(nodes, Node::Union(paths));
        }
        let quoted = inside.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
        if let Some(name) = quoted.filter(|name| !name.contains('\'')) {
            let mut names = self.inner(&[".", name].concat())?;
            nodes.append(&mut names);
            return Ok(());
        }
        self.add(nodes, Node::Slice(slice(if inside == "*" { ":" } else { inside })?))
    }

    fn filter(&mut self, nodes: &mut Vec<Node>) -> Result<(), ParseError> {
        let end = end_of_filter(self.rest).ok_or(ParseError::UnterminatedFilter)?;
        let (text, rest) = self.rest.split_at_checked(end).unwrap_or_default();
        self.rest = rest.strip_prefix(")]").ok_or(ParseError::UnclosedFilter)?;
        let filter = match comparison(text) {
            None => Filter { left: self.inner(text)?, comparison: None },
            Some((left, operator, right)) => {
                let left = self.inner(left)?;
                Filter { left, comparison: Some((operator.into(), self.inner(right)?)) }
            }
        };
        self.add(nodes, Node::Filter(Box::new(filter)))
    }
}

/// Returns the position of the parenthesis that ends a filter: the first one outside the first pair of
/// quotes.
fn end_of_filter(text: &str) -> Option<usize> {
    let mut quote = None;
    let mut closed = false;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        match (c, quote) {
            ('\n', _) => return None,
            ('"' | '\'', None) => quote = Some(c),
            ('"' | '\'', Some(quote)) if before != '\\' && c == quote => closed = true,
            (')', _) if quote.is_some() == closed => return Some(at),
            _ => {}
        }
        before = c;
    }
    None
}

/// Splits a comparison into left side, operator and right side. No side may be empty, so the last character
/// of an operator may become the right side.
fn comparison(text: &str) -> Option<(&str, &str, &str)> {
    const OPERATORS: [char; 4] = ['!', '<', '>', '='];
    let (left, rest) = text.split_at_checked(text.find(OPERATORS)?)?;
    let right = rest.trim_start_matches(OPERATORS);
    let right = if right.is_empty() { rest.get(rest.len().checked_sub(1)?..)? } else { right };
    let operator = rest.get(..rest.len().checked_sub(right.len())?)?;
    (!left.is_empty() && !operator.is_empty()).then_some((left, operator, right))
}

/// Parses `first:end:step`; each part is optional.
fn slice(text: &str) -> Result<Slice, ParseError> {
    let mut parts = text.split(':');
    let first = parts.next().unwrap_or_default();
    let end = parts.next();
    let step = parts.next();
    let is_integer =
        |part: &str| part.strip_prefix('-').unwrap_or(part).bytes().all(|byte| byte.is_ascii_digit());
    if parts.next().is_some() || ![Some(first), end, step].into_iter().flatten().all(is_integer) {
        return Err(ParseError::Index(text.to_owned()));
    }
    let integer = |part: &str| match part {
        "" => Ok(None),
        _ => part.parse::<i64>().map(Some).map_err(|_| ParseError::IndexNumber(part.to_owned())),
    };
    let first = integer(first)?;
    match end {
        None => {
            let end = first.unwrap_or_default().wrapping_add(1);
            Ok(Slice { first, end: Some(end), single: true, step: None })
        }
        Some(end) => {
            Ok(Slice { first, end: integer(end)?, single: false, step: integer(step.unwrap_or_default())? })
        }
    }
}

/// True for a character that ends a word or a name.
fn is_terminator(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}')
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}
