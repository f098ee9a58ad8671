//! Configuration of dynamic admission: client credentials for webhooks, and manifest directories (apiserver
//! `admission/plugin/webhook/config`, `admission/plugin/policy/config`).

use std::path::{Path, PathBuf};

use apimachinery::field::{Error, Path as Field};
use client::kubeconfig::WebhookCredentials;
use component_base::features::{Gate, Gates};
use jsontree::{Object, Value};
use schema::configuration::{ConfigurationFile, FileKind, Members, Shape};

use super::go_error_text;
use crate::error::ConfigurationError;
use crate::system;

const GROUP: &str = "apiserver.config.k8s.io";
const MANIFESTS: &str = "staticManifestsDir";

const WEBHOOKS: ConfigurationFile = ConfigurationFile {
    kinds: &[FileKind { group: GROUP, version: "v1", kind: "WebhookAdmissionConfiguration" }],
    scheme: "k8s.io/apiserver/pkg/admission/plugin/webhook/config/kubeconfig.go:34",
    strict: true,
    members: &Members {
        name: "WebhookAdmission",
        all: &[("kubeConfigFile", Shape::Text), (MANIFESTS, Shape::Text)],
    },
};

const fn policies_of(kinds: &'static [FileKind], members: &'static Members) -> ConfigurationFile {
    let scheme = "k8s.io/apiserver/pkg/admission/plugin/policy/config/config.go:32";
    ConfigurationFile { kinds, scheme, strict: true, members }
}

const VALIDATING: ConfigurationFile = policies_of(
    &[FileKind { group: GROUP, version: "v1", kind: "ValidatingAdmissionPolicyConfiguration" }],
    &Members { name: "ValidatingAdmissionPolicyConfiguration", all: &[(MANIFESTS, Shape::Text)] },
);
const MUTATING: ConfigurationFile = policies_of(
    &[FileKind { group: GROUP, version: "v1", kind: "MutatingAdmissionPolicyConfiguration" }],
    &Members { name: "MutatingAdmissionPolicyConfiguration", all: &[(MANIFESTS, Shape::Text)] },
);

/// Reads webhook credentials and the manifest directory. Blocks.
///
/// # Errors
/// Upstream's message about the text or its kubeconfig.
pub(super) fn webhooks(
    text: &[u8],
    gates: Gates,
) -> Result<(WebhookCredentials, Option<PathBuf>), ConfigurationError> {
    let members = WEBHOOKS.read(text)?.members;
    let file = text_of(&members, "kubeConfigFile");
    if !file.is_empty() && !file.starts_with('/') {
        let path = Field::root("kubeConfigFile");
        return Err(of_field(&Error::invalid(&path, file, "must be an absolute file path")));
    }
    let manifests = directory(&members, gates)?;
    let credentials = match file {
        "" => WebhookCredentials::default(),
        file => WebhookCredentials::read(Path::new(file), &system::clock())?,
    };
    Ok((credentials, manifests))
}

/// Reads the manifest directory of validating policies. Blocks.
///
/// # Errors
/// Upstream's error message.
pub(super) fn validating_policies(text: &[u8], gates: Gates) -> Result<Option<PathBuf>, ConfigurationError> {
    directory(&VALIDATING.read(text)?.members, gates)
}

/// Reads the manifest directory of mutating policies. Blocks.
///
/// # Errors
/// Upstream's error message.
pub(super) fn mutating_policies(text: &[u8], gates: Gates) -> Result<Option<PathBuf>, ConfigurationError> {
    directory(&MUTATING.read(text)?.members, gates)
}

fn of_field(error: &Error) -> ConfigurationError {
    ConfigurationError::Invalid(error.to_string())
}

fn directory(members: &Object, gates: Gates) -> Result<Option<PathBuf>, ConfigurationError> {
    let at = Field::root(MANIFESTS);
    let directory = text_of(members, MANIFESTS);
    if directory.is_empty() {
        return Ok(None);
    }
    if !gates.enabled(Gate::ManifestBasedAdmissionControlConfig) {
        let why =
            "staticManifestsDir requires the ManifestBasedAdmissionControlConfig feature gate to be enabled";
        return Err(of_field(&Error::forbidden(&at, why)));
    }
    let invalid = |why: &str| Err(of_field(&Error::invalid(&at, directory, why)));
    if !directory.starts_with('/') {
        return invalid("must be an absolute file path");
    }
    match std::fs::metadata(directory) {
        Err(error) => invalid(&format!("unable to read: stat {directory}: {}", go_error_text(&error))),
        Ok(metadata) if !metadata.is_dir() => invalid("must be a directory"),
        Ok(_) => Ok(Some(PathBuf::from(directory))),
    }
}

fn text_of<'v>(members: &'v Object, name: &str) -> &'v str {
    members.get(name).and_then(Value::as_str).unwrap_or_default()
}
