//! Validation of lease candidates.

use crate::coordination::rules::{OLDEST_EMULATION, strategy};
use crate::validation::immutable::immutable;
use crate::validation::rules::Rules;
use crate::validation::semver::Version;
use crate::validation::{NameRule, validate_object_meta, validate_object_meta_update};
use api::tree::{child, text};
use apimachinery::field::{Error, ErrorList, Path};
use schema::builtin::IO_K8S_API_COORDINATION_V1BETA1_LEASECANDIDATESPEC as CANDIDATE_SPEC;
use schema::object::Object;

pub(super) const RULES: Rules = Rules { create: candidate, update: candidate_update };

fn candidate(new: &Object) -> ErrorList {
    let mut errors = validate_object_meta(new, true, NameRule::ConfigMapKey, &Path::root("metadata"));
    candidate_spec(new, &mut errors);
    errors
}

fn candidate_update(_: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = validate_object_meta_update(new, old, &Path::root("metadata"));
    candidate_spec(new, &mut errors);
    let empty = Object::new();
    let new_spec = child(new, "spec").unwrap_or(&empty);
    let old_spec = child(old, "spec").unwrap_or(&empty);
    immutable(&Path::root("spec.leaseName"), &CANDIDATE_SPEC, "leaseName", new_spec, old_spec, &mut errors);
    errors
}

fn candidate_spec(candidate: &Object, errors: &mut ErrorList) {
    let empty = Object::new();
    let path = Path::root("spec");
    let spec = child(candidate, "spec").unwrap_or(&empty);
    if text(spec, "leaseName").is_empty() {
        errors.push(Error::required(&path.child("leaseName"), ""));
    }
    let emulated = text(spec, "emulationVersion");
    let binary = text(spec, "binaryVersion");
    let emulated_path = path.child("emulationVersion");
    let binary_path = path.child("binaryVersion");
    let emulated_version = Version::parse(emulated);
    let bad_version = "must be a valid semantic version";
    if !emulated.is_empty() && emulated_version.is_none() {
        errors.push(Error::invalid(&emulated_path, emulated, bad_version));
    }
    let binary_version = Version::parse(binary);
    if binary.is_empty() {
        errors.push(Error::required(&binary_path, ""));
    } else if binary_version.is_none() {
        errors.push(Error::invalid(&binary_path, binary, bad_version));
    }
    // A malformed version counts as 0.0.0.
    let emulated_version = emulated_version.unwrap_or_default();
    let binary_version = binary_version.unwrap_or_default();
    let older = binary_version.order(&emulated_version).is_lt();
    if !binary.is_empty() && !emulated.is_empty() && older {
        let detail = "must be greater than or equal to `emulationVersion`";
        errors.push(Error::invalid(&binary_path, binary, detail));
    }
    let value = text(spec, "strategy");
    let strategy_path = path.child("strategy");
    if value.is_empty() {
        errors.push(Error::required(&strategy_path, ""));
        return;
    }
    if value == OLDEST_EMULATION && emulated_version.order(&Version::default()).is_eq() {
        let detail = "must be specified when `strategy` is 'OldestEmulationVersion'";
        errors.push(Error::required(&emulated_path, detail));
    }
    strategy(&strategy_path, value, errors);
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn object(spec: &Value) -> Object {
        let object =
            json!({"metadata": {"name": "l", "namespace": "n", "resourceVersion": "1"}, "spec": spec});
        object.as_object().cloned().unwrap_or_default()
    }

    fn check(validate: fn(&Object) -> ErrorList, spec: Value, expected: &[&str]) {
        let errors = validate(&object(&spec));
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected, "{spec}");
    }

    #[test]
    fn candidates_have_binary_and_emulation_versions() {
        let with = |binary: &str, emulated: &str| json!({"leaseName": "a", "strategy": OLDEST_EMULATION, "binaryVersion": binary, "emulationVersion": emulated});
        check(candidate, with("1.36.0", "1.35.0-rc.1+x"), &[]);
        check(candidate, with("1.36.0-rc.2", "1.36.0-rc.10"), &["spec.binaryVersion"]);
        check(candidate, with("1.36", "1.35.0"), &["spec.binaryVersion", "spec.binaryVersion"]);
        check(candidate, with("1.36.0", ""), &["spec.emulationVersion"]);
        check(candidate, json!({}), &["spec.leaseName", "spec.binaryVersion", "spec.strategy"]);
    }
}
