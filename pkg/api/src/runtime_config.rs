//! `--runtime-config`: enables and disables versions and resources of built-in groups. The flag is merged
//! with the defaults like upstream's (apiserver `server/resourceconfig`, `server/options/api_enablement.go`).

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use thiserror::Error;

use apimachinery::go_quote;

use crate::resources::Resource;

/// Keys for many versions, in the order in which they take effect.
const LEVELS: [(&str, Option<Level>); 4] = [
    ("api/all", None),
    ("api/ga", Some(Level::Stable)),
    ("api/beta", Some(Level::Beta)),
    ("api/alpha", Some(Level::Alpha)),
];

/// Stability level of a version, derived from its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Stable,
    Beta,
    Alpha,
}

impl Level {
    /// Parses a version such as `v1`, `v2beta3` or `v1alpha1`.
    fn of(version: &str) -> Option<Self> {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let rest = version.strip_prefix('v')?;
        let parts = |mark| rest.split_once(mark).is_some_and(|(major, minor)| digits(major) && digits(minor));
        match () {
            () if digits(rest) => Some(Level::Stable),
            () if parts("beta") => Some(Level::Beta),
            () if parts("alpha") => Some(Level::Alpha),
            () => None,
        }
    }
}

/// Error about the flag's value, with upstream's text.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum RuntimeConfigError {
    /// The value disables everything.
    #[error("invalid runtime-config with only api/all=false")]
    NothingServed,
    /// The value of a level is neither `true` nor `false`.
    #[error("invalid value {key}={value}")]
    LevelValue {
        /// The level.
        key: &'static str,
        /// Its value.
        value: String,
    },
    /// A key has too many parts.
    #[error("runtime-config invalid key {0}")]
    Key(String),
    /// API groups, joined by commas, do not exist.
    #[error("unknown api groups {0}")]
    UnknownGroups(String),
    /// The setting of a version or resource is invalid: upstream's text.
    #[error("{0}")]
    Single(String),
}

/// Validated value of the flag.
#[derive(Debug, Clone, Default)]
pub struct RuntimeConfig {
    /// Settings of whole levels, in the order of [`LEVELS`].
    levels: Vec<(Option<Level>, bool)>,
    /// Settings by `group/version`; the core group's key is `/v1`.
    versions: BTreeMap<String, bool>,
    /// Settings by `group/version` and plural name.
    resources: BTreeMap<(String, String), bool>,
}

impl RuntimeConfig {
    /// Parses the flag's pairs. A key without a value has an empty value. The last pair with the same key
    /// wins.
    ///
    /// # Errors
    /// Everything that upstream rejects, with upstream's texts.
    pub fn parse(pairs: &[(String, String)]) -> Result<Self, RuntimeConfigError> {
        let pairs = without_aliases(pairs);
        if pairs.len() == 1 && pairs.get("api/all") == Some(&"false") {
            return Err(RuntimeConfigError::NothingServed);
        }
        let mut config = RuntimeConfig::default();
        for (key, level) in LEVELS {
            match pairs.get(key) {
                None => {}
                Some(&"true") => config.levels.push((level, true)),
                Some(&"false") => config.levels.push((level, false)),
                Some(value) => {
                    return Err(RuntimeConfigError::LevelValue { key, value: (*value).to_owned() });
                }
            }
        }
        let singles = || pairs.iter().filter(|(key, _)| LEVELS.iter().all(|(level, _)| level != *key));
        let mut unknown = Vec::new();
        for (key, _) in singles() {
            let (group, version, _) = split(key).ok_or_else(|| RuntimeConfigError::Key((*key).to_owned()))?;
            if !schema::builtin::has_group(group) {
                unknown.push(group_version(group, version));
            }
        }
        if !unknown.is_empty() {
            unknown.dedup();
            return Err(RuntimeConfigError::UnknownGroups(unknown.join(",")));
        }
        for (key, value) in singles() {
            config.single(key, value)?;
        }
        Ok(config)
    }

