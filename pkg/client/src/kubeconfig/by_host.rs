//! A kubeconfig whose users are named after hosts: client credentials of admission webhooks (apiserver
//! `util/webhook/authentication.go`).

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use component_base::clock::Clock;

use super::{File, User, load, source};
use crate::Error;
use crate::client::Basic;
use crate::exec::ExecPlugin;
use crate::impersonate::Impersonate;
use crate::material::Source;
use crate::webhook::WebhookAddress;

/// Default port of HTTPS.
const HTTPS_PORT: &str = "443";

/// Address of this server in webhook configurations.
const OWN_SERVICE: &str = "kubernetes.default.svc:443";

/// Client credentials.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Credentials {
    /// Certificate chain and key, both PEM.
    pub certificate: Option<(Source, Source)>,
    pub bearer: Option<Source>,
    /// Basic credentials, if there is no token.
    pub basic: Option<Basic>,
    /// Credential plugin, if there are no other credentials.
    pub plugin: Option<ExecPlugin>,
    /// User to impersonate.
    pub impersonate: Option<Impersonate>,
    /// Expected server identity; `None` leaves it to the webhook's configuration.
    pub expected: Option<ServerIdentity>,
}

/// Expected server identity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerIdentity {
    /// Server name.
    pub name: String,
    /// Trusted CAs, PEM. No other CA is trusted, because the credentials must not be sent to another server.
    pub authorities: Arc<[u8]>,
}

/// Client credentials by webhook host. The default is anonymous.
#[derive(Clone, Default)]
pub struct WebhookCredentials {
    users: BTreeMap<String, NamedCredentials>,
    /// User of the current context, if any.
    current_user: Option<String>,
    /// Base directory of relative paths.
    directory: PathBuf,
    /// Credentials for calls to this server itself.
    own_server: Option<Credentials>,
}

/// A user with one plugin instance, shared by all webhooks of the user.
#[derive(Clone)]
struct NamedCredentials {
    user: User,
    plugin: Result<Option<ExecPlugin>, Error>,
}

/// Shows the user names but no credentials.
impl fmt::Debug for WebhookCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.users.keys()).finish()
    }
}

impl WebhookCredentials {
    /// Reads a kubeconfig, which blocks. `clock` determines the expiry of `exec` plugin credentials.
    ///
    /// # Errors
    /// Upstream's error for an unreadable file.
    pub fn read(path: &Path, clock: &Arc<dyn Clock>) -> Result<Self, Error> {
        let (file, directory) = load(path)?;
        Ok(WebhookCredentials::of_file(file, directory, clock))
    }

    fn of_file(file: File, directory: &Path, clock: &Arc<dyn Clock>) -> Self {
        let current = file.current_context.unwrap_or_default();
        let mut contexts = file.contexts.unwrap_or_default().into_iter().rev();
        let context = contexts.find(|named| named.name == current && !current.is_empty());
        let user = context.map(|named| named.context.user).filter(|user| !user.is_empty());
        let credentials_of = |user: User| NamedCredentials { plugin: user.plugin(directory, clock), user };
        let users = file.users.unwrap_or_default().into_iter();
        WebhookCredentials {
            users: users.map(|named| (named.name, credentials_of(named.user.unwrap_or_default()))).collect(),
            current_user: user,
            directory: directory.to_owned(),
            own_server: None,
        }
    }

    /// Sets the credentials for `kubernetes.default.svc:443`, which is this server itself. They override the
    /// kubeconfig.
    #[must_use]
    pub fn with_own_credentials(self, own_server: Credentials) -> Self {
        WebhookCredentials { own_server: Some(own_server), ..self }
    }

    /// Returns the credentials for a webhook.
    ///
    /// # Errors
    /// As [`WebhookCredentials::of`]; an invalid URL.
    pub fn for_webhook(&self, address: &WebhookAddress) -> Result<Credentials, Error> {
        match address {
            WebhookAddress::Service { namespace, name, port, .. } => self.of_service(namespace, name, *port),
            WebhookAddress::Url(url) => {
                let url = url.parse::<http::Uri>().map_err(|error| Error::credentials(error.to_string()))?;
                let port = url.port_u16().unwrap_or(443);
                self.of(&format!("{}:{port}", url.host().unwrap_or_default()))
            }
        }
    }

