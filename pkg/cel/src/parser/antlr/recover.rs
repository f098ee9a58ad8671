//! ANTLR's default error recovery: delete a token, insert a missing one, or skip to a token that an open rule
//! can continue with.

use super::automaton::{Id, Kind, Transition};
use super::grammar::{Label, Set, display, one};
use super::interpret::Interpreter;
use super::state::RuleError;
use super::tokens::{ParsingAborted, quoted};
use super::tree::Child;
use crate::lexer::{Kind as TokenKind, Token};

impl Interpreter<'_> {
    /// Consumes a token of a set, or recovers within the rule.
    pub(super) fn match_token(
        &mut self,
        set: Set,
        label: Label,
    ) -> Result<Option<RuleError>, ParsingAborted> {
        let token = self.tokens.current()?;
        if set & one(token.kind) != 0 {
            self.recovery.matched();
            self.child(label, Child::Token(token));
            self.tokens.advance()?;
            return Ok(None);
        }
        self.check_attempts()?;
        if let Some(token) = self.delete_token()? {
            self.child(label, Child::Token(token));
            self.tokens.advance()?;
            return Ok(None);
        }
        let after = self.automaton.state(self.state).transitions[0];
        let Transition::Token(_, _, after) = after else { return Ok(Some(RuleError::Mismatch)) };
        if self.expected_at(after) & one(token.kind) != 0 {
            self.report_with_expected(token, "missing ", " at ", true)?;
            let made_up = self.insert_missing_token(token)?;
            self.child(label, Child::Token(made_up));
            return Ok(None);
        }
        Ok(Some(RuleError::Mismatch))
    }

    /// Creates a missing token, located at the current token, or at the last one before the end.
    fn insert_missing_token(&mut self, current: Token) -> Result<Token, ParsingAborted> {
        let index = self.tokens.index;
        Ok(match current.kind {
            TokenKind::Eof if index > 0 => self.tokens.get(index - 1)?,
            _ => current,
        })
    }

    /// Ensures, at a decision, that the next token matches one of the alternatives.
    pub(super) fn synchronize(&mut self) -> Result<Option<RuleError>, ParsingAborted> {
        if self.recovery.recovering {
            return Ok(None);
        }
        let state = self.automaton.state(self.state);
        let token = self.tokens.current()?;
        if state.next.1 || state.next.0 & one(token.kind) != 0 {
            return Ok(None);
        }
        match state.kind {
            Kind::BlockStart | Kind::LoopBody | Kind::PlusStart | Kind::LoopEntry { .. } => {
                Ok(if self.delete_token()?.is_some() { None } else { Some(RuleError::Mismatch) })
            }
            Kind::PlusLoopBack | Kind::LoopBack => {
                self.report_with_expected(token, "extraneous input ", " expecting ", false)?;
                let stops = self.expected_at(self.state) | self.recovery_set();
                while self.can_skip(stops)? {
                    self.tokens.advance()?;
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    /// Deletes the next token if the following one matches. Returns that one.
    fn delete_token(&mut self) -> Result<Option<Token>, ParsingAborted> {
        let index = self.tokens.index;
        let token = self.tokens.get(index)?;
        let second = self.tokens.get(index + 1)?;
        if self.expected_at(self.state) & one(second.kind) == 0 {
            return Ok(None);
        }
        self.report_with_expected(token, "extraneous input ", " expecting ", false)?;
        self.tokens.advance()?;
        self.recovery.matched();
        self.tokens.current().map(Some)
    }

    /// Reports the error that ended a rule, and skips tokens up to one that an open rule can continue with.
    pub(super) fn recover(&mut self, error: RuleError) -> Result<(), ParsingAborted> {
        if !self.recovery.begin() {
            self.report(error)?;
        }
        self.check_attempts()?;
        let mut skipped = 0;
        let mut seen = match self.recovery.last.take() {
            Some((index, states)) if index == self.tokens.index && states.contains(&self.state) => {
                // The same error at the same position: skip a token to avoid an endless loop.
                self.skip(&mut skipped)?;
                states
            }
            Some((_, states)) => states,
            None => Vec::new(),
        };
        seen.push(self.state);
        self.recovery.last = Some((self.tokens.index, seen));
        let stops = self.recovery_set();
        while self.can_skip(stops)? {
            self.skip(&mut skipped)?;
        }
        Ok(())
    }

    fn skip(&mut self, skipped: &mut usize) -> Result<(), ParsingAborted> {
        if *skipped >= self.options.max_recovery_tokens {
            let limit = self.options.max_recovery_tokens;
            return self.tokens.end(format!("error recovery token lookahead limit exceeded: {limit}"));
        }
        *skipped += 1;
        self.tokens.advance()
    }

    fn can_skip(&mut self, stops: Set) -> Result<bool, ParsingAborted> {
        let kind = self.tokens.current()?.kind;
        Ok(kind != TokenKind::Eof && stops & one(kind) == 0)
    }

    fn check_attempts(&mut self) -> Result<(), ParsingAborted> {
        if self.recovery.attempts == self.options.max_recoveries {
            let token = self.tokens.current()?;
            let message = format!("error recovery attempt limit exceeded: {}", self.options.max_recoveries);
            self.tokens.report(token.offset, &message)?;
            return Err(ParsingAborted);
        }
        self.recovery.attempts += 1;
        Ok(())
    }

    fn report(&mut self, error: RuleError) -> Result<(), ParsingAborted> {
        match error {
            RuleError::Mismatch => {
                let token = self.tokens.current()?;
                let shown = self.tokens.display(token);
                let expected = list(self.expected_at(self.state));
                self.tokens.report(token.offset, &format!("mismatched input {shown} expecting {expected}"))
            }
            RuleError::NoViable(no_viable) => {
                let input = match no_viable.start.kind {
                    TokenKind::Eof => "<EOF>".to_owned(),
                    _ => self.tokens.text_between(no_viable.start, no_viable.offending),
                };
                let message = format!("no viable alternative at input {}", quoted(&input));
                self.tokens.report(no_viable.offending.offset, &message)
            }
        }
    }

    /// Reports an extraneous or missing token, unless errors are suppressed.
    fn report_with_expected(
        &mut self,
        token: Token,
        prefix: &str,
        then: &str,
        missing: bool,
    ) -> Result<(), ParsingAborted> {
        if self.recovery.begin() {
            return Ok(());
        }
        let shown = self.tokens.display(token);
        let expected = list(self.expected_at(self.state));
        let (first, second) = if missing { (expected, shown) } else { (shown, expected) };
        self.tokens.report(token.offset, &format!("{prefix}{first}{then}{second}"))
    }

    /// Returns the tokens that are valid in a state, given the open rules.
    fn expected_at(&self, state: Id) -> Set {
        let (mut expected, mut ends) = self.automaton.state(state).next;
        for frame in self.frames.iter().rev().take(self.frames.len() - 1) {
            if !ends {
                return expected;
            }
            let (next, next_ends) = self.automaton.state(self.automaton.follow(frame.caller)).next;
            expected |= next;
            ends = next_ends;
        }
        expected | if ends { one(TokenKind::Eof) } else { 0 }
    }

    /// Returns the tokens that can follow one of the open rules.
    fn recovery_set(&self) -> Set {
        let follow = |caller: Id| self.automaton.state(self.automaton.follow(caller)).next.0;
        self.frames.iter().skip(1).fold(0, |set, frame| set | follow(frame.caller))
    }
}

/// Formats a set of token kinds.
fn list(set: Set) -> String {
    let names: Vec<&str> = (0..38).filter(|kind| set & (1 << kind) != 0).map(display).collect();
    match names[..] {
        [only] => only.to_owned(),
        _ => format!("{{{}}}", names.join(", ")),
    }
}
