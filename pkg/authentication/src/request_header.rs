//! User headers of an authenticating proxy (`--requestheader-*`). They count only if the proxy has a client
//! certificate of the proxy CA.

use std::collections::BTreeMap;

use apimachinery::user_info::UserInfo;
use http::HeaderMap;

use crate::Error;
use crate::PresentedCertificate;

/// Trusted proxies and the names of their headers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestHeaders {
    /// Allowed common names of proxies; empty for any.
    pub allowed_names: Vec<String>,
    /// Headers with the user name. The first non-empty one counts.
    pub username: Vec<String>,
    /// Headers with the user's uid. The first non-empty one counts.
    pub uid: Vec<String>,
    /// Headers with the user's groups. All count.
    pub groups: Vec<String>,
    /// Prefixes of headers with extra attributes. The rest of the header name is the key of the extra.
    pub extra_prefixes: Vec<String>,
}

impl RequestHeaders {
    /// Returns the standard headers between API servers. They are removed from every request.
    pub fn standard() -> Self {
        let one = |name: &str| vec![name.to_owned()];
        RequestHeaders {
            allowed_names: Vec::new(),
            username: one("X-Remote-User"),
            uid: one("X-Remote-Uid"),
            groups: one("X-Remote-Group"),
            extra_prefixes: one("X-Remote-Extra-"),
        }
    }

    /// Returns the user in the proxy's headers; `None` without user or without certificate.
    ///
    /// # Errors
    /// The certificate does not belong to a trusted proxy.
    pub(crate) fn user(
        &self,
        proxy: Option<&PresentedCertificate>,
        headers: &HeaderMap,
        now: i64,
    ) -> Result<Option<UserInfo>, Error> {
        let certificate = match proxy {
            None => return Ok(None),
            Some(PresentedCertificate::Rejected(reason)) => return Err(Error::credential(reason.clone())),
            Some(PresentedCertificate::Verified(certificate)) => certificate,
        };
        if certificate.not_after < now {
            return Err(Error::credential("the client certificate has expired".to_owned()));
        }
        let name = certificate.user.as_ref().map_or("", |user| user.name.as_str());
        if !self.allowed_names.is_empty() && !self.allowed_names.iter().any(|allowed| allowed == name) {
            return Err(Error::credential(format!(
                "x509: subject with cn={name} is not in the allowed list"
            )));
        }
        Ok(self.user_info(headers))
    }

    fn user_info(&self, headers: &HeaderMap) -> Option<UserInfo> {
        let first = |names: &[String]| {
            let values = names.iter().filter_map(|name| headers.get(name.trim()));
            values.map(|value| text(value.as_bytes())).find(|value| !value.is_empty())
        };
        let name = first(&self.username)?;
        let groups = self.groups.iter().flat_map(|name| headers.get_all(name.trim()));
        let groups = groups.map(|value| text(value.as_bytes())).filter(|value| !value.is_empty());
        let mut extra: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for prefix in &self.extra_prefixes {
            for (header, value) in headers {
                let Some(key) = strip_prefix(header.as_str(), prefix) else { continue };
                extra.entry(unescaped(key)).or_default().push(text(value.as_bytes()));
            }
        }
        Some(UserInfo { name, uid: first(&self.uid).unwrap_or_default(), groups: groups.collect(), extra })
    }

    /// Removes the headers from a request, so that later stages cannot use them.
    pub fn clear(&self, headers: &mut HeaderMap) {
        for name in self.username.iter().chain(&self.uid).chain(&self.groups) {
            headers.remove(name.trim());
        }
        let prefixed = |name: &&http::HeaderName| {
            self.extra_prefixes.iter().any(|prefix| strip_prefix(name.as_str(), prefix).is_some())
        };
        let extras: Vec<_> = headers.keys().filter(prefixed).cloned().collect();
        for name in extras {
            headers.remove(name);
        }
    }
}

/// Strips a prefix. Header names are in lower case here.
fn strip_prefix<'a>(header: &'a str, prefix: &str) -> Option<&'a str> {
    header.strip_prefix(prefix.trim().to_ascii_lowercase().as_str())
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

