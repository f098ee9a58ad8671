//! `--admission-control-config-file`: configurations of admission plugins, parsed and validated as in
//! upstream (apiserver `pkg/admission/config.go`, `pkg/admission/plugins.go`).

mod file;
mod manifests;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};

use ::admission::{
    EventRateLimitConfiguration, PodNodeSelectorConfiguration, PodSecurityConfiguration,
    PodTolerationConfiguration, QuotaConfiguration,
};
use apimachinery::go_quote::quote;
use client::kubeconfig::WebhookCredentials;
use client::webhook::ClientMetrics;
use component_base::features::Gates;

use crate::admission::table::enabled_plugins;
use crate::config::AdmissionConfig;
use crate::error::{ConfigurationError, RunError};
use crate::image_reviews::ImagePolicy;
use file::AdmissionConfiguration;
use manifests::{mutating_policies, validating_policies, webhooks};

/// Manifest directories of plugins; `None` for plugins without one.
#[derive(Debug, Clone, Default)]
pub(crate) struct ManifestDirectories {
    pub(crate) mutating_policies: Option<PathBuf>,
    pub(crate) mutating_webhooks: Option<PathBuf>,
    pub(crate) validating_policies: Option<PathBuf>,
    pub(crate) validating_webhooks: Option<PathBuf>,
}

/// Plugin configurations. Plugins that do not run have defaults.
#[derive(Debug, Clone, Default)]
pub(crate) struct Configurations {
    pub(crate) manifests: ManifestDirectories,
    pub(crate) event_rate_limit: EventRateLimitConfiguration,
    /// `None` if `ImagePolicyWebhook` does not run.
    pub(crate) image_policy: Option<ImagePolicy>,
    /// Client credentials for mutating webhooks.
    pub(crate) mutating_webhooks: WebhookCredentials,
    pub(crate) pod_node_selector: PodNodeSelectorConfiguration,
    pub(crate) pod_security: PodSecurityConfiguration,
    pub(crate) pod_tolerations: PodTolerationConfiguration,
    pub(crate) quota: QuotaConfiguration,
    /// Client credentials for validating webhooks.
    pub(crate) validating_webhooks: WebhookCredentials,
}

impl Configurations {
    /// Reads the configuration file and the files of enabled plugins. Blocks.
    ///
    /// # Errors
    /// Upstream's message about an unreadable or invalid file.
    pub(crate) fn read(config: &AdmissionConfig, gates: Gates) -> Result<Self, RunError> {
        let failed = |error: ConfigurationError| RunError::from(error).within("failed to apply admission");
        let plugins: Vec<&str> = enabled_plugins(config, gates).map(|plugin| plugin.name).collect();
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

    /// Adds metrics for calls of the image policy webhook.
    pub(crate) fn with_metrics(self, calls: &ClientMetrics) -> Self {
        Configurations { image_policy: self.image_policy.map(|policy| policy.with_metrics(calls)), ..self }
    }

    /// Sets the configuration of a plugin. Most plugins have none and ignore it.
    fn set(&mut self, plugin: &str, text: Option<&[u8]>, gates: Gates) -> Result<(), ConfigurationError> {
        let name = quote(plugin);
        let within_plugin =
            |error: ConfigurationError| error.within(format!("couldn't init admission plugin {name}"));
        let unreadable = |error: ::admission::PluginConfigurationError| within_plugin(error.into());
        // Only these two plugins require a configuration.
        match plugin {
            "EventRateLimit" => {
                self.event_rate_limit = EventRateLimitConfiguration::parse(text).map_err(unreadable)?;
            }
            "ImagePolicyWebhook" => self.image_policy = Some(ImagePolicy::read(text).map_err(within_plugin)?),
            _ => {}
        }
        let Some(text) = text else { return Ok(()) };
        match plugin {
            "MutatingAdmissionPolicy" => {
                self.manifests.mutating_policies = mutating_policies(text, gates).map_err(within_plugin)?;
            }
            "MutatingAdmissionWebhook" => {
                (self.mutating_webhooks, self.manifests.mutating_webhooks) =
                    webhooks(text, gates).map_err(within_plugin)?;
            }
            "PodNodeSelector" => self.pod_node_selector = PodNodeSelectorConfiguration::parse(text),
            "PodSecurity" => {
                self.pod_security = PodSecurityConfiguration::parse(text).map_err(|error| match error {
                    ::admission::PluginConfigurationError::Invalid(_) => ConfigurationError::from(error)
                        .within(format!("failed to initialize admission plugin {name}")),
                    _ => unreadable(error),
                })?;
            }
            "PodTolerationRestriction" => {
                self.pod_tolerations = PodTolerationConfiguration::parse(text).map_err(unreadable)?;
            }
            "ResourceQuota" => self.quota = QuotaConfiguration::parse(text).map_err(unreadable)?,
            "ValidatingAdmissionPolicy" => {
                self.manifests.validating_policies =
                    validating_policies(text, gates).map_err(within_plugin)?;
            }
            "ValidatingAdmissionWebhook" => {
                (self.validating_webhooks, self.manifests.validating_webhooks) =
                    webhooks(text, gates).map_err(within_plugin)?;
            }
            _ => {}
        }
        Ok(())
    }
}

fn file_at(path: &Path, plugins: &[&str]) -> Result<AdmissionConfiguration, ConfigurationError> {
    let text = std::fs::read(path).map_err(|source| {
        let shown = quote(&path.display().to_string());
        let why = go_error_text(&source);
        let path = path.display();
        let message = format!(
            "failed to read plugin config: unable to read admission control configuration from {shown} [open {path}: {why}]"
        );
        ConfigurationError::File { message, source }
    })?;
    AdmissionConfiguration::parse(&text, path, plugins)
        .map_err(|error| error.within("failed to read plugin config"))
}

/// Formats a system error as Go does: in lower case and without the number.
pub(crate) fn go_error_text(error: &io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or_default();
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
