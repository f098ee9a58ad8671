//! Parser: text → [`Syntax`] with expanded macros and the node ids of cel-go.

mod antlr;
mod builder;
mod climb;
mod literal;
mod macros;

use crate::source::{Errors, Location, Source};
use crate::syntax::Syntax;

pub use macros::Macros;

/// Parser features and limits.
#[derive(Clone, Debug)]
pub struct Options {
    /// Macros to expand.
    pub macros: Macros,
    /// True if `a.?b`, `a[?b]`, `[?a]` and `{?a: b}` are allowed.
    pub optional_syntax: bool,
    /// True if field names may be written between backticks.
    pub escaped_identifiers: bool,
    /// Name of macro accumulators.
    pub accumulator: &'static str,
    /// Maximum nesting of grammar rules and nodes.
    pub max_depth: u32,
    /// Maximum code points of a text.
    pub max_code_points: usize,
    /// Maximum syntax errors before parsing stops.
    pub max_reports: usize,
    /// Maximum recovery attempts after syntax errors.
    pub max_recoveries: usize,
    /// Maximum tokens that one recovery may skip.
    pub max_recovery_tokens: usize,
}

impl Options {
    /// cel-go's own limits and syntax, which Kubernetes keeps, with optionals (since 1.28).
    pub fn new(macros: Macros) -> Options {
        Options {
            macros,
            optional_syntax: true,
            escaped_identifiers: true,
            accumulator: "@result",
            max_depth: 250,
            max_code_points: 100_000,
            max_reports: 100,
            max_recoveries: 30,
            max_recovery_tokens: 256,
        }
    }
}

/// Parses an expression. The tree has a root.
pub fn parse(source: &Source<'_>, options: &Options) -> Result<Syntax, Errors> {
    let mut errors = Errors::default();
    let points = source.text().chars().count();
    if points > options.max_code_points {
        let limit = options.max_code_points;
        let message = format!("expression code point size exceeds limit: size: {points}, limit {limit}");
        errors.report(Location::NONE, message);
        return Err(errors);
    }
    match climb::parse(source, options) {
        Some(syntax) => Ok(syntax),
        None => antlr::parse(source, options),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::print::{Item, print};

    fn shown(syntax: &Syntax) -> String {
        print(syntax, &|item| match item {
            Item::Expr(expr) => format!("#{}@{}", syntax.node(expr).id, syntax.node(expr).offset),
            Item::Entry(entry) => format!("#{}@{}", entry.id, entry.offset),
        })
    }

    #[test]
    fn both_parsers_build_equal_trees() {
        let macros = Macros::STANDARD.with(Macros::OPTIONAL).with(Macros::TWO_VARIABLE).with(Macros::SORT_BY);
        let texts = [
            "-1 - -1 + --1 - -x * !!a % !b",
            "a || b && c || d && e && f || g",
            "a ? b : c ? d : e == f in [g]",
            "[?a, b, ?c][?0][1].?d.e.f(-2.5, 'x', [,], {,})",
            ".a.b.C{d: 1, ?e: 2u,}.f.g + .h(i) - j.k",
            "{?'a': b, c: {}}[true ? null : false]",
            "has(a.b) && l.all(x, x.exists(y, y > x)) || l.map(x, x > 1, -x).filter(z, z != 0).exists_one(u, u)",
            "a.?b.optMap(v, v + 1).orValue(m.transformMap(k, v, k != '', v).transformList(i, x, x)[0])",
            "l.sortBy(e, -e.f) // é\n  == r'\\x' + '''é\n😁''' + string(b'\\377')",
        ];
        for text in texts {
            let source = Source::new(text);
            let options = Options::new(macros);
            let climbed = climb::parse(&source, &options).map(|syntax| shown(&syntax));
            let walked = antlr::parse(&source, &options).map(|syntax| shown(&syntax));
            assert_eq!(climbed, walked.ok(), "{text}");
            assert!(climbed.is_some(), "{text}");
        }
    }
}
