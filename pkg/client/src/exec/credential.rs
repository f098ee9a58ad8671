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
        let mut told = Object::new();
        told.insert("server", cluster.server.as_str().into());
        if !cluster.tls_server_name.is_empty() {
            told.insert("tls-server-name", cluster.tls_server_name.as_str().into());
        }
        if cluster.insecure_skip_tls_verify {
            told.insert("insecure-skip-tls-verify", true.into());
        }
        if !cluster.authorities.is_empty() {
            let data = STANDARD.encode(&cluster.authorities);
            told.insert("certificate-authority-data", data.into());
        }
        told.insert("config", cluster.config.clone());
        spec.insert("cluster", told.into());
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
    let decoding = |why: String| format!("decoding stdout: {why}");
    let text = schema::yaml::to_json(output)
        .map_err(|error| decoding(error.to_string()))
        .map_err(Error::credentials)?;
    let said: Credential = serde_json::from_slice(&text.json)
        .map_err(|error| decoding(error.to_string()))
        .map_err(Error::credentials)?;
    if said.kind != "ExecCredential" {
        return Err(Error::credentials(decoding(format!(
            "no kind \"{}\" is registered for version \"{}\"",
            said.kind, said.api_version
        ))));
    }
    if said.api_version != version {
        let returned = said.api_version;
        return Err(Error::credentials(format!(
            "exec plugin is configured to use API version {version}, plugin returned version {returned}"
        )));
    }
    let said = said
        .status
        .ok_or_else(|| Error::credentials("exec plugin didn't return a status field".to_owned()))?;
    let chain = said.client_certificate_data;
    let key = said.client_key_data;
    if said.token.is_empty() && chain.is_empty() && key.is_empty() {
        return Err(Error::credentials("exec plugin didn't return a token or cert/key pair".to_owned()));
    }
    if chain.is_empty() != key.is_empty() {
        return Err(Error::credentials("exec plugin returned only certificate or key, not both".to_owned()));
    }
    let until =
        said.expiration_timestamp.map(|text| parse_time(&text).map_err(|error| decoding(error.to_string())));
    let certificate = (!chain.is_empty()).then(|| (chain.into_bytes(), key.into_bytes()));
    let mut validity = None;
    if let Some((chain, key)) = &certificate {
        tls::check_pair(chain, key)
            .map_err(|why| Error::credentials(format!("failed parsing client key/certificate: {why}")))?;
        let leaf = tls::validity(chain);
        validity =
            Some(leaf.map_err(|why| {
                Error::credentials(format!("failed parsing client leaf certificate: {why}"))
            })?);
    }
    let token = (!said.token.is_empty()).then_some(said.token);
    Ok(PluginCredentials {
        token,
        certificate,
        validity,
        until: until.transpose().map_err(Error::credentials)?,
    })
}
