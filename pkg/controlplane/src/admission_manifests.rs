//! Webhooks and policies from manifest files (`ManifestBasedAdmissionControlConfig`; apiserver
//! `pkg/admission/plugin/*/manifest/source`). They must be valid at start, and are reloaded when they change.

mod decode;
mod files;
mod metrics;
#[cfg(test)]
mod tests;

use crate::error::ConfigurationError;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ::admission::policy::{Binding, Mutations, Policies, Policy, Rules, Validations};
use ::admission::webhook::{Hook, Hooks};
use ::kinds::validation::kinds::STATIC_SUFFIX;
use apimachinery::go_quote::{Quoted, quote};
use arc_swap::ArcSwap;
use component_base::features::Gates;
use schema::object::{Object, get, get_list, get_object, get_str};
use tokio::time::{Instant, sleep};

use decode::{ManifestSpec, Objects, Reader};
pub(crate) use metrics::ManifestMetrics;

/// Interval of checks for changed manifests.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Interval of unconditional reloads.
const RELOAD_INTERVAL: Duration = Duration::from_secs(60);

/// Compiled form of manifests.
pub(crate) trait CompileManifests: Sized + Send + Sync + 'static {
    /// Name of the plugin.
    const PLUGIN: &'static str;
    /// Allowed kinds.
    const SPEC: ManifestSpec;
    /// "webhook" or "policy".
    const NOUN: &'static str;

    /// Compiles objects.
    ///
    /// # Errors
    /// Upstream's message about inconsistent objects.
    fn compile(objects: &Objects) -> Result<Self, ConfigurationError>;
}

/// The current manifests of a directory.
pub(crate) struct Source<T> {
    directory: PathBuf,
    gates: Gates,
    current: ArcSwap<T>,
    /// Hash of the last loaded manifests.
    hash: Mutex<String>,
    metrics: Arc<ManifestMetrics>,
}

impl<T: CompileManifests> Source<T> {
    /// Loads a directory. Blocks.
    ///
    /// # Errors
    /// Upstream's message about invalid manifests.
    pub(crate) fn new(
        directory: &Path,
        gates: Gates,
        metrics: Arc<ManifestMetrics>,
    ) -> Result<Self, ConfigurationError> {
        let (compiled, hash) = load::<T>(directory, gates).map_err(|error| {
            let shown = directory.display().to_string();
            let plugin = quote(T::PLUGIN);
            let noun = T::NOUN;
            ConfigurationError::Invalid(format!(
                "failed to initialize admission plugin {plugin}: failed to load static {noun} manifests from {}: {error}",
                Quoted(&shown)
            ))
        })?;
        metrics.succeeded(T::PLUGIN, &hash);
        let current = ArcSwap::from_pointee(compiled);
        let hash = Mutex::new(hash);
        Ok(Source { directory: directory.to_owned(), gates, current, hash, metrics })
    }

    /// Returns the compiled manifests.
    pub(crate) fn current(&self) -> Arc<T> {
        self.current.load_full()
    }

    /// Watches the directory for changes. Never returns.
    pub(crate) async fn run(self: Arc<Self>) {
        // The first round always reloads, because manifests may have changed since the start.
        let mut last = None;
        let mut last_read = None::<Instant>;
        loop {
            let this = Arc::clone(&self);
            let identity = tokio::task::spawn_blocking(move || files::identify(&this.directory)).await.ok();
            if identity != last || last_read.is_none_or(|last_read| last_read.elapsed() >= RELOAD_INTERVAL) {
                (last, last_read) = (identity, Some(Instant::now()));
                let this = Arc::clone(&self);
                // Compiling expressions takes long.
                if let Err(error) = tokio::task::spawn_blocking(move || this.reload_if_changed()).await {
                    tracing::error!(%error, plugin = T::PLUGIN, "reloading admission manifest config");
                }
            }
            sleep(CHECK_INTERVAL).await;
        }
    }

