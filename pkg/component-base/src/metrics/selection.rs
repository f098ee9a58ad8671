//! Selection of the exported metrics: `--disabled-metrics`, `--show-hidden-metrics-for-version` and
//! `--allow-metric-labels`.
//!
//! It affects only the page. This server still counts a hidden series; only the system that scrapes the page
//! saves memory.

use std::collections::{BTreeMap, BTreeSet};

use super::Desc;

/// Allowed label values of a family, by label. A label that is absent here may have any value.
pub(super) type Allowed = BTreeMap<String, BTreeSet<String>>;

/// Error about an invalid metric name, or an invalid pair of metric and label.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid name {0:?}")]
pub struct InvalidNameError(pub String);

/// Disabled families and allowed label values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    disabled: BTreeSet<String>,
    /// True if deprecated families that this release hides are exported.
    shows_hidden: bool,
    /// By family.
    allowed: BTreeMap<String, Allowed>,
}

impl Selection {
    /// Disables these families. Unknown names have no effect, but are counted.
    ///
    /// # Errors
    /// The first invalid name.
    pub fn disable(mut self, names: Vec<String>) -> Result<Self, InvalidNameError> {
        for name in names {
            if !is_name(&name, ":") {
                return Err(InvalidNameError(name));
            }
            self.disabled.insert(name);
        }
        Ok(self)
    }

    /// Exports the deprecated families that this release hides.
    #[must_use]
    pub fn show_hidden(mut self) -> Self {
        self.shows_hidden = true;
        self
    }

    /// Sets the allowed label values: `METRIC,LABEL`, and the values separated by commas.
    ///
    /// # Errors
    /// The first invalid key.
    pub fn with_allowed<'a>(
        mut self,
        pairs: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, InvalidNameError> {
        for (key, values) in pairs {
            let (metric, label) = key
                .split_once(',')
                .filter(|(metric, label)| is_name(metric, ":") && is_name(label, ""))
                .ok_or_else(|| InvalidNameError(key.to_owned()))?;
            let values = values.split(',').map(str::to_owned).collect();
            self.allowed.entry(metric.to_owned()).or_default().insert(label.to_owned(), values);
        }
        Ok(self)
    }

    /// True if a family is exported.
    pub(super) fn selects(&self, desc: &Desc) -> bool {
        !self.disabled.contains(desc.name) && !self.hides(desc)
    }

    /// True if a family is not exported because it is deprecated.
    pub(super) fn hides(&self, desc: &Desc) -> bool {
        !self.shows_hidden && desc.is_hidden()
    }

    /// Returns the number of disabled names.
    pub(super) fn disabled_count(&self) -> usize {
        self.disabled.len()
    }

    /// Returns the allowed label values of a family; `None` for any.
    pub(super) fn allowed(&self, family: &str) -> Option<&Allowed> {
        self.allowed.get(family)
    }
}

/// True for a valid name: letters, digits and underscores, without a leading digit. Metric names may also
/// contain colons.
fn is_name(text: &str, more: &str) -> bool {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_' || more.contains(c);
    text.starts_with(first) && text.chars().all(|c| first(c) || c.is_ascii_digit())
}

#[cfg(test)]
mod tests;
