//! Validation of service accounts.

use crate::validation::NameRule;
use crate::validation::rules::{Rules, metadata, metadata_update};
use apimachinery::field::ErrorList;
use schema::object::Object;

pub(super) const RULES: Rules = Rules { create: service_account, update: service_account_update };

fn service_account(new: &Object) -> ErrorList {
    metadata(new, true, NameRule::DnsSubdomain)
}

fn service_account_update(_: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = metadata_update(new, old);
    errors.append(service_account(new));
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use apimachinery::field::Error;
    use jsontree::{Value, json};

    fn object(value: Value) -> Object {
        let Value::Object(mut object) = value else { unreachable!("tests give objects") };
        let meta = object.entry("metadata").or_insert_with(|| json!({}));
        if let Some(meta) = meta.as_object_mut() {
            meta.extend([("name".to_owned(), "n".into()), ("namespace".to_owned(), "ns".into())]);
            meta.insert("resourceVersion", "1".into());
        }
        object
    }

    #[test]
    fn finalizers_are_qualified() {
        let errors = service_account(&object(json!({"metadata": {"finalizers": ["x"]}})));
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), ["metadata.finalizers[0]"]);
    }
}
