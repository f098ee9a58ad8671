//! Selection of the served built-in resources. It depends on the defaults of the emulated release, on feature
//! gates and on `--runtime-config` (upstream's `server/deleted_kinds.go` and `server/resourceconfig`).

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use thiserror::Error;

use component_base::features::{Gates, Release};

use crate::resources::{self, GroupVersion, Resource};
use crate::runtime_config::RuntimeConfig;

/// Settings that select the served built-in resources.
#[derive(Debug, Clone, Default)]
pub struct ServedSelection {
    /// Feature gates and the emulated release.
    pub gates: Gates,
    /// Value of `--runtime-config`.
    pub runtime_config: RuntimeConfig,
    /// Also serves newer versions of a resource that is served in an older version other than alpha, even if
    /// the newer version was introduced after the emulated release.
    pub forward_compatible: bool,
    /// Also serves the resources that `--runtime-config` names, even if they were introduced after the
    /// emulated release.
    pub runtime_config_forward_compatible: bool,
}

/// Error about a configured resource that does not exist in the emulated release.
#[derive(Debug, Clone, Copy, Error)]
pub enum ServingError {
    /// `--runtime-config` names a resource that was introduced later.
    #[error(
        "cannot enable resource {}/{}, Resource={} in runtime-config because it is introduced at {introduced} \
         after the current version {emulated}. Consider setting \
         --runtime-config-emulation-forward-compatible=true",
        row.group, row.version, row.plural
    )]
    Resource {
        /// The resource.
        row: &'static Resource<'static>,
        /// Its first release.
        introduced: Release,
        /// The release that the server emulates.
        emulated: Release,
    },
    /// `--runtime-config` names a version whose resources were all introduced later.
    #[error(
        "cannot enable version {group_version} in runtime-config because all the resources have been \
         introduced after the current version {emulated}. Consider setting \
         --runtime-config-emulation-forward-compatible=true"
    )]
    Version {
        /// Group and version.
        group_version: &'static str,
        /// The release that the server emulates.
        emulated: Release,
    },
}

/// Served resources: `group/version` and plural name.
type ServedPredicate = HashSet<(&'static str, &'static str)>;

impl ServedSelection {
    /// Returns a predicate for the served resources.
    ///
    /// # Errors
    /// A configured resource does not exist in the emulated release; upstream's text.
    pub fn rows(self) -> Result<impl Fn(&Resource<'_>) -> bool, ServingError> {
        let mut served = ServedPredicate::new();
        for group in resources::groups() {
            self.group(group, &mut served)?;
        }
        let gates = self.gates;
        Ok(move |row: &Resource<'_>| {
            // The set holds static names, so it never contains custom resources.
            served.contains(&(row.group_version, row.plural)) && is_of_release(row, &gates)
        })
    }

    /// Selects the resources of a group, from the least to the most preferred version, because an enabled
    /// version can enable the next one.
    fn group(
        &self,
        group: &'static resources::Group,
        served: &mut ServedPredicate,
    ) -> Result<(), ServingError> {
        let mut settled_on = false;
        let mut seen = HashSet::new();
        for version in group.versions.iter().rev() {
            let rows = group.resources_of(version.version).iter().filter(|row| row.subresource.is_empty());
            let is_alpha = version.version.contains("alpha");
            let mut any = false;
            for row in rows {
                let by_default = !row.off_by_default || self.forward_compatible && settled_on;
                if !gate_is_enabled(row, &self.gates) || !self.runtime_config.serves(row, by_default) {
                    continue;
                }
                if self.is_available(row, seen.contains(row.plural))? {
                    any = true;
                    served.insert((row.group_version, row.plural));
                    if !is_alpha {
                        seen.insert(row.plural);
                    }
                }
            }
            settled_on |= any && !is_alpha;
            if !any {
                self.check_empty(version)?;
            }
        }
        Ok(())
    }

    /// True if the emulated release has a wanted resource, or if a forward-compatible setting adds it.
    fn is_available(
        &self,
        row: &'static Resource<'static>,
        older_is_served: bool,
    ) -> Result<bool, ServingError> {
        let emulated = self.gates.effective().emulation;
        if row.lifecycle.is_of(emulated) {
            return Ok(true);
        }
        let Some(introduced) = row.lifecycle.introduced.map(Release::minor_of_1) else { return Ok(false) };
        if introduced <= emulated {
            return Ok(false);
        }
        let named = self.runtime_config.names_resource(row);
        let requested = named || self.runtime_config.names_version(row.group_version);
        if self.forward_compatible && older_is_served || self.runtime_config_forward_compatible && requested {
            return Ok(true);
        }
        if named { Err(ServingError::Resource { row, introduced, emulated }) } else { Ok(false) }
    }

    fn check_empty(&self, version: &GroupVersion) -> Result<(), ServingError> {
        if self.runtime_config.names_version(version.group_version) {
            let emulated = self.gates.effective().emulation;
            Err(ServingError::Version { group_version: version.group_version, emulated })
        } else {
            Ok(())
        }
    }
}

fn gate_is_enabled(row: &Resource<'_>, gates: &Gates) -> bool {
    row.gate.is_none_or(|gate| gates.enabled(gate))
}

/// True if a subresource of a served resource exists; it can be newer than its resource.
fn is_of_release(row: &Resource<'_>, gates: &Gates) -> bool {
    row.subresource.is_empty()
        || gate_is_enabled(row, gates)
            && row
                .lifecycle
                .introduced
                .is_none_or(|minor| Release::minor_of_1(minor) <= gates.effective().emulation)
}
