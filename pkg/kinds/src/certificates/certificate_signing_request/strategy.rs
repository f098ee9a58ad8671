//! Certificate signing requests: the server sets the requesting user, and an approval or denial is final
//! (upstream's `registry/certificates/certificates/strategy.go`).

use crate::strategy::hooks::{Context, Strategy, child};
use api::tree;
use jsontree::Value;
use schema::object::Object;
use std::collections::HashMap;

pub(crate) struct SigningRequests;

impl Strategy for SigningRequests {
    fn prepare_for_create(&self, object: &mut Object, context: &Context<'_>) {
        let user = context.user;
        let Some(spec) = child(object, "spec") else { return };
        let extra: Object =
            user.extra.iter().map(|(key, values)| (key.clone(), Value::from(values.clone()))).collect();
        let facts = [
            ("username", (!user.name.is_empty()).then(|| Value::from(user.name.clone()))),
            ("uid", (!user.uid.is_empty()).then(|| Value::from(user.uid.clone()))),
            ("groups", (!user.groups.is_empty()).then(|| Value::from(user.groups.clone()))),
            ("extra", (!extra.is_empty()).then_some(Value::Object(extra))),
        ];
        for (name, value) in facts {
            match value {
                Some(value) => spec.insert(name, value),
                None => spec.remove(name),
            };
        }
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Object, old: &Object, context: &Context<'_>) {
        let old = conditions(old);
        let Some(Value::Array(new)) = child(new, "status").and_then(|status| status.get_mut("conditions"))
        else {
            return;
        };
        if subresource == "status" {
            copy_conditions(new, old, "Approved");
            copy_conditions(new, old, "Denied");
        }
        if !subresource.is_empty() {
            date(new, old, &context.timestamp());
        }
    }
}

fn conditions(object: &Object) -> &[Value] {
    tree::child(object, "status").map_or(&[], |status| tree::list(status, "conditions"))
}

/// Takes the conditions of a type from the old object. If their number differs, the client adds or removes
/// one, and validation rejects that.
fn copy_conditions(new: &mut [Value], old: &[Value], ty: &str) {
    let of_type = |condition: &&Value| condition.get("type").is_some_and(|t| t == ty);
    if new.iter().filter(|c| of_type(c)).count() != old.iter().filter(of_type).count() {
        return;
    }
    let new = new.iter_mut().filter(|condition| of_type(&&**condition));
    for (new, old) in new.zip(old.iter().filter(of_type)) {
        *new = old.clone();
    }
}

/// Sets missing times of conditions: the current time, or the old time for an unchanged status.
fn date(new: &mut [Value], old: &[Value], now: &Value) {
    let key = |condition: &Object| ["type", "status"].map(|name| tree::text(condition, name).to_owned());
    let dated = old.iter().filter_map(Value::as_object).filter(|old| !undated(old, "lastTransitionTime"));
    let mut since: HashMap<[String; 2], &Value> = HashMap::new();
    for old in dated {
        // The first of several applies.
        since.entry(key(old)).or_insert(old.get("lastTransitionTime").unwrap_or(now));
    }
    for condition in new.iter_mut().filter_map(Value::as_object_mut) {
        if undated(condition, "lastUpdateTime") {
            condition.insert("lastUpdateTime", now.clone());
        }
        if undated(condition, "lastTransitionTime") {
            let since = since.get(&key(condition)).copied().unwrap_or(now).clone();
            condition.insert("lastTransitionTime", since);
        }
    }
}

fn undated(condition: &Object, name: &str) -> bool {
    condition.get(name).is_none_or(Value::is_null)
}
