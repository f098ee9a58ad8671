//! Compiles text to [`Checked`] and joins all errors into one text.

use crate::check::check;
use crate::checked::Checked;
use crate::env::Environment;
use crate::overloads::Libraries;
use crate::parser::{Macros, Options, parse};
use crate::source::{Errors, Source};

/// An invalid expression: all errors, each with its line and a caret, in cel-go's format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct CompileError(String);

/// Parses and checks an expression.
///
/// # Errors
///
/// [`CompileError`].
pub fn compile(env: &Environment, text: &str) -> Result<Checked, CompileError> {
    let source = Source::new(text);
    let invalid = |errors: Errors| CompileError(errors.display(&source));
    let syntax = parse(&source, &options(env.libraries)).map_err(invalid)?;
    check(env, syntax, &source).map_err(invalid)
}

/// Returns the parser options for these libraries.
pub fn options(libraries: Libraries) -> Options {
    let mut macros = Macros::NONE;
    for (library, brings) in [
        (Libraries::STANDARD, Macros::STANDARD),
        (Libraries::OPTIONAL, Macros::OPTIONAL),
        (Libraries::BINDINGS, Macros::BIND),
        (Libraries::TWO_VARIABLES, Macros::TWO_VARIABLE),
        (Libraries::LISTS_V3, Macros::SORT_BY),
    ] {
        if libraries.any_of(library) {
            macros = macros.with(brings);
        }
    }
    Options { optional_syntax: libraries.any_of(Libraries::OPTIONAL), ..Options::new(macros) }
}
