//! Other formats of upstream's validation package: port names, environment variables, config keys,
//! percentages, header names, number ranges.

use super::{DNS1123_SUBDOMAIN_BYTES_MAX, max_len_error, regex_error};
use std::ops::RangeInclusive;

/// Longest name of a container or service port (RFC 6335), in bytes.
const PORT_NAME_BYTES_MAX: usize = 15;

/// `must be between LOW and HIGH, inclusive`.
pub fn inclusive_range_error(low: i64, high: i64) -> String {
    format!("must be between {low} and {high}, inclusive")
}

/// Checks that a number lies in a range.
pub fn is_in_range(value: i64, range: RangeInclusive<i64>) -> Vec<String> {
    if range.contains(&value) {
        return Vec::new();
    }
    vec![inclusive_range_error(*range.start(), *range.end())]
}

/// Checks a port number: 1 to 65535.
pub fn is_port_number(port: i64) -> Vec<String> {
    is_in_range(port, 1..=65535)
}

/// Checks a port name (RFC 6335, lower case only).
pub fn is_port_name(name: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if name.len() > PORT_NAME_BYTES_MAX {
        errors.push(max_len_error(PORT_NAME_BYTES_MAX));
    }
    let is_allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if name.is_empty() || !name.bytes().all(is_allowed) {
        errors.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !name.bytes().any(|b| b.is_ascii_lowercase()) {
        errors.push("must contain at least one letter (a-z)".to_owned());
    }
    if name.contains("--") {
        errors.push("must not contain consecutive hyphens".to_owned());
    }
    if name.starts_with('-') || name.ends_with('-') {
        errors.push("must not begin or end with a hyphen".to_owned());
    }
    errors
}

/// Checks `N%`.
pub fn is_valid_percent(text: &str) -> Vec<String> {
    let digits = text.strip_suffix('%').unwrap_or_default();
    if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
        return Vec::new();
    }
    vec![regex_error(
        "a valid percent string must be a numeric string followed by an ending '%'",
        "[0-9]+%",
        &["1%", "93%"],
    )]
}

/// Checks a header name of an HTTP probe: ASCII letters, digits and `-`.
pub fn is_http_header_name(name: &str) -> Vec<String> {
    if !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
        return Vec::new();
    }
    vec![regex_error(
        "a valid HTTP header must consist of alphanumeric characters or '-'",
        "[-A-Za-z0-9]+",
        &["X-Header-Name"],
    )]
}

/// Checks a C identifier; the length is not limited.
pub fn is_c_identifier(name: &str) -> Vec<String> {
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if starts_well && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
        return Vec::new();
    }
    vec![regex_error(
        "a valid C identifier must start with alphabetic character or '_', followed by a string \
         of alphanumeric characters or '_'",
        "[A-Za-z_][A-Za-z0-9_]*",
        &["my_name", "MY_NAME", "MyName"],
    )]
}

/// Checks an environment variable name by the strict rule.
pub fn is_env_var_name(name: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let starts_well = name.starts_with(|c: char| !c.is_ascii_digit());
    if !starts_well || !name.bytes().all(is_key_byte) {
        errors.push(regex_error(
            "a valid environment variable name must consist of alphabetic characters, digits, \
             '_', '-', or '.', and must not start with a digit",
            "[-._a-zA-Z][-._a-zA-Z0-9]*",
            &["my.env-name", "MY_ENV.NAME", "MyEnvName1"],
        ));
    }
    errors.extend(parent_directory_error(name));
    errors
}

/// Checks an environment variable name by the relaxed rule: printable ASCII
/// without `=` (KEP-4369).
pub fn is_relaxed_env_var_name(name: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if name.is_empty() {
        errors.push("environment variable name must be non-empty".to_owned());
    }
    if !name.bytes().all(|b| (b' '..=b'~').contains(&b) && b != b'=') {
        errors.push(
            "a valid environment variable name must consist only of printable ASCII characters \
             other than '='"
                .to_owned(),
        );
    }
    errors
}

/// Checks a key of a ConfigMap or Secret.
pub fn is_config_map_key(key: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if key.len() > DNS1123_SUBDOMAIN_BYTES_MAX {
        errors.push(max_len_error(DNS1123_SUBDOMAIN_BYTES_MAX));
    }
    if key.is_empty() || !key.bytes().all(is_key_byte) {
        errors.push(regex_error(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
            "[-._a-zA-Z0-9]+",
            &["key.name", "KEY_NAME", "key-name"],
        ));
    }
    errors.extend(parent_directory_error(key));
    errors
}

fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

/// Keys become file names, so they must not refer to a parent directory.
fn parent_directory_error(name: &str) -> Option<String> {
    match name {
        "." | ".." => Some(format!("must not be '{name}'")),
        _ if name.starts_with("..") => Some("must not start with '..'".to_owned()),
        _ => None,
    }
}
