//! Token stream. Tokens are read on demand, because lexer errors count together with parser errors.

use super::super::Options;
use crate::lexer::{Kind, Lexer, Token, Unrecognized};
use crate::source::{Errors, Location, Source};

/// Parsing was aborted; the reason is among the errors.
#[derive(Debug)]
pub(super) struct ParsingAborted;

/// Tokens with a position, and the errors found so far.
pub(super) struct Tokens<'a> {
    source: &'a Source<'a>,
    options: &'a Options,
    lexer: Lexer<'a>,
    read: Vec<Token>,
    unrecognized: Vec<Unrecognized>,
    /// Index of the next token.
    pub(super) index: usize,
    pub(super) errors: Errors,
    reports: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(source: &'a Source<'a>, options: &'a Options) -> Tokens<'a> {
        let lexer = Lexer::new(source.text());
        let errors = Errors::default();
        Tokens {
            source,
            options,
            lexer,
            read: Vec::new(),
            unrecognized: Vec::new(),
            index: 0,
            errors,
            reports: 0,
        }
    }

    /// Returns the token with an index; after the last one, the end token.
    pub(super) fn get(&mut self, index: usize) -> Result<Token, ParsingAborted> {
        while self.read.len() <= index {
            if let Some(last) = self.read.last().filter(|last| last.kind == Kind::Eof) {
                return Ok(*last);
            }
            match self.lexer.next_token() {
                Ok(token) => self.read.push(token),
                Err(unrecognized) => {
                    self.unrecognized.push(unrecognized);
                    let text = &self.source.text()[unrecognized.start as usize..unrecognized.end as usize];
                    self.report(unrecognized.offset, &format!("token recognition error at: '{text}'"))?;
                }
            }
        }
        Ok(self.read[index])
    }

    /// Returns the next token.
    pub(super) fn current(&mut self) -> Result<Token, ParsingAborted> {
        self.get(self.index)
    }

    /// Advances to the next token and reads it. Does not move beyond the end.
    pub(super) fn advance(&mut self) -> Result<(), ParsingAborted> {
        if self.current()?.kind != Kind::Eof {
            self.index += 1;
            self.current()?;
        }
        Ok(())
    }

    /// Reports a syntax error.
    pub(super) fn report(&mut self, offset: u32, message: &str) -> Result<(), ParsingAborted> {
        let location = self.source.location(offset as i32);
        if self.reports >= self.options.max_reports {
            let message = format!("Syntax error: More than {} syntax errors", self.options.max_reports);
            self.errors.report(location, message);
            return Err(ParsingAborted);
        }
        self.reports += 1;
        self.errors.report(location, format!("Syntax error: {}", reserved_word(message)));
        Ok(())
    }

    /// Reports an error without location and aborts parsing.
    pub(super) fn end<T>(&mut self, message: String) -> Result<T, ParsingAborted> {
        self.errors.report(Location::NONE, message);
        Err(ParsingAborted)
    }

    /// Returns the text from one token to another, without unrecognized text.
    pub(super) fn text_between(&self, first: Token, last: Token) -> String {
        let mut from = first.start;
        let to = if last.kind == Kind::Eof { last.start } else { last.end };
        let mut out = String::new();
        for gap in self.unrecognized.iter().filter(|gap| gap.start >= first.start && gap.end <= to) {
            out.push_str(&self.source.text()[from as usize..gap.start as usize]);
            from = gap.end;
        }
        out.push_str(&self.source.text()[from as usize..to as usize]);
        out
    }

    /// Formats a token for messages.
    pub(super) fn display(&self, token: Token) -> String {
        match token.kind {
            Kind::Eof => "'<EOF>'".to_owned(),
            _ => quoted(token.text(self.source.text())),
        }
    }
}

/// Quotes a text in single quotes, with escapes for tabs and line ends.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r"))
}

/// Converts the message for a reserved word, such as `true`, in place of a field name. The input is one
/// character, usually the dot, and the word.
fn reserved_word(message: &str) -> String {
    let word =
        message.strip_prefix("no viable alternative at input '").and_then(|rest| rest.strip_suffix('\''));
    let word = word.map(|text| text.chars().skip(1).collect::<String>());
    match word.as_deref() {
        Some(word @ ("true" | "false" | "null")) => format!("mismatched input '{word}' expecting IDENTIFIER"),
        _ => message.to_owned(),
    }
}
