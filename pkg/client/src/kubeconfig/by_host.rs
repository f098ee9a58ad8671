//! A kubeconfig whose users are named after those who are called: who calls which webhook of admission (apiserver
//! `util/webhook/authentication.go`).

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use apimachinery::go_quote::quote;

use super::{File, User, load, source};
use crate::client::Basic;
use crate::material::Source;

/// Where HTTPS is unless somebody says otherwise.
const HTTPS_PORT: &str = "443";

/// Who calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// A certificate chain and its key, both PEM.
    pub certificate: Option<(Source, Source)>,
    /// A bearer token.
    pub bearer: Option<Source>,
    /// A name and a password, where there is no token.
    pub basic: Option<Basic>,
}

/// Who calls whom. By default everybody is called by nobody in particular.
#[derive(Clone, Default)]
pub struct WebhookCredentials {
    users: BTreeMap<String, User>,
    /// The user of the current context, if it has one.
    current: Option<String>,
    /// Where relative paths begin.
    directory: PathBuf,
}

/// Names users, and says nothing of them.
impl fmt::Debug for WebhookCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.users.keys()).finish()
    }
}

impl WebhookCredentials {
    /// Reads a kubeconfig. Blocks.
    ///
    /// # Errors
    /// What upstream says of a file that cannot be read.
    pub fn read(path: &Path) -> Result<Self, String> {
        let (file, directory) = load(path)?;
        Ok(WebhookCredentials::of_file(file, directory))
    }

    fn of_file(file: File, directory: &Path) -> Self {
        let current = file.current_context.unwrap_or_default();
        let mut contexts = file.contexts.unwrap_or_default().into_iter().rev();
        let context = contexts.find(|named| named.name == current && !current.is_empty());
        let user = context.map(|named| named.context.user).filter(|user| !user.is_empty());
        let users = file.users.unwrap_or_default();
        WebhookCredentials {
            users: users.into_iter().map(|named| (named.name, named.user.unwrap_or_default())).collect(),
            current: user,
            directory: directory.to_owned(),
        }
    }

    /// Who calls a host, which is written with its port: the user of this name, or else of a name that begins with `*.`
    /// and goes on as the host does, the longest first; if the port is 443, the same without it; or else the user `*`, or
    /// the one of the current context, or nobody in particular.
    ///
    /// The address `kubernetes.default.svc:443` is this server itself, which upstream calls without looking here.
    ///
    /// # Errors
    /// A user that cannot be used: one with credentials that are no credentials or contradict each other, or with what this
    /// server cannot do, `exec` and impersonation.
    pub fn of(&self, host: &str) -> Result<Credentials, String> {
        let without_port =
            host.rsplit_once(':').filter(|(_, port)| *port == HTTPS_PORT).map(|(host, _)| host);
        let brackets: &[char] = &['[', ']'];
        let found = self
            .named_after(host)
            .or_else(|| self.named_after(without_port?.trim_matches(brackets)))
            .or_else(|| self.users.get_key_value("*"))
            .or_else(|| self.users.get_key_value(self.current.as_ref()?));
        match found {
            Some((name, user)) => user.credentials(name, &self.directory),
            None => Ok(Credentials::default()),
        }
    }

    /// Who calls a Service.
    ///
    /// # Errors
    /// As [`WebhookCredentials::of`].
    pub fn of_service(&self, namespace: &str, name: &str, port: u16) -> Result<Credentials, String> {
        self.of(&format!("{name}.{namespace}.svc:{port}"))
    }

    fn named_after(&self, host: &str) -> Option<(&String, &User)> {
        let dots = host.match_indices('.').map(|(dot, _)| dot);
        let mut stars = dots.filter_map(|dot| host.get(dot..)).map(|rest| format!("*{rest}"));
        self.users.get_key_value(host).or_else(|| stars.find_map(|name| self.users.get_key_value(&name)))
    }
}

