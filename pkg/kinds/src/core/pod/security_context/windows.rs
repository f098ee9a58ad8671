//! Windows security options of containers.

use crate::validation::value::invalid_each;
use api::tree::maybe_text;
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names;
use schema::object::Object;

/// Size limit of a GMSA credential spec in KiB.
const CREDENTIAL_SPEC_KIB_MAX: usize = 64;
/// Exclusive length limit of a user's domain in bytes.
const DOMAIN_BYTES_END: usize = 256;
/// Length limit of a user name without the domain, in bytes.
const USER_BYTES_MAX: usize = 104;
/// Length limit of a NetBIOS domain name in characters.
const NET_BIOS_CHARS_MAX: usize = 15;
/// Length limit of a DNS label in bytes.
const DNS_LABEL_BYTES_MAX: usize = 63;

pub(crate) fn windows_options(options: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    if let Some(name) = maybe_text(options, "gmsaCredentialSpecName") {
        let messages = names::is_dns1123_subdomain(name);
        invalid_each(&path.child("gmsaCredentialSpecName"), BadValue::json_text(name), messages, errors);
    }
    if let Some(spec) = maybe_text(options, "gmsaCredentialSpec") {
        let detail = match spec.len() {
            0 => Some("gmsaCredentialSpec cannot be an empty string".to_owned()),
            size if size > CREDENTIAL_SPEC_KIB_MAX * 1024 => {
                Some(format!("gmsaCredentialSpec size must be under {CREDENTIAL_SPEC_KIB_MAX} KiB"))
            }
            _ => None,
        };
        let path = path.child("gmsaCredentialSpec");
        errors.extend(detail.map(|detail| Error::invalid(&path, BadValue::json_text(spec), detail)));
    }
    if let Some(name) = maybe_text(options, "runAsUserName") {
        let messages = user_name(name).into_iter().map(|message| format!("runAsUserName{message}")).collect();
        invalid_each(&path.child("runAsUserName"), BadValue::json_text(name), messages, errors);
    }
}

/// Returns the errors of a user name, `DOMAIN\USER` or `USER`.
fn user_name(name: &str) -> Vec<String> {
    if name.is_empty() {
        return vec![" cannot be an empty string".to_owned()];
    }
    if name.chars().any(|c| c.is_ascii_control()) {
        return vec![" cannot contain control characters".to_owned()];
    }
    let (domain, user) = match name.split_once('\\') {
        Some((_, user)) if user.contains('\\') => {
            return vec![" cannot contain more than one backslash".to_owned()];
        }
        Some((domain, user)) => (Some(domain), user),
        None => (None, name),
    };
    let mut messages = Vec::new();
    if let Some(domain) = domain {
        if domain.len() >= DOMAIN_BYTES_END {
            messages.push(format!("'s Domain length must be under {DOMAIN_BYTES_END} characters"));
        }
        if !is_net_bios_name(domain) && !is_dns_name(domain) {
            messages.push("'s Domain doesn't match the NetBios nor the DNS format".to_owned());
        }
    }
    if user.is_empty() {
        messages.push("'s User cannot be empty".to_owned());
    } else if user.len() > USER_BYTES_MAX {
        messages.push(format!("'s User length must not be longer than {USER_BYTES_MAX} characters"));
    }
    if !user.is_empty() && user.chars().all(|c| matches!(c, '.' | ' ')) {
        messages.push("'s User cannot contain only periods or spaces".to_owned());
    }
    if user.contains(['"', '/', '\\', ':', ';', '|', '=', ',', '+', '*', '?', '<', '>', '@', '[', ']']) {
        messages.push("'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]".to_owned());
    }
    messages
}

/// True for up to 15 characters, none of them reserved in NetBIOS, without a leading dot.
fn is_net_bios_name(domain: &str) -> bool {
    let reserved = |c: char| matches!(c, '\\' | '/' | ':' | '*' | '?' | '"' | '<' | '>' | '|');
    let count = domain.chars().count();
    (1..=NET_BIOS_CHARS_MAX).contains(&count) && !domain.starts_with('.') && !domain.contains(reserved)
}

/// True for dot-separated labels of letters, digits and inner dashes.
fn is_dns_name(domain: &str) -> bool {
    domain.split('.').all(|label| {
        let allowed = label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
        let length = (1..=DNS_LABEL_BYTES_MAX).contains(&label.len());
        allowed && length && !label.starts_with('-') && !label.ends_with('-')
    })
}
