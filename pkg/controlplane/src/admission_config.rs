//! `--admission-control-config-file`: what admission plugins are told, read and judged as upstream does
//! (apiserver `pkg/admission/config.go`, `pkg/admission/plugins.go`).

mod file;
#[cfg(test)]
mod tests;

use std::io;
use std::path::Path;

use ::admission::{
    EventRateLimitConfiguration, PodNodeSelectorConfiguration, PodSecurityConfiguration, PodSecurityFlaw,
    PodTolerationConfiguration, QuotaConfiguration,
};
use apimachinery::features::Gates;
use apimachinery::go_quote::quote;

use crate::admission::chosen;
use crate::config::AdmissionConfig;
use crate::run::RunError;
use file::AdmissionConfiguration;

/// What plugins are told; the defaults of those that do not run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Configurations {
    pub(crate) event_rate_limit: EventRateLimitConfiguration,
    pub(crate) pod_node_selector: PodNodeSelectorConfiguration,
    pub(crate) pod_security: PodSecurityConfiguration,
    pub(crate) pod_tolerations: PodTolerationConfiguration,
    pub(crate) quota: QuotaConfiguration,
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
            read.set(name, text.as_deref()).map_err(failed)?;
        }
        Ok(read)
    }

    /// Takes in what a plugin is told. Most plugins have nothing to be told, and do not look.
    fn set(&mut self, plugin: &str, text: Option<&[u8]>) -> Result<(), String> {
        let unmade = |why: String| format!("couldn't init admission plugin {}: {why}", quote(plugin));
        let unsound = |why: String| format!("failed to initialize admission plugin {}: {why}", quote(plugin));
        if plugin == "EventRateLimit" {
            self.event_rate_limit = EventRateLimitConfiguration::parse(text).map_err(unmade)?;
        }
        // The others can do without.
        let Some(text) = text else { return Ok(()) };
        match plugin {
            "PodNodeSelector" => self.pod_node_selector = PodNodeSelectorConfiguration::parse(text),
            "PodSecurity" => {
                self.pod_security = PodSecurityConfiguration::parse(text).map_err(|flaw| match flaw {
                    PodSecurityFlaw::Unreadable(why) => unmade(why),
                    PodSecurityFlaw::Unsound(why) => unsound(why),
                })?;
            }
            "PodTolerationRestriction" => {
                self.pod_tolerations = PodTolerationConfiguration::parse(text).map_err(unmade)?;
            }
            "ResourceQuota" => self.quota = QuotaConfiguration::parse(text).map_err(unmade)?,
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
fn system_words(error: &io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error").next().unwrap_or_default();
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}
