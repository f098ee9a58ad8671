//! Rules of single values that fields of many kinds share. Each appends what it finds to `errors`.

use super::canonical_ip;
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names;
use jsontree::Value;

/// The words for a number that must not be below zero.
pub(crate) const NEGATIVE: &str = "must be greater than or equal to 0";
/// The words for a number that must be above zero.
pub(crate) const NOT_POSITIVE: &str = "must be greater than zero";

/// One error per message of a check from [`names`].
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

/// A DNS label (RFC 1123).
pub(crate) fn dns_label(path: &Path<'_>, value: &str, errors: &mut ErrorList) {
    invalid_each(path, value, names::is_dns1123_label(value), errors);
}

/// A DNS subdomain (RFC 1123).
pub(crate) fn dns_subdomain(path: &Path<'_>, value: &str, errors: &mut ErrorList) {
    invalid_each(path, value, names::is_dns1123_subdomain(value), errors);
}

/// A qualified name, as label keys are.
pub(crate) fn qualified_name(path: &Path<'_>, value: &str, errors: &mut ErrorList) {
    invalid_each(path, value, names::is_label_key(value), errors);
}

/// One of the supported values; an empty one is not.
pub(crate) fn one_of(path: &Path<'_>, value: &str, supported: &[&str], errors: &mut ErrorList) {
    if !supported.contains(&value) {
        errors.push(Error::not_supported(path, BadValue::json_text(value), supported));
    }
}

/// One of the supported values; an empty one is said to be missing.
pub(crate) fn required_one_of(path: &Path<'_>, value: &str, supported: &[&str], errors: &mut ErrorList) {
    match value {
        "" => errors.push(Error::required(path, "")),
        _ => one_of(path, value, supported, errors),
    }
}

/// A number that is not below zero.
pub(crate) fn nonnegative(path: &Path<'_>, value: i64, errors: &mut ErrorList) {
    if value < 0 {
        errors.push(Error::invalid(path, value, NEGATIVE));
    }
}

/// A relative path that does not climb (`..`).
pub(crate) fn descending_path(path: &Path<'_>, value: &str, errors: &mut ErrorList) {
    if value.starts_with('/') {
        errors.push(Error::invalid(path, value, "must be a relative path"));
    }
    no_backsteps(path, value, errors);
}

/// A path without `..` as a segment.
pub(crate) fn no_backsteps(path: &Path<'_>, value: &str, errors: &mut ErrorList) {
    if has_backsteps(value) {
        errors.push(Error::invalid(path, value, "must not contain '..'"));
    }
}

/// Whether a path has `..` as a segment.
pub(crate) fn has_backsteps(path: &str) -> bool {
    path.split('/').any(|segment| segment == "..")
}

/// The number of a port, or the name that it has elsewhere.
pub(crate) fn port_number_or_name(path: &Path<'_>, port: Option<&Value>, errors: &mut ErrorList) {
    if let Some(name) = port.and_then(Value::as_str) {
        invalid_each(path, name, names::is_port_name(name), errors);
    } else {
        let number = port.and_then(Value::as_i64).unwrap_or_default();
        invalid_each(path, number, names::is_port_number(number), errors);
    }
}

/// A name that is empty or fits into one segment of a URL path; `required` if it must not be empty.
pub(crate) fn path_segment(path: &Path<'_>, name: &str, required: bool, errors: &mut ErrorList) {
    match name {
        "" if required => errors.push(Error::required(path, "")),
        name => invalid_each(path, name, names::is_path_segment_name(name), errors),
    }
}

/// The DNS name of a host, not its address.
pub(crate) fn host_name(path: &Path<'_>, name: &str, errors: &mut ErrorList) {
    dns_subdomain(path, name, errors);
    if canonical_ip(name).is_some() {
        errors.push(Error::invalid(path, name, "must be a DNS name, not an IP address"));
    }
}
