//! An `EgressSelectorConfiguration` of `apiserver.k8s.io`, parsed and validated like upstream (apiserver
//! `server/egressselector/config.go`).

#[cfg(test)]
mod tests;

use std::path::Path as FilePath;

use apimachinery::field::{self, BadValue, Error, Path};
use jsontree::Value;
use schema::configuration::Shape::{List, Struct, Text};
use schema::configuration::{ConfigurationFile, FileKind, Members};
use serde::Deserialize;

const TLS: Members = Members {
    name: "TLSConfig",
    all: &[("caBundle", Text), ("clientKey", Text), ("clientCert", Text), ("tlsServerName", Text)],
};
const TCP: Members = Members { name: "TCPTransport", all: &[("url", Text), ("tlsConfig", Struct(&TLS))] };
const UDS: Members = Members { name: "UDSTransport", all: &[("udsName", Text)] };
const TRANSPORT: Members =
    Members { name: "Transport", all: &[("tcp", Struct(&TCP)), ("uds", Struct(&UDS))] };
const CONNECTION: Members =
    Members { name: "Connection", all: &[("proxyProtocol", Text), ("transport", Struct(&TRANSPORT))] };
const SELECTION: Members =
    Members { name: "EgressSelection", all: &[("name", Text), ("connection", Struct(&CONNECTION))] };

const fn of_version(version: &'static str) -> FileKind {
    FileKind { group: "apiserver.k8s.io", version, kind: "EgressSelectorConfiguration" }
}

const FILE: ConfigurationFile = ConfigurationFile {
    kinds: &[of_version("v1beta1"), of_version("v1alpha1")],
    scheme: "k8s.io/apiserver/pkg/server/egressselector/config.go:33",
    strict: true,
    members: &Members {
        name: "EgressSelectorConfiguration",
        all: &[("egressSelections", List(&Struct(&SELECTION)))],
    },
};

/// The names of egress selections, in the order of upstream's errors.
const NAMES: [&str; 3] = ["cluster", "controlplane", "etcd"];
/// The proxy protocols, also in the order of upstream's errors.
const PROTOCOLS: [&str; 3] = [DIRECT, HTTP_CONNECT, GRPC];
pub(crate) const DIRECT: &str = "Direct";
pub(crate) const HTTP_CONNECT: &str = "HTTPConnect";
pub(crate) const GRPC: &str = "GRPC";

/// The file's root: one selection per network.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct EgressSelectorConfiguration {
    /// `None` is the same as an empty list.
    pub(crate) egress_selections: Option<Vec<EgressSelection>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct EgressSelection {
    pub(crate) name: String,
    pub(crate) connection: Connection,
}

