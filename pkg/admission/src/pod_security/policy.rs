//! Pod security policy from namespace labels.

use std::fmt;

use apimachinery::field::{Error, ErrorList, Path};
use schema::object::Object;

use crate::meta;

const ENFORCE: &str = "pod-security.kubernetes.io/enforce";
const WARN: &str = "pod-security.kubernetes.io/warn";
const WARN_VERSION: &str = "pod-security.kubernetes.io/warn-version";

/// Upstream's message for an invalid level.
pub(super) const NO_LEVEL: &str = "must be one of privileged, baseline, restricted";
/// Upstream's message for an invalid version.
pub(super) const NO_VERSION: &str = "must be \"latest\" or \"v1.x\"";

/// Levels, from least to most restrictive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Privileged,
    Baseline,
    Restricted,
}

impl Level {
    pub(super) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "privileged" => Level::Privileged,
            "baseline" => Level::Baseline,
            "restricted" => Level::Restricted,
            _ => return None,
        })
    }

    /// Returns the label value.
    pub(super) fn name(self) -> &'static str {
        match self {
            Level::Privileged => "privileged",
            Level::Baseline => "baseline",
            Level::Restricted => "restricted",
        }
    }
}

/// A level as defined by a minor version of Kubernetes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LevelVersion {
    pub(super) level: Level,
    /// `None` means latest.
    pub(super) version: Option<u32>,
}

impl fmt::Display for LevelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.level.name())?;
        match self.version {
            Some(minor) => write!(f, ":v1.{minor}"),
            None => f.write_str(":latest"),
        }
    }
}

/// Levels for rejections, audit annotations and warnings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Policy {
    pub(super) enforce: LevelVersion,
    pub(super) audit: LevelVersion,
    pub(super) warn: LevelVersion,
}

impl Default for Policy {
    /// Allows everything.
    fn default() -> Self {
        let privileged = LevelVersion { level: Level::Privileged, version: None };
        Policy { enforce: privileged, audit: privileged, warn: privileged }
    }
}

impl Policy {
    /// True if the policy allows everything, without warnings and annotations.
    pub(super) fn is_privileged(&self) -> bool {
        [self.enforce, self.audit, self.warn].iter().all(|mode| mode.level == Level::Privileged)
    }

    /// Reads the policy from namespace labels, with the errors in them. Missing labels fall back to
    /// `otherwise`. An invalid `enforce` level means the most restrictive one. An invalid `warn` or `audit`
    /// level means none.
    pub(super) fn of(namespace: &Object, otherwise: &Policy) -> (Self, ErrorList) {
        let mut errors = ErrorList::new();
        let enforce = read(namespace, "enforce", otherwise.enforce, Level::Restricted, &mut errors);
        let enforce_is_set = meta::label(namespace, ENFORCE).and_then(Level::parse).is_some();
        let audit = read(namespace, "audit", otherwise.audit, Level::Privileged, &mut errors);
        let mut warn = read(namespace, "warn", otherwise.warn, Level::Privileged, &mut errors);
        // If only `enforce` is set, warnings use the same level.
        let has_label = |key: &str| meta::label(namespace, key).is_some();
        if enforce_is_set && !has_label(WARN) && enforce.level > warn.level {
            warn.level = enforce.level;
            if !has_label(WARN_VERSION) {
                warn.version = enforce.version;
            }
        }
        (Policy { enforce, audit, warn }, errors)
    }
}

fn read(
    namespace: &Object,
    mode: &str,
    otherwise: LevelVersion,
    fallback: Level,
    errors: &mut ErrorList,
) -> LevelVersion {
    let metadata = Path::root("metadata");
    let labels = metadata.child("labels");
    let mut policy = otherwise;
    let key = format!("pod-security.kubernetes.io/{mode}");
    if let Some(text) = meta::label(namespace, &key) {
        policy.level = Level::parse(text).unwrap_or_else(|| {
            errors.push(Error::invalid(&labels.key(&key), text, NO_LEVEL));
            fallback
        });
    }
    let key = format!("{key}-version");
    if let Some(text) = meta::label(namespace, &key) {
        policy.version = parse_version(text).unwrap_or_else(|| {
            errors.push(Error::invalid(&labels.key(&key), text, NO_VERSION));
            None
        });
    }
    policy
}

/// Parses `latest` or a version such as `v1.36`.
pub(super) fn parse_version(text: &str) -> Option<Option<u32>> {
    if text == "latest" {
        return Some(None);
    }
    let minor = text.strip_prefix("v1.")?;
    let canonical = minor == "0" || (minor.bytes().all(|b| b.is_ascii_digit()) && !minor.starts_with('0'));
    canonical.then(|| minor.parse().ok().map(Some))?
}
