//! Paths of the replicas that a resource shares with its Scale.

use crate::resources::Resource;
use crate::resources::custom::CustomVersion;

/// Returns the replica paths of a resource ([`fieldmanager::ReplicasPaths`]); empty if no version has a
/// `scale` subresource.
pub fn replicas_paths<'r>(row: &Resource<'r>) -> Vec<(&'r str, Vec<&'r str>)> {
    if let Some(custom) = row.custom {
        let path = |version: &'r CustomVersion| {
            let names = version.scale.iter().flat_map(|scale| &scale.spec_replicas);
            (version.api_version.as_str(), names.map(String::as_str).collect())
        };
        return custom.kind.versions.iter().map(path).collect();
    }
    let path = |version: &&'static str| (*version, vec!["spec", "replicas"]);
    of_builtin(row.group, row.plural).iter().map(path).collect()
}

/// Returns the versions of a built-in resource with a `scale` subresource; empty for other resources.
fn of_builtin(group: &str, plural: &str) -> &'static [&'static str] {
    match (group, plural) {
        ("apps", "deployments" | "statefulsets") => &["apps/v1", "apps/v1beta1", "apps/v1beta2"],
        ("apps", "replicasets") => &["apps/v1", "apps/v1beta2"],
        ("", "replicationcontrollers") => &["v1"],
        _ => &[],
    }
}
