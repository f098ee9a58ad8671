//! Parsed discovery of another server.

use std::collections::HashSet;

use ::api::tree::{children, text};
use endpoints::peers::ResourceName;
use jsontree::Value;
use schema::builtin::IO_K8S_API_APIDISCOVERY_V2_APIGROUPDISCOVERYLIST as AGGREGATED;
use schema::json::decode_within;
use schema::memory::DecodeBudget;
use schema::object::Object;

use super::text_at;

/// A resource in a version.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Name {
    group: Box<str>,
    version: Box<str>,
    resource: Box<str>,
}

impl Name {
    pub(super) fn of(named: &ResourceName<'_>) -> Self {
        let ResourceName { group, version, resource } = *named;
        Name { group: group.into(), version: version.into(), resource: resource.into() }
    }
}

/// Everything that a server serves.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PeerDiscovery {
    /// The named groups in the form of aggregated discovery.
    pub(super) groups: Vec<Object>,
    /// All resources, including those of the core group.
    pub(super) resources: HashSet<Name>,
}

impl PeerDiscovery {
    /// Adds an aggregated document.
    ///
    /// # Errors
    /// The document is invalid.
    pub(super) fn add_document(&mut self, document: &[u8]) -> Result<(), schema::json::Error> {
        let decoded = decode_within(&AGGREGATED, document, DecodeBudget::of_body(document.len()));
        let list = decoded?.object;
        for group in children(&list, "items") {
            let name = text_at(group, "metadata", "name");
            for version in children(group, "versions") {
                self.resources.extend(children(version, "resources").map(|resource| {
                    let version = text(version, "version");
                    let resource = text(resource, "resource");
                    Name::of(&ResourceName { group: name, version, resource })
                }));
            }
            let is_known = self.groups.iter().any(|group| text_at(group, "metadata", "name") == name);
            if !name.is_empty() && !is_known {
                self.groups.push(group.clone());
            }
        }
        Ok(())
    }

    /// Returns a copy without some versions.
    pub(super) fn without_versions(&self, left_out: impl Fn(&str, &str) -> bool) -> PeerDiscovery {
        let resources = self.resources.iter().filter(|name| !left_out(&name.group, &name.version));
        let resources: HashSet<Name> = resources.cloned().collect();
        if resources.len() == self.resources.len() {
            return self.clone();
        }
        let stays = |group: &Object| {
            let name = text_at(group, "metadata", "name");
            let versions =
                children(group, "versions").filter(|version| !left_out(name, text(version, "version")));
            let versions: Vec<Value> = versions.cloned().map(Value::Object).collect();
            let mut group = group.clone();
            let stays = !versions.is_empty();
            group.insert("versions", versions.into());
            stays.then_some(group)
        };
        PeerDiscovery { groups: self.groups.iter().filter_map(stays).collect(), resources }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use jsontree::json;

    use super::*;

    fn discovery() -> PeerDiscovery {
        let mut discovery = PeerDiscovery::default();
        let resources = |name: &str| json!([{"resource": name}]);
        let version = |version: &str, name: &str| json!({"version": version, "resources": resources(name)});
        let core = json!({"items": [{"metadata": {"name": ""}, "versions": [version("v1", "pods")]}]});
        let named = json!({"items": [
            {"metadata": {"name": "batch"}, "versions": [version("v1", "jobs"), version("v2", "jobs")]},
            {"metadata": {"name": "e.com"}, "versions": [version("v1", "things")]},
        ]});
        discovery.add_document(core.to_string().as_bytes()).unwrap();
        discovery.add_document(named.to_string().as_bytes()).unwrap();
        discovery
    }

    fn serves(discovery: &PeerDiscovery, group: &str, version: &str, resource: &str) -> bool {
        discovery.resources.contains(&Name::of(&ResourceName { group, version, resource }))
    }

    #[test]
    fn core_group_has_resources_but_no_group_entry() {
        let discovery = discovery();
        assert!(serves(&discovery, "", "v1", "pods") && serves(&discovery, "batch", "v1", "jobs"));
        assert!(!serves(&discovery, "batch", "v1", "cronjobs"));
        let names: Vec<&str> =
            discovery.groups.iter().map(|group| text_at(group, "metadata", "name")).collect();
        assert_eq!(names, ["batch", "e.com"]);
        assert!(PeerDiscovery::default().add_document(b"[]").is_err());
    }

    #[test]
    fn excluded_versions_vanish_from_groups_and_resources() {
        let less = discovery()
            .without_versions(|group, version| group == "e.com" || (group, version) == ("batch", "v2"));
        assert!(serves(&less, "batch", "v1", "jobs") && !serves(&less, "batch", "v2", "jobs"));
        assert!(!serves(&less, "e.com", "v1", "things"));
        assert_eq!(less.groups.len(), 1);
        assert_eq!(discovery().without_versions(|_, _| false), discovery());
    }
}