/// Decodes percent-escapes. Returns the key unchanged if one is invalid.
fn unescaped(key: &str) -> String {
    let mut bytes = Vec::with_capacity(key.len());
    let mut rest = key.as_bytes();
    while let [first, tail @ ..] = rest {
        match (first, tail) {
            (b'%', [high, low, tail @ ..]) => {
                let digit =
                    |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
                let (Some(high), Some(low)) = (digit(high), digit(low)) else { return key.to_owned() };
                bytes.push(high << 4 | low);
                rest = tail;
            }
            (b'%', _) => return key.to_owned(),
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use http::HeaderName;

    use super::*;
    use crate::ClientCertificate;

    fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
        let pair =
            |(name, value): &(&str, &str)| (name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
        pairs.iter().map(pair).collect()
    }

    fn proxy(name: &str, not_after: i64) -> PresentedCertificate {
        let user = Some(UserInfo { name: name.to_owned(), ..UserInfo::default() });
        PresentedCertificate::Verified(ClientCertificate { user, not_after })
    }

    fn of(allowed: &[&str]) -> RequestHeaders {
        let allowed_names = allowed.iter().map(|&name| name.to_owned()).collect();
        RequestHeaders { allowed_names, ..RequestHeaders::standard() }
    }

    #[test]
    fn proxy_headers_set_all_user_fields() {
        let headers = headers(&[
            ("x-remote-user", ""),
            ("x-remote-user", "later"),
            ("x-remote-uid", "u"),
            ("x-remote-group", "a"),
            ("x-remote-group", ""),
            ("x-remote-group", "b,c"),
            ("x-remote-extra-acme.com%2fproject", "p"),
            ("x-remote-extra-acme.com%2fproject", "q"),
            ("x-remote-extra-bad%zz", "r"),
        ]);
        assert_eq!(
            of(&[]).user(Some(&proxy("", 9)), &headers, 1),
            Ok(None),
            "an empty first value names nobody"
        );
        let mut headers = headers;
        headers.insert("x-remote-user", "ann".parse().unwrap());
        let user = of(&[]).user(Some(&proxy("front", 9)), &headers, 1).unwrap().unwrap();
        assert_eq!((user.name.as_str(), user.uid.as_str()), ("ann", "u"));
        assert_eq!(user.groups, ["a", "b,c"]);
        let extra: Vec<_> = user.extra.iter().map(|(key, values)| (key.as_str(), values.join("+"))).collect();
        assert_eq!(extra, [("acme.com/project", "p+q".to_owned()), ("bad%zz", "r".to_owned())]);
    }

    #[test]
    fn only_trusted_proxies_are_accepted() {
        let headers = headers(&[("x-remote-user", "ann")]);
        let check =
            |allowed: &[&str], certificate: Option<PresentedCertificate>, expected: Result<bool, &str>| {
                let user = of(allowed).user(certificate.as_ref(), &headers, 5);
                assert_eq!(
                    user.map(|user| user.is_some()).map_err(|error| error.to_string()),
                    expected.map_err(str::to_owned)
                );
            };
        check(&[], None, Ok(false));
        check(&[], Some(PresentedCertificate::Rejected("no".to_owned())), Err("no"));
        check(&[], Some(proxy("x", 4)), Err("the client certificate has expired"));
        check(&["a", "b"], Some(proxy("b", 9)), Ok(true));
        check(&["a"], Some(proxy("b", 9)), Err("x509: subject with cn=b is not in the allowed list"));
    }

    #[test]
    fn proxy_headers_are_removed() {
        let mut headers = headers(&[
            ("x-remote-user", "a"),
            ("x-remote-uid", "b"),
            ("x-remote-group", "c"),
            ("x-remote-extra-d", "e"),
            ("x-other", "f"),
        ]);
        RequestHeaders::standard().clear(&mut headers);
        assert_eq!(headers.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["x-other"]);
    }
}
