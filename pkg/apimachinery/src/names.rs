//! Rules for names, label keys and label values, with the messages of upstream's `validation` and `content`
//! packages, and generated names.
//!
//! A check returns the messages of all violations. An empty list (which needs no allocation) means valid.
//! Upstream implements the subdomain check twice, with "characters" in the texts for object names and "bytes"
//! in those for prefixes of label keys; both texts reach clients.

mod dns;
mod generate;
mod misc;
mod path_segment;
mod qualified;

pub use dns::{
    DNS1035_LABEL_BYTES_MAX, DNS1123_LABEL_BYTES_MAX, DNS1123_SUBDOMAIN_BYTES_MAX, is_dns1035_label,
    is_dns1123_label, is_dns1123_subdomain, is_dns1123_subdomain_with_underscore,
    is_wildcard_dns1123_subdomain,
};
pub use generate::{
    GENERATED_BASE_BYTES_MAX, NAME_BYTES_MAX, SUFFIX_ALPHABET, SUFFIX_CHARS, generate, random_suffix,
};
pub use misc::{
    inclusive_range_error, is_c_identifier, is_config_map_key, is_env_var_name, is_http_header_name,
    is_in_range, is_port_name, is_port_number, is_relaxed_env_var_name, is_valid_percent,
};
pub use path_segment::{is_path_segment_name, is_path_segment_prefix};
pub use qualified::{LABEL_KEY_BYTES_MAX, LABEL_VALUE_BYTES_MAX, is_label_key, is_label_value};

/// Size limit of an object's annotations, keys and values together, in bytes (upstream's
/// `TotalAnnotationSizeLimitB`).
pub const TOTAL_ANNOTATIONS_BYTES_MAX: usize = 256 * 1024;

/// Name rule of a kind. With `prefix`, the text is a generateName, to which a suffix will be appended.
pub type NameCheck = fn(name: &str, prefix: bool) -> Vec<String>;

/// Checks for a DNS subdomain (most kinds).
pub fn name_is_dns_subdomain(name: &str, prefix: bool) -> Vec<String> {
    masked(name, prefix, is_dns1123_subdomain)
}

/// Checks for an RFC 1123 DNS label (namespaces).
pub fn name_is_dns_label(name: &str, prefix: bool) -> Vec<String> {
    masked(name, prefix, is_dns1123_label)
}

/// Checks for an RFC 1035 label, which starts with a letter.
pub fn name_is_dns1035_label(name: &str, prefix: bool) -> Vec<String> {
    masked(name, prefix, is_dns1035_label)
}

/// Checks for a valid URL path segment (RBAC kinds, …).
pub fn name_is_path_segment(name: &str, prefix: bool) -> Vec<String> {
    if prefix { is_path_segment_prefix(name) } else { is_path_segment_name(name) }
}

/// Checks a generateName as if its trailing dash were a letter. Upstream replaces the last *two* characters
/// by one `a`, so that `a_-` is valid; clients can observe this, so it is the same here.
fn masked(name: &str, prefix: bool, check: fn(&str) -> Vec<String>) -> Vec<String> {
    let cut = name.len().saturating_sub(2);
    match name.get(..cut) {
        Some(head) if prefix && name.len() > 1 && name.ends_with('-') => check(&format!("{head}a")),
        _ => check(name),
    }
}

/// `must be no more than N characters`.
pub fn max_len_error(max: usize) -> String {
    format!("must be no more than {max} characters")
}

/// `must be no more than N bytes`, the wording of label keys and values.
pub fn max_len_bytes_error(max: usize) -> String {
    format!("must be no more than {max} bytes")
}

/// A message followed by examples and the regular expression.
pub fn regex_error(message: &str, regex: &str, examples: &[&str]) -> String {
    if examples.is_empty() {
        return format!("{message} (regex used for validation is '{regex}')");
    }
    let quoted: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    let examples = quoted.join(" or ");
    format!("{message} (e.g. {examples}regex used for validation is '{regex}')")
}

/// True if the text is `edge (inner* edge)?`: starts and ends with an `edge`
/// byte and has only `inner` bytes between.
fn is_word(text: &str, edge: fn(u8) -> bool, inner: fn(u8) -> bool) -> bool {
    match text.as_bytes() {
        [] => false,
        [only] => edge(*only),
        [first, middle @ .., last] => edge(*first) && edge(*last) && middle.iter().all(|&byte| inner(byte)),
    }
}

#[cfg(test)]
mod tests;
