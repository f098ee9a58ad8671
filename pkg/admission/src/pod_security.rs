//! `PodSecurity` enforces the Pod Security Standard that the namespace's labels select, and adds warnings for
//! its `warn` level (KEP-2579; upstream's `k8s.io/pod-security-admission`). A configuration sets defaults and
//! exemptions.

mod checks;
mod configuration;
mod metrics;
mod names;
mod policy;
mod standard;
mod subject;
#[cfg(test)]
mod tests;
mod violation_text;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::resources::{self, Resource};
use api::tree::{child, children, flag, list, text};
use apimachinery::field::{self, Error, ErrorList};
use apimachinery::gvk::GroupKind;
use apimachinery::status::Status;
use async_trait::async_trait;
use component_base::features::{Effective, Release};
use schema::object::Object;

use crate::{AdmissionNotes, Attributes, Objects, Plugin, Verdict, meta, notes};
pub use configuration::PodSecurityConfiguration;
use metrics::Mode;
pub use metrics::PodSecurityMetrics;
use policy::{Level, LevelVersion, Policy};
use subject::Violation;

/// Maximum number of pods that are checked when a namespace gets a stricter level.
const PODS_CHECKED_MAX: usize = 3000;

/// Subresources of pods that cannot violate a policy.
const IGNORED: [&str; 8] = ["exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"];

pub struct PodSecurity {
    objects: Arc<dyn Objects>,
    metrics: Arc<PodSecurityMetrics>,
    namespaces: &'static Resource<'static>,
    pods: &'static Resource<'static>,
    configuration: PodSecurityConfiguration,
    /// The emulated release, if it is not this one. Later versions of the standards count as its version.
    emulated: Option<Release>,
}

impl PodSecurity {
    /// Looks up namespaces and pods in `objects` and records metrics in `metrics`. `None` if they are not
    /// served.
    pub fn new(objects: Arc<dyn Objects>, metrics: Arc<PodSecurityMetrics>) -> Option<Self> {
        let namespaces = resources::find("", "v1", "namespaces", "")?;
        let pods = resources::find("", "v1", "pods", "")?;
        let configuration = PodSecurityConfiguration::default();
        Some(PodSecurity { objects, metrics, namespaces, pods, configuration, emulated: None })
    }

    /// Replaces the configuration.
    #[must_use]
    pub fn with_configuration(self, configuration: PodSecurityConfiguration) -> Self {
        PodSecurity { configuration, ..self }
    }

    /// Limits the versions of the standards to an emulated release.
    #[must_use]
    pub fn with_release(self, effective: Effective) -> Self {
        PodSecurity { emulated: effective.is_emulation().then_some(effective.emulation), ..self }
    }

    fn violations(&self, of: LevelVersion, template: &Object, spec: &Object) -> Vec<Violation> {
        let emulated = self.emulated.map(|release| release.minor);
        let version = of.version.into_iter().chain(emulated).min();
        standard::violations(LevelVersion { version, ..of }, template, spec)
    }

    fn policy(&self, namespace: &Object) -> (Policy, ErrorList) {
        Policy::of(namespace, &self.configuration.defaults)
    }

    async fn check_namespace(
        &self,
        a: &Attributes<'_>,
        namespace: &Object,
        notes: &mut AdmissionNotes,
    ) -> Verdict {
        let (new, errors) = self.policy(namespace);
        let invalid = || {
            let status = Status::invalid(&GroupKind::new("", "Namespace"), a.name, &errors);
            Err(status.into())
        };
        let Some(old) = a.old else {
            return if errors.is_empty() { Ok(()) } else { invalid() };
        };
        let (old, old_errors) = self.policy(old);
        if !errors.is_empty() && errors != old_errors {
            return invalid();
        }
        let stricter = new.enforce.version != old.enforce.version || new.enforce.level > old.enforce.level;
        if new.enforce.level != Level::Privileged && stricter && new.enforce != old.enforce {
            if self.configuration.exempts_namespace(a.namespace) {
                annotate(notes, "exempt", "namespace");
                return Ok(());
            }
            self.warn_of_pods(a.name, new.enforce, notes).await;
        }
        Ok(())
    }

