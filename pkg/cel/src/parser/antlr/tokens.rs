//! The tokens of a text, read one by one as they are asked for, since errors of reading count together with
//! errors of parsing.

use super::super::Options;
use crate::lexer::{Kind, Lexer, Token, Unrecognized};
use crate::source::{Errors, Location, Source};

/// Parsing has ended before the end of the text; why is among the errors.
#[derive(Debug)]
pub(super) struct ParsingAborted;

/// Tokens with a position, and the errors that were found so far.
pub(super) struct Tokens<'a> {
    source: &'a Source<'a>,
    options: &'a Options,
    lexer: Lexer<'a>,
    read: Vec<Token>,
    unrecognized: Vec<Unrecognized>,
    /// The position: which token comes next.
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

    /// The token with an index; behind the last one, the end.
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

    /// The next token.
    pub(super) fn current(&mut self) -> Result<Token, ParsingAborted> {
        self.get(self.index)
    }

    /// Moves to the next token, which is then read; the end stays where it is.
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

    /// Reports an error that belongs to no place and ends parsing.
    pub(super) fn end<T>(&mut self, message: String) -> Result<T, ParsingAborted> {
        self.errors.report(Location::NONE, message);
        Err(ParsingAborted)
    }

    /// The text from one token up to another, without what could not be read.
    pub(super) fn text_between(&self, first: Token, last: Token) -> String {
        let (mut from, to) = (first.start, if last.kind == Kind::Eof { last.start } else { last.end });
        let mut out = String::new();
        for gap in self.unrecognized.iter().filter(|gap| gap.start >= first.start && gap.end <= to) {
            out.push_str(&self.source.text()[from as usize..gap.start as usize]);
            from = gap.end;
        }
        out.push_str(&self.source.text()[from as usize..to as usize]);
        out
    }

    /// How a token is shown in messages.
    pub(super) fn display(&self, token: Token) -> String {
        match token.kind {
            Kind::Eof => "'<EOF>'".to_owned(),
            _ => quoted(token.text(self.source.text())),
        }
    }
}

/// A text between single quotes, with escapes for tabs and ends of lines.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r"))
}

/// cel-go says it in another way when a word such as `true` stands where a field's name should stand: one
/// character, most likely the dot, and the word.
fn reserved_word(message: &str) -> String {
    let word =
        message.strip_prefix("no viable alternative at input '").and_then(|rest| rest.strip_suffix('\''));
    let word = word.map(|text| text.chars().skip(1).collect::<String>());
    match word.as_deref() {
        Some(word @ ("true" | "false" | "null")) => format!("mismatched input '{word}' expecting IDENTIFIER"),
        _ => message.to_owned(),
    }
}
