//! Kubeconfig files: address and credentials of a webhook (client-go's `tools/clientcmd`, as far as a server
//! needs it).
//!
//! The current context selects the cluster and the user. Paths are relative to the file. As upstream,
//! credentials are only sent over TLS.

mod by_host;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use apimachinery::go_quote::quote;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use component_base::clock::Clock;
use http::Uri;
use serde::Deserialize;

use crate::Error;
use crate::client::Options;
use crate::exec::{Cluster as Told, Exec, ExecPlugin};
use crate::impersonate::Impersonate;
use crate::material::Source;
use crate::tls::{Tls, Trust};
pub use by_host::{Credentials, ServerIdentity, WebhookCredentials};

/// Maximum file size in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Result of reading a kubeconfig file.
#[derive(Clone)]
pub struct Kubeconfig {
    /// Absolute URL of the cluster's server, with its path.
    pub server: Uri,
    /// Trusted CAs and credentials.
    pub options: Options,
}

impl Kubeconfig {
    /// Reads a file, which blocks. `clock` determines the expiry of `exec` plugin credentials.
    ///
    /// # Errors
    /// Upstream's errors, and an error for unsupported features: `auth-provider` plugins, a proxy.
    pub fn read(path: &Path, clock: &Arc<dyn Clock>) -> Result<Self, Error> {
        let (file, directory) = load(path)?;
        file.resolve(directory, clock)
    }
}

/// Reads a file. Also returns the base directory of its relative paths.
fn load(path: &Path) -> Result<(File, &Path), Error> {
    let unreadable = |error: &std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("stat {}: no such file or directory", path.display()),
        _ => format!("open {}: {error}", path.display()),
    };
    let size = std::fs::metadata(path).map_err(|error| unreadable(&error)).map_err(Error::credentials)?.len();
    if size > FILE_BYTES_MAX {
        return Err(Error::credentials(format!("{}: larger than {FILE_BYTES_MAX} bytes", path.display())));
    }
    let text = std::fs::read(path).map_err(|error| unreadable(&error)).map_err(Error::credentials)?;
    let directory = path.parent().unwrap_or(Path::new(""));
    let file = File::parse(&text).map_err(|error| {
        Error::credentials(format!("error loading config file \"{}\": {error}", path.display()))
    })?;
    Ok((file, directory))
}

/// A file, as far as it is supported. Unknown members are ignored.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct File {
    current_context: Option<String>,
    contexts: Option<Vec<NamedContext>>,
    clusters: Option<Vec<NamedCluster>>,
    users: Option<Vec<NamedUser>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NamedContext {
    name: String,
    context: Context,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NamedCluster {
    name: String,
    cluster: Cluster,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NamedUser {
    name: String,
    user: Option<User>,
}

#[derive(Default, Clone, Deserialize)]
#[serde(default)]
struct Context {
    cluster: String,
    user: String,
}

/// An extension of a cluster entry.
#[derive(Default, Clone, PartialEq, Deserialize)]
#[serde(default)]
struct Extension {
    name: String,
    extension: jsontree::Value,
}

/// Name of the extension for `exec` plugins.
const FOR_EXEC: &str = "client.authentication.k8s.io/exec";

#[derive(Default, Clone, PartialEq, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct Cluster {
    server: String,
    tls_server_name: Option<String>,
    insecure_skip_tls_verify: bool,
    certificate_authority: String,
    certificate_authority_data: String,
    proxy_url: String,
    extensions: Option<Vec<Extension>>,
}

#[derive(Default, Clone, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct User {
    client_certificate: String,
    client_certificate_data: String,
    client_key: String,
    client_key_data: String,
    token: String,
    #[serde(rename = "tokenFile")]
    token_file: String,
    r#as: String,
    as_uid: String,
    as_groups: Option<Vec<String>>,
    as_user_extra: Option<BTreeMap<String, Vec<String>>>,
    username: String,
    password: String,
    auth_provider: Option<jsontree::Value>,
    exec: Option<Exec>,
}

impl File {
    fn parse(text: &[u8]) -> Result<Self, Error> {
        let yaml = schema::yaml::to_json(text).map_err(|error| Error::credentials(error.to_string()))?;
        let file: Option<File> =
            serde_json::from_slice(&yaml.json).map_err(|error| Error::credentials(error.to_string()))?;
        Ok(file.unwrap_or_default())
    }

