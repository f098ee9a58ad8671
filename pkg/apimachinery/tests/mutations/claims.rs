//! Invariants for arbitrary text, shared with the fuzz targets.

use apimachinery::quantity::{self, Quantity};
use apimachinery::query::{Query, decode_path};
use apimachinery::request_info::request_info;
use apimachinery::time::{format_duration, parse_duration, parse_micro_time, parse_time};
use apimachinery::{fields, labels, names, resource_version, strconv};

/// Request target: encoding the decoded query again gives the same parameters, and splitting a path loses no
/// segment.
pub(crate) fn target(text: &str) {
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    let query = Query::parse(query);
    let encoded: Vec<String> =
        query.pairs().map(|(name, value)| format!("{}={}", escaped(name), escaped(value))).collect();
    let again = Query::parse(&encoded.join("&"));
    assert!(again.error().is_none() && again.pairs().eq(query.pairs()), "{text:?}");
    let _ = (query.integer("limit"), query.integer("timeoutSeconds"), query.flag("watch"));
    let Some(path) = decode_path(path) else { return };
    for method in ["GET", "POST", "DELETE", "PATCH", "x"] {
        let Ok(info) = request_info(method, &path, &query) else { continue };
        assert_eq!(info.path, path);
        assert!(!info.namespace.contains('/') && !info.resource.contains('/'), "{text:?}");
        let rest = info.parts.join("/");
        assert!(path.trim_matches('/').ends_with(&rest), "{text:?}: {rest:?}");
    }
}

fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Selectors: the text of a parsed selector parses to the same selector.
pub(crate) fn selectors(text: &str) {
    if let Ok(selector) = labels::parse(text) {
        assert_eq!(labels::parse(&selector.to_string()).as_ref(), Ok(&selector), "{text:?}");
        let _ = selector.matches(|key| (key.len() % 2 == 0).then_some("5"));
    }
    // Terms are sorted by their texts, which differ if they were written with `==` or escapes.
    if let Ok(selector) = fields::parse(text) {
        let again = fields::parse(&selector.to_string());
        assert_eq!(again.map(sorted), Ok(sorted(selector)), "{text:?}");
    }
    assert_eq!(fields::unescape(&fields::escape(text)).as_deref(), Ok(text));
}

fn sorted(selector: fields::Selector) -> Vec<fields::Requirement> {
    let mut terms = selector.requirements().to_vec();
    terms.sort_by(|a, b| {
        (&a.field, &a.value).cmp(&(&b.field, &b.value)).then((a.operator as u8).cmp(&(b.operator as u8)))
    });
    terms
}

/// Numbers and times: sums and products of parsed values do not overflow, and the text of a parsed value
/// parses to the same value.
pub(crate) fn numbers(text: &str) {
    if let Ok(read) = text.parse::<Quantity>() {
        let canonical_text = read.to_string();
        // A value with a binary suffix may be printed without one, and then has a shorter decimal form. A
        // value that is too large for a suffix is printed without its zeros. Both are required, because the
        // bytes must equal upstream's.
        let canonical = quantity::canonicalize(&canonical_text);
        let again = canonical.as_deref().map(quantity::canonicalize);
        assert_eq!(again, Ok(canonical.clone()), "{text:?}");
        let mut sum = read.clone();
        sum.add(&read);
        sum.sub(&read);
        sum.negate();
        sum.round_up(-3);
        let _ = (sum.value(), sum.milli_value(), sum.scaled_value(i32::MIN), sum.scaled_value(i32::MAX));
        let _ = (sum.sign(), sum.as_int64(), sum.approximate_f64(), sum.to_string());
    }
    if let Ok(nanos) = parse_duration(text) {
        assert_eq!(parse_duration(&format_duration(nanos)), Ok(nanos), "{text:?}");
    }
    for time in [parse_time(text), parse_micro_time(text)].into_iter().flatten() {
        let text_form = time.rfc3339().to_string();
        assert_eq!(parse_time(&text_form).map(|time| time.seconds), Ok(time.seconds), "{text:?}");
        let _ = (time.nanos_since(apimachinery::time::UnixTime::default()), time.rfc3339_micro().to_string());
    }
    let _ = (strconv::parse_int(text), strconv::parse_uint(text), strconv::atoi(text));
    let _ = resource_version::parse(text);
    let _ = (names::name_is_dns_subdomain(text, false), names::name_is_path_segment(text, false));
}
