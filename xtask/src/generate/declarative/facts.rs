//! The facts that the generator reads, and the few that no facts file holds.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::error::Error;

/// Fields by the enumeration that is their Go type. `types.json` has their values, but not the name of the type.
const ENUM_FIELDS: [(&str, &[(&str, &str)]); 11] = [
    ("AddressType", &[("EndpointSlice", "addressType")]),
    ("AllocationConfigSource", &[("DeviceAllocationConfiguration", "source")]),
    (
        "DeviceAllocationMode",
        &[
            ("DeviceRequest", "allocationMode"),
            ("DeviceSubRequest", "allocationMode"),
            ("ExactDeviceRequest", "allocationMode"),
        ],
    ),
    ("DeviceTaintEffect", &[("DeviceTaint", "effect"), ("DeviceToleration", "effect")]),
    ("DeviceTolerationOperator", &[("DeviceToleration", "operator")]),
    ("EvictionRequestIntent", &[("EvictionRequestSpec", "intent")]),
    (
        "PreemptionPolicy",
        &[
            ("CompositePodGroupSpec", "preemptionPolicy"),
            ("CompositePodGroupTemplate", "preemptionPolicy"),
            ("PodGroupSpec", "preemptionPolicy"),
            ("PodGroupTemplate", "preemptionPolicy"),
        ],
    ),
    ("RequesterIntent", &[("Requester", "intent")]),
    ("ResponderStateType", &[("TargetResponder", "state")]),
    (
        "SkipNodeOperation",
        &[
            ("DeviceRequestAllocationResult", "skipNodeOperations"),
            ("ResourceSliceSpec", "skipNodeOperations"),
        ],
    ),
    ("VolumeHealthStatusType", &[("VolumeHealthCondition", "status")]),
];

/// Fields with hand-written validation functions (`customValidation`), and the check that replaces the function.
const CUSTOM_CHECKS: [(&str, &str, &str); 3] = [
    ("EvictionResponder", "name", "ReservedDomain"),
    ("EvictionResponder", "priority", "ReservedPriority"),
    ("EvictionRequestSpec", "requester", "ReservedDomain"),
];

/// Types and their rules.
pub(super) struct Facts {
    types: Value,
    declarative: Value,
}

/// A field of a type.
pub(super) struct Field {
    /// Definition name of the type that declares the field, possibly inlined into another.
    pub(super) owner: String,
    pub(super) name: String,
    /// Definition name of the field's or its items' struct; empty for scalars.
    pub(super) message: String,
    pub(super) pointer: bool,
    /// True for a list or a map.
    pub(super) container: bool,
    /// True if the Go type has a `+default` tag with a zero value.
    pub(super) zero_default: bool,
    /// True if the Go type has a `+default` tag with another value.
    pub(super) default: bool,
    enum_values: Vec<String>,
}

/// A rule as the facts contain it.
#[derive(Clone)]
pub(super) struct Fact {
    /// `standard`, `beta` or `alpha`.
    pub(super) level: String,
    pub(super) rule: String,
    pub(super) enabled: Option<String>,
    pub(super) disabled: Option<String>,
}

impl Facts {
    pub(super) fn read(declarative: &Path) -> Result<Self, Error> {
        let types = declarative.with_file_name("types.json");
        Ok(Facts { types: read_json(&types)?, declarative: read_json(declarative)? })
    }

    /// Returns the definition names of the registered types.
    pub(super) fn types(&self) -> impl Iterator<Item = &str> {
        self.types.as_object().into_iter().flatten().map(|(name, _)| name.as_str())
    }

    /// Returns the fields of a type in the order of their declaration, with those of inlined structs.
    pub(super) fn fields(&self, name: &str) -> Vec<Field> {
        let mut all = Vec::new();
        for field in self.types[name]["fields"].as_array().into_iter().flatten() {
            if field["n"].is_string() {
                all.push(Field::of(name, field));
            } else {
                all.extend(self.fields(field["type"].as_str().unwrap_or_default()));
            }
        }
        all
    }

    /// Returns the rules of a field.
    pub(super) fn rules(&self, field: &Field) -> Vec<Fact> {
        self.rules_of(&field.owner, &field.name)
    }

