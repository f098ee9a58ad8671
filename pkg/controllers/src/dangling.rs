//! The condition `DanglingReporter` of a flow schema: true if its priority level does not exist (upstream's
//! `util/flowcontrol/apf_controller.go`).

use api::tree;
use apimachinery::go_quote::quote;
use jsontree::{Value, json};
use registry::client::{Client, LookupError, ReadFreshness};
use registry::{Registry, meta};
use schema::object::{self, Object};

const GROUP: &str = "flowcontrol.apiserver.k8s.io";
const GROUP_VERSION: &str = "flowcontrol.apiserver.k8s.io/v1";
/// Field manager of the condition.
const FIELD_MANAGER: &str = "api-priority-and-fairness-config-consumer-v1";
const TYPE: &str = "Dangling";

/// Writer of the condition.
pub struct DanglingReporter {
    status: Client,
    schemas: Client,
    levels: Client,
}

impl DanglingReporter {
    /// Creates the writer.
    ///
    /// # Errors
    /// Flow schemas or priority levels are not served.
    pub fn new(registry: &Registry) -> Result<Self, LookupError> {
        let schemas = Client::find(registry, GROUP, "flowschemas")?;
        let levels = Client::find(registry, GROUP, "prioritylevelconfigurations")?;
        let status = Client::find(registry, GROUP, "flowschemas")?
            .with_subresource("status")?
            .with_field_manager(FIELD_MANAGER);
        Ok(DanglingReporter { status, schemas, levels })
    }

    /// Like [`report`](Self::report), for the schema with this name.
    ///
    /// # Errors
    /// Like [`report`](Self::report).
    pub async fn report_by_name(&self, name: &str) -> registry::Result<()> {
        match self.schemas.get("", name, ReadFreshness::Cached).await? {
            Some(schema) => self.report(&schema).await,
            None => Ok(()),
        }
    }

    /// Updates the condition of a schema.
    ///
    /// # Errors
    /// See [`Client::get`] and [`Client::apply`].
    pub async fn report(&self, schema: &Object) -> registry::Result<()> {
        let level = object::get_str(schema, &["spec", "priorityLevelConfiguration", "name"]).unwrap_or("");
        let exists = self.levels.get("", level, ReadFreshness::Cached).await?.is_some();
        let now = self.status.now().rfc3339().to_string();
        match configuration(schema, level, exists, &now) {
            Some(configuration) => {
                self.status.apply("", meta::text(schema, "name"), &configuration).await.map(drop)
            }
            None => Ok(()),
        }
    }
}

fn condition(schema: &Object) -> Option<&Object> {
    let conditions = tree::child(schema, "status").into_iter().flat_map(|s| tree::children(s, "conditions"));
    conditions.into_iter().find(|condition| tree::text(condition, "type") == TYPE)
}

/// Returns the value of the condition; `None` if it is not set.
pub fn condition_value(schema: &Object) -> Option<bool> {
    Some(tree::text(condition(schema)?, "status") == "True")
}

/// Builds the apply configuration of a schema's status; `None` if it is up to date.
fn configuration(schema: &Object, level: &str, exists: bool, now: &str) -> Option<Value> {
    let (status, reason, fate) = if exists {
        ("False", "Found", "and it exists")
    } else {
        ("True", "NotFound", "but there is no such object")
    };
    let message = format!(
        "This FlowSchema references the PriorityLevelConfiguration object named {} {fate}",
        quote(level)
    );
    let existing = condition(schema);
    let is_equal = |current: &Object| {
        ["status", "reason", "message"].map(|member| tree::text(current, member))
            == [status, reason, &message]
    };
    if existing.is_some_and(is_equal) {
        return None;
    }
    Some(json!({
        "apiVersion": GROUP_VERSION,
        "kind": "FlowSchema",
        "metadata": {"name": meta::text(schema, "name")},
        "status": {"conditions": [{
            "type": TYPE,
            "status": status,
            "lastTransitionTime": now,
            "reason": reason,
            "message": message,
        }]},
    }))
}

#[cfg(test)]
#[allow(clippy::panic)]
mod tests {
    use super::*;
    use crate::desired_state::object;

    #[test]
    fn condition_is_written_only_on_change() {
        let check = |before: Option<bool>, exists: bool, expected: Option<[&str; 2]>| {
            let mut schema = object(json!({"metadata": {"name": "a"}}));
            if let Some(status) = before.and_then(|exists| configuration(&schema, "l", exists, "before")) {
                schema.insert("status", status["status"].clone());
            }
            let configuration = configuration(&schema, "l", exists, "now");
            let condition = configuration.map(|object| object["status"]["conditions"][0].clone());
            let actual = condition.map(|object| [object["status"].clone(), object["message"].clone()]);
            assert_eq!(actual, expected.map(|texts| texts.map(Value::from)));
        };
        let exists =
            "This FlowSchema references the PriorityLevelConfiguration object named \"l\" and it exists";
        let missing = "This FlowSchema references the PriorityLevelConfiguration object named \"l\" but there is no such object";
        check(None, true, Some(["False", exists]));
        check(Some(true), true, None);
        check(Some(false), true, Some(["False", exists]));
        check(None, false, Some(["True", missing]));
        check(Some(true), false, Some(["True", missing]));
        check(Some(false), false, None);
    }
}
