//! Label keys (also annotation keys, finalizers, resource names: "qualified
//! names") and label values.

use super::dns::{DNS1123_SUBDOMAIN_BYTES_MAX, subdomain_syntax_error};
use super::{is_word, max_len_bytes_error, regex_error};

/// Longest name part of a label key, in bytes.
pub const LABEL_KEY_BYTES_MAX: usize = 63;
/// Longest label value, in bytes.
pub const LABEL_VALUE_BYTES_MAX: usize = 63;

const KEY_REGEX: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const KEY_MESSAGE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must \
    start and end with an alphanumeric character";
const VALUE_REGEX: &str = "(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?";
const VALUE_MESSAGE: &str = "a valid label must be an empty string or consist of alphanumeric \
    characters, '-', '_' or '.', and must start and end with an alphanumeric character";

/// Checks `[prefix/]name`: the prefix a DNS subdomain, the name at most 63
/// bytes of letters, digits and inner `-_.`.
pub fn is_label_key(key: &str) -> Vec<String> {
    let (prefix, name) = match key.split_once('/') {
        None => (None, key),
        Some((prefix, name)) if !name.contains('/') => (Some(prefix), name),
        Some(_) => {
            return vec![format!(
                "a valid label key {} with an optional DNS subdomain prefix and '/' \
                 (e.g. 'example.com/MyName')",
                key_syntax_error()
            )];
        }
    };
    let mut errors = prefix.map(prefix_errors).unwrap_or_default();
    if name.is_empty() {
        errors.push("name part must be non-empty".to_owned());
    } else if name.len() > LABEL_KEY_BYTES_MAX {
        errors.push(format!("name part {}", max_len_bytes_error(LABEL_KEY_BYTES_MAX)));
    }
    if !matches_key(name) {
        errors.push(format!("name part {}", key_syntax_error()));
    }
    errors
}

/// Checks a label value: empty, or as the name part of a key.
pub fn is_label_value(value: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if value.len() > LABEL_VALUE_BYTES_MAX {
        errors.push(max_len_bytes_error(LABEL_VALUE_BYTES_MAX));
    }
    if !value.is_empty() && !matches_key(value) {
        errors.push(regex_error(VALUE_MESSAGE, VALUE_REGEX, &["MyValue", "my_value", "12345"]));
    }
    errors
}

fn prefix_errors(prefix: &str) -> Vec<String> {
    if prefix.is_empty() {
        return vec!["prefix part must be non-empty".to_owned()];
    }
    let too_long = (prefix.len() > DNS1123_SUBDOMAIN_BYTES_MAX)
        .then(|| max_len_bytes_error(DNS1123_SUBDOMAIN_BYTES_MAX));
    let errors = too_long.into_iter().chain(subdomain_syntax_error(prefix));
    errors.map(|error| format!("prefix part {error}")).collect()
}

fn matches_key(name: &str) -> bool {
    is_word(
        name,
        |b| b.is_ascii_alphanumeric(),
        |b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'),
    )
}

fn key_syntax_error() -> String {
    regex_error(KEY_MESSAGE, KEY_REGEX, &["MyName", "my.name", "123-abc"])
}
