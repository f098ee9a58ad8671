//! Headers in which a proxy in front of the server says who its client is (`--requestheader-*`). They
//! count only if the proxy proved itself with a certificate of its own authority.

use std::collections::BTreeMap;

use apimachinery::user_info::UserInfo;
use http::HeaderMap;

use crate::PresentedCertificate;

/// Which proxies are believed, and in which headers they speak.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestHeaders {
    /// The common names that a proxy may have; empty for any.
    pub allowed_names: Vec<String>,
    /// The headers with the user's name; the first that is not empty counts.
    pub username: Vec<String>,
    /// The headers with the user's uid; the first that is not empty counts.
    pub uid: Vec<String>,
    /// The headers with the user's groups, all of which count.
    pub groups: Vec<String>,
    /// What headers begin with whose names end with the key of an extra, and whose values are its values.
    pub extra_prefixes: Vec<String>,
}

impl RequestHeaders {
    /// The headers in which API servers tell each other of users. They are taken off requests whoever they
    /// come from.
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

    /// The user whom a proxy names; `None` if it names nobody, or there is no certificate.
    ///
    /// # Errors
    /// Whoever sent the certificate is no proxy that is believed.
    pub(crate) fn user(
        &self,
        proxy: Option<&PresentedCertificate>,
        headers: &HeaderMap,
        now: i64,
    ) -> Result<Option<UserInfo>, String> {
        let certificate = match proxy {
            None => return Ok(None),
            Some(PresentedCertificate::Refused(reason)) => return Err(reason.clone()),
            Some(PresentedCertificate::Verified(certificate)) => certificate,
        };
        if certificate.not_after < now {
            return Err("the client certificate has expired".to_owned());
        }
        let name = certificate.user.as_ref().map_or("", |user| user.name.as_str());
        if !self.allowed_names.is_empty() && !self.allowed_names.iter().any(|allowed| allowed == name) {
            return Err(format!("x509: subject with cn={name} is not in the allowed list"));
        }
        Ok(self.named(headers))
    }

    fn named(&self, headers: &HeaderMap) -> Option<UserInfo> {
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

    /// Takes the headers off a request, so that nobody behind sees them or takes them for a user's.
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

/// Names of headers are lower-case here.
fn strip_prefix<'a>(header: &'a str, prefix: &str) -> Option<&'a str> {
    header.strip_prefix(prefix.trim().to_ascii_lowercase().as_str())
}

fn text(value: &[u8]) -> String {
    String::from_utf8_lossy(value).into_owned()
}

/// `%2f` and the like, if all of it makes sense.
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
    fn a_proxy_names_a_user_with_everything() {
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
    fn only_a_proxy_that_is_believed_is_heard() {
        let headers = headers(&[("x-remote-user", "ann")]);
        let check =
            |allowed: &[&str], certificate: Option<PresentedCertificate>, expected: Result<bool, &str>| {
                let user = of(allowed).user(certificate.as_ref(), &headers, 5);
                assert_eq!(user.map(|user| user.is_some()), expected.map_err(str::to_owned));
            };
        check(&[], None, Ok(false));
        check(&[], Some(PresentedCertificate::Refused("no".to_owned())), Err("no"));
        check(&[], Some(proxy("x", 4)), Err("the client certificate has expired"));
        check(&["a", "b"], Some(proxy("b", 9)), Ok(true));
        check(&["a"], Some(proxy("b", 9)), Err("x509: subject with cn=b is not in the allowed list"));
    }

    #[test]
    fn nothing_of_the_headers_is_left() {
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
