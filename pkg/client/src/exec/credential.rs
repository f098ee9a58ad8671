//! Encoding of `ExecCredential` (`client.authentication.k8s.io/v1`, `v1beta1`), the input and output of
//! credential plugins.

use apimachinery::time::parse_time;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jsontree::{Object, Value, json};
use serde::Deserialize;

use super::PluginCredentials;
use crate::{Error, tls};

/// The version in which every member is required.
pub(super) const V1: &str = "client.authentication.k8s.io/v1";
/// The version in which some members have defaults.
pub(super) const V1BETA1: &str = "client.authentication.k8s.io/v1beta1";
/// Supported versions.
pub(super) const VERSIONS: [&str; 2] = [V1, V1BETA1];

/// Cluster information for the plugin.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Cluster {
    /// URL of the server.
    pub(crate) server: String,
    /// Expected server name, if not the URL's host.
    pub(crate) tls_server_name: String,
    pub(crate) insecure_skip_tls_verify: bool,
    /// PEM of the trusted CAs; empty for the system's.
    pub(crate) authorities: Vec<u8>,
    /// Plugin configuration from an extension of the kubeconfig's cluster.
    pub(crate) config: Value,
}

/// Returns the plugin's input: the cluster, and the flag for interactive prompts.
pub(super) fn info(version: &str, cluster: Option<&Cluster>, interactive: bool) -> String {
    let mut spec = Object::new();
    if let Some(cluster) = cluster {
        let mut object = Object::new();
        object.insert("server", cluster.server.as_str().into());
        if !cluster.tls_server_name.is_empty() {
            object.insert("tls-server-name", cluster.tls_server_name.as_str().into());
        }
        if cluster.insecure_skip_tls_verify {
            object.insert("insecure-skip-tls-verify", true.into());
        }
        if !cluster.authorities.is_empty() {
            let data = STANDARD.encode(&cluster.authorities);
            object.insert("certificate-authority-data", data.into());
        }
        object.insert("config", cluster.config.clone());
        spec.insert("cluster", object.into());
    }
    spec.insert("interactive", interactive.into());
    json!({"kind": "ExecCredential", "apiVersion": version, "spec": spec}).to_string()
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Credential {
    kind: String,
    api_version: String,
    status: Option<CredentialStatus>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CredentialStatus {
    expiration_timestamp: Option<String>,
    token: String,
    client_certificate_data: String,
    client_key_data: String,
}

/// Parses the output of a plugin, which must be in `version`.
///
/// # Errors
/// In upstream's words.
pub(super) fn read(output: &[u8], version: &str) -> Result<PluginCredentials, Error> {
    let decoding = |message: String| format!("decoding stdout: {message}");
    let text = schema::yaml::to_json(output)
        .map_err(|error| decoding(error.to_string()))
        .map_err(Error::credentials)?;
    let credential: Credential = serde_json::from_slice(&text.json)
        .map_err(|error| decoding(error.to_string()))
        .map_err(Error::credentials)?;
    if credential.kind != "ExecCredential" {
        return Err(Error::credentials(decoding(format!(
            "no kind \"{}\" is registered for version \"{}\"",
            credential.kind, credential.api_version
        ))));
    }
    if credential.api_version != version {
        let returned = credential.api_version;
        return Err(Error::credentials(format!(
            "exec plugin is configured to use API version {version}, plugin returned version {returned}"
        )));
    }
    let credential = credential
        .status
        .ok_or_else(|| Error::credentials("exec plugin didn't return a status field".to_owned()))?;
    let chain = credential.client_certificate_data;
    let key = credential.client_key_data;
    if credential.token.is_empty() && chain.is_empty() && key.is_empty() {
        return Err(Error::credentials("exec plugin didn't return a token or cert/key pair".to_owned()));
    }
    if chain.is_empty() != key.is_empty() {
        return Err(Error::credentials("exec plugin returned only certificate or key, not both".to_owned()));
    }
    let until = credential
        .expiration_timestamp
        .map(|text| parse_time(&text).map_err(|error| decoding(error.to_string())));
    let certificate = (!chain.is_empty()).then(|| (chain.into_bytes(), key.into_bytes()));
    let mut validity = None;
    if let Some((chain, key)) = &certificate {
        tls::check_pair(chain, key).map_err(|message| {
            Error::credentials(format!("failed parsing client key/certificate: {message}"))
        })?;
        let leaf = tls::validity(chain);
        validity = Some(leaf.map_err(|message| {
            Error::credentials(format!("failed parsing client leaf certificate: {message}"))
        })?);
    }
    let token = (!credential.token.is_empty()).then_some(credential.token);
    Ok(PluginCredentials {
        token,
        certificate,
        validity,
        until: until.transpose().map_err(Error::credentials)?,
    })
}
