//! Requests in somebody else's name (client-go's `NewImpersonatingRoundTripper`).

use std::collections::BTreeMap;

use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};

use crate::error::Error;

/// In whose name requests are made.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Impersonate {
    /// The user's name.
    pub user: String,
    /// Their uid; empty for none.
    pub uid: String,
    /// Their groups.
    pub groups: Vec<String>,
    /// What else is known of them.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl Impersonate {
    /// The headers that say so.
    ///
    /// # Errors
    /// [`Error::Credentials`] for what no header can carry.
    pub(crate) fn headers(&self) -> Result<HeaderMap, Error> {
        let mut headers = HeaderMap::new();
        let mut add = |name: &str, value: &str| {
            let bad = |error: &dyn std::fmt::Display| Error::Credentials(format!("impersonation: {error}"));
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

/// A key as a header's name can carry it: what no name may have is escaped, and so is `%`.
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
    fn a_user_is_written_into_headers() {
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