    /// Reloads the directory. New valid manifests become active.
    pub(crate) fn reload_if_changed(&self) {
        match load::<T>(&self.directory, self.gates) {
            Ok((compiled, hash)) => {
                let mut last = self.hash.lock().unwrap_or_else(PoisonError::into_inner);
                if *last == hash {
                    return;
                }
                self.current.store(Arc::new(compiled));
                self.metrics.succeeded(T::PLUGIN, &hash);
                *last = hash;
                tracing::info!(plugin = T::PLUGIN, "reloaded admission manifest config");
            }
            Err(error) => self.metrics.failed(T::PLUGIN, &self.directory, &error),
        }
    }
}

fn load<T: CompileManifests>(directory: &Path, gates: Gates) -> Result<(T, String), ConfigurationError> {
    let manifests = files::read(directory)?;
    let objects = Reader::read(&T::SPEC, &manifests.documents, gates)?;
    Ok((T::compile(&objects)?, manifests.hash))
}

/// Cache for the concatenation of manifests and API objects.
pub(crate) struct ConcatCache<T>(Mutex<Option<CachedConcat<T>>>);

/// The two inputs and their concatenation.
struct CachedConcat<T> {
    manifests: Arc<T>,
    api: Arc<T>,
    joined: Arc<T>,
}

impl<T> Default for ConcatCache<T> {
    fn default() -> Self {
        ConcatCache(Mutex::default())
    }
}

impl<T> ConcatCache<T> {
    /// Returns the concatenation. `join` runs only if an input has changed.
    pub(crate) fn get_or_join(
        &self,
        manifests: Arc<T>,
        api: Arc<T>,
        join: impl FnOnce(&T, &T) -> T,
    ) -> Arc<T> {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pair) = &*cached
            && Arc::ptr_eq(&pair.manifests, &manifests)
            && Arc::ptr_eq(&pair.api, &api)
        {
            return Arc::clone(&pair.joined);
        }
        let joined = Arc::new(join(&manifests, &api));
        *cached = Some(CachedConcat { manifests, api, joined: Arc::clone(&joined) });
        joined
    }
}

/// Mutating webhooks from manifests.
pub(crate) struct MutatingHooks(pub(crate) Arc<Hooks>);
/// Validating webhooks from manifests.
pub(crate) struct ValidatingHooks(pub(crate) Arc<Hooks>);

const WEBHOOK_SCHEME: &str = "pkg/admission/plugin/webhook/manifest/loader/loader.go:41";
const POLICY_SCHEME: &str = "pkg/admission/plugin/policy/manifest/loader/validating_loader.go:35";

fn hooks(objects: &Objects) -> Arc<Hooks> {
    let all = objects.values().flat_map(|of_kind| of_kind.values());
    Arc::new(Hooks::new(all.flat_map(Hook::all_of_manifest).map(Arc::new).collect()))
}

impl CompileManifests for MutatingHooks {
    const PLUGIN: &'static str = "MutatingAdmissionWebhook";
    const NOUN: &'static str = "webhook";
    const SPEC: ManifestSpec = ManifestSpec {
        kinds: &[("MutatingWebhookConfiguration", "mutatingwebhookconfigurations")],
        scheme: WEBHOOK_SCHEME,
        check: has_urls,
    };

    fn compile(objects: &Objects) -> Result<Self, ConfigurationError> {
        Ok(MutatingHooks(hooks(objects)))
    }
}

impl CompileManifests for ValidatingHooks {
    const PLUGIN: &'static str = "ValidatingAdmissionWebhook";
    const NOUN: &'static str = "webhook";
    const SPEC: ManifestSpec = ManifestSpec {
        kinds: &[("ValidatingWebhookConfiguration", "validatingwebhookconfigurations")],
        scheme: WEBHOOK_SCHEME,
        check: has_urls,
    };

    fn compile(objects: &Objects) -> Result<Self, ConfigurationError> {
        Ok(ValidatingHooks(hooks(objects)))
    }
}