impl User {
    fn credentials(&self, name: &str, directory: &Path) -> Result<Credentials, String> {
        if self.auth_provider.is_some() {
            return Err("auth provider not supported".to_owned());
        }
        for (member, given) in [("exec", self.exec.is_some()), ("as", !self.r#as.is_empty())] {
            if given {
                return Err(format!("{member} of user {} is not supported by this server", quote(name)));
            }
        }
        let bearer = self.bearer(directory);
        let basic = self.basic();
        if bearer.is_some() && basic.is_some() {
            return Err("username/password or bearer token may be set, but not both".to_owned());
        }
        Ok(Credentials { certificate: self.certificate(directory)?, bearer, basic })
    }

    /// The certificate and its key; `None` unless there are both.
    pub(super) fn certificate(&self, directory: &Path) -> Result<Option<(Source, Source)>, String> {
        let (file, data) = (&self.client_certificate, &self.client_certificate_data);
        let certificate = source(file, data, directory, "client-certificate-data")?;
        let key = source(&self.client_key, &self.client_key_data, directory, "client-key-data")?;
        Ok(certificate.zip(key))
    }

    /// The token: of a file, which is followed, rather than the one that is here.
    pub(super) fn bearer(&self, directory: &Path) -> Option<Source> {
        match (self.token.is_empty(), self.token_file.is_empty()) {
            (_, false) => Some(Source::File(directory.join(&self.token_file))),
            (false, true) => Some(Source::Inline(self.token.as_bytes().into())),
            (true, true) => None,
        }
    }

    pub(super) fn basic(&self) -> Option<Basic> {
        let given = !self.username.is_empty() || !self.password.is_empty();
        given.then(|| Basic::new(&self.username, &self.password))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn of(text: &str) -> WebhookCredentials {
        WebhookCredentials::of_file(File::parse(text.as_bytes()).unwrap(), Path::new("/d"))
    }

    fn token(text: &str) -> Option<Source> {
        Some(Source::Inline(text.as_bytes().into()))
    }

    #[test]
    fn the_closest_name_counts() {
        let named = |names: &[&str]| {
            let users: Vec<String> =
                names.iter().map(|name| format!("{{name: '{name}', user: {{token: '{name}'}}}}")).collect();
            of(&format!("users: [{}]", users.join(", ")))
        };
        let check = |names: &[&str], host: &str, expected: Option<&str>| {
            assert_eq!(
                named(names).of(host).unwrap().bearer,
                expected.and_then(token),
                "{host} of {names:?}"
            );
        };
        let all = ["a.ns.svc:443", "*.ns.svc:443", "*.svc:443", "a.ns.svc", "*.ns.svc", "*.svc", "*"];
        for (index, expected) in all.iter().enumerate() {
            check(all.get(index..).unwrap(), "a.ns.svc:443", Some(expected));
        }
        check(&[], "a.ns.svc:443", None);
        check(&["a.ns.svc", "*.svc"], "a.ns.svc:8443", None);
        check(&["*.ns.svc:8443"], "a.ns.svc:8443", Some("*.ns.svc:8443"));
        check(&["*.a.ns.svc:443"], "a.ns.svc:443", None);
        check(&["*.example.com"], "x.y.example.com:443", Some("*.example.com"));
        check(&["::1"], "[::1]:443", Some("::1"));
        check(&["localhost:443"], "localhost:443", Some("localhost:443"));
        let service = named(&["a.ns.svc"]).of_service("ns", "a", 443).unwrap();
        assert_eq!(service.bearer, token("a.ns.svc"));
    }

    #[test]
    fn the_current_context_speaks_for_who_has_no_name() {
        let text = "current-context: c\ncontexts: [{name: c, context: {user: u}}]\nusers: [{name: u, user: {token: t}}]\n";
        assert_eq!(of(text).of("h:443").unwrap().bearer, token("t"));
        let text = text.replace("current-context: c", "current-context: d");
        assert_eq!(of(&text).of("h:443").unwrap(), Credentials::default());
        assert_eq!(WebhookCredentials::default().of("h:443").unwrap(), Credentials::default());
    }

    #[test]
    fn credentials_are_here_or_in_files() {
        let user = |user: &str| of(&format!("users: [{{name: '*', user: {{{user}}}}}]")).of("h:1");
        let found = user("client-certificate: c.pem, client-key-data: aw==, token: t, tokenFile: f").unwrap();
        let key = Source::Inline(b"k".as_slice().into());
        assert_eq!(found.certificate, Some((Source::File("/d/c.pem".into()), key)));
        assert_eq!(found.bearer, Some(Source::File("/d/f".into())));
        assert_eq!(user("username: a, password: b").unwrap().basic, Some(Basic::new("a", "b")));
        assert_eq!(user("client-certificate: c.pem").unwrap(), Credentials::default());
        let wrong = |text: &str, expected: &str| assert_eq!(user(text).unwrap_err(), expected);
        wrong("username: a, token: t", "username/password or bearer token may be set, but not both");
        wrong("exec: {}", "exec of user \"*\" is not supported by this server");
        wrong("as: me", "as of user \"*\" is not supported by this server");
        wrong("auth-provider: {}", "auth provider not supported");
    }
}