/// A protocol and its transport.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Connection {
    pub(crate) proxy_protocol: String,
    pub(crate) transport: Option<Transport>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(crate) struct Transport {
    pub(crate) tcp: Option<TcpTransport>,
    pub(crate) uds: Option<UdsTransport>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct TcpTransport {
    pub(crate) url: String,
    pub(crate) tls_config: Option<TlsConfig>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct UdsTransport {
    pub(crate) uds_name: String,
}

/// TLS files: CA bundle and client certificate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct TlsConfig {
    /// Empty for the system's CA certificates.
    pub(crate) ca_bundle: String,
    pub(crate) client_key: String,
    pub(crate) client_cert: String,
    /// Empty for the host of the URL.
    pub(crate) tls_server_name: String,
}

impl EgressSelectorConfiguration {
    /// Parses a file's text.
    ///
    /// # Errors
    /// Upstream's error message for an invalid file.
    pub(crate) fn read(text: &[u8]) -> Result<Self, crate::Error> {
        let read = FILE.read(text)?;
        let mut config: Self = jsontree::from_value(Value::Object(read.members))
            .map_err(|error| error.to_string())
            .map_err(crate::Error::Invalid)?;
        // The former name of the control plane.
        for selection in config.egress_selections.iter_mut().flatten() {
            if selection.name == "master" {
                "controlplane".clone_into(&mut selection.name);
            }
        }
        Ok(config)
    }

    /// Validates the configuration and returns all errors as one text in upstream's wording. Checks that the
    /// files exist.
    pub(crate) fn validate(&self) -> Option<String> {
        let selections = self.egress_selections.as_deref().unwrap_or_default();
        let root = Path::root("service");
        let mut errors = Vec::new();
        let path = root.child("connection");
        for EgressSelection { connection, .. } in selections {
            errors.extend(connection.validate_fields(&path));
        }
        let mut seen: Vec<String> = Vec::new();
        for (index, selection) in selections.iter().enumerate() {
            let name = selection.name.to_lowercase();
            if seen.contains(&name) {
                errors.push(Error::duplicate(&path.index(index), name));
                continue;
            }
            if !NAMES.contains(&name.as_str()) {
                errors.push(Error::not_supported(&path, name.as_str(), &NAMES));
            }
            seen.push(name);
        }
        field::aggregate(&errors)
    }
}

impl Connection {
    fn validate_fields(&self, path: &Path<'_>) -> Vec<Error> {
        let transport = path.child("transport");
        match (self.proxy_protocol.as_str(), &self.transport) {
            (DIRECT, None) => Vec::new(),
            (DIRECT, Some(_)) => {
                vec![Error::invalid(&transport, "direct", "config must be absent for direct connect")]
            }
            (protocol @ (HTTP_CONNECT | GRPC), None) => {
                vec![Error::required(&transport, format!("transport must be set for {protocol}"))]
            }
            (HTTP_CONNECT, Some(configured)) => configured.validate(path),
            (GRPC, Some(Transport { uds: Some(uds), .. })) => uds.validate(path),
            (GRPC, Some(_)) => vec![Error::required(&path.child("uds"), "UDS must be set with GRPC")],
            (protocol, _) => {
                let actual = BadValue::json_text(protocol);
                vec![Error::not_supported(&path.child("protocol"), actual, &PROTOCOLS)]
            }
        }
    }
}

impl Transport {
    fn validate(&self, path: &Path<'_>) -> Vec<Error> {
        let at = path.child("tcp");
        match (&self.tcp, &self.uds) {
            (Some(tcp), Some(_)) => {
                vec![Error::invalid(&at, tcp.go_value(), "TCP and UDS cannot both be set")]
            }
            (None, None) => vec![Error::required(&at, "One of TCP or UDS must be set")],
            (Some(tcp), None) => tcp.validate(path),
            (None, Some(uds)) => uds.validate(path),
        }
    }
}

impl UdsTransport {
    fn validate(&self, path: &Path<'_>) -> Vec<Error> {
        let missing = || Error::invalid(&path.child("udsName"), "nil", "must be present for UDS connections");
        self.uds_name.is_empty().then(missing).into_iter().collect()
    }
}

impl TcpTransport {
    fn validate(&self, path: &Path<'_>) -> Vec<Error> {
        let at = path.child("tlsConfig");
        match (&self.url, &self.tls_config) {
            (url, None) if url.starts_with("http://") => Vec::new(),
            (url, Some(_)) if url.starts_with("http://") => {
                vec![Error::invalid(&at, "nil", "config must not be present when using HTTP")]
            }
            (url, Some(tls)) if url.starts_with("https://") => tls.validate_fields(&at),
            (url, None) if url.starts_with("https://") => {
                vec![Error::required(&at, "TLSConfig must be present when using HTTPS")]
            }
            (url, _) => {
                let detail = "supported connection protocols are http:// and https://";
                vec![Error::invalid(&path.child("url"), url, detail)]
            }
        }
    }

    /// The struct as Go marshals it. Its members have no JSON tags there.
    fn go_value(&self) -> BadValue {
        let text = |text: &str| Value::from(text).to_string();
        let tls = self.tls_config.as_ref().map_or_else(
            || "null".to_owned(),
            |tls| {
                format!(
                    "{{\"CABundle\":{},\"ClientKey\":{},\"ClientCert\":{},\"TLSServerName\":{}}}",
                    text(&tls.ca_bundle),
                    text(&tls.client_key),
                    text(&tls.client_cert),
                    text(&tls.tls_server_name)
                )
            },
        );
        BadValue::Plain(format!("{{\"URL\":{},\"TLSConfig\":{tls}}}", text(&self.url)))
    }
}

impl TlsConfig {
    fn validate_fields(&self, path: &Path<'_>) -> Vec<Error> {
        let missing = |file: &str| !FilePath::new(file).exists();
        let mut errors = Vec::new();
        if !self.ca_bundle.is_empty() && missing(&self.ca_bundle) {
            let detail = "TLS config ca bundle does not exist";
            errors.push(Error::invalid(&path.child("caBundle"), &self.ca_bundle, detail));
        }
        let shown = [
            (
                "clientCert",
                &self.client_cert,
                "Using TLS requires clientCert",
                "TLS client cert does not exist",
            ),
            // Listed twice, as in upstream.
            (
                "clientKey",
                &self.client_key,
                "Using TLS requires requires clientKey",
                "TLS client key does not exist",
            ),
        ];
        for (member, file, absent, missing_detail) in shown {
            if file.is_empty() {
                errors.push(Error::invalid(&path.child(member), "nil", absent));
            } else if missing(file) {
                errors.push(Error::invalid(&path.child(member), file, missing_detail));
            }
        }
        errors
    }
}
