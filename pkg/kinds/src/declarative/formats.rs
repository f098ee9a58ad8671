//! Formats of strings (upstream's `validate/strfmt.go` and `validate/content`).

use apimachinery::field::{BadValue, Error, Path};
use apimachinery::go_quote::Quoted;
use apimachinery::names;

/// A format, named after upstream's tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    ExtendedResourceName,
    LabelKey,
    LongName,
    LongNameCaseless,
    PathSegmentName,
    PrefixedLabelKey,
    ResourceFullyQualifiedName,
    ResourcePoolName,
    ShortName,
    Uuid,
}

const LABEL_BYTES_MAX: usize = 63;
const SUBDOMAIN_BYTES_MAX: usize = 253;
/// Maximum size in bytes of the name of a device's attribute or capacity.
const DEVICE_NAME_BYTES_MAX: usize = 32;
const UUID_BYTES: usize = 36;

const CASELESS_MESSAGE: &str = "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and \
    must start and end with an alphanumeric character";
const SUBDOMAIN_REGEX: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
/// Prefix of a quota for an extended resource.
const QUOTA_PREFIX: &str = "requests.";
const KUBERNETES_DOMAIN: &str = "kubernetes.io/";

/// Receives the errors of a text. It builds only those that it keeps: each one repeats the text.
type Push<'f> = &'f mut dyn FnMut(&dyn Fn() -> Error);

/// Passes the errors of a text to `push`. `shown` is the text as the messages print it.
pub(super) fn check(
    format: Format,
    text: &str,
    shown: &dyn Fn() -> BadValue,
    path: &Path<'_>,
    push: Push<'_>,
) {
    let messages = match format {
        Format::LabelKey => names::is_label_key(text),
        Format::LongName => in_bytes(names::is_dns1123_subdomain(text), SUBDOMAIN_BYTES_MAX),
        Format::LongNameCaseless => caseless_subdomain(text),
        Format::PathSegmentName => names::is_path_segment_name(text),
        Format::PrefixedLabelKey => prefixed_label_key(text),
        Format::ShortName => in_bytes(names::is_dns1123_label(text), LABEL_BYTES_MAX),
        Format::Uuid => uuid(text),
        Format::ExtendedResourceName => extended_resource_name(text),
        Format::ResourceFullyQualifiedName => return qualified_name(text, path, push),
        Format::ResourcePoolName => return pool_name(text, path, push),
    };
    for message in messages {
        push(&|| Error::invalid(path, shown(), message.clone()));
    }
}

/// Upstream's `content` package measures names in bytes, older functions in characters.
fn in_bytes(mut messages: Vec<String>, max: usize) -> Vec<String> {
    let characters = names::max_len_error(max);
    for message in &mut messages {
        if *message == characters {
            *message = names::max_len_bytes_error(max);
        }
    }
    messages
}

fn caseless_subdomain(text: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if text.len() > SUBDOMAIN_BYTES_MAX {
        messages.push(names::max_len_bytes_error(SUBDOMAIN_BYTES_MAX));
    }
    let too_long = names::max_len_error(SUBDOMAIN_BYTES_MAX);
    let others = names::is_dns1123_subdomain(&text.to_ascii_lowercase());
    if others.iter().any(|message| *message != too_long) {
        messages.push(names::regex_error(CASELESS_MESSAGE, SUBDOMAIN_REGEX, &["Example.com"]));
    }
    messages
}

fn prefixed_label_key(text: &str) -> Vec<String> {
    let messages = names::is_label_key(text);
    if messages.is_empty() && !text.contains('/') {
        return vec!["must include a prefix (e.g. 'example.com/key')".to_owned()];
    }
    messages
}

fn uuid(text: &str) -> Vec<String> {
    let valid = |(at, byte): (usize, u8)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
    };
    if text.len() == UUID_BYTES && text.bytes().enumerate().all(valid) {
        return Vec::new();
    }
    vec!["must be a lowercase UUID in 8-4-4-4-12 format".to_owned()]
}

fn extended_resource_name(text: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if !text.contains('/') {
        messages.push("a name must be a domain-prefixed path, such as 'example.com/my-prop'".to_owned());
    } else if text.contains(KUBERNETES_DOMAIN) {
        messages.push(format!("must not have {} domain", Quoted(KUBERNETES_DOMAIN)));
    }
    if text.starts_with(QUOTA_PREFIX) {
        messages.push(format!("must not have {} prefix", Quoted(QUOTA_PREFIX)));
    }
    messages.extend(names::is_label_key(&format!("{QUOTA_PREFIX}{text}")));
    messages
}

fn pool_name(text: &str, path: &Path<'_>, push: Push<'_>) {
    if text.len() > SUBDOMAIN_BYTES_MAX {
        push(&|| Error::too_long(path, Some(SUBDOMAIN_BYTES_MAX)));
    }
    for (index, segment) in text.split('/').enumerate() {
        if segment.is_empty() {
            push(&|| Error::invalid(path, text, format!("segment {index}: must not be empty")));
            continue;
        }
        for message in in_bytes(names::is_dns1123_subdomain(segment), SUBDOMAIN_BYTES_MAX) {
            push(&|| Error::invalid(path, segment, format!("segment {index}: {message}")));
        }
    }
}

