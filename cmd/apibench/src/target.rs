//! A server under measurement: address, credentials and process.

use std::sync::Arc;

use http::{HeaderValue, Uri};

use crate::args::ServerSpec;
use crate::error::{Error, Result};
use crate::kubeconfig;
use crate::tls::{self, Material};

/// A resolved server.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// Name in reports.
    pub(crate) name: String,
    /// `https://HOST:PORT`, as given.
    pub(crate) url: String,
    /// Host without brackets.
    pub(crate) host: String,
    /// TCP port.
    pub(crate) port: u16,
    /// Value of the Authorization header.
    pub(crate) authorization: Option<HeaderValue>,
    /// TLS configuration with CAs and client certificate.
    pub(crate) tls: Arc<rustls::ClientConfig>,
    /// Process for CPU and memory measurements; without it they are not reported.
    pub(crate) pid: Option<u32>,
    /// Process of its store.
    pub(crate) store_pid: Option<u32>,
}

impl Target {
    /// Reads the files in `spec`. Keys on the command line override the kubeconfig.
    pub(crate) fn resolve(spec: &ServerSpec, insecure: bool) -> Result<Self> {
        let config = spec.kubeconfig.as_deref().map(kubeconfig::read).transpose()?.unwrap_or_default();
        let read = |file: &Option<std::path::PathBuf>| {
            let read = |path: &std::path::PathBuf| {
                std::fs::read(path).map_err(Error::io(path.display().to_string()))
            };
            file.as_ref().map(read).transpose()
        };
        let cert = read(&spec.cert)?.or(config.cert);
        let key = read(&spec.key)?.or(config.key);
        let material = Material { ca: read(&spec.ca)?.or(config.ca), identity: cert.zip(key), insecure };
        let url = spec.url.clone().unwrap_or(config.url);
        let (host, port) = host_and_port(&url)?;
        let token = spec.token.clone().or(config.token);
        let authorization = token.map(|token| HeaderValue::from_str(&format!("Bearer {token}"))).transpose();
        let authorization =
            authorization.map_err(|e| Error::Usage(format!("token of {}: {e}", spec.name)))?;
        let tls = tls::client_config(&material)?;
        Ok(Self {
            name: spec.name.clone(),
            url,
            host,
            port,
            authorization,
            tls,
            pid: spec.pid,
            store_pid: spec.store_pid,
        })
    }

    /// Returns a copy with the process id.
    pub(crate) fn with_pid(&self, pid: Option<u32>) -> Self {
        Self { pid, ..self.clone() }
    }
}

fn host_and_port(url: &str) -> Result<(String, u16)> {
    let bad = |why: String| Error::Usage(format!("url {url:?}: {why}"));
    let uri: Uri = url.parse().map_err(|e| bad(format!("{e}")))?;
    if uri.scheme_str() != Some("https") || !matches!(uri.path(), "" | "/") {
        return Err(bad("must be https://HOST[:PORT]".to_owned()));
    }
    let host = uri.host().ok_or_else(|| bad("no host".to_owned()))?;
    let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    Ok((host, uri.port_u16().unwrap_or(443)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, expected: Option<(&str, u16)>) {
        let expected = expected.map(|(host, port)| (host.to_owned(), port));
        assert_eq!(host_and_port(url).ok(), expected, "{url}");
    }

    #[test]
    fn urls_are_https_with_a_host() {
        check("https://127.0.0.1:6443", Some(("127.0.0.1", 6443)));
        check("https://[::1]:6443/", Some(("::1", 6443)));
        check("https://example.com", Some(("example.com", 443)));
        check("http://example.com", None);
        check("https://example.com/clusters/a", None);
        check("example.com:6443", None);
    }
}
