//! `--admission-control-config-file`: what admission plugins are told, read and judged as upstream does
//! (apiserver `pkg/admission/config.go`, `pkg/admission/plugins.go`).

mod file;
mod manifests;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use ::admission::{
    EventRateLimitConfiguration, PodNodeSelectorConfiguration, PodSecurityConfigError,
    PodSecurityConfiguration, PodTolerationConfiguration, QuotaConfiguration,
};
use apimachinery::go_quote::quote;
use client::kubeconfig::WebhookCredentials;
use client::webhook::Figures;
use component_base::features::Gates;

use crate::admission::table::chosen;
use crate::config::AdmissionConfig;
use crate::error::RunError;
use crate::image_reviews::ImagePolicy;
use file::AdmissionConfiguration;
use manifests::{mutating_policies, validating_policies, webhooks};

/// Where manifests of plugins are; `None` where a plugin has none.
#[derive(Debug, Clone, Default)]
pub(crate) struct ManifestDirectories {
    pub(crate) mutating_policies: Option<PathBuf>,
    pub(crate) mutating_webhooks: Option<PathBuf>,
    pub(crate) validating_policies: Option<PathBuf>,
    pub(crate) validating_webhooks: Option<PathBuf>,
}

/// What plugins are told; the defaults of those that do not run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Configurations {
    /// Where manifests are.
    pub(crate) manifests: ManifestDirectories,
    pub(crate) event_rate_limit: EventRateLimitConfiguration,
    /// `None` where images are not judged.
    pub(crate) image_policy: Option<ImagePolicy>,
    /// Who calls webhooks that edit.
    pub(crate) mutating_webhooks: WebhookCredentials,
    pub(crate) pod_node_selector: PodNodeSelectorConfiguration,
    pub(crate) pod_security: PodSecurityConfiguration,
    pub(crate) pod_tolerations: PodTolerationConfiguration,
    pub(crate) quota: QuotaConfiguration,
    /// Who calls webhooks that judge.
    pub(crate) validating_webhooks: WebhookCredentials,
}

impl Configurations {
    /// Reads the file that the configuration names, and what that says of the plugins that run. Blocks.
    ///
    /// # Errors
    /// A file that cannot be read, or says what makes no sense, in upstream's words.
    pub(crate) fn read(config: &AdmissionConfig, gates: Gates) -> Result<Self, RunError> {
        let failed = |why| RunError::Configuration(format!("failed to apply admission: {why}"));
        let plugins: Vec<&str> = chosen(config, gates).map(|known| known.name).collect();
        let file = match &config.config_file {
            Some(path) => file_at(path, &plugins).map_err(failed)?,
            None => AdmissionConfiguration::default(),
        };
        let mut read = Configurations::default();
        for name in plugins {
            let text = file.text_of(name).map_err(failed)?;
            read.set(name, text.as_deref(), gates).map_err(failed)?;
        }
        Ok(read)
    }

    /// The same, with calls of its own webhooks counted.
    pub(crate) fn counted(self, calls: &Figures) -> Self {
        Configurations { image_policy: self.image_policy.map(|policy| policy.counted(calls)), ..self }
    }

    /// Takes in what a plugin is told. Most plugins have nothing to be told, and do not look.
    fn set(&mut self, plugin: &str, text: Option<&[u8]>, gates: Gates) -> Result<(), String> {
        let unmade = |why: String| format!("couldn't init admission plugin {}: {why}", quote(plugin));
        let unsound = |why: String| format!("failed to initialize admission plugin {}: {why}", quote(plugin));
        // These two have to be told something, all others can do without.
        match plugin {
            "EventRateLimit" => {
                self.event_rate_limit = EventRateLimitConfiguration::parse(text).map_err(unmade)?;
            }
            "ImagePolicyWebhook" => self.image_policy = Some(ImagePolicy::read(text).map_err(unmade)?),
            _ => {}
        }
        let Some(text) = text else { return Ok(()) };
        match plugin {
            "MutatingAdmissionPolicy" => {
                self.manifests.mutating_policies = mutating_policies(text, gates).map_err(unmade)?;
            }
            "MutatingAdmissionWebhook" => {
                (self.mutating_webhooks, self.manifests.mutating_webhooks) =
                    webhooks(text, gates).map_err(unmade)?;
            }
            "PodNodeSelector" => self.pod_node_selector = PodNodeSelectorConfiguration::parse(text),
            "PodSecurity" => {
                self.pod_security = PodSecurityConfiguration::parse(text).map_err(|flaw| match flaw {
                    PodSecurityConfigError::Unreadable(why) => unmade(why),
                    PodSecurityConfigError::Unsound(why) => unsound(why),
                })?;
            }
            "PodTolerationRestriction" => {
                self.pod_tolerations = PodTolerationConfiguration::parse(text).map_err(unmade)?;
            }
            "ResourceQuota" => self.quota = QuotaConfiguration::parse(text).map_err(unmade)?,
            "ValidatingAdmissionPolicy" => {
                self.manifests.validating_policies = validating_policies(text, gates).map_err(unmade)?;
            }
            "ValidatingAdmissionWebhook" => {
                (self.validating_webhooks, self.manifests.validating_webhooks) =
                    webhooks(text, gates).map_err(unmade)?;
            }
            _ => {}
        }
        Ok(())
    }
}

fn file_at(path: &Path, plugins: &[&str]) -> Result<AdmissionConfiguration, String> {
    let text = std::fs::read(path).map_err(|error| {
        let shown = quote(&path.display().to_string());
        let why = system_words(&error);
        let path = path.display();
        format!(
            "failed to read plugin config: unable to read admission control configuration from {shown} [open {path}: {why}]"
        )
    })?;
    AdmissionConfiguration::parse(&text, path, plugins)
        .map_err(|error| format!("failed to read plugin config: {error}"))
}

/// What Go says of an error of the system: its text without the number, in small letters.
pub(crate) fn system_words(error: &io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or_default();
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
