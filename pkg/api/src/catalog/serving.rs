//! Which built-in resources a server serves: what is on by default in the release that it behaves like, what
//! gates open and close, and what `--runtime-config` says of it (upstream's `server/deleted_kinds.go` and
//! `server/resourceconfig`).

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use component_base::features::{Gates, Release};

use crate::resources::{self, GroupVersion, Resource, gate};
use crate::runtime_config::RuntimeConfig;

/// What decides about built-in resources.
#[derive(Debug, Clone, Default)]
pub struct ServedSelection {
    /// Gates, and the release that is emulated.
    pub gates: Gates,
    /// What the operator wants.
    pub runtime_config: RuntimeConfig,
    /// Serve the newer versions of what is served in an older one that is no alpha, also if they came after the
    /// emulated release.
    pub forward_compatible: bool,
    /// Serve what the operator names, also if it came after the emulated release.
    pub runtime_config_forward_compatible: bool,
}

/// The resources that are served: `group/version` and plural name.
type Served = HashSet<(&'static str, &'static str)>;

impl ServedSelection {
    /// Tells which rows are served.
    ///
    /// # Errors
    /// Something is wanted that the emulated release does not have; upstream's text.
    pub fn rows(self) -> Result<impl Fn(&Resource<'_>) -> bool, String> {
        let mut served = Served::new();
        for group in resources::groups() {
            self.group(group, &mut served)?;
        }
        let gates = self.gates;
        Ok(move |row: &Resource<'_>| {
            // The sets are of static texts; rows of custom resources are in none.
            served.contains(&(row.group_version, row.plural)) && is_of_release(row, &gates)
        })
    }

    /// Goes from the least preferred version to the most preferred one, as what is on in one may turn on the next.
    fn group(&self, group: &'static resources::Group, served: &mut Served) -> Result<(), String> {
        let (mut settled_on, mut seen) = (false, HashSet::new());
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

    /// Whether the emulated release has a resource that is wanted, or it is served all the same.
    fn is_available(&self, row: &Resource<'static>, older_is_served: bool) -> Result<bool, String> {
        let emulated = self.gates.effective().emulation;
        if row.lifecycle.is_of(emulated) {
            return Ok(true);
        }
        let Some(introduced) = row.lifecycle.introduced.map(Release::minor_of_1) else { return Ok(false) };
        if introduced <= emulated {
            return Ok(false);
        }
        let named = self.runtime_config.names_resource(row);
        let wanted = named || self.runtime_config.names_version(row.group_version);
        if self.forward_compatible && older_is_served || self.runtime_config_forward_compatible && wanted {
            return Ok(true);
        }
        if named {
            Err(format!(
                "cannot enable resource {}/{}, Resource={} in runtime-config because it is introduced at \
             {introduced} after the current version {emulated}. Consider setting \
             --runtime-config-emulation-forward-compatible=true",
                row.group, row.version, row.plural
            ))
        } else {
            Ok(false)
        }
    }

    fn check_empty(&self, version: &GroupVersion) -> Result<(), String> {
        if self.runtime_config.names_version(version.group_version) {
            Err(format!(
                "cannot enable version {} in runtime-config because all the resources have been introduced after \
             the current version {}. Consider setting --runtime-config-emulation-forward-compatible=true",
                version.group_version,
                self.gates.effective().emulation
            ))
        } else {
            Ok(())
        }
    }
}

fn gate_is_enabled(row: &Resource<'_>, gates: &Gates) -> bool {
    gate(row.group, row.plural, row.subresource).is_none_or(|gate| gates.enabled(gate))
}

/// Whether a row, whose resource is served, is there itself: a subresource may be newer than its resource.
fn is_of_release(row: &Resource<'_>, gates: &Gates) -> bool {
    row.subresource.is_empty()
        || gate_is_enabled(row, gates)
            && row
                .lifecycle
                .introduced
                .is_none_or(|minor| Release::minor_of_1(minor) <= gates.effective().emulation)
}
