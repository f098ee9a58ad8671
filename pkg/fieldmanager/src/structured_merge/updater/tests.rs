//! Updates and applies compared with upstream's results for the same sequences
//! (`testdata/structured_merge/updates.jsonl.gz`, made with structured-merge-diff v6.4.2 and the schema of
//! client-go's apply configurations), and with general laws.

use std::io::Read;

use jsontree::json;

use super::*;
use schema::builtin;

mod laws;
mod memory;

/// The versions `v1` and `v2`, which differ only in the filter of `v2`.
struct Versions {
    ty: TypeRef<'static>,
    filter: Filter,
}

impl Versions {
    fn of(name: &str) -> Self {
        let message = builtin::message(name).unwrap_or_else(|| panic!("no type {name}"));
        let ignored = set(r#"{"f:status":{},"f:metadata":{"f:labels":{}}}"#);
        Versions { ty: TypeRef::builtin(message), filter: Filter::Exclude(ignored) }
    }
}

impl Converter for Versions {
    fn convert<'v>(&self, value: &'v Value, _from: &str, to: &str) -> Result<Cow<'v, Value>, ConvertError> {
        match self.type_of(to) {
            Some(_) => Ok(Cow::Borrowed(value)),
            None => Err(ConvertError::Missing),
        }
    }

    fn type_of(&self, api_version: &str) -> Option<TypeRef<'_>> {
        matches!(api_version, "v1" | "v2").then_some(self.ty)
    }

    fn filter(&self, api_version: &str) -> Option<&Filter> {
        (api_version == "v2").then_some(&self.filter)
    }
}

fn set(text: &str) -> Set {
    Set::parse(text.as_bytes()).unwrap()
}

fn text(set: &Set) -> String {
    let mut out = Vec::new();
    set.write(&mut out);
    String::from_utf8(out).unwrap()
}

fn owner(fields: &str, api_version: &str, applied: bool) -> VersionedSet {
    VersionedSet { set: set(fields), api_version: api_version.into(), applied, changed: false }
}

/// Formats managers like the recorded sequences.
fn shown(managers: &Managers) -> Value {
    let show =
        |managed: &VersionedSet| json!([managed.api_version.as_str(), managed.applied, text(&managed.set)]);
    Value::Object(managers.iter().map(|(name, managed)| (name.clone(), show(managed))).collect())
}

/// Checks one recorded step and returns the object and the managers after it.
fn check_step(versions: &Versions, live: Value, managers: Managers, step: &Value) -> (Value, Managers) {
    let updater = Updater(versions);
    let input = &step["in"];
    let text_of = |name: &str| step[name].as_str();
    let version = text_of("version").unwrap();
    let mut managers = managers.clone();
    if step["old"] == true {
        managers.insert("old".into(), owner(r#"{"f:x":{}}"#, "v0", false));
    }
    if let Some([applied, fields]) = step["granular"].as_array().map(Vec::as_slice) {
        // Owns parts of atomic fields, as if the schema had changed.
        let managed = owner(fields.as_str().unwrap(), "v1", applied == &json!(true));
        managers.insert("granular".into(), managed);
    }
    managers.values_mut().for_each(|managed| managed.changed = false);
    let old_managers = managers.clone();
    let (object, new_managers) = if let Some(manager) = text_of("update") {
        let new_managers = updater.update(&live, input, version, managers, manager).unwrap();
        (Some(input.clone()), new_managers)
    } else {
        let force = step["force"].as_bool().unwrap();
        match updater.apply(&live, input.clone(), version, managers, text_of("apply").unwrap(), force) {
            Ok((object, new_managers)) => {
                assert_eq!(object.as_ref(), step.get("out").filter(|out| !out.is_null()));
                (object, new_managers)
            }
            Err(error) => {
                let (text, expected) = match error {
                    ApplyError::Conflicts(conflicts) => (conflicts.to_string(), text_of("conflicts")),
                    ApplyError::Failed(error) => (error.to_string(), text_of("error")),
                };
                assert_eq!(Some(text.as_str()), expected);
                return (live, old_managers);
            }
        }
    };
    assert_eq!(shown(&new_managers), step["managers"]);
    for (name, managed) in new_managers.iter().filter(|(_, managed)| !managed.changed) {
        assert_eq!(old_managers.get(name), Some(managed), "{name} has changed");
    }
    (object.unwrap_or(live), new_managers)
}

#[test]
fn updates_and_applies_match_upstream() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/structured_merge/updates.jsonl.gz");
    let mut lines = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut lines).unwrap();
    let mut failed = Vec::new();
    let mut step_count = 0;
    for (number, line) in lines.lines().enumerate() {
        let case: Value = serde_json::from_str(line).unwrap();
        let versions = Versions::of(case["type"].as_str().unwrap());
        let steps = case["steps"].as_array().unwrap();
        let mut state = (json!({}), Managers::new());
        for (at, step) in steps.iter().enumerate() {
            println!("line {number} step {at}: {} {step}", case["type"]);
            let (live, managers) = state.clone();
            match std::panic::catch_unwind(|| check_step(&versions, live, managers, step)) {
                Ok(next) => state = next,
                Err(_) => {
                    failed.push((number, at));
                    break;
                }
            }
            step_count += 1;
        }
    }
    assert_eq!(failed, []);
    assert!(step_count > 1700, "only {step_count} steps");
}
