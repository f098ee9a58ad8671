//! Rules of requests for the status of device pools, which a controller answers once (KEP-5677).

use crate::validation::NameRule;
use crate::validation::conditions::conditions;
use crate::validation::immutable::immutable;
use crate::validation::rules::{Rules, metadata, metadata_update};
use api::tree::child;
use apimachinery::field::{ErrorList, Path};
use schema::builtin::IO_K8S_API_RESOURCE_V1ALPHA3_RESOURCEPOOLSTATUSREQUEST as REQUEST;
use schema::object::Object;

/// The rules that upstream does not declare in the types.
pub(super) const RULES: Rules = Rules { create, update };

fn create(new: &Object) -> ErrorList {
    metadata(new, false, NameRule::DnsSubdomain)
}

fn update(subresource: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = metadata_update(new, old);
    if subresource != "status" {
        return errors;
    }
    let path = Path::root("status");
    match (child(new, "status"), child(old, "status")) {
        (_, Some(_)) => immutable(&path, &REQUEST, "status", new, old, &mut errors),
        (Some(status), None) => conditions(&path.child("conditions"), status, &mut errors),
        (None, None) => {}
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use apimachinery::field::Error;
    use jsontree::{Value, json};

    fn request(status: Value) -> Object {
        let mut request = json!({"metadata": {"name": "r", "resourceVersion": "1"}});
        if !status.is_null() {
            request["status"] = status;
        }
        request.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn status_is_written_once() {
        let check = |new: Value, old: Value, expected: &[&str]| {
            let errors = update("status", &request(new), &request(old));
            assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected);
        };
        let counted = json!({"poolCount": 1});
        check(counted.clone(), Value::Null, &[]);
        check(counted.clone(), counted.clone(), &[]);
        check(json!({"poolCount": 2}), counted.clone(), &["status"]);
        check(Value::Null, counted, &["status"]);
        let condition =
            json!({"type": "Complete", "reason": "R", "lastTransitionTime": "2026-01-01T00:00:00Z"});
        check(json!({"conditions": [condition]}), Value::Null, &["status.conditions[0].status"]);
    }
}
