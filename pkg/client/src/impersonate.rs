//! Impersonation (client-go's `NewImpersonatingRoundTripper`).

use std::collections::BTreeMap;

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};

use crate::error::Error;

/// The user to impersonate.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Impersonate {
    /// User name.
    pub user: String,
    /// Uid; empty for none.
    pub uid: String,
    pub groups: Vec<String>,
    /// Extra attributes.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Impersonate {
    /// Returns the impersonation headers.
    ///
    /// # Errors
    /// [`Error::Credentials`] for values that a header cannot carry.
    pub(crate) fn headers(&self) -> Result<HeaderMap, Error> {
        let mut headers = HeaderMap::new();
        let mut add = |name: &str, value: &str| {
            let bad = |error: &dyn std::fmt::Display| Error::credentials(format!("impersonation: {error}"));
            let name = HeaderName::try_from(name).map_err(|error| bad(&error))?;
            let value = HeaderValue::try_from(value).map_err(|error| bad(&error))?;
            headers.append(name, value);
            Ok(())
        };
        add("impersonate-user", &self.user)?;
        if !self.uid.is_empty() {
            add("impersonate-uid", &self.uid)?;
        }
        for group in &self.groups {
            add("impersonate-group", group)?;
        }
        for (key, values) in &self.extra {
            for value in values {
                add(&format!("impersonate-extra-{}", escaped(key)), value)?;
            }
        }
        Ok(headers)
    }
}

/// Escapes a key for a header name: `%` and all invalid characters.
fn escaped(key: &str) -> String {
    let mut out = String::new();
    for byte in key.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => out.push(char::from(byte)),
            _ if b"!#$&'*+-.^_`|~".contains(&byte) => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn impersonation_headers_contain_the_user() {
        let extra = [("example.com/a b".to_owned(), vec!["1".to_owned(), "2".to_owned()])].into();
        let groups = vec!["g".to_owned(), "h".to_owned()];
        let impersonate = Impersonate { user: "u".to_owned(), uid: "7".to_owned(), groups, extra };
        let headers = impersonate.headers().unwrap();
        let all = |name: &str| headers.get_all(name).iter().map(|v| v.to_str().unwrap()).collect::<Vec<_>>();
        assert_eq!((all("impersonate-user"), all("impersonate-uid")), (vec!["u"], vec!["7"]));
        assert_eq!(all("impersonate-group"), ["g", "h"]);
        assert_eq!(all("impersonate-extra-example.com%2fa%20b"), ["1", "2"]);
        let impossible = Impersonate { user: "a\nb".to_owned(), ..Impersonate::default() };
        assert!(impossible.headers().is_err());
    }
}
