//! An encryption configuration with running providers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use crate::configuration::{Configuration, Pattern, Provider};
use crate::metrics::EncryptionMetrics;
use crate::providers::{Algorithm, Keys, RuleProvider};
use crate::{Error, KmsFactory, KmsProvider, KmsVersion, Protection, Random};

/// A configuration with its providers. Dropping it disconnects the plugins.
pub struct Rules {
    members: HashMap<Pattern, Vec<Arc<RuleProvider>>>,
    plugins: Vec<Plugin>,
    random: Random,
    metrics: Arc<EncryptionMetrics>,
}

struct Plugin {
    provider: Arc<dyn KmsProvider>,
    version: KmsVersion,
    timeout: Duration,
}

/// Dependencies of [`Rules::new`].
pub struct ProviderDeps<'a> {
    /// Factory that connects to plugins.
    pub factory: &'a dyn KmsFactory,
    /// Source of nonces.
    pub random: Random,
    /// Metrics, shared with the rules of earlier and later configurations.
    pub metrics: Arc<EncryptionMetrics>,
}

impl Rules {
    /// Creates the providers of a configuration and probes the plugins once.
    ///
    /// # Errors
    /// A rule that an earlier rule masks; a plugin that cannot be used.
    pub async fn new(configuration: &Configuration, means: ProviderDeps<'_>) -> Result<Self, Error> {
        let mut rules = Rules {
            members: HashMap::new(),
            plugins: Vec::new(),
            random: means.random,
            metrics: means.metrics,
        };
        for rule in &configuration.rules {
            let mut members = Vec::with_capacity(rule.providers.len());
            for provider in &rule.providers {
                members.push(Arc::new(rules.member(provider, means.factory).await?));
            }
            for pattern in &rule.resources {
                rules.add(pattern, &members)?;
            }
        }
        Ok(rules)
    }

    async fn member(&mut self, provider: &Provider, factory: &dyn KmsFactory) -> Result<RuleProvider, Error> {
        let keys = |algorithm, keys: &[_]| Keys::new(algorithm, keys).map(RuleProvider::keys);
        Ok(match provider {
            Provider::Identity => RuleProvider::identity(),
            Provider::AesGcm(of) => keys(Algorithm::AesGcm, of)?,
            Provider::AesCbc(of) => keys(Algorithm::AesCbc, of)?,
            Provider::Secretbox(of) => keys(Algorithm::Secretbox, of)?,
            Provider::Kms(kms) => {
                let provider = factory.provider(kms).await?;
                let plugin = Arc::clone(&provider);
                self.plugins.push(Plugin { provider, version: kms.version, timeout: kms.timeout });
                let version = match kms.version {
                    KmsVersion::V1 => "v1",
                    KmsVersion::V2 => "v2",
                };
                RuleProvider::kms(format!("k8s:enc:kms:{version}:{}:", kms.name), plugin)
            }
        })
    }

    /// Adds members to a pattern, behind those of earlier rules.
    fn add(&mut self, pattern: &Pattern, members: &[Arc<RuleProvider>]) -> Result<(), Error> {
        let in_group = Pattern { group: pattern.group.clone(), resource: "*".to_owned() };
        for earlier in [in_group, Pattern::all()] {
            if self.members.contains_key(&earlier) {
                return Err(Error::new(format!(
                    "resource \"{pattern}\" is masked by earlier rule \"{earlier}\""
                )));
            }
        }
        self.members.entry(pattern.clone()).or_default().extend(members.iter().cloned());
        Ok(())
    }

    /// Returns the providers of a resource: from the rule for the resource, for its group or for everything.
    /// `None` if no rule matches.
    pub fn protection(&self, group: &str, resource: &str) -> Option<Protection> {
        let pattern =
            |group: &str, resource: &str| Pattern { group: group.to_owned(), resource: resource.to_owned() };
        let members = [pattern(group, resource), pattern(group, "*"), Pattern::all()]
            .iter()
            .find_map(|pattern| self.members.get(pattern))?;
        let name = pattern(group, resource).to_string();
        Some(Protection::new(name, members, &self.metrics, &self.random))
    }

    /// Returns true if every pattern of `other` has a rule here.
    pub fn cover(&self, other: &Rules) -> bool {
        other.members.keys().all(|pattern| self.members.contains_key(pattern))
    }

    /// Returns the number of plugins, in total for all rules.
    pub fn plugins_count(&self) -> usize {
        self.plugins.len()
    }

    /// The plugins, in configuration order.
    pub fn plugins(&self) -> impl Iterator<Item = &Arc<dyn KmsProvider>> {
        self.plugins.iter().map(|plugin| &plugin.provider)
    }

    /// Returns true if one health check covers all plugins even without reloading: there is at least one
    /// plugin, and all of them are v2.
    pub fn has_single_health_check(&self) -> bool {
        !self.plugins.is_empty() && self.plugins.iter().all(|plugin| plugin.version == KmsVersion::V2)
    }

    /// Returns the grace period for calls in flight when new rules take over. This is twice the sum of all
    /// plugin timeouts; v1 plugins count double because they are called twice.
    pub fn grace(&self) -> Duration {
        let timeout = |plugin: &Plugin| match plugin.version {
            KmsVersion::V1 => plugin.timeout.saturating_mul(2),
            KmsVersion::V2 => plugin.timeout,
        };
        let sum = self.plugins.iter().map(timeout).fold(Duration::ZERO, Duration::saturating_add);
        sum.saturating_mul(2)
    }
}

#[cfg(test)]
mod tests;
