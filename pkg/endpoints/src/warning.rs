//! `Warning` headers: each text once, with a limit on their total size (upstream's `filters/warning.go`).

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use http::header::{HeaderMap, HeaderValue, WARNING};

/// Limit in characters for all warnings. If it is exceeded, each warning is shortened.
const TOTAL_CHARACTERS_MAX: usize = 4096;
/// Length of a shortened warning in characters.
const SHORTENED_CHARACTERS: usize = 256;

/// Warnings for the client of one request, in order. All steps of the request add to it.
#[derive(Default)]
pub(crate) struct Warnings(Mutex<Vec<String>>);

impl Warnings {
    pub(crate) fn push(&self, text: String) {
        self.extend([text]);
    }

    pub(crate) fn extend(&self, texts: impl IntoIterator<Item = String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(texts);
    }

    /// Returns the warnings so far.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Adds `Warning: 299 - "text"` for each text. Texts with control characters cannot be sent and are dropped.
pub(crate) fn add(headers: &mut HeaderMap, warnings: &[String]) {
    let mut seen = HashSet::new();
    let texts = warnings.iter().filter(|text| !text.is_empty() && seen.insert(text.as_str()));
    let texts: Vec<&str> =
        texts.map(String::as_str).filter(|text| !text.chars().any(char::is_control)).collect();
    let total: usize = texts.iter().map(|text| text.chars().count()).sum();
    if total <= TOTAL_CHARACTERS_MAX {
        texts.iter().for_each(|text| append(headers, text));
        return;
    }
    let mut characters = 0;
    for text in texts {
        if characters >= TOTAL_CHARACTERS_MAX {
            break;
        }
        let end = text.char_indices().nth(SHORTENED_CHARACTERS).map_or(text.len(), |(at, _)| at);
        let (text, _) = text.split_at(end);
        characters += text.chars().count();
        append(headers, text);
    }
}

/// Inserts warnings before those of the response, without duplicates.
pub fn prepend(headers: &mut HeaderMap, warnings: &[String]) {
    if warnings.is_empty() {
        return;
    }
    let rest: Vec<HeaderValue> = headers.get_all(WARNING).into_iter().cloned().collect();
    headers.remove(WARNING);
    add(headers, warnings);
    for value in rest {
        if !headers.get_all(WARNING).iter().any(|existing| *existing == value) {
            headers.append(WARNING, value);
        }
    }
}

fn append(headers: &mut HeaderMap, text: &str) {
    let quoted = text.replace('\\', "\\\\").replace('"', "\\\"");
    if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{quoted}\"").as_bytes()) {
        headers.append(WARNING, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(warnings: &[String], expected: &[String]) {
        let mut headers = HeaderMap::new();
        add(&mut headers, warnings);
        let values: Vec<&[u8]> = headers.get_all(WARNING).iter().map(HeaderValue::as_bytes).collect();
        let expected: Vec<String> = expected.iter().map(|text| format!("299 - \"{text}\"")).collect();
        assert_eq!(values, expected.iter().map(String::as_bytes).collect::<Vec<_>>());
    }

    #[test]
    fn texts_are_deduplicated_and_quoted() {
        let warnings =
            ["a \"b\" \\".to_owned(), "ü".to_owned(), "ü".to_owned(), String::new(), "x\ny".to_owned()];
        check(&warnings, &["a \\\"b\\\" \\\\".to_owned(), "ü".to_owned()]);
    }

    #[test]
    fn warnings_of_earlier_steps_come_first() {
        let mut headers = HeaderMap::new();
        add(&mut headers, &["late".to_owned(), "early".to_owned()]);
        prepend(&mut headers, &["early".to_owned()]);
        let values: Vec<&[u8]> = headers.get_all(WARNING).iter().map(HeaderValue::as_bytes).collect();
        assert_eq!(values, [&b"299 - \"early\""[..], b"299 - \"late\""]);
    }

    #[test]
    fn long_texts_are_shortened_then_dropped() {
        let fits: Vec<String> = (0..8).map(|n| format!("{n}{}", "x".repeat(511))).collect();
        check(&fits, &fits);
        let long: Vec<String> = (10..40).map(|n| format!("{n}{}", "ü".repeat(300))).collect();
        let short: Vec<String> = long.iter().take(16).map(|text| text.chars().take(256).collect()).collect();
        check(&long, &short);
    }
}
