//! Status of an invalid object, with its size limit.
#![allow(clippy::arithmetic_side_effects)]

use std::collections::HashSet;

use super::{Cause, Details, Reason, Status};
use crate::field::{Error, ErrorList, LIST_BYTES_MAX, SHORTENED_BYTES_MAX, cut, joined};
use crate::go_quote::quote;
use crate::gvk::GroupKind;

/// Size in bytes of the JSON of a `Status` or cause without its texts.
const FRAME_BYTES: usize = 400;
const CAUSE_BYTES: usize = r#"{"reason":"","message":"","field":""},"#.len();
const SEPARATOR_BYTES: usize = ", ".len();

/// See [`Status::invalid`].
pub(super) fn status(kind: &GroupKind, name: &str, errors: &ErrorList) -> Status {
    let mut name = name.to_owned();
    if 3 * json_bytes(&name) + FRAME_BYTES > LIST_BYTES_MAX / 2 {
        cut(&mut name, SHORTENED_BYTES_MAX);
    }
    let (mut causes, texts) = worded(errors, LIST_BYTES_MAX - FRAME_BYTES - 3 * json_bytes(&name));
    let more = errors.len() - causes.len();
    if more > 0 {
        causes.push(Cause { message: format!("{more} more errors are left out"), ..Cause::default() });
    }
    let detail = joined(texts).map_or(String::new(), |text| format!(": {text}"));
    let details = Details {
        name: name.clone(),
        group: kind.group.clone(),
        kind: kind.kind.clone(),
        causes,
        ..Details::default()
    };
    Status::failure(422, Reason::Invalid, format!("{kind} {} is invalid{detail}", quote(&name)))
        .with_details(details)
}

/// Returns the errors that fit into `bytes_max` bytes of JSON, as causes and as texts of the message, without
/// repeated texts.
fn worded(errors: &ErrorList, bytes_max: usize) -> (Vec<Cause>, Vec<String>) {
    let mut causes = Vec::new();
    let mut texts = Vec::new();
    let mut seen = HashSet::new();
    let mut bytes = 0;
    for error in errors {
        let mut cause = cause(error);
        let mut text = error.to_string();
        if bytes == 0 && cause_bytes(&cause) + json_bytes(&text) > bytes_max {
            let short = error.clone().shortened();
            (cause, text) = (self::cause(&short), short.to_string());
        }
        let is_new = !seen.contains(&text);
        bytes += cause_bytes(&cause) + if is_new { json_bytes(&text) + SEPARATOR_BYTES } else { 0 };
        if bytes > bytes_max && !causes.is_empty() {
            break;
        }
        causes.push(cause);
        if is_new {
            seen.insert(text.clone());
            texts.push(text);
        }
    }
    (causes, texts)
}

fn cause(error: &Error) -> Cause {
    Cause { reason: error.reason().to_owned(), message: error.body(), field: error.field().to_owned() }
}

fn cause_bytes(cause: &Cause) -> usize {
    CAUSE_BYTES + json_bytes(&cause.reason) + json_bytes(&cause.message) + json_bytes(&cause.field)
}

/// Size in bytes of a text in a JSON string with the escapes of Go's encoder.
fn json_bytes(text: &str) -> usize {
    let escaped = |c| match c {
        '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
        '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' => 6,
        c => c.len_utf8(),
    };
    text.chars().map(escaped).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::Path;

    fn answer(errors: &ErrorList) -> (Status, usize) {
        let status = Status::invalid(&GroupKind::new("", "Pod"), "p", errors);
        let bytes = serde_json::to_string(&status).unwrap().len();
        (status, bytes)
    }

    #[test]
    fn response_below_limit_is_complete() {
        let path = Path::root("spec");
        let (status, _) = answer(&(0..3000).map(|i| Error::invalid(&path, i, "\"no\"")).collect());
        let causes = status.details.unwrap().causes;
        assert_eq!(causes.len(), 3000);
        assert_eq!(causes[2999].message, "Invalid value: 2999: \"no\"");
        assert!(status.message.ends_with(", spec: Invalid value: 2999: \"no\"]"));
    }

    #[test]
    fn long_response_is_cut_with_omitted_count() {
        for value in ["a", "\u{1}", "\"\"\"\"", "é", &"x".repeat(3_000_000), &"\u{7}".repeat(500_000)] {
            let error = |i| Error::invalid(&Path::root("list").index(i), value, "is wrong");
            let (status, bytes) = answer(&(0..50_000).map(error).collect());
            let causes = status.details.unwrap().causes;
            let last = causes.last().unwrap();
            assert_eq!(last.message, format!("{} more errors are left out", 50_001 - causes.len()));
            assert!(bytes < LIST_BYTES_MAX + 1000, "{bytes}");
            assert!(value.len() > 10 || bytes > LIST_BYTES_MAX - 2000, "{bytes}");
        }
    }

    #[test]
    fn a_name_that_is_too_long_is_cut() {
        let errors = ErrorList::from([Error::required(&Path::root("spec"), "")]);
        let status = Status::invalid(&GroupKind::new("", "Pod"), &"n".repeat(3_000_000), &errors);
        assert!(status.message.len() < 2 * SHORTENED_BYTES_MAX);
    }
}
