//! Validation of IP addresses that are in use.

use crate::validation::NameRule;
use crate::validation::immutable::immutable;
use crate::validation::rules::{Rules, metadata, metadata_update};
use crate::validation::value::{dns_subdomain, path_segment};
use api::tree::{child, text};
use apimachinery::field::{Error, ErrorList, Path};
use schema::builtin::IO_K8S_API_NETWORKING_V1_IPADDRESSSPEC as ADDRESS_SPEC;
use schema::object::Object;

pub(super) const RULES: Rules = Rules { create: address, update: address_update };

fn address(new: &Object) -> ErrorList {
    let mut errors = metadata(new, false, NameRule::Ip);
    let path = Path::root("spec.parentRef");
    match child(new, "spec").and_then(|spec| child(spec, "parentRef")) {
        None => errors.push(Error::required(&path, "")),
        Some(parent) => {
            let group = text(parent, "group");
            if !group.is_empty() {
                dns_subdomain(&path.child("group"), group, &mut errors);
            }
            for (member, required) in [("resource", true), ("name", true), ("namespace", false)] {
                path_segment(&path.child(member), text(parent, member), required, &mut errors);
            }
        }
    }
    errors
}

fn address_update(_: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = address(new);
    errors.append(metadata_update(new, old));
    let empty = Object::new();
    let new_spec = child(new, "spec").unwrap_or(&empty);
    let old_spec = child(old, "spec").unwrap_or(&empty);
    immutable(&Path::root("spec.parentRef"), &ADDRESS_SPEC, "parentRef", new_spec, old_spec, &mut errors);
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn object(name: &str, spec: &Value) -> Object {
        let object = json!({"metadata": {"name": name, "resourceVersion": "1"}, "spec": spec});
        object.as_object().cloned().unwrap_or_default()
    }

    fn fields(errors: &ErrorList) -> Vec<&str> {
        errors.iter().map(Error::field).collect()
    }

    #[test]
    fn an_address_has_a_parent() {
        let parent = json!({"parentRef": {"resource": "services", "name": "a", "namespace": "b"}});
        assert_eq!(address(&object("10.0.0.1", &parent)), ErrorList::new());
        assert_eq!(fields(&address(&object("10.0.0.01", &json!({})))), ["metadata.name", "spec.parentRef"]);
        let bad = json!({"parentRef": {"resource": "a/b", "group": "A", "namespace": ".."}});
        assert_eq!(
            fields(&address(&object("::1", &bad))),
            [
                "spec.parentRef.group",
                "spec.parentRef.resource",
                "spec.parentRef.name",
                "spec.parentRef.namespace",
            ]
        );
        let other = json!({"parentRef": {"resource": "services", "name": "c", "namespace": "b"}});
        let errors = address_update("", &object("::1", &other), &object("::1", &parent));
        let texts: Vec<String> = errors.iter().map(Error::to_string).collect();
        assert_eq!(
            texts,
            ["spec.parentRef: Invalid value: {\"Group\":\"\",\"Resource\":\"services\",\
            \"Namespace\":\"b\",\"Name\":\"c\"}: field is immutable"]
        );
    }
}
