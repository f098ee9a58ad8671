//! `Warning` headers: every text once, and not more of them than a client can be asked to read
//! (upstream's `filters/warning.go`).

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use http::header::{HeaderMap, HeaderValue, WARNING};

/// Characters of all warnings together; beyond them every single one is shortened.
const TOTAL_CHARACTERS_MAX: usize = 4096;
/// Characters of a shortened warning.
const SHORTENED_CHARACTERS: usize = 256;

/// What the client of one request is to be warned of, in order, by whoever takes part in it.
#[derive(Default)]
pub(crate) struct Warnings(Mutex<Vec<String>>);

impl Warnings {
    /// Adds a text.
    pub(crate) fn push(&self, text: String) {
        self.extend([text]);
    }

    /// Adds texts.
    pub(crate) fn extend(&self, texts: impl IntoIterator<Item = String>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend(texts);
    }

    /// What has been said until now.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Adds `Warning: 299 - "text"` for each text. Texts with control characters cannot be sent, and are not.
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
    let mut written = 0;
    for text in texts {
        if written >= TOTAL_CHARACTERS_MAX {
            break;
        }
        let end = text.char_indices().nth(SHORTENED_CHARACTERS).map_or(text.len(), |(at, _)| at);
        let (text, _) = text.split_at(end);
        written += text.chars().count();
        append(headers, text);
    }
}

/// Puts warnings before those that an answer has already, unless it says the same.
pub fn prepend(headers: &mut HeaderMap, warnings: &[String]) {
    if warnings.is_empty() {
        return;
    }
    let rest: Vec<HeaderValue> = headers.get_all(WARNING).into_iter().cloned().collect();
    headers.remove(WARNING);
    add(headers, warnings);
    for value in rest {
        if !headers.get_all(WARNING).iter().any(|known| *known == value) {
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
        let found: Vec<&[u8]> = headers.get_all(WARNING).iter().map(HeaderValue::as_bytes).collect();
        let expected: Vec<String> = expected.iter().map(|text| format!("299 - \"{text}\"")).collect();
        assert_eq!(found, expected.iter().map(String::as_bytes).collect::<Vec<_>>());
    }

    #[test]
    fn every_text_is_sent_once_and_quoted() {
        let warnings =
            ["a \"b\" \\".to_owned(), "ü".to_owned(), "ü".to_owned(), String::new(), "x\ny".to_owned()];
        check(&warnings, &["a \\\"b\\\" \\\\".to_owned(), "ü".to_owned()]);
    }

    #[test]
    fn warnings_of_earlier_steps_come_first() {
        let mut headers = HeaderMap::new();
        add(&mut headers, &["late".to_owned(), "early".to_owned()]);
        prepend(&mut headers, &["early".to_owned()]);
        let found: Vec<&[u8]> = headers.get_all(WARNING).iter().map(HeaderValue::as_bytes).collect();
        assert_eq!(found, [&b"299 - \"early\""[..], b"299 - \"late\""]);
    }

    #[test]
    fn too_much_text_is_shortened_and_then_dropped() {
        let fits: Vec<String> = (0..8).map(|n| format!("{n}{}", "x".repeat(511))).collect();
        check(&fits, &fits);
        let long: Vec<String> = (10..40).map(|n| format!("{n}{}", "ü".repeat(300))).collect();
        let short: Vec<String> = long.iter().take(16).map(|text| text.chars().take(256).collect()).collect();
        check(&long, &short);
    }
}
