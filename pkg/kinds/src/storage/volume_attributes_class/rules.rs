//! Validation of volume attributes classes.

use crate::storage::class::{driver, parameters};
use crate::validation::NameRule;
use crate::validation::rules::{Rules, metadata, metadata_update};
use api::tree::text;
use apimachinery::field::{Error, ErrorList, Path};
use schema::object::Object;

pub(super) const RULES: Rules = Rules { create: attributes_class, update: attributes_class_update };

fn attributes_class(new: &Object) -> ErrorList {
    let mut errors = metadata(new, false, NameRule::DnsSubdomain);
    driver(&Path::root("driverName"), text(new, "driverName"), &mut errors);
    parameters(new, true, &mut errors);
    errors
}

fn attributes_class_update(_: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = metadata_update(new, old);
    let changed =
        ["driverName", "parameters"].into_iter().filter(|member| new.get(*member) != old.get(*member));
    errors.extend(
        changed.map(|member| {
            Error::forbidden(&Path::root(member), format!("updates to {member} are forbidden."))
        }),
    );
    errors.append(attributes_class(new));
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn class(rest: Value) -> Object {
        let mut object = json!({"metadata": {"name": "c", "resourceVersion": "1"}, "provisioner": "A.b/c",
            "driverName": "d", "volumeBindingMode": "Immediate"});
        if let (Some(object), Value::Object(rest)) = (object.as_object_mut(), rest) {
            object.extend(rest);
        }
        object.as_object().cloned().unwrap_or_default()
    }

    fn fields(errors: &ErrorList) -> Vec<&str> {
        errors.iter().map(Error::field).collect()
    }

    #[test]
    fn class_parameters_are_immutable() {
        let with = |name: &str| class(json!({"driverName": name, "parameters": {"a": "b"}}));
        assert_eq!(fields(&attributes_class_update("", &with("a"), &with("b"))), ["driverName"]);
        assert_eq!(fields(&attributes_class(&class(json!({})))), ["parameters"]);
    }
}