    /// Returns the rules of a field by name; with an empty name, those of an enumeration.
    fn rules_of(&self, name: &str, field: &str) -> Vec<Fact> {
        self.declarative[name][field].as_array().into_iter().flatten().map(Fact::of).collect()
    }

    /// Returns every rule with its type and field.
    pub(super) fn all_rules(&self) -> Vec<(&str, &str, Fact)> {
        let mut all = Vec::new();
        for (name, fields) in self.declarative.as_object().into_iter().flatten() {
            for (field, rules) in fields.as_object().into_iter().flatten() {
                for rule in rules.as_array().into_iter().flatten() {
                    all.push((name.as_str(), field.as_str(), Fact::of(rule)));
                }
            }
        }
        all
    }

    /// Returns the rule and the values of the enumeration that is the Go type of a field or of its items.
    pub(super) fn enumeration(&self, field: &Field) -> Option<(Fact, Vec<String>)> {
        let (version, simple) = field.owner.rsplit_once('.')?;
        let is_field = |(owner, member): &(&str, &str)| *owner == simple && *member == field.name;
        let (enumeration, _) = ENUM_FIELDS.iter().find(|(_, fields)| fields.iter().any(is_field))?;
        let rule = self.rules_of(&format!("{version}.{enumeration}"), "").into_iter().next()?;
        Some((rule, field.enum_values.clone()))
    }
}

/// Returns the name of the check that replaces a hand-written validation function.
pub(super) fn custom_check(name: &str, field: &str) -> Option<&'static str> {
    let simple = name.rsplit('.').next()?;
    let entry = CUSTOM_CHECKS.iter().find(|(owner, member, _)| *owner == simple && *member == field)?;
    Some(entry.2)
}

/// True if the fields of an enumeration are listed.
pub(super) fn is_listed_enumeration(name: &str) -> bool {
    let simple = name.rsplit('.').next().unwrap_or_default();
    ENUM_FIELDS.iter().any(|(enumeration, _)| *enumeration == simple)
}

fn read_json(path: &Path) -> Result<Value, Error> {
    let name = path.display().to_string();
    let text = std::fs::read(path).map_err(Error::of(name.clone()))?;
    serde_json::from_slice(&text).map_err(|source| Error::Json { path: name, source })
}

impl Field {
    fn of(owner: &str, field: &Value) -> Self {
        let full = field["type"].as_str().unwrap_or_default();
        let item = full.trim_start_matches("[]").trim_start_matches("map[string]");
        let default = field.get("def").filter(|default| !default.is_null());
        let zero = default.is_some_and(is_zero);
        // OpenAPI adds a zero default to members that JSON always has.
        let omitted = field["oe"] == true;
        let values = [&field["enum"], &field["itemEnum"]].into_iter().filter_map(Value::as_array).flatten();
        Field {
            owner: owner.to_owned(),
            name: text(&field["n"]),
            message: if item.contains('.') { item.to_owned() } else { String::new() },
            pointer: field["ptr"] == true,
            container: item != full,
            zero_default: zero && omitted,
            default: default.is_some() && !zero,
            enum_values: values.map(text).collect(),
        }
    }
}

impl Fact {
    fn of(rule: &Value) -> Self {
        let condition = |name: &str| rule[2][name].as_str().map(str::to_owned);
        Fact {
            level: text(&rule[0]).split(' ').next().unwrap_or_default().to_owned(),
            rule: text(&rule[1]),
            enabled: condition("ifEnabled"),
            disabled: condition("ifDisabled"),
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(flag) => !flag,
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

/// Groups values by key, with the keys in the order of their first value.
pub(super) fn grouped<K: Ord + Clone, V>(pairs: impl IntoIterator<Item = (K, V)>) -> Vec<(K, Vec<V>)> {
    let mut order = Vec::new();
    let mut groups: BTreeMap<K, Vec<V>> = BTreeMap::new();
    for (key, value) in pairs {
        if !groups.contains_key(&key) {
            order.push(key.clone());
        }
        groups.entry(key).or_default().push(value);
    }
    order.into_iter().filter_map(|key| groups.remove(&key).map(|values| (key, values))).collect()
}
