//! `PodSecurityConfiguration` of `pod-security.admission.config.k8s.io`: defaults and exemptions (upstream's
//! `k8s.io/pod-security-admission/admission/api`).

use std::collections::BTreeSet;

use api::tree::{child, text, texts};
use apimachinery::field::{self, Error, Path};
use apimachinery::names::{name_is_dns_label, name_is_dns_subdomain};
use schema::configuration::{ConfigurationFile, FileKind, Members, Shape};
use schema::object::Object;

use super::policy::{Level, LevelVersion, NO_LEVEL, NO_VERSION, Policy, parse_version};
use crate::PluginConfigurationError;

const DEFAULTS: Members = Members {
    name: "PodSecurityDefaults",
    all: &[
        ("enforce", Shape::Text),
        ("enforce-version", Shape::Text),
        ("audit", Shape::Text),
        ("audit-version", Shape::Text),
        ("warn", Shape::Text),
        ("warn-version", Shape::Text),
    ],
};
const TEXTS: Shape = Shape::List(&Shape::Text);
const EXEMPTIONS: Members = Members {
    name: "PodSecurityExemptions",
    all: &[("usernames", TEXTS), ("namespaces", TEXTS), ("runtimeClasses", TEXTS)],
};

const fn of_version(version: &'static str) -> FileKind {
    FileKind { group: "pod-security.admission.config.k8s.io", version, kind: "PodSecurityConfiguration" }
}

const FILE: ConfigurationFile = ConfigurationFile {
    kinds: &[of_version("v1"), of_version("v1beta1"), of_version("v1alpha1")],
    scheme: "k8s.io/pod-security-admission/admission/api/scheme/scheme.go:31",
    strict: true,
    members: &Members {
        name: "PodSecurityConfiguration",
        all: &[("defaults", Shape::Struct(&DEFAULTS)), ("exemptions", Shape::Struct(&EXEMPTIONS))],
    },
};

/// Defaults for namespaces without labels, and exemptions. By default everything is allowed and nothing is
/// exempt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct PodSecurityConfiguration {
    pub(super) defaults: Policy,
    usernames: BTreeSet<String>,
    namespaces: BTreeSet<String>,
    runtime_classes: BTreeSet<String>,
}

impl PodSecurityConfiguration {
    /// Parses YAML or JSON. An empty text yields the defaults.
    ///
    /// # Errors
    /// Upstream's error message.
    pub fn parse(text: &[u8]) -> Result<Self, PluginConfigurationError> {
        if text.is_empty() {
            return Ok(PodSecurityConfiguration::default());
        }
        let members = FILE.read(text)?.members;
        let otherwise = policy(child(&members, "defaults")).map_err(|errors| {
            PluginConfigurationError::Invalid(format!("PodSecurity configuration error: {errors}"))
        })?;
        let mut errors = Vec::new();
        let exemptions = child(&members, "exemptions");
        let label = |name: &str| name_is_dns_label(name, false);
        let namespaces = exempt(exemptions, "namespaces", label, &mut errors);
        let subdomain = |name: &str| name_is_dns_subdomain(name, false);
        let runtime_classes = exempt(exemptions, "runtimeClasses", subdomain, &mut errors);
        let some = |name: &str| match name {
            "" => vec!["username must not be empty".to_owned()],
            _ => Vec::new(),
        };
        let usernames = exempt(exemptions, "usernames", some, &mut errors);
        match field::aggregate(&errors) {
            None => {
                Ok(PodSecurityConfiguration { defaults: otherwise, usernames, namespaces, runtime_classes })
            }
            Some(errors) => Err(PluginConfigurationError::Invalid(format!("PodSecurity invalid: {errors}"))),
        }
    }

    /// True if pods of the namespace are exempt.
    pub(super) fn exempts_namespace(&self, name: &str) -> bool {
        self.namespaces.contains(name)
    }

    pub(super) fn exempts_user(&self, name: &str) -> bool {
        self.usernames.contains(name)
    }

    /// True if the pod's runtime class is exempt.
    pub(super) fn exempts_runtime_class(&self, spec: &Object) -> bool {
        self.runtime_classes.contains(text(spec, "runtimeClassName"))
    }
}

