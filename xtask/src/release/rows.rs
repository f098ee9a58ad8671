//! `resources.json` → `pkg/kinds/testdata/resources.jsonl`, with a checklist of the groups, rows and columns that change.
//! A test of that crate compares the file with the code.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Step;
use super::facts::Facts;
use crate::error::Error;
use crate::tree::root;

const PATH: &str = "pkg/kinds/testdata/resources.jsonl";
/// Facts about the recording, and facts that follow from others.
const LEFT_OUT: [&str; 5] = ["deleteCollectionWorkers", "etcdKey", "etcdSeen", "hooks", "preferred"];

#[derive(Deserialize)]
struct Resources {
    groups: Vec<Entry>,
    resources: Vec<Entry>,
}

/// An API group, or a resource or subresource in one version.
type Entry = Map<String, Value>;

/// Generates the file, and lists its differences from the previous one.
///
/// # Errors
/// Missing or invalid facts, or an invalid existing file.
pub(crate) fn step(facts: &Facts) -> Result<Step, Error> {
    let Resources { groups, resources } = facts.read("resources.json")?;
    let mut entries: Vec<Entry> = groups.into_iter().chain(resources).collect();
    for entry in &mut entries {
        entry.retain(|key, _| !LEFT_OUT.contains(&key.as_str()));
    }
    let existing = std::fs::read_to_string(root().join(PATH)).unwrap_or_default();
    let previous = existing.lines().map(serde_json::from_str);
    let previous: Vec<Entry> =
        previous.collect::<Result<_, _>>().map_err(|source| Error::Json { path: PATH.to_owned(), source })?;
    let text: String = entries.iter().map(|entry| format!("{}\n", Value::from(entry.clone()))).collect();
    Ok(Step { files: vec![(PATH.to_owned(), text)], todo: changes(&previous, &entries) })
}

/// Lists the work in `pkg/api/src/resources` and in the columns of `pkg/kinds/src`, one item per fact.
fn changes(previous: &[Entry], entries: &[Entry]) -> Vec<String> {
    let mut old: BTreeMap<String, &Entry> = previous.iter().map(|entry| (name(entry), entry)).collect();
    let mut todo = Vec::new();
    for entry in entries {
        let name = name(entry);
        match old.remove(&name) {
            None => todo.push(format!("{name} is new: {}", Value::from(entry.clone()))),
            Some(old) => {
                let keys: std::collections::BTreeSet<&String> = old.keys().chain(entry.keys()).collect();
                let changed = keys.into_iter().filter(|key| old.get(*key) != entry.get(*key));
                let text =
                    |value: Option<&Value>| value.map_or_else(|| "absent".to_owned(), Value::to_string);
                todo.extend(
                    changed.map(|key| {
                        format!("{name} {key}: {} → {}", text(old.get(key)), text(entry.get(key)))
                    }),
                );
            }
        }
    }
    todo.extend(old.keys().map(|name| format!("{name} is gone: end its lifecycle")));
    todo
}

/// Returns `group apps`, or `apps/v1 deployments/scale`.
fn name(entry: &Entry) -> String {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    if entry.contains_key("group") {
        format!("group {}", text("group"))
    } else {
        format!("{} {}", text("gv"), text("resource"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_fact_is_listed() {
        let entries = |text: &str| -> Vec<Entry> { serde_json::from_str(text).unwrap() };
        let old = entries(
            r#"[{"group": "g"}, {"gv": "g/v1", "resource": "a", "kind": "A"}, {"gv": "g/v1", "resource": "b"}]"#,
        );
        let new = entries(
            r#"[{"group": "g"}, {"gv": "g/v1", "resource": "a", "kind": "B", "columns": []}, {"gv": "g/v2", "resource": "b"}]"#,
        );
        assert_eq!(changes(&old, &old), Vec::<String>::new());
        assert_eq!(
            changes(&old, &new),
            [
                "g/v1 a columns: absent → []",
                "g/v1 a kind: \"A\" → \"B\"",
                "g/v2 b is new: {\"gv\":\"g/v2\",\"resource\":\"b\"}",
                "g/v1 b is gone: end its lifecycle",
            ]
        );
    }
}