fn qualified_name(text: &str, path: &Path<'_>, push: Push<'_>) {
    match text.split_once('/') {
        None => {
            c_identifier(text, path, push);
            let detail = "a fully qualified name must be a domain and a name separated by a slash";
            push(&|| Error::invalid(path, text, detail));
        }
        // Upstream accepts names of more than two parts.
        Some((_, name)) if name.contains('/') => {}
        Some((domain, name)) => {
            domain_errors(domain, path, push);
            if name.is_empty() {
                push(&|| Error::invalid(path, "", "name must not be empty"));
            } else {
                c_identifier(name, path, push);
            }
        }
    }
}

fn domain_errors(domain: &str, path: &Path<'_>, push: Push<'_>) {
    if domain.is_empty() {
        return push(&|| Error::invalid(path, "", "prefix must not be empty"));
    }
    if domain.len() > LABEL_BYTES_MAX {
        push(&|| Error::too_long(path, Some(LABEL_BYTES_MAX)));
    }
    for message in in_bytes(names::is_dns1123_subdomain(domain), SUBDOMAIN_BYTES_MAX) {
        push(&|| Error::invalid(path, domain, format!("prefix: {message}")));
    }
}

fn c_identifier(name: &str, path: &Path<'_>, push: Push<'_>) {
    if name.len() > DEVICE_NAME_BYTES_MAX {
        push(&|| Error::too_long(path, Some(DEVICE_NAME_BYTES_MAX)));
    }
    for message in names::is_c_identifier(name) {
        push(&|| Error::invalid(path, name, message.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(format: Format, text: &str) -> Vec<String> {
        let mut errors = Vec::new();
        let path = Path::root("f");
        check(format, text, &|| BadValue::from(text), &path, &mut |error| errors.push(error().to_string()));
        errors
    }

    #[track_caller]
    fn rejected(format: Format, text: &str, expected: &str) {
        let messages = messages(format, text);
        assert!(messages.iter().any(|message| message.contains(expected)), "{messages:?}");
    }

    #[test]
    fn valid_texts_pass() {
        for (format, text) in [
            (Format::ExtendedResourceName, "example.com/gpu"),
            (Format::LabelKey, "a"),
            (Format::LongName, "a.b"),
            (Format::LongNameCaseless, "A.b"),
            (Format::PathSegmentName, "a:b"),
            (Format::PrefixedLabelKey, "example.com/a"),
            (Format::ResourceFullyQualifiedName, "example.com/a_b"),
            (Format::ResourcePoolName, "a/b.c"),
            (Format::ShortName, "a-b"),
            (Format::Uuid, "123e4567-e89b-12d3-a456-426614174000"),
        ] {
            assert_eq!(messages(format, text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn invalid_texts_are_rejected() {
        rejected(Format::ExtendedResourceName, "gpu", "domain-prefixed path");
        rejected(
            Format::ExtendedResourceName,
            "kubernetes.io/gpu",
            "must not have \"kubernetes.io/\" domain",
        );
        rejected(Format::ExtendedResourceName, "requests.a/b", "must not have \"requests.\" prefix");
        rejected(
            Format::LongNameCaseless,
            "A_b",
            "Invalid value: \"A_b\": an RFC 1123 subdomain must consist of",
        );
        rejected(Format::PathSegmentName, "a/b", "may not contain '/'");
        rejected(Format::PrefixedLabelKey, "a", "must include a prefix (e.g. 'example.com/key')");
        rejected(Format::ResourceFullyQualifiedName, "a", "a fully qualified name must be");
        rejected(Format::ResourceFullyQualifiedName, "/a", "prefix must not be empty");
        rejected(Format::ResourceFullyQualifiedName, "a/", "name must not be empty");
        rejected(Format::ResourceFullyQualifiedName, "A/a", "prefix: a lowercase RFC 1123 subdomain");
        rejected(Format::ResourcePoolName, "a//b", "segment 1: must not be empty");
        rejected(Format::ResourcePoolName, "a/B", "segment 1: a lowercase RFC 1123 subdomain");
        rejected(Format::Uuid, "123E4567-e89b-12d3-a456-426614174000", "must be a lowercase UUID");
    }

    #[test]
    fn long_names_are_measured_in_bytes() {
        rejected(Format::ShortName, &"a".repeat(64), "must be no more than 63 bytes");
        rejected(Format::LongName, &"a".repeat(254), "must be no more than 253 bytes");
        rejected(Format::LongNameCaseless, &"a".repeat(254), "must be no more than 253 bytes");
        rejected(Format::ResourcePoolName, &"a".repeat(254), "Too long: may not be more than 253 bytes");
        rejected(Format::ResourceFullyQualifiedName, &format!("a/{}", "a".repeat(33)), "more than 32 bytes");
    }
}