    /// Returns the credentials for a host with port. The first match wins:
    ///
    /// - the user with this name;
    /// - the longest user name that starts with `*.` and continues like the host;
    /// - for port 443, the same two without the port;
    /// - the user `*`;
    /// - the user of the current context;
    /// - anonymous.
    ///
    /// # Errors
    /// An unusable user: with invalid or contradictory credentials, or with a plugin of an unknown version.
    pub fn of(&self, host: &str) -> Result<Credentials, Error> {
        if let Some(itself) = self.own_server.as_ref().filter(|_| host == OWN_SERVICE) {
            return Ok(itself.clone());
        }
        let without_port =
            host.rsplit_once(':').filter(|(_, port)| *port == HTTPS_PORT).map(|(host, _)| host);
        let brackets: &[char] = &['[', ']'];
        let entry = self
            .named_after(host)
            .or_else(|| self.named_after(without_port?.trim_matches(brackets)))
            .or_else(|| self.users.get_key_value("*"))
            .or_else(|| self.users.get_key_value(self.current_user.as_ref()?));
        match entry {
            Some((_, named)) => named.credentials(&self.directory),
            None => Ok(Credentials::default()),
        }
    }

    /// Returns the credentials for a Service.
    ///
    /// # Errors
    /// As [`WebhookCredentials::of`].
    pub fn of_service(&self, namespace: &str, name: &str, port: u16) -> Result<Credentials, Error> {
        self.of(&format!("{name}.{namespace}.svc:{port}"))
    }

    fn named_after(&self, host: &str) -> Option<(&String, &NamedCredentials)> {
        let dots = host.match_indices('.').map(|(dot, _)| dot);
        let mut stars = dots.filter_map(|dot| host.get(dot..)).map(|rest| format!("*{rest}"));
        self.users.get_key_value(host).or_else(|| stars.find_map(|name| self.users.get_key_value(&name)))
    }
}

impl NamedCredentials {
    fn credentials(&self, directory: &Path) -> Result<Credentials, Error> {
        let user = &self.user;
        if user.auth_provider.is_some() {
            return Err(Error::credentials("auth provider not supported".to_owned()));
        }
        let bearer = user.bearer(directory);
        let basic = user.basic();
        if bearer.is_some() && basic.is_some() {
            return Err(Error::credentials(
                "username/password or bearer token may be set, but not both".to_owned(),
            ));
        }
        let certificate = user.certificate(directory)?;
        let plugin = self.plugin.clone()?;
        let impersonate = user.impersonate();
        Ok(Credentials { certificate, bearer, basic, plugin, impersonate, expected: None })
    }
}

impl User {
    /// Returns the certificate and its key; `None` unless both are set.
    pub(super) fn certificate(&self, directory: &Path) -> Result<Option<(Source, Source)>, Error> {
        let file = &self.client_certificate;
        let data = &self.client_certificate_data;
        let certificate = source(file, data, directory, "client-certificate-data")?;
        let key = source(&self.client_key, &self.client_key_data, directory, "client-key-data")?;
        Ok(certificate.zip(key))
    }

    /// Returns the token. A token file takes precedence over an inline token and is reloaded.
    pub(super) fn bearer(&self, directory: &Path) -> Option<Source> {
        match (self.token.is_empty(), self.token_file.is_empty()) {
            (_, false) => Some(Source::File(directory.join(&self.token_file))),
            (false, true) => Some(Source::Inline(self.token.as_bytes().into())),
            (true, true) => None,
        }
    }

