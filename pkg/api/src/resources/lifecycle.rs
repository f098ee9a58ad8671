//! Releases in which an API version is introduced, deprecated and removed, and their effect on an emulated
//! release.

use std::borrow::Cow;
use std::fmt::Write;

use aws_lc_rs::digest;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use component_base::features::{Effective, Release};

use super::{Group, Resource, groups};

/// Minor releases of Kubernetes 1.x in which the status of a kind in one version changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifecycle {
    /// First release that serves it; `None` if never declared.
    pub introduced: Option<u32>,
    /// First release that warns about its use.
    pub deprecated: Option<u32>,
    /// First release that no longer serves it.
    pub removed: Option<u32>,
    /// `apiVersion Kind` of the replacement; empty if there is none.
    pub replacement: &'static str,
}

/// Lifecycle without declarations.
pub(super) const UNVERSIONED: Lifecycle =
    Lifecycle { introduced: None, deprecated: None, removed: None, replacement: "" };

pub(super) const fn since(minor: u32) -> Lifecycle {
    Lifecycle { introduced: Some(minor), ..UNVERSIONED }
}

impl Lifecycle {
    pub(super) const fn deprecated(self, minor: u32) -> Lifecycle {
        Lifecycle { deprecated: Some(minor), ..self }
    }

    pub(super) const fn removed(self, minor: u32) -> Lifecycle {
        Lifecycle { removed: Some(minor), ..self }
    }

    pub(super) const fn replaced_by(self, replacement: &'static str) -> Lifecycle {
        Lifecycle { replacement, ..self }
    }

    /// True if a release has it: from the introducing release up to, but not including, the removing one.
    pub fn is_of(&self, release: Release) -> bool {
        let introduced = self.introduced.is_none_or(|minor| Release::minor_of_1(minor) <= release);
        introduced && self.removed.is_none_or(|minor| release < Release::minor_of_1(minor))
    }

    /// Returns the deprecation warning for a kind, or `None` if it is not deprecated yet.
    pub fn warning(&self, api_version: &str, kind: &str) -> Option<String> {
        let deprecated = self.deprecated.filter(|&minor| minor <= Release::THIS.minor)?;
        let mut text = format!("{api_version} {kind} is deprecated in v1.{deprecated}+");
        if let Some(removed) = self.removed {
            let _ = write!(text, ", unavailable in v1.{removed}+");
        }
        if !self.replacement.is_empty() {
            let _ = write!(text, "; use {}", self.replacement);
        }
        Some(text)
    }
}

/// Returns the `apiVersion` for storing a resource in a server of these releases (upstream's
/// `emulatedStorageVersion`). It is the most preferred beta or stable version that the oldest server in the cluster
/// supports, otherwise the most preferred version that the emulated release has. Returns `None` for a resource that is
/// not stored.
pub fn storage_version(group: &Group, plural: &str, releases: Effective) -> Option<&'static str> {
    let version = |version: &str| {
        group.resources_of(version).iter().find(|row| row.plural == plural && row.subresource.is_empty())
    };
    let rows = || group.versions.iter().filter_map(|of| version(of.version));
    let usual = rows().find_map(|row| row.storage)?.group_version;
    if rows().any(|row| row.pinned_storage) {
        return Some(usual);
    }
    let exists_in = |row: &Resource<'_>, release: Release| {
        row.lifecycle.introduced.is_none_or(|minor| Release::minor_of_1(minor) <= release)
    };
    // Alpha versions guarantee no compatibility.
    let readable =
        rows().find(|row| !row.version.contains("alpha") && exists_in(row, releases.min_compatibility));
    let row = readable.or_else(|| rows().find(|row| exists_in(row, releases.emulation)));
    Some(row.map_or(usual, |row| row.group_version))
}

