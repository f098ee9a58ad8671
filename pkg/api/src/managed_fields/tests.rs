//! Tests of managed fields, and their shared helpers.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may say what must hold")]

mod apply;
mod custom;
mod last_applied;
mod scale;
mod update;
mod versions;

use super::FieldManager;
use crate::resources;
use apimachinery::status::Status;
use apimachinery::time::UnixTime;
use fieldmanager::ApplyOptions;
use jsontree::{Value, json};
use schema::object::Object;

/// Returns 2026-01-01T00:00:00Z plus `seconds`.
fn at(seconds: i64) -> UnixTime {
    UnixTime::from_seconds(1_767_225_600 + seconds)
}

fn time(seconds: i64) -> String {
    at(seconds).rfc3339().to_string()
}

/// Returns an entry with the time of [`at`]. `owner` is a manager, optionally with a subresource:
/// `kubelet/status`.
fn entry(owner: &str, operation: &str, api_version: &str, seconds: i64, fields: &str) -> Value {
    let mut entry = untimed(owner, operation, api_version, fields);
    entry["time"] = json!(time(seconds));
    entry
}

fn untimed(owner: &str, operation: &str, api_version: &str, fields: &str) -> Value {
    let (manager, subresource) = owner.split_once('/').unwrap_or((owner, ""));
    let mut entry = json!({
        "manager": manager,
        "operation": operation,
        "apiVersion": api_version,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
    });
    if !subresource.is_empty() {
        entry["subresource"] = json!(subresource);
    }
    entry
}

fn object(value: Value) -> Object {
    let Value::Object(object) = value else { panic!("not an object: {value}") };
    object
}

/// Returns the field manager of an endpoint such as `apps/v1/deployments/status`, with all versions served.
fn field_manager(endpoint: &str) -> FieldManager {
    let mut parts = endpoint.split('/').collect::<Vec<_>>();
    if parts[0] == "v1" {
        parts.insert(0, "");
    }
    let row = resources::find(parts[0], parts[1], parts[2], parts.get(3).unwrap_or(&"")).unwrap();
    super::field_manager(row, |_| true).unwrap()
}

fn entries_of(object: &Object) -> Value {
    object.get("metadata").and_then(|metadata| metadata.get("managedFields")).cloned().unwrap_or_default()
}

/// Sequence of requests to an endpoint, one second apart, with the live object.
struct Story {
    fields: FieldManager,
    live: Option<Object>,
    seconds: i64,
}

impl Story {
    fn at(endpoint: &str) -> Self {
        Story { fields: field_manager(endpoint), live: None, seconds: 0 }
    }

    /// Continues at another endpoint of the object.
    fn endpoint(mut self, endpoint: &str) -> Self {
        self.fields = field_manager(endpoint);
        self
    }

    /// Sets a live object that no request created.
    fn live(mut self, live: Value) -> Self {
        self.live = Some(object(live));
        self
    }

    fn update(mut self, manager: &str, new: Value) -> Self {
        self.seconds += 1;
        let mut new = object(new);
        self.fields.update(self.live.as_ref(), &mut new, manager, at(self.seconds)).unwrap();
        self.store(new);
        self
    }

    fn edit(self, manager: &str, edit: impl FnOnce(&mut Value)) -> Self {
        let mut new = Value::Object(self.live.clone().unwrap());
        edit(&mut new);
        self.update(manager, new)
    }

    fn try_apply(&mut self, manager: &str, force: bool, patch: &Value) -> Result<Object, Box<Status>> {
        self.seconds += 1;
        let options = ApplyOptions { manager, force, now: at(self.seconds), outside: None };
        self.fields.apply(self.live.as_ref(), patch.clone(), options, |_| Ok(()))
    }

    fn apply(mut self, manager: &str, patch: Value) -> Self {
        let new = self.try_apply(manager, false, &patch).unwrap();
        self.store(new);
        self
    }

    fn force(mut self, manager: &str, patch: Value) -> Self {
        let new = self.try_apply(manager, true, &patch).unwrap();
        self.store(new);
        self
    }

    /// Applies a patch that must fail with this code and message.
    #[track_caller]
    fn refused(mut self, manager: &str, patch: Value, code: u16, message: &str) -> Self {
        let status = self.try_apply(manager, false, &patch).unwrap_err();
        assert_eq!((status.code, status.message.as_str()), (code, message));
        self
    }

    /// Stores an object, adding the fields that the server sets.
    fn store(&mut self, mut new: Object) {
        schema::object::set(&mut new, &["metadata", "uid"], "u");
        self.live = Some(new);
    }

    #[track_caller]
    fn owned(self, expected: Value) -> Self {
        assert_eq!(entries_of(self.live.as_ref().unwrap()), expected);
        self
    }

    #[track_caller]
    fn holds(self, path: &str, expected: Value) -> Self {
        let live = Value::Object(self.live.clone().unwrap());
        assert_eq!(live.pointer(path).cloned().unwrap_or_default(), expected);
        self
    }
}

fn config_map(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data})
}

/// Returns a Deployment with one container and these fields of its `spec`.
fn deployment(spec: Value) -> Value {
    let mut deployment = json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "d"},
        "spec": {"template": {"spec": {"containers": [{"name": "a", "image": "i:1"}]}}},
    });
    deployment["spec"].as_object_mut().unwrap().extend(object(spec));
    deployment
}
