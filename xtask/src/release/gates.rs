//! `features.json`: checklist of the gates that change. `cargo xtask generate gates` writes their table.

use std::collections::{BTreeMap, BTreeSet};

use component_base::features::{Effective, Gate};
use serde::Deserialize;
use serde_json::Value;

use super::Step;
use super::facts::Facts;
use crate::error::Error;
use crate::tidy::gates;
use crate::tree::{files, root};

#[derive(Deserialize)]
struct Feature {
    name: String,
    stage: String,
    default: Value,
    locked: bool,
}

impl Feature {
    fn standing(&self) -> String {
        let stage = if self.stage == "GA" { "stable".to_owned() } else { self.stage.to_lowercase() };
        let locked = if self.locked { ", locked" } else { "" };
        format!("{stage}, {}{locked}", if self.default == true { "on" } else { "off" })
    }
}

/// Lists new gates, removed gates that the code reads, and gates that the code reads in another stage or with another
/// default.
///
/// # Errors
/// Missing or invalid facts.
pub(crate) fn step(facts: &Facts) -> Result<Step, Error> {
    let features: Vec<Feature> = facts.read("features.json")?;
    let read = gates::read(&gates::sources(&files(&root(), |path| path.ends_with(".rs"))));
    Ok(Step { files: Vec::new(), todo: changes(&features, &read) })
}

fn changes(features: &[Feature], read: &BTreeMap<Gate, BTreeSet<String>>) -> Vec<String> {
    let mut todo = Vec::new();
    for feature in features {
        let Some(gate) = Gate::find(&feature.name) else {
            todo.push(format!("gate {} is new: {}", feature.name, feature.standing()));
            continue;
        };
        let before = gate.spec_in(Effective::default()).map_or("absent".to_owned(), gates::standing);
        if let Some(paths) = read.get(&gate).filter(|_| before != feature.standing()) {
            todo.push(format!("gate {}: {before} → {}, {}", feature.name, feature.standing(), list(paths)));
        }
    }
    let gone = read.iter().filter(|(gate, _)| features.iter().all(|feature| feature.name != gate.name()));
    todo.extend(gone.map(|(gate, paths)| format!("gate {} is gone: {}", gate.name(), list(paths))));
    todo
}

fn list(paths: &BTreeSet<String>) -> String {
    paths.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changes_that_matter_are_listed() {
        let text = r#"[
            {"name": "AllAlpha", "stage": "ALPHA", "default": false, "locked": false},
            {"name": "CBORServingAndStorage", "stage": "BETA", "default": true, "locked": false},
            {"name": "FromTheFuture", "stage": "GA", "default": true, "locked": true}
        ]"#;
        let features: Vec<Feature> = serde_json::from_str(text).unwrap();
        let paths = || BTreeSet::from(["a.rs".to_owned(), "b.rs".to_owned()]);
        let read = [Gate::AllAlpha, Gate::CBORServingAndStorage, Gate::MemoryQoS];
        assert_eq!(
            changes(&features, &read.map(|gate| (gate, paths())).into()),
            [
                "gate CBORServingAndStorage: alpha, off → beta, on, a.rs, b.rs",
                "gate FromTheFuture is new: stable, on, locked",
                "gate MemoryQoS is gone: a.rs, b.rs",
            ]
        );
    }
}