/// Reads a policy. Missing values mean `privileged` and `latest`.
fn policy(defaults: Option<&Object>) -> Result<Policy, PluginConfigurationError> {
    let mut errors: Vec<String> = Vec::new();
    let mut read = |mode: &str| {
        let default = |name: &str| defaults.map_or("", |defaults| text(defaults, name)).to_owned();
        let mut level_version = LevelVersion { level: Level::Privileged, version: None };
        let level = default(mode);
        match Level::parse(&level) {
            Some(level) => level_version.level = level,
            None if level.is_empty() => {}
            None => errors.push(format!("{mode}: {NO_LEVEL}")),
        }
        let name = format!("{mode}-version");
        let version = default(&name);
        match parse_version(&version) {
            Some(version) => level_version.version = version,
            None if version.is_empty() => {}
            None => errors.push(format!("{name}: {NO_VERSION}")),
        }
        level_version
    };
    let policy = Policy { enforce: read("enforce"), audit: read("audit"), warn: read("warn") };
    match errors.as_slice() {
        [] => Ok(policy),
        [one] => Err(PluginConfigurationError::Invalid(one.clone())),
        many => Err(PluginConfigurationError::Invalid(format!("[{}]", many.join(", ")))),
    }
}

/// Reads the names under a member, with errors.
fn exempt(
    exemptions: Option<&Object>,
    member: &str,
    wrong: impl Fn(&str) -> Vec<String>,
    errors: &mut Vec<Error>,
) -> BTreeSet<String> {
    let root = Path::root("exemptions");
    let mut names = BTreeSet::new();
    let list = root.child(member);
    let exempted = exemptions.into_iter().flat_map(|exemptions| texts(exemptions, member));
    for (index, name) in exempted.enumerate() {
        let path = list.index(index);
        let wrong = wrong(name);
        if !wrong.is_empty() {
            errors.push(Error::invalid(&path, name, wrong.join(", ")));
        } else if !names.insert(name.to_owned()) {
            errors.push(Error::duplicate(&path, name));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use schema::configuration::ReadError;

    use super::*;

    fn parse(version: &str, rest: &str) -> Result<PodSecurityConfiguration, PluginConfigurationError> {
        let head = format!(
            "apiVersion: pod-security.admission.config.k8s.io/{version}\nkind: PodSecurityConfiguration\n"
        );
        PodSecurityConfiguration::parse(format!("{head}{rest}").as_bytes())
    }

    #[test]
    fn all_versions_set_defaults_and_exemptions() {
        for version in ["v1", "v1beta1", "v1alpha1"] {
            let rest = "defaults: {enforce: baseline, enforce-version: v1.30, warn: restricted}\n\
                        exemptions: {usernames: [u], namespaces: [ns], runtimeClasses: [r]}";
            let read = parse(version, rest).unwrap();
            let level = |level, version| LevelVersion { level, version };
            assert_eq!(read.defaults.enforce, level(Level::Baseline, Some(30)));
            assert_eq!(read.defaults.audit, level(Level::Privileged, None));
            assert_eq!(read.defaults.warn, level(Level::Restricted, None));
            assert!(read.exempts_user("u") && !read.exempts_user("ns") && !read.exempts_user(""));
            assert!(read.exempts_namespace("ns") && !read.exempts_namespace("u"));
        }
        assert_eq!(parse("v1", "").unwrap(), PodSecurityConfiguration::default());
        assert_eq!(PodSecurityConfiguration::parse(b"").unwrap(), PodSecurityConfiguration::default());
    }

    #[test]
    fn invalid_configuration_fails_with_upstream_messages() {
        let unsound = |rest: &str, expected: &str| {
            let error = parse("v1", rest).unwrap_err();
            assert!(matches!(&error, PluginConfigurationError::Invalid(text) if text == expected), "{error}");
        };
        unsound(
            "defaults: {enforce: x}",
            "PodSecurity configuration error: enforce: must be one of privileged, baseline, restricted",
        );
        unsound(
            "defaults: {enforce: x, audit-version: '1'}",
            "PodSecurity configuration error: [enforce: must be one of privileged, baseline, restricted, audit-version: must be \"latest\" or \"v1.x\"]",
        );
        unsound(
            "exemptions: {usernames: [''], namespaces: [a, a]}",
            "PodSecurity invalid: [exemptions.namespaces[1]: Duplicate value: \"a\", exemptions.usernames[0]: Invalid value: \"\": username must not be empty]",
        );
        let error = parse("v1", "default: {}").unwrap_err();
        assert!(matches!(error, PluginConfigurationError::Read(ReadError::Invalid(_))), "{error}");
        assert_eq!(error.to_string(), "strict decoding error: unknown field \"default\"");
    }
}
