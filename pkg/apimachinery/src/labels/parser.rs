//! Recursive-descent parser for label selectors. The error texts are those of upstream's parser at each
//! position.

use super::lexer::{Token, tokens};
use super::requirement::key_error;
use super::{LabelSelectorError, Operator, Requirement, Selector};
use crate::field::Path;
use std::collections::BTreeSet;

/// Parses a selector. The empty text selects everything.
///
/// # Errors
/// Upstream's text, e.g. `unable to parse requirement: <nil>: Invalid value:
/// "/": …`.
pub fn parse(text: &str) -> Result<Selector, LabelSelectorError> {
    let mut parser = Parser { tokens: tokens(text), position: 0 };
    parser.selector().map(Selector::new)
}

struct Parser<'a> {
    tokens: Vec<(Token, &'a str)>,
    position: usize,
}

/// A value set, sorted and without duplicates.
type Values<'a> = BTreeSet<&'a str>;

impl<'a> Parser<'a> {
    /// Returns the current token; `in` and `notin` are operators here.
    fn peek_operator(&self) -> (Token, &'a str) {
        self.tokens.get(self.position).copied().unwrap_or((Token::End, ""))
    }

    /// Returns the current token; `in` and `notin` are ordinary words here.
    fn peek(&self) -> (Token, &'a str) {
        match self.peek_operator() {
            (Token::In | Token::NotIn, literal) => (Token::Identifier, literal),
            other => other,
        }
    }

    fn consume(&mut self) -> (Token, &'a str) {
        let token = self.peek();
        self.position = self.position.saturating_add(1);
        token
    }

    fn selector(&mut self) -> Result<Vec<Requirement>, LabelSelectorError> {
        let mut requirements = Vec::new();
        loop {
            match self.peek() {
                (Token::Identifier | Token::Not, _) => {}
                (Token::End, _) => return Ok(requirements),
                (_, literal) => {
                    return Err(LabelSelectorError(format!(
                        "found '{literal}', expected: !, identifier, or 'end of string'"
                    )));
                }
            }
            let requirement = self.requirement();
            requirements.push(
                requirement.map_err(|e| LabelSelectorError(format!("unable to parse requirement: {e}")))?,
            );
            match self.consume() {
                (Token::End, _) => return Ok(requirements),
                (Token::Comma, _) => {}
                (_, literal) => {
                    return Err(LabelSelectorError(format!(
                        "found '{literal}', expected: ',' or 'end of string'"
                    )));
                }
            }
            let (token, literal) = self.peek();
            if !matches!(token, Token::Identifier | Token::Not) {
                return Err(LabelSelectorError(format!("found '{literal}', expected: identifier after ','")));
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, LabelSelectorError> {
        let (key, unary) = self.key()?;
        let (operator, values) = match unary {
            Some(operator) => (operator, Values::new()),
            None => self.operator_and_values()?,
        };
        let values = values.into_iter().map(str::to_owned).collect();
        Requirement::new(key.to_owned(), operator, values, &Path::NIL)
    }

    /// Parses the key. Also returns the operator if the requirement is only a key, or a key after `!`.
    fn key(&mut self) -> Result<(&'a str, Option<Operator>), LabelSelectorError> {
        let (mut token, mut literal) = self.consume();
        let negated = token == Token::Not;
        if negated {
            (token, literal) = self.consume();
        }
        if token != Token::Identifier {
            return Err(LabelSelectorError(format!("found '{literal}', expected: identifier")));
        }
        if let Some(error) = key_error(literal, &Path::NIL) {
            return Err(LabelSelectorError(error.to_string()));
        }
        let ends = matches!(self.peek().0, Token::End | Token::Comma);
        let operator = match (negated, ends) {
            (true, _) => Some(Operator::DoesNotExist),
            (false, true) => Some(Operator::Exists),
            (false, false) => None,
        };
        Ok((literal, operator))
    }

    fn operator_and_values(&mut self) -> Result<(Operator, Values<'a>), LabelSelectorError> {
        let (token, literal) = self.peek_operator();
        self.position = self.position.saturating_add(1);
        let operator = match token {
            Token::In => return Ok((Operator::In, self.value_set()?)),
            Token::NotIn => return Ok((Operator::NotIn, self.value_set()?)),
            Token::Equals => Operator::Equals,
            Token::DoubleEquals => Operator::DoubleEquals,
            Token::NotEquals => Operator::NotEquals,
            Token::GreaterThan => Operator::GreaterThan,
            Token::LessThan => Operator::LessThan,
            _ => {
                return Err(LabelSelectorError(format!(
                    "found '{literal}', expected: in, notin, =, ==, !=, gt, lt"
                )));
            }
        };
        Ok((operator, Values::from([self.exact_value()?])))
    }

    fn exact_value(&mut self) -> Result<&'a str, LabelSelectorError> {
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Ok("");
        }
        match self.consume() {
            (Token::Identifier, value) => Ok(value),
            (_, literal) => Err(LabelSelectorError(format!("found '{literal}', expected: identifier"))),
        }
    }

    fn value_set(&mut self) -> Result<Values<'a>, LabelSelectorError> {
        let (token, literal) = self.consume();
        if token != Token::OpenParen {
            return Err(LabelSelectorError(format!("found '{literal}' expected: '('")));
        }
        match self.peek() {
            (Token::Identifier | Token::Comma, _) => {
                let values = self.value_list()?;
                self.position = self.position.saturating_add(1); // the closing parenthesis that ended the list
                Ok(values)
            }
            (Token::CloseParen, _) => {
                self.position = self.position.saturating_add(1);
                Ok(Values::from([""]))
            }
            (_, literal) => {
                Err(LabelSelectorError(format!("found '{literal}', expected: ',', ')' or identifier")))
            }
        }
    }

    /// Parses values up to the closing parenthesis, exclusive. A value missing before, between or after
    /// commas is the empty string.
    fn value_list(&mut self) -> Result<Values<'a>, LabelSelectorError> {
        let mut values = Values::new();
        loop {
            match self.consume() {
                (Token::Identifier, value) => {
                    values.insert(value);
                    match self.peek() {
                        (Token::Comma, _) => {}
                        (Token::CloseParen, _) => return Ok(values),
                        (_, literal) => {
                            return Err(LabelSelectorError(format!(
                                "found '{literal}', expected: ',' or ')'"
                            )));
                        }
                    }
                }
                (Token::Comma, _) => {
                    let next = self.peek().0;
                    if values.is_empty() || matches!(next, Token::CloseParen | Token::Comma) {
                        values.insert("");
                    }
                    if next == Token::CloseParen {
                        return Ok(values);
                    }
                }
                (_, literal) => {
                    return Err(LabelSelectorError(format!(
                        "found '{literal}', expected: ',', or identifier"
                    )));
                }
            }
        }
    }
}
