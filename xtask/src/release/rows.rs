//! `resources.json`: checklist of the rows of `pkg/api/src/resources` that have to change.

use serde::Deserialize;

use super::Step;
use super::facts::Facts;
use crate::error::Error;
use crate::tree::{files, root};

#[derive(Deserialize)]
struct Resources {
    groups: Vec<Group>,
    resources: Vec<Row>,
}

#[derive(Deserialize)]
struct Group {
    versions: Vec<Version>,
}

#[derive(Deserialize)]
struct Version {
    gv: String,
    /// Absent for `apiregistration.k8s.io`.
    priority: Option<u32>,
    enabled: bool,
}

#[derive(Deserialize)]
struct Row {
    gv: String,
    resource: String,
    kind: String,
    #[serde(rename = "storageVersionHash")]
    storage_version_hash: Option<String>,
}

/// Lists group versions, resources and storage version hashes that no row contains.
///
/// # Errors
/// Missing or invalid facts.
pub(crate) fn step(facts: &Facts) -> Result<Step, Error> {
    let wanted: Resources = facts.read("resources.json")?;
    let sources = files(&root().join("pkg/api/src/resources"), |path| path.ends_with(".rs"));
    let sources: String = sources.into_iter().map(|(_, text)| text).collect();
    let mut step = Step::default();
    for version in wanted.groups.iter().flat_map(|group| &group.versions) {
        let short = version.gv.rsplit('/').next().unwrap_or_default();
        let priority = version.priority.unwrap_or(0);
        let row = format!("version(\"{}\", \"{short}\", {priority}, {})", version.gv, version.enabled);
        if !sources.contains(&row) {
            step.todo(format!("groups.rs: {row}"));
        }
    }
    for row in &wanted.resources {
        missing(row, &sources, &mut step);
    }
    Ok(step)
}

fn missing(row: &Row, sources: &str, step: &mut Step) {
    let (plural, subresource) = row.resource.split_once('/').unwrap_or((&row.resource, ""));
    let name = format!("{} {}", row.gv, row.resource);
    if !sources.contains(&format!("plural: \"{plural}\",")) {
        step.todo(format!("{name}: add a row and the kind {}", row.kind));
    } else if !subresource.is_empty() && !sources.contains(&format!("subresource: \"{subresource}\",")) {
        step.todo(format!("{name}: add a row"));
    } else if let Some(hash) = &row.storage_version_hash
        && !sources.contains(&format!("storage_version_hash: \"{hash}\","))
    {
        step.todo(format!("{name}: the storage version hash is {hash}"));
    }
}
