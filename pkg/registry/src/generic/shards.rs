//! Parser for shard selectors: `shardRange(object.metadata.uid, '0x…', '0x…') || …`. The text is parsed as
//! CEL, and the syntax tree is interpreted without any evaluation.

use apimachinery::go_quote::quote;
use apimachinery::sharding::{ShardKey, ShardRange, Shards};
use cel::parser::{self, Macros, Options};
use cel::source::Source;
use cel::syntax::{Expr, Kind, Literal, Syntax};

/// Text of the end of the hash range, one past the last hash.
const END: &str = "10000000000000000";
/// Number of hexadecimal digits of a hash.
const DIGITS: usize = 16;

/// Error of an invalid shard selector, in upstream's wording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct SelectorError(String);

/// Parses a selector.
///
/// # Errors
/// A syntax error in upstream's wording.
pub(super) fn parse(text: &str) -> Result<Shards, SelectorError> {
    let text = text.trim();
    if text.is_empty() {
        return Err(SelectorError(
            "empty shard selector is not allowed; omit the parameter for unfiltered lists".to_owned(),
        ));
    }
    let options = Options { optional_syntax: false, ..Options::new(Macros::NONE) };
    let syntax = parser::parse(&Source::new(text), &options).map_err(|errors| {
        let first = errors.as_slice().first().map_or("", |error| &error.message);
        SelectorError(format!("CEL parse error: {first}"))
    })?;
    let mut ranges = Vec::new();
    let root = syntax.root().ok_or_else(|| SelectorError("CEL parse error: ".to_owned()))?;
    collect(&syntax, root, &mut ranges)?;
    let (first, _) = *ranges.first().ok_or_else(|| SelectorError("CEL parse error: ".to_owned()))?;
    if let Some((other, _)) = ranges.iter().find(|(key, _)| *key != first) {
        let first = quote(first.path());
        let other = quote(other.path());
        return Err(SelectorError(format!(
            "all shard ranges must use the same field, got {first} and {other}"
        )));
    }
    Ok(Shards::new(first, ranges.into_iter().map(|(_, range)| range).collect()))
}

/// Parses a range, or several joined by `||`. The CEL parser limits the nesting.
fn collect(
    syntax: &Syntax,
    expr: Expr,
    ranges: &mut Vec<(ShardKey, ShardRange)>,
) -> Result<(), SelectorError> {
    let Kind::Call { function, args, .. } = syntax.kind(expr) else {
        let kind = number_of(syntax.kind(expr));
        return Err(SelectorError(format!(
            "unexpected expression kind {kind}; expected shardRange() call or || operator"
        )));
    };
    let args = syntax.exprs(args);
    match syntax.name(function) {
        "_||_" => args.iter().try_for_each(|side| collect(syntax, *side, ranges)),
        "shardRange" => {
            ranges.push(range(syntax, args)?);
            Ok(())
        }
        other => {
            let other = quote(other);
            Err(SelectorError(format!("unsupported function {other}; only shardRange() and || are allowed")))
        }
    }
}

/// Parses the arguments of `shardRange`.
fn range(syntax: &Syntax, args: &[Expr]) -> Result<(ShardKey, ShardRange), SelectorError> {
    let &[path, start, end] = args else {
        return Err(SelectorError(format!("shardRange() requires exactly 3 arguments, got {}", args.len())));
    };
    let path =
        path_of(syntax, path).map_err(|e| SelectorError(format!("shardRange() first argument: {e}")))?;
    let key = ShardKey::ALL.into_iter().find(|key| key.path() == path).ok_or_else(|| {
        let [uid, namespace] = ShardKey::ALL.map(ShardKey::path);
        SelectorError(format!("unsupported field path {}; supported: {uid}, {namespace}", quote(&path)))
    })?;
    let range = ShardRange { start: number(syntax, start, "hexStart")?, end: number(syntax, end, "hexEnd")? };
    if range.start >= range.end {
        let ShardRange { start, end } = range;
        return Err(SelectorError(format!(
            "shard range start 0x{start:016x} must be less than end 0x{end:016x}"
        )));
    }
    Ok((key, range))
}

/// Path of a member chain.
fn path_of(syntax: &Syntax, expr: Expr) -> Result<String, SelectorError> {
    match syntax.kind(expr) {
        Kind::Ident(name) => Ok(syntax.name(name).to_owned()),
        Kind::Select { operand, field, .. } => {
            Ok(format!("{}.{}", path_of(syntax, operand)?, syntax.name(field)))
        }
        other => {
            let kind = number_of(other);
            Err(SelectorError(format!(
                "expected field path (e.g. object.metadata.uid), got expression kind {kind}"
            )))
        }
    }
}

/// Parses one end of a range.
fn number(syntax: &Syntax, expr: Expr, argument: &str) -> Result<u128, SelectorError> {
    let text = match syntax.kind(expr) {
        Kind::Literal(Literal::String(text)) => syntax.name(text),
        Kind::Literal(literal) => {
            return Err(SelectorError(format!(
                "{argument} must be a string literal, got {}",
                go_type(literal)
            )));
        }
        other => {
            let kind = number_of(other);
            return Err(SelectorError(format!(
                "{argument} must be a string literal (e.g. '0xff'), got expression kind {kind}"
            )));
        }
    };
    let quoted_text = quote(text);
    let Some(digits) = text.strip_prefix("0x") else {
        return Err(SelectorError(format!("{argument} must have '0x' prefix, got {quoted_text}")));
    };
    if digits.is_empty() {
        return Err(SelectorError(format!("{argument}: hex value is required after '0x'")));
    }
    if digits.len() > END.len() {
        let len = digits.len();
        let max = END.len();
        let digits = quote(digits);
        return Err(SelectorError(format!(
            "{argument}: hex value too long ({len} chars, max {max}): {digits}"
        )));
    }
    if let Some(bad) = digits.chars().find(|c| !matches!(c, '0'..='9' | 'a'..='f')) {
        return Err(SelectorError(format!(
            "{argument}: invalid hex character {} in {quoted_text}",
            quote(&bad.to_string())
        )));
    }
    match digits.len() {
        DIGITS => {}
        _ if digits == END => {}
        len if len > DIGITS => {
            return Err(SelectorError(format!(
                "{argument}: 17-digit hex value must be '0x{END}' (2^64), got {quoted_text}"
            )));
        }
        _ => {
            let suggestion = quote(&format!("0x{digits:0>DIGITS$}"));
            return Err(SelectorError(format!(
                "{argument} must be a 0x-prefixed 16-digit hex value, got {quoted_text} (did you mean {suggestion}?)"
            )));
        }
    }
    u128::from_str_radix(digits, 16).map_err(|e| SelectorError(format!("{argument}: {e}")))
}

/// Number of a node kind in cel-go's error texts.
fn number_of(kind: Kind) -> u8 {
    match kind {
        Kind::Call { .. } => 1,
        Kind::Comprehension(_) => 2,
        Kind::Ident(_) => 3,
        Kind::List { .. } => 4,
        Kind::Literal(_) => 5,
        Kind::Map(_) => 6,
        Kind::Select { .. } => 7,
        Kind::Struct { .. } => 8,
    }
}

/// Go type of a literal in error texts.
fn go_type(literal: Literal) -> &'static str {
    match literal {
        Literal::Null => "structpb.NullValue",
        Literal::Bool(_) => "bool",
        Literal::Int(_) => "int64",
        Literal::Uint(_) => "uint64",
        Literal::Double(_) => "float64",
        Literal::String(_) => "string",
        Literal::Bytes(_) => "[]uint8",
    }
}

#[cfg(test)]
mod tests;