    /// Adds warnings about existing pods that violate the new level of the namespace.
    async fn warn_of_pods(&self, namespace: &str, enforce: LevelVersion, notes: &mut AdmissionNotes) {
        let Ok(pods) = self.objects.list(self.pods, namespace).await else {
            notes.warn("failed to list pods while checking new PodSecurity enforce level");
            return;
        };
        let total = pods.len();
        let mut violators: BTreeMap<String, (String, usize)> = BTreeMap::new();
        for pod in one_of_each_owner_first(&pods).take(PODS_CHECKED_MAX) {
            let Some(spec) = child(pod, "spec") else { continue };
            if self.configuration.exempts_runtime_class(spec) {
                continue;
            }
            let violations = self.violations(enforce, pod, spec);
            if violations.is_empty() {
                continue;
            }
            let reasons: Vec<&str> = violations.iter().map(|violation| violation.reason).collect();
            let name = meta::text(pod, "name");
            let (first, count) = violators.entry(reasons.join(", ")).or_insert_with(|| (name.to_owned(), 0));
            if name < first.as_str() {
                *first = name.to_owned();
            }
            *count += 1;
        }
        if total > PODS_CHECKED_MAX {
            notes.warn(format!(
                "new PodSecurity enforce level only checked against the first {PODS_CHECKED_MAX} of {total} existing pods"
            ));
        }
        if violators.is_empty() {
            return;
        }
        notes.warn(format!(
            "existing pods in namespace {namespace:?} violate the new PodSecurity enforce level \"{enforce}\""
        ));
        let mut pod_warnings: Vec<String> = violators
            .into_iter()
            .map(|(reasons, (first, count))| match count {
                0 | 1 => format!("{first}: {reasons}"),
                2 => format!("{first} (and 1 other pod): {reasons}"),
                _ => format!("{first} (and {} other pods): {reasons}", count - 1),
            })
            .collect();
        pod_warnings.sort();
        notes.warnings.append(&mut pod_warnings);
    }

    /// Checks a pod, or adds warnings about violations in a pod template.
    async fn check_pod(
        &self,
        a: &Attributes<'_>,
        object: &Object,
        template: &Object,
        notes: &mut AdmissionNotes,
    ) -> Verdict {
        let is_pod = a.resource.plural == "pods";
        let configuration = &self.configuration;
        if configuration.exempts_namespace(a.namespace) {
            return self.exempt(a, "namespace", notes);
        }
        if configuration.exempts_user(&a.user.name) {
            return self.exempt(a, "user", notes);
        }
        let Some(namespace) = self.objects.find(self.namespaces, "", a.namespace).await? else {
            self.metrics.failed(true, a);
            let unknown = || Status::internal_error(format!("failed to lookup namespace {:?}", a.namespace));
            return if is_pod { Err(unknown().into()) } else { Ok(()) };
        };
        let (policy, errors) = self.policy(&namespace);
        if errors.is_empty() && policy.is_privileged() {
            if is_pod {
                // Upstream reports `latest` here, regardless of the version in the labels.
                annotate(notes, "enforce-policy", "privileged:latest");
                self.metrics.evaluated(true, policy.enforce, Mode::Enforce, a);
            }
            return Ok(());
        }
        if is_pod && a.old.is_some_and(|old| !is_significant(object, old)) {
            return Ok(());
        }
        let Some(spec) = child(template, "spec") else { return Ok(()) };
        if self.configuration.exempts_runtime_class(spec) {
            return self.exempt(a, "runtimeClass", notes);
        }
        if !errors.is_empty() {
            let errors: Vec<Error> = errors.iter().cloned().collect();
            let errors = field::aggregate(&errors).unwrap_or_default();
            annotate(notes, "error", format!("Failed to parse policy: {errors}"));
            self.metrics.failed(false, a);
        }
        self.evaluate(a, policy, template, spec, notes)
    }

    /// Accepts an exempt request without checks.
    fn exempt(&self, a: &Attributes<'_>, reason: &str, notes: &mut AdmissionNotes) -> Verdict {
        self.metrics.exempted(a);
        annotate(notes, "exempt", reason);
        Ok(())
    }