    pub(super) fn basic(&self) -> Option<Basic> {
        let is_set = !self.username.is_empty() || !self.password.is_empty();
        is_set.then(|| Basic::new(&self.username, &self.password))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn of(text: &str) -> WebhookCredentials {
        let clock: Arc<dyn Clock> = Arc::new(component_base::clock::TestClock::default());
        WebhookCredentials::of_file(File::parse(text.as_bytes()).unwrap(), Path::new("/d"), &clock)
    }

    fn token(text: &str) -> Option<Source> {
        Some(Source::Inline(text.as_bytes().into()))
    }

    #[test]
    fn most_specific_name_wins() {
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
    fn current_context_is_the_fallback() {
        let text = "current-context: c\ncontexts: [{name: c, context: {user: u}}]\nusers: [{name: u, user: {token: t}}]\n";
        assert_eq!(of(text).of("h:443").unwrap().bearer, token("t"));
        let text = text.replace("current-context: c", "current-context: d");
        assert_eq!(of(&text).of("h:443").unwrap(), Credentials::default());
        assert_eq!(WebhookCredentials::default().of("h:443").unwrap(), Credentials::default());
    }

    #[test]
    fn credentials_are_inline_or_in_files() {
        let user = |user: &str| of(&format!("users: [{{name: '*', user: {{{user}}}}}]")).of("h:1");
        let credentials =
            user("client-certificate: c.pem, client-key-data: aw==, token: t, tokenFile: f").unwrap();
        let key = Source::Inline(b"k".as_slice().into());
        assert_eq!(credentials.certificate, Some((Source::File("/d/c.pem".into()), key)));
        assert_eq!(credentials.bearer, Some(Source::File("/d/f".into())));
        assert_eq!(user("username: a, password: b").unwrap().basic, Some(Basic::new("a", "b")));
        assert_eq!(user("client-certificate: c.pem").unwrap(), Credentials::default());
        let wrong = |text: &str, expected: &str| {
            assert_eq!(user(text).unwrap_err(), Error::credentials(expected.to_owned()))
        };
        wrong("username: a, token: t", "username/password or bearer token may be set, but not both");
        wrong("auth-provider: {}", "auth provider not supported");
    }

    #[test]
    fn plugin_is_shared_and_a_fallback() {
        const EXEC: &str =
            "exec: {apiVersion: client.authentication.k8s.io/v1, command: c, interactiveMode: Never}";
        let user = |user: &str| of(&format!("users: [{{name: '*', user: {{{user}}}}}]"));
        let of_plugin = user(EXEC);
        let [one, other] = ["h:1", "i:2"].map(|host| of_plugin.of(host).unwrap().plugin);
        assert!(one.is_some() && one == other);
        assert_eq!(user(&format!("token: t, {EXEC}")).of("h:1").unwrap().plugin, None);
        let unknown = user("exec: {command: c}").of("h:1").unwrap_err();
        assert_eq!(unknown, Error::credentials("exec plugin: invalid apiVersion \"\"".to_owned()));
    }

    #[test]
    fn user_can_impersonate() {
        let credentials =
            of("users: [{name: '*', user: {token: t, as: a, as-groups: [g], as-user-extra: {k: [v]}}}]");
        let impersonate = credentials.of("h:1").unwrap().impersonate.unwrap();
        let extra = [("k".to_owned(), vec!["v".to_owned()])].into();
        let groups = vec!["g".to_owned()];
        assert_eq!(impersonate, Impersonate { user: "a".to_owned(), uid: String::new(), groups, extra });
    }

    #[test]
    fn own_credentials_override_the_file() {
        let itself = Credentials { bearer: token("own"), ..Credentials::default() };
        let credentials = of("users: [{name: '*', user: {token: t}}]").with_own_credentials(itself.clone());
        let service = |port| {
            let namespace = "default".to_owned();
            let name = "kubernetes".to_owned();
            WebhookAddress::Service { namespace, name, port, path: "/p".to_owned() }
        };
        assert_eq!(credentials.for_webhook(&service(443)).unwrap(), itself);
        assert_eq!(credentials.for_webhook(&service(444)).unwrap().bearer, token("t"));
        let url = |url: &str| credentials.for_webhook(&WebhookAddress::Url(url.to_owned())).unwrap().bearer;
        assert_eq!(url("https://kubernetes.default.svc/p"), token("own"));
        assert_eq!(url("https://other.default.svc/p"), token("t"));
    }
}
