//! Validation of literal format strings: every clause needs an argument of a supported type.

use crate::ext::ParseError;
use crate::syntax::{Expr, Key, Kind, Name, Span, Syntax};
use crate::types::{Shape, Type, Types};

/// The offending argument (`None` for the call itself) and the message.
type FormatError = (Option<Expr>, String);

/// Checks a format string and its arguments.
pub(super) fn check(
    syntax: &Syntax,
    types: &Types,
    type_of: &[Type],
    format: Name,
    args: Span,
) -> Result<(), FormatError> {
    let args = syntax.exprs(args);
    let format = syntax.name(format).as_bytes();
    let checker = ClauseChecker { syntax, types, type_of };
    let mut at = 0;
    let mut used = 0;
    while at < format.len() {
        if format[at] != b'%' {
            at += 1;
            continue;
        }
        match format.get(at + 1) {
            Some(b'%') => {
                at += 2;
                continue;
            }
            None => return Err((None, "unexpected end of string".to_owned())),
            Some(_) => {}
        }
        let Some(arg) = args.get(used) else { return Err((None, format!("index {used} out of range"))) };
        let (read, clause) = clause(&format[at + 1..])
            .map_err(|message| (None, format!("could not parse formatting clause: {message}")))?;
        checker
            .verify(clause, *arg)
            .map_err(|(expr, message)| (Some(expr), format!("error during formatting: {message}")))?;
        at += 1 + read;
        used += 1;
    }
    if args.len() > used {
        let message =
            format!("too many arguments supplied to string.format (expected {used}, got {})", args.len());
        return Err((None, message));
    }
    Ok(())
}

/// Parses the clause behind a `%`. Returns its length in bytes and its verb.
fn clause(text: &[u8]) -> Result<(usize, u8), ParseError> {
    let mut at = 0;
    if text.first() == Some(&b'.') {
        let digits = text[1..].iter().take_while(|c| c.is_ascii_digit()).count();
        at = 1 + digits;
        if at == text.len() {
            return Err(ParseError::new(
                "error while parsing precision: could not find end of precision specifier",
            ));
        }
        let digits = String::from_utf8_lossy(&text[1..at]);
        let cause = match digits.parse::<i64>() {
            Ok(_) => None,
            Err(_) if digits.is_empty() => Some("invalid syntax"),
            Err(_) => Some("value out of range"),
        };
        if let Some(cause) = cause {
            return Err(ParseError::new(format!(
                "error while parsing precision: error while converting precision to integer: \
                 strconv.Atoi: parsing \"{digits}\": {cause}"
            )));
        }
    }
    match text.get(at) {
        Some(c) if b"sdfebxXo".contains(c) => Ok((at + 1, *c)),
        Some(c) => Err(ParseError::new(format!("unrecognized formatting clause \"{}\"", char::from(*c)))),
        None => Err(ParseError::new("unexpected end of string")),
    }
}

struct ClauseChecker<'a> {
    syntax: &'a Syntax,
    types: &'a Types,
    type_of: &'a [Type],
}

impl ClauseChecker<'_> {
    fn shape(&self, expr: Expr) -> Shape {
        match self.types.shape(self.type_of[expr.index()]) {
            Shape::Wrapper(of) => self.types.shape(of),
            shape => shape,
        }
    }

    fn verify(&self, clause: u8, arg: Expr) -> Result<(), (Expr, String)> {
        use Shape as S;
        if clause == b's' {
            return self.verify_string(arg);
        }
        let shape = self.shape(arg);
        let (fits, expects) = match clause {
            b'd' => (matches!(shape, S::Int | S::Uint), "decimal clause can only be used on integers"),
            b'f' => {
                (matches!(shape, S::Double | S::String), "fixed-point clause can only be used on doubles")
            }
            b'e' => (matches!(shape, S::Double | S::String), "scientific clause can only be used on doubles"),
            b'b' => (
                matches!(shape, S::Int | S::Uint | S::Bool),
                "only integers and bools can be formatted as binary",
            ),
            b'o' => (matches!(shape, S::Int | S::Uint), "octal clause can only be used on integers"),
            _ => (
                matches!(shape, S::Int | S::Uint | S::String | S::Bytes),
                "only integers, byte buffers, and strings can be formatted as hex",
            ),
        };
        if fits || shape == S::Dyn { Ok(()) } else { Err(self.fault(arg, expects)) }
    }

    /// Checks an argument of `%s`, which accepts almost all types, and lists and maps of them.
    fn verify_string(&self, arg: Expr) -> Result<(), (Expr, String)> {
        if let Shape::Any | Shape::Struct(_) | Shape::Opaque(..) | Shape::Error | Shape::Param(_) =
            self.shape(arg)
        {
            let expects = "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, \
                           types, durations, and timestamps";
            return Err(self.fault(arg, expects));
        }
        match self.syntax.kind(arg) {
            Kind::List { elements, .. } => {
                self.syntax.exprs(elements).iter().try_for_each(|element| self.verify_string(*element))
            }
            Kind::Map(entries) => self.syntax.entries(entries).iter().try_for_each(|entry| {
                if let Key::Expr(key) = entry.key {
                    self.verify_string(key)?;
                }
                self.verify_string(entry.value)
            }),
            _ => Ok(()),
        }
    }

    fn fault(&self, arg: Expr, expects: &str) -> (Expr, String) {
        let actual = self.types.runtime_name(self.type_of[arg.index()]);
        (arg, format!("{expects}, was given {actual}"))
    }
}