    /// Evaluates a pod or a template against a policy.
    fn evaluate(
        &self,
        a: &Attributes<'_>,
        policy: Policy,
        template: &Object,
        spec: &Object,
        notes: &mut AdmissionNotes,
    ) -> Verdict {
        let is_pod = a.resource.plural == "pods";
        let cause = |policy| detail(&self.violations(policy, template, spec));
        let refused = if is_pod { cause(policy.enforce) } else { None };
        if is_pod {
            annotate(notes, "enforce-policy", policy.enforce.to_string());
            self.metrics.evaluated(refused.is_none(), policy.enforce, Mode::Enforce, a);
        }
        if let Some(cause) = cause(policy.audit) {
            let text = format!("would violate PodSecurity \"{}\": {cause}", policy.audit);
            annotate(notes, "audit-violations", text);
            self.metrics.evaluated(false, policy.audit, Mode::Audit, a);
        }
        if let Some(cause) = refused {
            return Err(a.forbidden(format!("violates PodSecurity \"{}\": {cause}", policy.enforce)));
        }
        if let Some(cause) = cause(policy.warn) {
            self.metrics.evaluated(false, policy.warn, Mode::Warn, a);
            notes.warn(format!("would violate PodSecurity \"{}\": {cause}", policy.warn));
        }
        Ok(())
    }
}

#[async_trait]
impl Plugin for PodSecurity {
    fn name(&self) -> &'static str {
        "PodSecurity"
    }

    fn handles(&self, a: &Attributes<'_>) -> bool {
        a.writes()
            && match (a.resource.group, a.resource.plural) {
                ("", "pods") => !IGNORED.contains(&a.subresource()),
                ("", "namespaces" | "replicationcontrollers" | "podtemplates")
                | ("apps", "replicasets" | "deployments" | "statefulsets" | "daemonsets")
                | ("batch", "jobs" | "cronjobs") => a.subresource().is_empty(),
                _ => false,
            }
    }

    async fn validate(
        &self,
        a: &Attributes<'_>,
        object: Option<&Object>,
        notes: &mut AdmissionNotes,
    ) -> Verdict {
        let Some(object) = object else { return Ok(()) };
        let template = match a.resource.plural {
            "namespaces" => return self.check_namespace(a, object, notes).await,
            "pods" => Some(object),
            "podtemplates" => child(object, "template"),
            "cronjobs" => schema::object::get_object(object, &["spec", "jobTemplate", "spec", "template"]),
            _ => schema::object::get_object(object, &["spec", "template"]),
        };
        match template {
            Some(template) => self.check_pod(a, object, template, notes).await,
            None => Ok(()),
        }
    }
}

fn annotate(notes: &mut AdmissionNotes, name: &str, value: impl Into<String>) {
    notes.annotate(format!("pod-security.kubernetes.io/{name}"), value, notes::Level::Metadata);
}

/// Joins violations into one line; `None` if there are none.
fn detail(violations: &[Violation]) -> Option<String> {
    let texts = violations.iter().map(|Violation { reason, detail }| format!("{reason} ({detail})"));
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// True if an update of a pod changes an image. No other change can violate a policy.
fn is_significant(new: &Object, old: &Object) -> bool {
    let (Some(new), Some(old)) = (child(new, "spec"), child(old, "spec")) else { return true };
    let images_change = |member: &str| {
        let images = |spec| children(spec, member).map(|container| text(container, "image"));
        list(new, member).len() != list(old, member).len() || images(new).ne(images(old))
    };
    let brings_new = |container: &Object| {
        let mut before = children(old, "ephemeralContainers");
        let before = before.find(|before| text(before, "name") == text(container, "name"));
        before.is_none_or(|before| text(before, "image") != text(container, "image"))
    };
    images_change("containers")
        || images_change("initContainers")
        || children(new, "ephemeralContainers").any(brings_new)
}

/// Returns pods without a controller and the first pod of each controller, then all others. Pods of one
/// controller are usually alike.
fn one_of_each_owner_first(pods: &[Arc<Object>]) -> impl Iterator<Item = &Object> {
    let mut seen = BTreeSet::new();
    let mut is_first = |pod: &Object| {
        let metadata = child(pod, "metadata");
        let mut owners = metadata.into_iter().flat_map(|metadata| children(metadata, "ownerReferences"));
        let controller = owners.find(|owner| flag(owner, "controller"));
        controller.is_none_or(|owner| seen.insert(text(owner, "uid").to_owned()))
    };
    let (first, others): (Vec<&Object>, Vec<&Object>) =
        pods.iter().map(|pod| &**pod).partition(|pod| is_first(pod));
    first.into_iter().chain(others)
}
