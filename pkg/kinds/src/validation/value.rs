//! Rules of single values in many kinds. Each appends its errors to `errors`.

use super::canonical_ip;
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names;
use jsontree::Value;

/// Error text for a negative number.
pub(crate) const NEGATIVE: &str = "must be greater than or equal to 0";
/// Error text for a number that is not positive.
pub(crate) const NOT_POSITIVE: &str = "must be greater than zero";

/// Adds one error per message of a check from [`names`].
pub(crate) fn invalid_each(
    path: &Path<'_>,
    value: impl Into<BadValue>,
    messages: Vec<String>,
    errors: &mut ErrorList,
) {
    if messages.is_empty() {
        return;
    }
    let value = value.into();
    errors.extend(messages.into_iter().map(|message| Error::invalid(path, value.clone(), message)));
}

/// Checks for a DNS label (RFC 1123).
pub(crate) fn dns_label(path: &Path<'_>, value: &str, errors: &mut ErrorList) {
    invalid_each(path, value, names::is_dns1123_label(value), errors);
}

/// Checks for a DNS subdomain (RFC 1123).
pub(crate) fn dns_subdomain(path: &Path<'_>, value: &str, errors: &mut ErrorList) {
    invalid_each(path, value, names::is_dns1123_subdomain(value), errors);
}

/// Checks for a qualified name, with the syntax of label keys.
pub(crate) fn qualified_name(path: &Path<'_>, value: &str, errors: &mut ErrorList) {
    invalid_each(path, value, names::is_label_key(value), errors);
}

/// Checks for a supported value; an empty one is not supported.
pub(crate) fn supported_value(path: &Path<'_>, value: &str, supported: &[&str], errors: &mut ErrorList) {
    if !supported.contains(&value) {
        errors.push(Error::not_supported(path, BadValue::json_text(value), supported));
    }
}

/// Checks for a supported value; an empty one is reported as missing.
pub(crate) fn required_one_of(path: &Path<'_>, value: &str, supported: &[&str], errors: &mut ErrorList) {
    match value {
        "" => errors.push(Error::required(path, "")),
        _ => supported_value(path, value, supported, errors),
    }
}

/// Checks for a non-negative number.
pub(crate) fn nonnegative(path: &Path<'_>, value: i64, errors: &mut ErrorList) {
    if value < 0 {
        errors.push(Error::invalid(path, value, NEGATIVE));
    }
}

/// Checks for a relative path without `..`.
pub(crate) fn local_relative_path(path: &Path<'_>, value: &str, errors: &mut ErrorList) {
    if value.starts_with('/') {
        errors.push(Error::invalid(path, value, "must be a relative path"));
    }
    no_backsteps(path, value, errors);
}

/// Checks for a path without `..` as a segment.
pub(crate) fn no_backsteps(path: &Path<'_>, value: &str, errors: &mut ErrorList) {
    if has_backsteps(value) {
        errors.push(Error::invalid(path, value, "must not contain '..'"));
    }
}

pub(crate) fn has_backsteps(path: &str) -> bool {
    path.split('/').any(|segment| segment == "..")
}

/// Checks for a port number or port name.
pub(crate) fn port_number_or_name(path: &Path<'_>, port: Option<&Value>, errors: &mut ErrorList) {
    if let Some(name) = port.and_then(Value::as_str) {
        invalid_each(path, name, names::is_port_name(name), errors);
    } else {
        let number = port.and_then(Value::as_i64).unwrap_or_default();
        invalid_each(path, number, names::is_port_number(number), errors);
    }
}

/// Checks that a name fits into one segment of a URL path. It may be empty unless `required`.
pub(crate) fn path_segment(path: &Path<'_>, name: &str, required: bool, errors: &mut ErrorList) {
    match name {
        "" if required => errors.push(Error::required(path, "")),
        name => invalid_each(path, name, names::is_path_segment_name(name), errors),
    }
}

/// Checks for the DNS name of a host, as opposed to an address.
pub(crate) fn host_name(path: &Path<'_>, name: &str, errors: &mut ErrorList) {
    dns_subdomain(path, name, errors);
    if canonical_ip(name).is_some() {
        errors.push(Error::invalid(path, name, "must be a DNS name, not an IP address"));
    }
}