impl CompileManifests for Policies<Validations> {
    const PLUGIN: &'static str = "ValidatingAdmissionPolicy";
    const NOUN: &'static str = "policy";
    const SPEC: ManifestSpec = ManifestSpec {
        kinds: &[
            ("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
            ("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
        ],
        scheme: POLICY_SCHEME,
        check: has_no_params,
    };

    fn compile(objects: &Objects) -> Result<Self, ConfigurationError> {
        policies(objects, ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"])
    }
}

impl CompileManifests for Policies<Mutations> {
    const PLUGIN: &'static str = "MutatingAdmissionPolicy";
    const NOUN: &'static str = "policy";
    const SPEC: ManifestSpec = ManifestSpec {
        kinds: &[
            ("MutatingAdmissionPolicy", "mutatingadmissionpolicies"),
            ("MutatingAdmissionPolicyBinding", "mutatingadmissionpolicybindings"),
        ],
        scheme: POLICY_SCHEME,
        check: has_no_params,
    };

    fn compile(objects: &Objects) -> Result<Self, ConfigurationError> {
        policies(objects, ["MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"])
    }
}

fn policies<E: Rules>(objects: &Objects, kinds: [&str; 2]) -> Result<Policies<E>, ConfigurationError> {
    let [policies, bindings] = kinds.map(|kind| objects.get(kind));
    for (name, binding) in bindings.into_iter().flatten() {
        let policy = get_str(binding, &["spec", "policyName"]).unwrap_or_default();
        if !policies.is_some_and(|policies| policies.contains_key(policy)) {
            let name = quote(name);
            let policy = quote(policy);
            return Err(ConfigurationError::Invalid(format!(
                "binding {name} references policy {policy} which does not exist in the manifest directory"
            )));
        }
    }
    let policies = policies.into_iter().flat_map(|policies| policies.values());
    let bindings = bindings.into_iter().flat_map(|bindings| bindings.values());
    Ok(Policies::new(
        policies.map(|policy| Arc::new(Policy::read(policy))),
        bindings.map(|binding| Arc::new(Binding::read(binding))),
    ))
}

/// Checks that webhooks have URLs, because Services are not known yet.
fn has_urls(_: &str, object: &Object, path: &Path) -> Result<(), ConfigurationError> {
    let name = quote(get_str(object, &["metadata", "name"]).unwrap_or_default());
    for webhook in get_list(object, &["webhooks"]).iter().filter_map(|webhook| webhook.as_object()) {
        let file = quote(&path.display().to_string());
        let webhook_name = quote(get_str(webhook, &["name"]).unwrap_or_default());
        let place = format!("webhook {webhook_name} in {name} (file {file})");
        if get_object(webhook, &["clientConfig", "service"]).is_some() {
            return Err(ConfigurationError::Invalid(format!(
                "{place}: clientConfig.service is not supported for static manifests; use clientConfig.url instead"
            )));
        }
        if get_str(webhook, &["clientConfig", "url"]).unwrap_or_default().is_empty() {
            return Err(ConfigurationError::Invalid(format!(
                "{place}: clientConfig.url is required for static manifests"
            )));
        }
    }
    Ok(())
}

/// Checks that policies have no params, because they must not depend on stored objects.
fn has_no_params(kind: &str, object: &Object, _: &Path) -> Result<(), ConfigurationError> {
    let name = quote(get_str(object, &["metadata", "name"]).unwrap_or_default());
    let has = |member| get(object, &["spec", member]).is_some();
    if !kind.ends_with("Binding") {
        let why = "spec.paramKind is not supported for static manifests";
        return if has("paramKind") {
            Err(ConfigurationError::Invalid(format!("{kind} {name}: {why}")))
        } else {
            Ok(())
        };
    }
    match get_str(object, &["spec", "policyName"]).unwrap_or_default() {
        "" => Err(ConfigurationError::Invalid(format!(
            "binding {name} must reference a policy (spec.policyName)"
        ))),
        policy if !policy.ends_with(STATIC_SUFFIX) => {
            let policy = quote(policy);
            let suffix = quote(STATIC_SUFFIX);
            Err(ConfigurationError::Invalid(format!(
                "binding {name}: spec.policyName {policy} must end with {suffix}"
            )))
        }
        _ if has("paramRef") => Err(ConfigurationError::Invalid(format!(
            "binding {name}: spec.paramRef is not supported for static manifests"
        ))),
        _ => Ok(()),
    }
}