    fn single(&mut self, key: &str, value: &str) -> Result<(), RuntimeConfigError> {
        let (group, version, resource) =
            split(key).ok_or_else(|| RuntimeConfigError::Single(format!("invalid key {key}")))?;
        let named = group_version(group, version);
        if !schema::builtin::has_version(&named) {
            return Err(RuntimeConfigError::Single(format!(
                "group version {named} that has not been registered"
            )));
        }
        let enabled = parse_bool(value).ok_or_else(|| {
            let quoted = go_quote::quote(value);
            RuntimeConfigError::Single(format!(
                "invalid value of {key}: {value}, err: strconv.ParseBool: parsing {quoted}: invalid syntax"
            ))
        })?;
        match resource {
            None => {
                self.versions.insert(named, enabled);
            }
            Some(resource) if resource.to_lowercase() != resource => {
                let quoted = go_quote::quote(resource);
                return Err(RuntimeConfigError::Single(format!(
                    "invalid key {key}: group/version/resource and resource is always lowercase plural, not {quoted}"
                )));
            }
            Some(resource) => {
                self.resources.insert((named, resource.to_owned()), enabled);
            }
        }
        Ok(())
    }

    /// True if the flag enables exactly this resource.
    pub fn names_resource(&self, row: &Resource<'_>) -> bool {
        self.of_resource(row) == Some(true)
    }

    /// True if the flag enables exactly this version.
    pub fn names_version(&self, group_version: &str) -> bool {
        self.versions.get(group_version) == Some(&true)
    }

    fn of_resource(&self, row: &Resource<'_>) -> Option<bool> {
        let setting = |((version, plural), on): (&(String, String), &bool)| {
            (version == row.group_version && plural == row.plural).then_some(*on)
        };
        self.resources.iter().find_map(setting)
    }

    /// Returns true if a resource is served. `by_default` is the result without a setting. A subresource
    /// follows its resource.
    pub fn serves(&self, row: &Resource<'_>, by_default: bool) -> bool {
        if self.resources.is_empty() && self.versions.is_empty() && self.levels.is_empty() {
            return by_default;
        }
        if let Some(on) = self.of_resource(row) {
            return on;
        }
        if let Some(on) = self.versions.get(row.group_version) {
            return *on;
        }
        let level = Level::of(row.version);
        let mut matching = self.levels.iter().filter(|(of, _)| of.is_none() || *of == level);
        matching.next_back().map_or(by_default, |(_, on)| *on)
    }
}

/// Returns the pairs with the core group's own key in place of its aliases, which older releases accepted. As in
/// upstream, an alias of a single resource stands for the whole group. `api/legacy` has no effect.
fn without_aliases(pairs: &[(String, String)]) -> BTreeMap<&str, &str> {
    let is_alias = |key: &str| {
        let version = key.strip_prefix("api/").unwrap_or(key);
        version == "v1" || version.starts_with("v1/")
    };
    let pairs = pairs.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let mut pairs: BTreeMap<&str, &str> = pairs.filter(|(key, _)| *key != "api/legacy").collect();
    // If there are several aliases, upstream takes any of their values.
    if let Some(value) = pairs.iter().filter(|(key, _)| is_alias(key)).map(|(_, value)| *value).next_back() {
        pairs.retain(|key, _| !is_alias(key));
        pairs.insert("/v1", value);
    }
    pairs
}

/// Returns `group/version`, or `version` in the core group.
fn group_version(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}

/// Splits a key into group, version and optional resource.
fn split(key: &str) -> Option<(&str, &str, Option<&str>)> {
    let mut parts = key.split('/');
    let group = parts.next()?;
    let version = parts.next()?;
    let resource = parts.next();
    parts.next().is_none().then_some((group, version, resource))
}

/// Go's `strconv.ParseBool`, except that an empty text is true.
fn parse_bool(text: &str) -> Option<bool> {
    match text {
        "" | "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}
