//! Text → [`Checked`], with all that is wrong as one text.

use crate::check::check;
use crate::checked::Checked;
use crate::env::Environment;
use crate::overloads::Libraries;
use crate::parser::{Macros, Options, parse};
use crate::source::Source;

/// Parses and checks an expression.
///
/// # Errors
///
/// What is wrong, each error with the line and a caret, as cel-go shows it.
pub fn compile(env: &Environment, text: &str) -> Result<Checked, String> {
    let source = Source::new(text);
    let syntax = parse(&source, &options(env.libraries)).map_err(|errors| errors.display(&source))?;
    check(env, syntax, &source).map_err(|errors| errors.display(&source))
}

/// How expressions are parsed that may use these libraries.
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
