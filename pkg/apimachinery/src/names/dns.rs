//! DNS labels and subdomains (RFC 1035, RFC 1123), in lower case.

use super::{is_word, max_len_error, regex_error};

/// Longest DNS label (RFC 1123), in bytes.
pub const DNS1123_LABEL_BYTES_MAX: usize = 63;
/// Longest DNS label (RFC 1035), in bytes.
pub const DNS1035_LABEL_BYTES_MAX: usize = 63;
/// Longest DNS subdomain (RFC 1123), in bytes.
pub const DNS1123_SUBDOMAIN_BYTES_MAX: usize = 253;

const LABEL_REGEX: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const LABEL_MESSAGE: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric \
    characters or '-', and must start and end with an alphanumeric character";

const SUBDOMAIN_REGEX: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const SUBDOMAIN_MESSAGE: &str = "a lowercase RFC 1123 subdomain must consist of lower case \
    alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";

const UNDERSCORE_REGEX: &str = r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*";
const UNDERSCORE_MESSAGE: &str = "a lowercase RFC 1123 subdomain must consist of lower case \
    alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric \
    character";

const DNS1035_REGEX: &str = "[a-z]([-a-z0-9]*[a-z0-9])?";
const DNS1035_MESSAGE: &str = "a DNS-1035 label must consist of lower case alphanumeric \
    characters or '-', start with an alphabetic character, and end with an alphanumeric character";

const WILDCARD_REGEX: &str = r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const WILDCARD_MESSAGE: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by \
    a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' \
    and end with an alphanumeric character";

/// Checks a label: lower case letters, digits and inner dashes.
pub fn is_dns1123_label(value: &str) -> Vec<String> {
    let mut errors = too_long(value, DNS1123_LABEL_BYTES_MAX);
    if !matches_label(value) {
        // A valid subdomain that is no label contains dots.
        errors.push(if matches_subdomain(value) {
            "must not contain dots".to_owned()
        } else {
            regex_error(LABEL_MESSAGE, LABEL_REGEX, &["my-name", "123-abc"])
        });
    }
    errors
}

/// Checks a subdomain: labels joined by dots. Only the total length is limited.
pub fn is_dns1123_subdomain(value: &str) -> Vec<String> {
    let mut errors = too_long(value, DNS1123_SUBDOMAIN_BYTES_MAX);
    if let Some(error) = subdomain_syntax_error(value) {
        errors.push(error);
    }
    errors
}

/// As [`is_dns1123_subdomain`], with underscores (pod DNS search domains).
pub fn is_dns1123_subdomain_with_underscore(value: &str) -> Vec<String> {
    let mut errors = too_long(value, DNS1123_SUBDOMAIN_BYTES_MAX);
    let valid = value.split('.').all(|label| {
        let label = label.strip_prefix('_').unwrap_or(label);
        is_word(label, is_lower_alphanumeric, |b| is_label_byte(b) || b == b'_')
    });
    if !valid {
        errors.push(regex_error(UNDERSCORE_MESSAGE, UNDERSCORE_REGEX, &["example.com"]));
    }
    errors
}

/// Checks an RFC 1035 label, which starts with a letter.
pub fn is_dns1035_label(value: &str) -> Vec<String> {
    let mut errors = too_long(value, DNS1035_LABEL_BYTES_MAX);
    if !matches_label(value) || !value.starts_with(|c: char| c.is_ascii_lowercase()) {
        errors.push(regex_error(DNS1035_MESSAGE, DNS1035_REGEX, &["my-name", "abc-123"]));
    }
    errors
}

/// Checks a subdomain after `*.` (RFC 1034 section 4.3.3).
pub fn is_wildcard_dns1123_subdomain(value: &str) -> Vec<String> {
    let mut errors = too_long(value, DNS1123_SUBDOMAIN_BYTES_MAX);
    if !value.strip_prefix("*.").is_some_and(matches_subdomain) {
        errors.push(regex_error(WILDCARD_MESSAGE, WILDCARD_REGEX, &["*.example.com"]));
    }
    errors
}

/// Message for an invalid subdomain, without a length check.
pub(super) fn subdomain_syntax_error(value: &str) -> Option<String> {
    let valid = matches_subdomain(value);
    (!valid).then(|| regex_error(SUBDOMAIN_MESSAGE, SUBDOMAIN_REGEX, &["example.com"]))
}

fn too_long(value: &str, max: usize) -> Vec<String> {
    if value.len() > max { vec![max_len_error(max)] } else { Vec::new() }
}

fn matches_label(value: &str) -> bool {
    is_word(value, is_lower_alphanumeric, is_label_byte)
}

fn matches_subdomain(value: &str) -> bool {
    value.split('.').all(matches_label)
}

fn is_lower_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn is_label_byte(byte: u8) -> bool {
    is_lower_alphanumeric(byte) || byte == b'-'
}