    /// Resolves the current context.
    fn resolve(self, directory: &Path, clock: &Arc<dyn Clock>) -> Result<Kubeconfig, Error> {
        let current = self.current_context.unwrap_or_default();
        let contexts = self.contexts.unwrap_or_default();
        let context =
            contexts.into_iter().rev().find(|named| named.name == current).map(|named| named.context);
        let context = match (context, current.is_empty()) {
            (Some(context), _) => context,
            (None, true) => Context::default(),
            (None, false) => {
                return Err(Error::credentials(format!("context {} does not exist", quote(&current))));
            }
        };
        let mut users = self.users.unwrap_or_default().into_iter().rev();
        let user = match users.find(|named| named.name == context.user) {
            Some(named) => named.user.unwrap_or_default(),
            None if context.user.is_empty() => User::default(),
            None => {
                return Err(Error::credentials(format!("auth info {} does not exist", quote(&context.user))));
            }
        };
        let mut clusters = self.clusters.unwrap_or_default().into_iter().rev();
        let cluster = match clusters.find(|named| named.name == context.cluster) {
            Some(named) => named.cluster,
            None if context.cluster.is_empty() => Cluster::default(),
            None => {
                return Err(Error::credentials(format!(
                    "cluster {} does not exist",
                    quote(&context.cluster)
                )));
            }
        };
        let mut errors = user.errors(&context.user, directory);
        errors.extend(cluster.errors(&context.cluster, directory));
        match errors.as_slice() {
            [] => {}
            [one] if *one == EMPTY_CLUSTER => {
                return Err(Error::credentials(format!("invalid configuration: {EMPTY_CONFIG}")));
            }
            [one] => return Err(Error::credentials(format!("invalid configuration: {one}"))),
            errors => {
                return Err(Error::credentials(format!("invalid configuration: [{}]", errors.join(", "))));
            }
        }
        cluster.connect(&user, directory, clock)
    }
}

const EMPTY_CLUSTER: &str = "cluster has no server defined";
const EMPTY_CONFIG: &str =
    "no configuration has been provided, try setting KUBERNETES_MASTER environment variable";

impl Cluster {
    fn errors(&self, name: &str, directory: &Path) -> Vec<String> {
        if *self == Cluster::default() {
            return vec![EMPTY_CLUSTER.to_owned()];
        }
        let mut errors = Vec::new();
        match (self.server.is_empty(), name) {
            (true, "") => errors.push("default cluster has no server defined".to_owned()),
            (true, name) => errors.push(format!("no server found for cluster {}", quote(name))),
            (false, _) => {}
        }
        let file = &self.certificate_authority;
        let data = &self.certificate_authority_data;
        if !file.is_empty() && !data.is_empty() {
            errors.push(format!("certificate-authority-data and certificate-authority are both specified for {name}. certificate-authority-data will override."));
        }
        errors.extend(unreadable("certificate-authority", file, name, directory));
        if !self.proxy_url.is_empty() {
            errors.push(format!("proxy-url of cluster {} is not supported by this server", quote(name)));
        }
        errors
    }

    fn connect(&self, user: &User, directory: &Path, clock: &Arc<dyn Clock>) -> Result<Kubeconfig, Error> {
        let authority = source(
            &self.certificate_authority,
            &self.certificate_authority_data,
            directory,
            "certificate-authority-data",
        )?;
        let file = &user.client_certificate;
        let data = &user.client_certificate_data;
        let shows_certificate = !file.is_empty() || !data.is_empty();
        let certificate = user.certificate(directory)?;
        let secure_by_default = authority.is_some() || shows_certificate || self.insecure_skip_tls_verify;
        let server = server(&self.server, secure_by_default)?;
        let impersonate = user.impersonate();
        if server.scheme_str() != Some("https") {
            return Ok(Kubeconfig { server, options: Options { impersonate, ..Options::default() } });
        }
        let trust = match (authority, self.insecure_skip_tls_verify) {
            (Some(_), true) => {
                let text = "specifying a root certificates file with the insecure flag is not allowed";
                return Err(Error::credentials(text.to_owned()));
            }
            (None, true) => Trust::Unverified,
            (Some(source), false) => Trust::Bundle(source),
            (None, false) => Trust::System,
        };
        let server_name = self.tls_server_name.clone().filter(|name| !name.is_empty());
        let tls = Tls { trust, certificate, server_name, http1_only: false };
        let bearer = user.bearer(directory);
        let basic = user.basic();
        let plugin = user.plugin(directory, clock)?;
        let plugin = match plugin {
            Some(plugin) => {
                let cluster_info = self.exec_cluster_info(directory)?;
                Some(plugin.of_cluster(|| cluster_info))
            }
            None => None,
        };
        Ok(Kubeconfig {
            server,
            options: Options { tls, bearer, basic, plugin, impersonate, ..Options::default() },
        })
    }

    /// Returns the cluster information for a credential plugin.
    fn exec_cluster_info(&self, directory: &Path) -> Result<Told, Error> {
        let file = &self.certificate_authority;
        let data = &self.certificate_authority_data;
        let authorities = match source(file, data, directory, "certificate-authority-data")? {
            Some(source) => source.read().map_err(|error| Error::credentials(error.to_string()))?,
            None => Vec::new(),
        };
        let mut extensions = self.extensions.iter().flatten();
        let config = extensions.find(|extension| extension.name == FOR_EXEC);
        Ok(Told {
            server: self.server.clone(),
            tls_server_name: self.tls_server_name.clone().unwrap_or_default(),
            insecure_skip_tls_verify: self.insecure_skip_tls_verify,
            authorities,
            config: config.map(|extension| extension.extension.clone()).unwrap_or_default(),
        })
    }
}

