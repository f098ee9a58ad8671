//! The file with the configuration of each plugin, inline or as a path.

use std::path::{Path, PathBuf};

use apimachinery::go_quote::quote;
use jsontree::Value;
use schema::configuration::{ConfigurationFile, FileKind, Members, ReadError, Shape};

use super::go_error_text;
use crate::error::ConfigurationError;

const PLUGIN: Members = Members {
    name: "AdmissionPluginConfiguration",
    all: &[("name", Shape::Text), ("path", Shape::Text), ("configuration", Shape::Any)],
};
const FILE: ConfigurationFile = ConfigurationFile {
    kinds: &[
        FileKind { group: "apiserver.config.k8s.io", version: "v1", kind: "AdmissionConfiguration" },
        FileKind { group: "apiserver.k8s.io", version: "v1alpha1", kind: "AdmissionConfiguration" },
    ],
    scheme: "k8s.io/apiserver/pkg/server/options/admission.go:51",
    strict: true,
    members: &Members {
        name: "AdmissionConfiguration",
        all: &[("plugins", Shape::List(&Shape::Struct(&PLUGIN)))],
    },
};

/// Plugins with a legacy format: the file itself may be their configuration. Each has the field that
/// identifies such a file.
const OLD: [(&str, &str); 2] =
    [("ImagePolicyWebhook", "imagePolicy"), ("PodNodeSelector", "podNodeSelectorPluginConfig")];

/// A parsed file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct AdmissionConfiguration {
    plugins: Vec<Plugin>,
}

/// The configuration of one plugin.
#[derive(Debug, Clone, PartialEq)]
struct Plugin {
    name: String,
    source: Option<Source>,
}

#[derive(Debug, Clone, PartialEq)]
enum Source {
    Inline(Value),
    File(PathBuf),
}

impl AdmissionConfiguration {
    /// Parses YAML or JSON. `path` is the location of the file; `plugins` lists the enabled plugins.
    ///
    /// # Errors
    /// Upstream's error message.
    pub(super) fn parse(text: &[u8], path: &Path, plugins: &[&str]) -> Result<Self, ConfigurationError> {
        let directory = path.parent().unwrap_or(Path::new(""));
        match FILE.read(text) {
            Ok(file) => Ok(AdmissionConfiguration {
                plugins: listed(&file.members)
                    .map(|plugin| Plugin { name: text_of(plugin, "name"), source: source(plugin, directory) })
                    .collect(),
            }),
            Err(ReadError::Unknown(_)) if is_legacy_format(text) => {
                let old = plugins.iter().filter(|plugin| OLD.iter().any(|(name, _)| name == *plugin));
                let with_default_file = |name: &&str| Plugin {
                    name: (*name).to_owned(),
                    source: Some(Source::File(path.to_owned())),
                };
                Ok(AdmissionConfiguration { plugins: old.map(with_default_file).collect() })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the configuration of a plugin; `None` if there is none. The first of several counts. Blocks.
    ///
    /// # Errors
    /// An unreadable file.
    pub(super) fn text_of(&self, name: &str) -> Result<Option<Vec<u8>>, ConfigurationError> {
        let plugin = self.plugins.iter().find(|plugin| plugin.name == name);
        match plugin.and_then(|plugin| plugin.source.as_ref()) {
            None => Ok(None),
            Some(Source::Inline(value)) => Ok(Some(value.to_string().into_bytes())),
            Some(Source::File(path)) => std::fs::read(path).map(Some).map_err(|source| {
                let shown = quote(&path.display().to_string());
                // Go prints this error type as a value.
                let why = match source.raw_os_error() {
                    Some(number) => format!("0x{number:x}"),
                    None => go_error_text(&source),
                };
                let path = path.display();
                let message = format!(
                    "Couldn't open admission plugin configuration {path}: &fs.PathError{{Op:\"open\", Path:{shown}, Err:{why}}}"
                );
                ConfigurationError::File { message, source }
            }),
        }
    }
}

fn listed(members: &jsontree::Object) -> impl Iterator<Item = &Value> {
    members.get("plugins").and_then(Value::as_array).into_iter().flatten()
}

fn text_of(plugin: &Value, name: &str) -> String {
    plugin.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn source(plugin: &Value, directory: &Path) -> Option<Source> {
    match (plugin.get("configuration"), text_of(plugin, "path")) {
        (Some(configuration), _) => Some(Source::Inline(configuration.clone())),
        (None, path) => (!path.is_empty()).then(|| Source::File(directory.join(path))),
    }
}

/// True if the text has a legacy, unversioned format.
fn is_legacy_format(text: &[u8]) -> bool {
    let value = schema::yaml::to_json(text).ok().and_then(|yaml| serde_json::from_slice(&yaml.json).ok());
    value.is_some_and(|value: Value| OLD.iter().any(|(_, member)| value.get(member).is_some()))
}
