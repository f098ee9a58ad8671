//! Certificate signing requests: who asks is not the client's to say
//! (upstream's `registry/certificates/certificates/strategy.go`).

use apimachinery::user_info::UserInfo;
use schema::object::Object;
use serde_json::{Map, Value};

use super::{Strategy, child};

pub(super) struct SigningRequests;

impl Strategy for SigningRequests {
    fn prepare_for_create(&self, object: &mut Object, user: &UserInfo) {
        let Some(spec) = child(object, "spec") else { return };
        let extra: Map<String, Value> =
            user.extra.iter().map(|(key, values)| (key.clone(), Value::from(values.clone()))).collect();
        let facts = [
            ("username", (!user.name.is_empty()).then(|| Value::from(user.name.clone()))),
            ("uid", (!user.uid.is_empty()).then(|| Value::from(user.uid.clone()))),
            ("groups", (!user.groups.is_empty()).then(|| Value::from(user.groups.clone()))),
            ("extra", (!extra.is_empty()).then_some(Value::Object(extra))),
        ];
        for (name, value) in facts {
            match value {
                Some(value) => spec.insert(name.to_owned(), value),
                None => spec.remove(name),
            };
        }
    }
}
