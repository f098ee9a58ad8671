//! YAML emitter with upstream's layout: two spaces per level, lists not indented below their key, lines
//! folded at the first space after column 80.

use std::borrow::Cow;
use std::collections::BTreeMap;

use apimachinery::go_number::general;

use super::analyze::{Style, is_break, is_printable, is_simple_key, style};
use super::natural_order::Key;
use super::resolve::{Scalar, plain};
use crate::json;
use crate::json::scan::Scanner;

/// Lines are folded at the first space beyond this column.
const WIDTH: usize = 80;
/// Spaces per level.
const INDENT: usize = 2;

/// Writes JSON text as a YAML document.
pub(super) fn document(text: &[u8], out: &mut Vec<u8>) -> Result<(), json::Error> {
    let mut scan = Scanner::new(text);
    let node = node(&mut scan)?;
    scan.end()?;
    let mut emitter = Emitter { out, column: 0, indent: None, whitespace: true, indention: true };
    emitter.node(&node, false);
    emitter.write_indent();
    Ok(())
}

enum Node<'a> {
    Word(&'static str),
    Number(&'a str),
    Text(Cow<'a, str>),
    List(Vec<Node<'a>>),
    Map(BTreeMap<Key<'a>, Node<'a>>),
}

fn node<'a>(scan: &mut Scanner<'a>) -> Result<Node<'a>, json::Error> {
    match scan.value_start()? {
        b'{' => {
            scan.open()?;
            let mut members = BTreeMap::new();
            let mut first = true;
            while let Some(name) = scan.next_member(first)? {
                first = false;
                let value = node(scan)?;
                members.insert(Key(name.text()), value);
            }
            Ok(Node::Map(members))
        }
        b'[' => {
            scan.open()?;
            let mut items = Vec::new();
            while scan.next_item(items.is_empty())? {
                items.push(node(scan)?);
            }
            Ok(Node::List(items))
        }
        b'"' => Ok(Node::Text(scan.string()?.text())),
        b't' => scan.word().map(|()| Node::Word("true")),
        b'f' => scan.word().map(|()| Node::Word("false")),
        b'n' => scan.word().map(|()| Node::Word("null")),
        _ => scan.number().map(Node::Number),
    }
}

struct Emitter<'a> {
    out: &'a mut Vec<u8>,
    /// In characters.
    column: usize,
    /// Column of the open collection; `None` outside of collections.
    indent: Option<usize>,
    /// True if the last character was white space.
    whitespace: bool,
    /// True if this line contains only indentation and indicators.
    indention: bool,
}

