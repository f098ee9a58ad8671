//! Warnings about removed volume drivers.

use super::collector::Warnings;
use apimachinery::field::Path;
use component_base::features::Gate;
use schema::object::Object;

/// Driver that a feature gate can restore for a while ([`Gate::GitRepoVolumeDriver`]), and its warning in
/// that case.
pub(super) const GIT_REPO: &str = "gitRepo";
const GIT_REPO_ENABLED: &str = "deprecated in v1.11";

/// Warns about the drivers of a volume. Upstream spells one of them differently than the API.
pub(crate) fn old_drivers(path: &Path<'_>, volume: &Object, drivers: &[(&str, &str)], out: &mut Warnings) {
    for (driver, message) in drivers {
        if volume.get(*driver).is_some_and(jsontree::Value::is_object) {
            let enabled = *driver == GIT_REPO && out.enabled(Gate::GitRepoVolumeDriver);
            let message = if enabled { GIT_REPO_ENABLED } else { *message };
            let name = if *driver == "storageos" { "storageOS" } else { driver };
            out.add(format_args!("{}: {message}", path.child(name)));
        }
    }
}