/// Returns the storage version hash of a row in the discovery of a server of these releases.
pub fn storage_version_hash<'r>(row: &Resource<'r>, releases: Effective) -> Cow<'r, str> {
    let changed = |group: &Group| {
        let storage = row.storage.filter(|storage| storage.group_version.starts_with(row.group))?;
        let stored = storage_version(group, row.plural, releases)?;
        let (_, version) = stored.rsplit_once('/').filter(|_| stored != storage.group_version)?;
        Some(hash_of_version(row.group, version, storage.kind))
    };
    let group = groups().iter().find(|group| group.name == row.group).filter(|_| row.custom.is_none());
    group.and_then(changed).map_or(Cow::Borrowed(row.storage_version_hash), Cow::Owned)
}

/// Returns a hash that is equal in all versions that share a storage version.
pub fn hash_of_version(group: &str, version: &str, kind: &str) -> String {
    let digest = digest::digest(&digest::SHA256, format!("{group}/{version}/{kind}").as_bytes());
    STANDARD.encode(digest.as_ref().get(..8).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn emulating(minor: u32) -> Effective {
        Effective::emulating(Release::minor_of_1(minor))
    }

    #[test]
    fn new_beta_is_preferred_to_old_alpha() {
        let group = groups().iter().find(|group| group.name == "admissionregistration.k8s.io").unwrap();
        let stored = |emulation: u32, oldest: u32| {
            let [emulation, min_compatibility] = [emulation, oldest].map(Release::minor_of_1);
            storage_version(group, "mutatingadmissionpolicies", Effective { emulation, min_compatibility })
        };
        assert_eq!(stored(34, 32), Some("admissionregistration.k8s.io/v1beta1"));
        assert_eq!(stored(33, 32), Some("admissionregistration.k8s.io/v1alpha1"));
    }

    #[test]
    fn version_exists_from_introduction_to_removal() {
        let lifecycle = super::super::since(34).removed(36);
        let has = |minor: u32| lifecycle.is_of(Release::minor_of_1(minor));
        assert_eq!([33, 34, 35, 36].map(has), [false, true, true, false]);
        assert!(UNVERSIONED.is_of(Release::minor_of_1(0)));
    }

    #[test]
    fn previous_release_does_not_change_storage_versions() {
        for group in groups() {
            for row in group.resources {
                let Some(storage) = row.storage else { continue };
                // Events of both groups are stored like those of the core group.
                if !storage.group_version.starts_with(row.group) {
                    continue;
                }
                let stored = storage_version(group, row.plural, Effective::default());
                assert_eq!(stored, Some(storage.group_version), "{}/{}", row.group_version, row.plural);
            }
        }
    }

    #[test]
    fn hash_is_of_the_stored_version() {
        for row in groups().iter().flat_map(|group| group.resources) {
            let usual = storage_version_hash(row, Effective::default());
            assert_eq!(usual, row.storage_version_hash, "{}/{}", row.group_version, row.plural);
        }
        let group = groups().iter().find(|group| group.name == "admissionregistration.k8s.io").unwrap();
        let row = group.resources_of("v1").iter().find(|row| row.plural == "mutatingadmissionpolicies");
        assert_eq!(storage_version_hash(row.unwrap(), emulating(36)), "LYmCf+UMVdg=");
    }

    #[test]
    fn older_servers_determine_storage_version() {
        let check = |name: &str, plural: &str, oldest: u32, expected: &str| {
            let group = groups().iter().find(|group| group.name == name).unwrap();
            let min_compatibility = Release::minor_of_1(oldest);
            let releases = Effective { min_compatibility, ..Effective::default() };
            let stored = storage_version(group, plural, releases).unwrap();
            assert_eq!(stored, format!("{name}/{expected}"), "{plural} beside 1.{oldest}");
        };
        check("resource.k8s.io", "deviceclasses", 34, "v1");
        check("resource.k8s.io", "deviceclasses", 33, "v1beta2");
        check("storage.k8s.io", "volumeattributesclasses", 33, "v1beta1");
        check("networking.k8s.io", "ipaddresses", 33, "v1");
        check("admissionregistration.k8s.io", "mutatingadmissionpolicies", 36, "v1");
        check("admissionregistration.k8s.io", "mutatingadmissionpolicies", 35, "v1beta1");
        // No version of it is that old.
        check("storagemigration.k8s.io", "storageversionmigrations", 33, "v1beta1");
    }
}
