//! What dynamic admission is told: who calls webhooks, and where manifests on this machine's disk are (apiserver
//! `admission/plugin/webhook/config`, `admission/plugin/policy/config`).
//!
//! Upstream reads such manifests behind a gate that is closed by default, and which nothing here reads: they are refused
//! as upstream refuses them then.

use std::path::Path;

use apimachinery::field::{Error, Path as Field};
use client::kubeconfig::WebhookCredentials;
use schema::configuration::{ConfigurationFile, FileKind, Members, Shape};
use serde_json::{Map, Value};

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

/// Who calls webhooks. Blocks.
///
/// # Errors
/// What upstream says of the text, or of the kubeconfig that it names.
pub(super) fn webhook_credentials(text: &[u8]) -> Result<WebhookCredentials, String> {
    let members = WEBHOOKS.read(text)?.members;
    let file = text_of(&members, "kubeConfigFile");
    if !file.is_empty() && !file.starts_with('/') {
        let path = Field::root("kubeConfigFile");
        return Err(Error::invalid(&path, file, "must be an absolute file path").to_string());
    }
    without_manifests(&members)?;
    match file {
        "" => Ok(WebhookCredentials::default()),
        file => WebhookCredentials::read(Path::new(file)),
    }
}

/// Checks what policies that judge are told.
///
/// # Errors
/// What upstream says of the text.
pub(super) fn check_validating_policies(text: &[u8]) -> Result<(), String> {
    without_manifests(&VALIDATING.read(text)?.members)
}

/// Checks what policies that edit are told.
///
/// # Errors
/// What upstream says of the text.
pub(super) fn check_mutating_policies(text: &[u8]) -> Result<(), String> {
    without_manifests(&MUTATING.read(text)?.members)
}

fn without_manifests(members: &Map<String, Value>) -> Result<(), String> {
    if text_of(members, MANIFESTS).is_empty() {
        return Ok(());
    }
    let why =
        "staticManifestsDir requires the ManifestBasedAdmissionControlConfig feature gate to be enabled";
    Err(Error::forbidden(&Field::root(MANIFESTS), why).to_string())
}

fn text_of<'v>(members: &'v Map<String, Value>, name: &str) -> &'v str {
    members.get(name).and_then(Value::as_str).unwrap_or_default()
}
