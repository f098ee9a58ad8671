//! Parses the impersonation headers of a request.

use std::collections::BTreeMap;

use http::{HeaderMap, HeaderName, HeaderValue};

use apimachinery::go_quote::quote;
use apimachinery::names::{name_is_dns_label, name_is_dns_subdomain};
use apimachinery::status::Status;

const USER: &str = "impersonate-user";
const UID: &str = "impersonate-uid";
const GROUP: &str = "impersonate-group";
const EXTRA_PREFIX: &str = "impersonate-extra-";

const NODE_PREFIX: &str = "system:node:";
const SERVICE_ACCOUNT_PREFIX: &str = "system:serviceaccount:";

/// Requested user, not authorized yet.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct RequestedUser {
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) groups: Vec<String>,
    pub(super) extra: BTreeMap<String, Vec<String>>,
}

/// Kind of user, from its name.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Subject<'w> {
    Node(&'w str),
    ServiceAccount { namespace: &'w str, name: &'w str },
    Other,
}

impl RequestedUser {
    /// Removes the impersonation headers and returns the requested user; `None` without one.
    ///
    /// # Errors
    /// 400 for attributes without a user name. Unknown `Impersonate-` headers are ignored.
    pub(super) fn extract(headers: &mut HeaderMap) -> Result<Option<Self>, Box<Status>> {
        let is_impersonation_header = |name: &HeaderName| {
            let name = name.as_str();
            [USER, UID, GROUP].contains(&name) || name.starts_with(EXTRA_PREFIX)
        };
        let names: Vec<HeaderName> =
            headers.keys().filter(|name| is_impersonation_header(name)).cloned().collect();
        if names.is_empty() {
            return Ok(None);
        }
        let requested = RequestedUser::read(headers, &names);
        if requested.name.is_empty() {
            return requested.without_user();
        }
        for name in names {
            headers.remove(name);
        }
        Ok(Some(requested))
    }

    fn read(headers: &HeaderMap, names: &[HeaderName]) -> Self {
        let first = |name: &str| headers.get(name).map(text).unwrap_or_default();
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for name in names {
            if let Some(key) = name.as_str().strip_prefix(EXTRA_PREFIX) {
                extra.entry(unescape(key)).or_default().extend(headers.get_all(name).iter().map(text));
            }
        }
        let groups = headers.get_all(GROUP).iter().map(text).collect();
        RequestedUser { name: first(USER), uid: first(UID), groups, extra }
    }

    /// Groups, a uid or extras without a user name are an error, which contains the user as Go prints it.
    fn without_user(self) -> Result<Option<Self>, Box<Status>> {
        if self == RequestedUser::default() {
            return Ok(None);
        }
        let strings = |items: &[String]| {
            let items: Vec<String> = items.iter().map(|item| quote(item)).collect();
            format!("[]string{{{}}}", items.join(", "))
        };
        let groups = match self.groups.as_slice() {
            [] => "[]string(nil)".to_owned(),
            groups => strings(groups),
        };
        let pairs: Vec<String> =
            self.extra.iter().map(|(key, values)| format!("{}:{}", quote(key), strings(values))).collect();
        let extra = match pairs.as_slice() {
            [] => "map[string][]string(nil)".to_owned(),
            pairs => format!("map[string][]string{{{}}}", pairs.join(", ")),
        };
        Err(Box::new(Status::bad_request(format!(
            "requested &user.DefaultInfo{{Name:\"\", UID:{}, Groups:{groups}, Extra:{extra}}} without impersonating a user name",
            quote(&self.uid)
        ))))
    }

    /// True if only a name is requested.
    pub(super) fn is_name_only(&self) -> bool {
        self.uid.is_empty() && self.groups.is_empty() && self.extra.is_empty()
    }

    /// Returns the kind of user.
    pub(super) fn subject(&self) -> Subject<'_> {
        if let Some(name) = self.name.strip_prefix(NODE_PREFIX)
            && name_is_dns_subdomain(name, false).is_empty()
        {
            return Subject::Node(name);
        }
        service_account(&self.name)
            .map_or(Subject::Other, |(namespace, name)| Subject::ServiceAccount { namespace, name })
    }
}

/// Namespace and name of the service account with this user name.
pub(super) fn service_account(user: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user.strip_prefix(SERVICE_ACCOUNT_PREFIX)?.split_once(':')?;
    let valid =
        name_is_dns_label(namespace, false).is_empty() && name_is_dns_subdomain(name, false).is_empty();
    valid.then_some((namespace, name))
}

/// Returns a header's value. Invalid UTF-8 becomes U+FFFD, also for the authorization check.
fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

/// Decodes percent escapes such as `%2f` in a key, because a header name cannot contain `/`. A key with an
/// invalid escape is kept unchanged.
fn unescape(key: &str) -> String {
    let hex = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
    let mut decoded = Vec::with_capacity(key.len());
    let mut bytes = key.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let (Some(high), Some(low)) = (hex(bytes.next()), hex(bytes.next())) else { return key.to_owned() };
        decoded.push((high * 16 + low) as u8);
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
