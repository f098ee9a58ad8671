//! Rules of storage version migrations (KEP-4192).

use crate::validation::NameRule;
use crate::validation::conditions::conditions;
use crate::validation::go_value::go_values;
use crate::validation::immutable::{IMMUTABLE, immutable};
use crate::validation::rules::{Rules, metadata, metadata_update};
use api::tree::{child, children, text};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::names;
use schema::builtin::{
    IO_K8S_API_STORAGEMIGRATION_V1BETA1_STORAGEVERSIONMIGRATION as MIGRATION,
    IO_K8S_APIMACHINERY_PKG_APIS_META_V1_CONDITION as CONDITION,
};
use schema::object::Object;

pub(super) const RULES: Rules = Rules { create, update };

fn create(new: &Object) -> ErrorList {
    let mut errors = metadata(new, false, NameRule::DnsSubdomain);
    let empty = Object::new();
    let resource = child(new, "spec").and_then(|spec| child(spec, "resource")).unwrap_or(&empty);
    let path = Path::root("spec.resource");
    let name = text(resource, "resource");
    let name_path = path.child("resource");
    let messages = names::is_dns1035_label(name);
    if name.is_empty() {
        errors.push(Error::required(&name_path, "resource is required to be set"));
    } else if !messages.is_empty() {
        errors.push(Error::invalid(&name_path, name, messages.join(",")));
    }
    let group = text(resource, "group");
    let messages = names::is_dns1123_subdomain(group);
    if !group.is_empty() && !messages.is_empty() {
        errors.push(Error::invalid(&path.child("group"), group, messages.join(",")));
    }
    errors
}

fn update(subresource: &str, new: &Object, old: &Object) -> ErrorList {
    if subresource == "status" {
        return status_update(new, old);
    }
    let mut errors = create(new);
    errors.append(metadata_update(new, old));
    immutable(&Path::root("spec"), &MIGRATION, "spec", new, old, &mut errors);
    errors
}

fn status_update(new: &Object, old: &Object) -> ErrorList {
    let mut errors = metadata_update(new, old);
    let empty = Object::new();
    let [status, old_status] = [new, old].map(|object| child(object, "status").unwrap_or(&empty));
    let path = Path::root("status");
    let version_path = path.child("resourceVersion");
    let version = text(status, "resourceVersion");
    if !version.is_empty() && !is_resource_version(version) {
        let detail = format!("resource version is not well formed: {version}");
        errors.push(Error::invalid(&version_path, version, detail));
    }
    let conditions_path = path.child("conditions");
    conditions(&conditions_path, status, &mut errors);
    let old_version = text(old_status, "resourceVersion");
    if !old_version.is_empty() && old_version != version {
        errors.push(Error::invalid(&version_path, version, IMMUTABLE));
    }
    let mut refuse = |detail: &str| {
        let value = go_values(&CONDITION, status.get("conditions"));
        errors.push(Error::invalid(&conditions_path, value, detail));
    };
    let succeeded = is_true(status, "Succeeded");
    let failed = is_true(status, "Failed");
    if succeeded && failed {
        refuse("Both success and failed conditions cannot be true at the same time");
    }
    if is_true(old_status, "Succeeded") && !succeeded {
        refuse("Success condition cannot be set to false once it is true");
    }
    if is_true(old_status, "Failed") && !failed {
        refuse("Failed condition cannot be set to false once it is true");
    }
    errors
}

/// True if the first condition of a type is true.
fn is_true(status: &Object, kind: &str) -> bool {
    let mut conditions = children(status, "conditions");
    conditions
        .find(|condition| text(condition, "type") == kind)
        .is_some_and(|condition| text(condition, "status") == "True")
}

/// True for a positive number without leading zeros, of any length.
fn is_resource_version(version: &str) -> bool {
    !version.starts_with('0') && version.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn migration(status: Value) -> Object {
        let meta = json!({"name": "m", "resourceVersion": "1"});
        let spec = json!({"resource": {"group": "apps", "resource": "deployments"}});
        json!({"metadata": meta, "spec": spec, "status": status}).as_object().cloned().unwrap_or_default()
    }

    fn condition(kind: &str) -> Value {
        json!({"type": kind, "status": "True", "reason": "R", "lastTransitionTime": "2026-01-01T00:00:00Z"})
    }

    fn check(new: Value, old: Value, expected: &[&str]) {
        let errors = update("status", &migration(new), &migration(old));
        assert_eq!(errors.iter().map(Error::detail).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn resource_is_required() {
        assert_eq!(create(&migration(json!({}))), ErrorList::new());
        let mut without = migration(json!({}));
        without.remove("spec");
        let errors = create(&without);
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), ["spec.resource.resource"]);
    }

    #[test]
    fn outcome_is_final() {
        let outcome = |kinds: &[&str]| json!({"conditions": (kinds.iter().map(|kind| condition(kind)).collect::<Vec<_>>())});
        check(outcome(&["Succeeded"]), outcome(&[]), &[]);
        let both = "Both success and failed conditions cannot be true at the same time";
        check(outcome(&["Succeeded", "Failed"]), outcome(&[]), &[both]);
        let success = "Success condition cannot be set to false once it is true";
        check(outcome(&[]), outcome(&["Succeeded"]), &[success]);
    }

    #[test]
    fn resource_version_is_set_once() {
        check(json!({"resourceVersion": "5"}), json!({}), &[]);
        check(json!({"resourceVersion": "05"}), json!({}), &["resource version is not well formed: 05"]);
        check(json!({"resourceVersion": "6"}), json!({"resourceVersion": "5"}), &[IMMUTABLE]);
    }
}