impl Emitter<'_> {
    fn node(&mut self, node: &Node<'_>, in_map: bool) {
        match node {
            Node::Word(word) => self.plain(word, true),
            Node::Number(number) => self.plain(&number_text(number), true),
            Node::Text(text) => self.scalar(text, false),
            Node::List(items) if items.is_empty() => self.empty(b"[", b"]"),
            Node::Map(members) if members.is_empty() => self.empty(b"{", b"}"),
            Node::List(items) => self.list(items, in_map),
            Node::Map(members) => self.map(members),
        }
    }

    fn list(&mut self, items: &[Node<'_>], in_map: bool) {
        let outer = self.indent;
        if !in_map || self.indention {
            self.indent = Some(outer.map_or(0, |indent| indent + INDENT));
        }
        for item in items {
            self.write_indent();
            self.indicator(b"-", true, false, true);
            self.node(item, false);
        }
        self.indent = outer;
    }

    fn map(&mut self, members: &BTreeMap<Key<'_>, Node<'_>>) {
        let outer = self.indent;
        self.indent = Some(outer.map_or(0, |indent| indent + INDENT));
        for (Key(key), value) in members {
            self.write_indent();
            if is_simple_key(key) {
                self.scalar(key, true);
                self.indicator(b":", false, false, false);
            } else {
                self.indicator(b"?", true, false, true);
                self.scalar(key, false);
                self.write_indent();
                self.indicator(b":", true, false, true);
            }
            self.node(value, true);
        }
        self.indent = outer;
    }

    fn empty(&mut self, open: &[u8], close: &[u8]) {
        self.indicator(open, true, true, false);
        self.indicator(close, false, false, false);
    }

    fn scalar(&mut self, text: &str, simple_key: bool) {
        let outer = self.indent;
        self.indent = Some(outer.map_or(INDENT, |indent| indent + INDENT));
        match style(text, simple_key) {
            Style::Plain => self.plain(text, !simple_key),
            Style::SingleQuoted => self.single_quoted(text, !simple_key),
            Style::DoubleQuoted => self.double_quoted(text, !simple_key),
            Style::Literal => self.literal(text),
        }
        self.indent = outer;
    }

    fn plain(&mut self, text: &str, fold: bool) {
        if !self.whitespace {
            self.put(' ');
        }
        let mut after_space = false;
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            if c == ' ' && fold && !after_space && self.column > WIDTH && chars.peek() != Some(&' ') {
                self.write_indent();
            } else {
                self.put(c);
                self.indention &= c == ' ';
            }
            after_space = c == ' ';
        }
        self.whitespace = false;
        self.indention = false;
    }

    fn single_quoted(&mut self, text: &str, fold: bool) {
        self.indicator(b"'", true, false, false);
        let mut after_space = false;
        let mut after_break = false;
        let mut chars = text.chars().enumerate().peekable();
        while let Some((at, c)) = chars.next() {
            let next = chars.peek().map(|&(_, next)| next);
            if c == ' ' {
                let folds = fold && !after_space && self.column > WIDTH && at > 0;
                if folds && next.is_some_and(|next| next != ' ') {
                    self.write_indent();
                } else {
                    self.put(c);
                }
                after_space = true;
                continue;
            }
            if is_break(c) {
                if !after_break && c == '\n' {
                    self.line_break();
                }
                self.put_break(c);
                self.indention = true;
                after_break = true;
                continue;
            }
            if after_break {
                self.write_indent();
            }
            if c == '\'' {
                self.put('\'');
            }
            self.put(c);
            self.indention = false;
            (after_space, after_break) = (false, false);
        }
        self.indicator(b"'", false, false, false);
    }

    fn double_quoted(&mut self, text: &str, fold: bool) {
        self.indicator(b"\"", true, false, false);
        let mut after_space = false;
        let mut chars = text.chars().enumerate().peekable();
        while let Some((at, c)) = chars.next() {
            let next = chars.peek().map(|&(_, next)| next);
            if !is_printable(c) || is_break(c) || matches!(c, '"' | '\\') {
                self.escaped(c);
                after_space = false;
            } else if c == ' ' && fold && !after_space && self.column > WIDTH && at > 0 && next.is_some() {
                self.write_indent();
                if next == Some(' ') {
                    self.put('\\');
                }
                after_space = true;
            } else {
                self.put(c);
                after_space = c == ' ';
            }
        }
        self.indicator(b"\"", false, false, false);
    }

    fn escaped(&mut self, c: char) {
        let short = match c {
            '\0' => '0',
            '\u{7}' => 'a',
            '\u{8}' => 'b',
            '\t' => 't',
            '\n' => 'n',
            '\u{b}' => 'v',
            '\u{c}' => 'f',
            '\r' => 'r',
            '\u{1b}' => 'e',
            '"' | '\\' => c,
            '\u{85}' => 'N',
            '\u{a0}' => '_',
            '\u{2028}' => 'L',
            '\u{2029}' => 'P',
            _ => {
                let code = u32::from(c);
                let escape = match code {
                    0..=0xff => format!("\\x{code:02X}"),
                    0x100..=0xffff => format!("\\u{code:04X}"),
                    _ => format!("\\U{code:08X}"),
                };
                escape.chars().for_each(|c| self.put(c));
                return;
            }
        };
        self.put('\\');
        self.put(short);
    }

    fn literal(&mut self, text: &str) {
        self.indicator(b"|", true, false, false);
        if text.starts_with(|c| c == ' ' || is_break(c)) {
            self.indicator(b"2", false, false, false);
        }
        let mut backwards = text.chars().rev();
        match (backwards.next(), backwards.next()) {
            (Some(last), _) if !is_break(last) => self.indicator(b"-", false, false, false),
            (Some(_), Some(before)) if !is_break(before) => {}
            _ => self.indicator(b"+", false, false, false),
        }
        self.line_break();
        self.indention = true;
        self.whitespace = true;
        let mut after_break = true;
        for c in text.chars() {
            if is_break(c) {
                self.put_break(c);
                self.indention = true;
                after_break = true;
            } else {
                if after_break {
                    self.write_indent();
                }
                self.put(c);
                self.indention = false;
                after_break = false;
            }
        }
    }

    /// Moves to the indentation of the open collection, on a new line unless the current line is still blank
    /// up to there.
    fn write_indent(&mut self) {
        let indent = self.indent.unwrap_or(0);
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.line_break();
        }
        while self.column < indent {
            self.put(' ');
        }
        self.whitespace = true;
        self.indention = true;
    }

    fn indicator(&mut self, text: &[u8], need_whitespace: bool, is_whitespace: bool, is_indention: bool) {
        if need_whitespace && !self.whitespace {
            self.put(' ');
        }
        self.out.extend_from_slice(text);
        self.column += text.len();
        self.whitespace = is_whitespace;
        self.indention &= is_indention;
    }

    fn put(&mut self, c: char) {
        self.out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        self.column += 1;
    }

    fn line_break(&mut self) {
        self.out.push(b'\n');
        self.column = 0;
    }

    fn put_break(&mut self, c: char) {
        self.put(c);
        self.column = 0;
    }
}

/// A JSON number after the library's conversion.
fn number_text(number: &str) -> Cow<'_, str> {
    match plain(number) {
        Scalar::Int(value) => Cow::Owned(value.to_string()),
        Scalar::Uint(value) => Cow::Owned(value.to_string()),
        Scalar::Float(value) => Cow::Owned(general(value)),
        _ => Cow::Borrowed(number),
    }
}
