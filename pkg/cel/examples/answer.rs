//! Evaluates test requests, one JSON object per line, for the comparison with cel-go in
//! `pkg/cel/differential`.
//!
//! `{"parse": TEXT}` returns `{"tree": …}`, a printout with ids and offsets, or `{"errors": …}`. With
//! `"strict": "yes"` it uses small limits and other options.
//!
//! `{"regex": PATTERN, "in": TEXT}`, `{"url": TEXT}`, `{"ip": TEXT}`, `{"cidr": TEXT}` and `{"time": TEXT,
//! "zone": TEXT}` return `{"value": …}` or `{"errors": …}`. So does `{"eval": TEXT, "object": JSON}`, where
//! the variable of the expression is `o` and the cost precedes the value or the error.

use std::fmt::Display;
use std::io::{BufRead, Write};

use cel::arena::Arena;
use cel::compile::compile;
use cel::env::Environment;
use cel::eval::{PER_CALL_LIMIT, evaluate};
use cel::ext::time::{Part, Zone, format_timestamp, parse_timestamp, part};
use cel::ext::{ip, regex::Regex, url};
use cel::parser::{Macros, Options, parse};
use cel::plan::Plan;
use cel::print::{Item, print};
use cel::source::Source;
use cel::types::Type;
use jsontree::{Value, json};

/// A value, or the text of the error.
type Outcome<T> = Result<T, String>;

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let query: Value = serde_json::from_str(&line?)?;
        writeln!(out, "{}", answer(&query))?;
        out.flush()?;
    }
    Ok(())
}

fn answer(question: &Value) -> Value {
    let text = |name: &str| question[name].as_str();
    if let Some(expression) = text("parse") {
        return parsed(expression, text("strict").is_some());
    }
    if let Some(expression) = text("eval") {
        return shown_result(evaluated(expression, text("object").unwrap_or_default()));
    }
    if let Some(pattern) = text("regex") {
        let matches = |regex: Regex| regex.all(text("in").unwrap_or_default()).join("|");
        let engines = [Regex::compile(pattern).map(matches), Regex::check(pattern).map(matches)];
        let [automaton, program] = engines;
        assert_eq!(automaton, program, "{pattern}");
        return shown_result(automaton);
    }
    if let Some(address) = text("ip") {
        return shown_result(ip::parse_ip(address).map(|address| address.to_string()));
    }
    if let Some(network) = text("cidr") {
        return shown_result(
            ip::parse_cidr(network).map(|network| format!("{network} {}", network.masked())),
        );
    }
    if let Some(time) = text("time") {
        return shown_result(parts_of_time(time, text("zone").unwrap_or_default()));
    }
    let parts = url::parse_url(text("url").unwrap_or_default()).map(|url| {
        let query: Vec<String> =
            url.query().iter().map(|(key, values)| format!("{key}={}", values.join(","))).collect();
        let query = query.join("&");
        format!("{url} {} {} {} {} {query}", url.scheme(), url.hostname(), url.port(), url.escaped_path())
    });
    shown_result(parts)
}

fn shown_result(result: Result<String, impl Display>) -> Value {
    match result {
        Ok(value) => json!({ "value": value }),
        Err(errors) => json!({ "errors": errors.to_string() }),
    }
}

fn evaluated(expression: &str, object: &str) -> Outcome<String> {
    let env = Environment::of_release(36).variable("o", Type::DYN);
    let plan = Plan::new(&compile(&env, expression).map_err(|error| error.to_string())?, &["o"])
        .map_err(|error| format!("program: {error}"))?;
    let object: Value = serde_json::from_str(object).map_err(|error| error.to_string())?;
    let arena = Arena::new();
    let evaluation = evaluate(&plan, &[Some(cel::value::Value::tree(&object))], &arena, PER_CALL_LIMIT, None);
    let cost = evaluation.cost;
    match evaluation.result() {
        Ok(value) => Ok(format!("{cost} {}", show(value))),
        Err(error) => Err(format!("{cost} {error}")),
    }
}

/// Formats a value in the notation that both programs use.
fn show(value: cel::value::Value<'_>) -> String {
    use cel::value::Value as V;
    match value {
        V::Null => "null".into(),
        V::Bool(value) => value.to_string(),
        V::Int(value) => value.to_string(),
        V::Uint(value) => format!("{value}u"),
        V::Double(value) if value.is_nan() => "nan".into(),
        V::Double(value) => format!("{:016x}", value.to_bits()),
        V::String(text) => format!("s{}:{text}", text.len()),
        V::Bytes(bytes) => bytes.iter().fold("b".to_owned(), |text, byte| format!("{text}{byte:02x}")),
        V::Duration(nanos) => format!("duration {nanos}"),
        V::Timestamp(at) => format!("timestamp {}.{}", at.seconds, at.nanos),
        V::Type(name) => format!("type {name}"),
        V::Optional(None) => "none".into(),
        V::Optional(Some(inner)) => format!("some({})", show(*inner)),
        V::List(list) => format!("[{}]", list.iter().map(show).collect::<Vec<_>>().join(",")),
        V::Map(map) => {
            let mut entries: Vec<_> =
                map.iter().map(|(key, value)| format!("{}:{}", show(key), show(value))).collect();
            entries.sort();
            format!("{{{}}}", entries.join(","))
        }
        other => other.type_name().to_owned(),
    }
}

fn parts_of_time(text: &str, zone: &str) -> Outcome<String> {
    let timestamp = parse_timestamp(text).map_err(|error| format!("{error:?}"))?;
    let zone = Zone::parse(zone).map_err(|error| error.to_string())?;
    let all =
        [Part::Year, Part::Month, Part::DayOfYear, Part::Date, Part::DayOfWeek, Part::Hours, Part::Minutes];
    let parts: Vec<String> =
        all.iter().map(|which| part(timestamp.time, &zone, *which).to_string()).collect();
    Ok(format!("{} {}", format_timestamp(timestamp), parts.join(" ")))
}

fn parsed(text: &str, strict: bool) -> Value {
    let macros = [Macros::EXISTS_ONE, Macros::OPTIONAL, Macros::BIND, Macros::TWO_VARIABLE, Macros::SORT_BY];
    let macros = macros.into_iter().fold(Macros::STANDARD, Macros::with);
    let source = Source::new(text);
    let mut options = Options::new(macros);
    if strict {
        options = Options {
            optional_syntax: false,
            escaped_identifiers: true,
            accumulator: "__result__",
            max_depth: 12,
            max_reports: 4,
            max_recoveries: 3,
            max_recovery_tokens: 3,
            ..options
        };
    }
    let syntax = match parse(&source, &options) {
        Ok(syntax) => syntax,
        Err(errors) => return json!({ "errors": errors.display(&source) }),
    };
    let note = |item: Item<'_>| {
        let (id, offset) = match item {
            Item::Expr(expr) => (syntax.node(expr).id, syntax.node(expr).offset),
            Item::Entry(entry) => (entry.id, entry.offset),
        };
        let place = source.location(offset as i32);
        format!("^#{id}[{},{}]#", place.line, place.column)
    };
    json!({ "tree": print(&syntax, &note) })
}
