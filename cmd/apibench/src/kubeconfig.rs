//! Reads the server address and the credentials of a kubeconfig's current context. Credential plugins and
//! proxies are not supported.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::error::{Error, Result};

/// The current context with loaded files and decoded base64. Certificates and keys are PEM.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Access {
    /// `https://HOST:PORT`.
    pub(crate) url: String,
    /// CAs of the server's certificate.
    pub(crate) ca: Option<Vec<u8>>,
    /// Bearer token.
    pub(crate) token: Option<String>,
    /// Client certificate.
    pub(crate) cert: Option<Vec<u8>>,
    /// Client key.
    pub(crate) key: Option<Vec<u8>>,
}

#[derive(Deserialize)]
struct Config {
    #[serde(rename = "current-context")]
    current_context: String,
    clusters: Vec<NamedCluster>,
    contexts: Vec<NamedContext>,
    users: Vec<NamedUser>,
}

#[derive(Deserialize)]
struct NamedCluster {
    name: String,
    cluster: Cluster,
}

#[derive(Deserialize)]
struct Cluster {
    server: String,
    #[serde(rename = "certificate-authority-data")]
    ca_data: Option<String>,
    #[serde(rename = "certificate-authority")]
    ca: Option<PathBuf>,
}

#[derive(Deserialize)]
struct NamedContext {
    name: String,
    context: Context,
}

#[derive(Deserialize)]
struct Context {
    cluster: String,
    user: String,
}

#[derive(Deserialize)]
struct NamedUser {
    name: String,
    user: User,
}

#[derive(Deserialize)]
struct User {
    token: Option<String>,
    #[serde(rename = "client-certificate-data")]
    cert_data: Option<String>,
    #[serde(rename = "client-certificate")]
    cert: Option<PathBuf>,
    #[serde(rename = "client-key-data")]
    key_data: Option<String>,
    #[serde(rename = "client-key")]
    key: Option<PathBuf>,
}

/// Reads the current context of the kubeconfig at `path`. File names in it are relative to it.
pub(crate) fn read(path: &Path) -> Result<Access> {
    let text = std::fs::read_to_string(path).map_err(Error::io(path.display().to_string()))?;
    let directory = path.parent().unwrap_or(Path::new("."));
    parse(&text, directory).map_err(|e| Error::Usage(format!("{}: {e}", path.display())))
}

fn parse(text: &str, directory: &Path) -> Result<Access> {
    let config: Config = serde_saphyr::from_str(text).map_err(|e| Error::Usage(e.to_string()))?;
    let missing = |kind: &str, name: &str| Error::Usage(format!("no {kind} named {name:?}"));
    let current = &config.current_context;
    let context = config.contexts.into_iter().find(|c| c.name == *current);
    let context = context.ok_or_else(|| missing("context", current))?.context;
    let cluster = config.clusters.into_iter().find(|c| c.name == context.cluster);
    let cluster = cluster.ok_or_else(|| missing("cluster", &context.cluster))?.cluster;
    let user = config.users.into_iter().find(|u| u.name == context.user);
    let user = user.ok_or_else(|| missing("user", &context.user))?.user;
    Ok(Access {
        url: cluster.server,
        ca: pem(cluster.ca_data, cluster.ca, directory)?,
        token: user.token,
        cert: pem(user.cert_data, user.cert, directory)?,
        key: pem(user.key_data, user.key, directory)?,
    })
}

/// Inline data overrides a file, as in client-go.
fn pem(data: Option<String>, file: Option<PathBuf>, directory: &Path) -> Result<Option<Vec<u8>>> {
    match (data, file) {
        (Some(data), _) => {
            let decoded = STANDARD.decode(data.trim()).map_err(|e| Error::Usage(format!("base64: {e}")))?;
            Ok(Some(decoded))
        }
        (None, Some(file)) => {
            let path = directory.join(file);
            std::fs::read(&path).map(Some).map_err(Error::io(path.display().to_string()))
        }
        (None, None) => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "
apiVersion: v1
kind: Config
current-context: two
preferences: {}
clusters:
- name: east
  cluster: {server: 'https://east:6443', certificate-authority-data: UEVN}
contexts:
- {name: one, context: {cluster: west, user: nobody}}
- {name: two, context: {cluster: east, user: admin, namespace: x}}
users:
- name: admin
  user: {client-certificate-data: Q0VSVA==, client-key-data: S0VZ, token: t0k}
";

    #[test]
    fn current_context_is_used() {
        let access = parse(CONFIG, Path::new("/nowhere")).unwrap();
        let expected = Access {
            url: "https://east:6443".into(),
            ca: Some(b"PEM".to_vec()),
            token: Some("t0k".into()),
            cert: Some(b"CERT".to_vec()),
            key: Some(b"KEY".to_vec()),
        };
        assert_eq!(access, expected);
    }

    #[test]
    fn a_dangling_reference_is_named() {
        let text = CONFIG.replace("current-context: two", "current-context: one");
        let error = parse(&text, Path::new("/nowhere")).unwrap_err();
        assert_eq!(error.to_string(), "no cluster named \"west\"");
    }
}