impl User {
    fn errors(&self, name: &str, directory: &Path) -> Vec<String> {
        let mut errors = Vec::new();
        let certificate = &self.client_certificate;
        let key = &self.client_key;
        let certificate_data = &self.client_certificate_data;
        let key_data = &self.client_key_data;
        if !certificate.is_empty() || !certificate_data.is_empty() {
            if !certificate.is_empty() && !certificate_data.is_empty() {
                errors.push(format!("client-cert-data and client-cert are both specified for {name}. client-cert-data will override."));
            }
            if !key.is_empty() && !key_data.is_empty() {
                errors.push(format!("client-key-data and client-key are both specified for {name}; client-key-data will override"));
            }
            if key.is_empty() && key_data.is_empty() {
                errors.push(format!("client-key-data or client-key must be specified for {name} to use the clientCert authentication method."));
            }
            errors.extend(unreadable("client-cert", certificate, name, directory));
            errors.extend(unreadable("client-key", key, name, directory));
        }
        let basic = !self.username.is_empty() || !self.password.is_empty();
        if !self.token.is_empty() && basic {
            errors.push(format!("more than one authentication method found for {name}; found [token basicAuth], only one is allowed"));
        }
        match (&self.exec, &self.auth_provider) {
            (Some(_), Some(_)) => errors.push(format!(
                "authProvider cannot be provided in combination with an exec plugin for {name}"
            )),
            (None, Some(_)) => {
                errors.push(format!("auth-provider of user {} is not supported by this server", quote(name)));
            }
            _ => {}
        }
        if let Some(exec) = &self.exec {
            errors.extend(exec.clone().resolved_in(directory).errors(name));
        }
        let uid = &self.as_uid;
        let groups = &self.as_groups;
        let extra = &self.as_user_extra;
        let more = !uid.is_empty()
            || groups.as_ref().is_some_and(|groups| !groups.is_empty())
            || extra.as_ref().is_some_and(|extra| !extra.is_empty());
        if more && self.r#as.is_empty() {
            errors.push(format!(
                "requesting uid, groups or user-extra for {name} without impersonating a user"
            ));
        }
        errors
    }

    /// Returns the user to impersonate.
    fn impersonate(&self) -> Option<Impersonate> {
        (!self.r#as.is_empty()).then(|| Impersonate {
            user: self.r#as.clone(),
            uid: self.as_uid.clone(),
            groups: self.as_groups.clone().unwrap_or_default(),
            extra: self.as_user_extra.clone().unwrap_or_default(),
        })
    }

    /// Returns the credential plugin, unless there are other credentials.
    ///
    /// # Errors
    /// As [`ExecPlugin::new`].
    fn plugin(&self, directory: &Path, clock: &Arc<dyn Clock>) -> Result<Option<ExecPlugin>, Error> {
        let Some(exec) = &self.exec else { return Ok(None) };
        let plugin = ExecPlugin::new(exec.clone().resolved_in(directory), Arc::clone(clock))?;
        let has_credentials = self.bearer(directory).is_some()
            || self.basic().is_some()
            || self.certificate(directory)?.is_some();
        Ok((!has_credentials).then_some(plugin))
    }
}

/// Returns the error of opening a file.
fn unreadable(member: &str, file: &str, name: &str, directory: &Path) -> Option<String> {
    if file.is_empty() {
        return None;
    }
    let path = directory.join(file);
    let error = std::fs::File::open(&path).err()?;
    let words = match error.kind() {
        std::io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    };
    let path = path.display();
    Some(format!("unable to read {member} {path} for {name} due to open {path}: {words}"))
}

/// Returns inline data, or otherwise a file.
fn source(file: &str, data: &str, directory: &Path, member: &str) -> Result<Option<Source>, Error> {
    if !data.is_empty() {
        let pem =
            STANDARD.decode(data.trim()).map_err(|error| Error::credentials(format!("{member}: {error}")))?;
        return Ok(Some(Source::Inline(Arc::from(pem))));
    }
    Ok((!file.is_empty()).then(|| Source::File(directory.join(file))))
}

/// Parses the server's URL, which can be `host:port`.
fn server(host: &str, secure_by_default: bool) -> Result<Uri, Error> {
    let bad = |error: &dyn fmt::Display| {
        format!("host must be a URL or a host:port pair: {}: {error}", quote(host))
    };
    let host = host.split(['?', '#']).next().unwrap_or_default();
    let url = if host.contains("://") {
        host.to_owned()
    } else {
        format!("{}://{host}", if secure_by_default { "https" } else { "http" })
    };
    let uri: Uri = url.parse().map_err(|error| bad(&error)).map_err(Error::credentials)?;
    match (uri.scheme_str(), uri.authority(), host.contains("://"), uri.path()) {
        (Some("http" | "https"), Some(_), true, _) | (Some(_), Some(_), false, "/") => Ok(uri),
        _ => Err(Error::credentials(format!("host must be a URL or a host:port pair: {}", quote(host)))),
    }
}

impl fmt::Debug for Kubeconfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kubeconfig").field("server", &self.server).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
