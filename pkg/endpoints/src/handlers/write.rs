//! Common steps of all writes besides the change itself: updates managed fields and removes duplicate owner
//! references.

use std::collections::HashSet;

use api::managed_fields::FieldManager;
use api::resources::Resource;
use apimachinery::status::Status;
use apimachinery::time::UnixTime;
use component_base::features::Gates;
use fieldmanager::{ApplyOptions, PendingConversions, manager_or_user_agent};
use jsontree::Value;
use registry::meta;
use schema::object::Object;

use crate::body;
use crate::scope::RequestScope;

/// Field manager, endpoint and time of a write.
pub(super) struct Writer<'c> {
    fields: Option<&'c FieldManager>,
    endpoint: &'c Resource<'c>,
    manager: String,
    now: UnixTime,
    gates: &'c Gates,
    pending_conversions: Option<PendingConversions>,
}

impl<'c> Writer<'c> {
    /// Returns the writer of a request, with the `fieldManager` of the client if present.
    pub(super) fn of(call: &RequestScope<'c>, field_manager: &str) -> Self {
        Writer {
            fields: call.route.endpoint.fields.as_ref(),
            endpoint: call.endpoint(),
            manager: manager_or_user_agent(field_manager, &call.context.user_agent),
            now: call.api.registry.now(),
            gates: call.api.registry.gates(),
            pending_conversions: call
                .resource()
                .custom
                .filter(|endpoint| endpoint.kind.converts_by_webhook)
                .map(|_| PendingConversions::default()),
        }
    }

    /// Pending conversions to other versions, for kinds with a conversion webhook. While conversions are
    /// pending, the object is built again.
    pub(super) fn pending_conversions(&self) -> Option<&PendingConversions> {
        self.pending_conversions.as_ref()
    }

    /// Updates the managed fields of an object that replaces `live` (`None` for a create). Both are in the
    /// storage version.
    pub(super) fn track(&self, live: Option<&Object>, new: &mut Object) {
        let Some(fields) = self.fields else { return };
        let updated = fields.update_through(live, new, &self.manager, self.now, self.pending_conversions());
        let Err(error) = updated else { return };
        if self.pending_conversions().is_some_and(PendingConversions::is_open) {
            return;
        }
        // As in upstream, the write succeeds even if managed fields cannot be updated. Those of the live object stay.
        let former = live.and_then(meta::metadata).and_then(|metadata| metadata.get("managedFields"));
        meta::set(new, "managedFields", former.cloned());
        if fields.should_log_failure(self.now) {
            tracing::error!(
                kind = self.endpoint.kind,
                error = error.to_string(),
                "cannot update managed fields"
            );
        }
    }

    /// Applies a configuration to `live`.
    ///
    /// # Errors
    /// See [`FieldManager::apply`].
    pub(super) fn apply(
        &self,
        live: Option<&Object>,
        configuration: Value,
        force: bool,
    ) -> Result<Object, Box<Status>> {
        let unsupported = || Status::unmapped("the object has no metadata");
        let fields = self.fields.ok_or_else(unsupported)?;
        let options = ApplyOptions {
            manager: &self.manager,
            force,
            now: self.now,
            outside: self.pending_conversions(),
        };
        let row = self.endpoint;
        fields.apply(live, configuration, options, |object| {
            if let Some(custom) = row.custom.filter(|_| row.message.open) {
                return custom.kind.default(row.kind_group_version, object).map_err(body::too_large);
            }
            kinds::defaults::complete(row.kind_group_version, row.kind, object, self.gates)
                .map_err(body::too_large)?;
            kinds::defaults::stamp_taints(row.kind_group_version, row.kind, object, self.now);
            Ok(())
        })
    }
}

/// Time of the owner reference check; determines the wording of the warning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dedup {
    /// The body of a POST or PUT.
    AsSent,
    /// The object after mutating admission or after a patch.
    AfterAdmission,
}

/// Drops owner references that equal an earlier one. Returns a warning with the uids.
pub(super) fn dedup_owners(object: &mut Object, when: Dedup) -> Option<String> {
    let owners = object.get_mut("metadata")?.get_mut("ownerReferences")?.as_array_mut()?;
    if owners.len() < 2 {
        return None;
    }
    let mut seen = HashSet::new();
    let mut repeats =
        owners.iter().map(|owner| !seen.insert(owner_key(owner))).collect::<Vec<_>>().into_iter();
    let mut duplicates = Vec::new();
    owners.retain(|owner| {
        let repeats = repeats.next() == Some(true);
        if repeats {
            duplicates.push(owner.get("uid").and_then(Value::as_str).unwrap_or("").to_owned());
        }
        !repeats
    });
    let suffix = match when {
        Dedup::AsSent => "",
        Dedup::AfterAdmission => " after mutating admission happens",
    };
    (!duplicates.is_empty()).then(|| {
        format!(
            ".metadata.ownerReferences contains duplicate entries{suffix}; API server dedups owner references \
             in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate \
             UID(s) observed: {}",
            duplicates.join(", ")
        )
    })
}

/// Comparison key of an owner reference. An empty string equals an absent one, but a flag can be unset.
fn owner_key(owner: &Value) -> ([&str; 4], [Option<bool>; 2]) {
    let text = |name: &str| owner.get(name).and_then(Value::as_str).unwrap_or("");
    let flag = |name: &str| owner.get(name).and_then(Value::as_bool);
    (["uid", "name", "kind", "apiVersion"].map(text), ["controller", "blockOwnerDeletion"].map(flag))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::json;

    fn check(owners: Value, expected: Value, duplicates: Option<&str>) {
        let Value::Object(mut object) = json!({"metadata": {"ownerReferences": owners}}) else { return };
        let warning = dedup_owners(&mut object, Dedup::AsSent);
        assert_eq!(object["metadata"]["ownerReferences"], expected);
        assert_eq!(warning.as_deref().and_then(|text| text.rsplit("observed: ").next()), duplicates);
    }

    #[test]
    fn equal_owner_references_are_deduplicated() {
        let a = json!({"uid": "a", "name": "x"});
        let b = json!({"uid": "b", "name": "x"});
        check(json!([a, b]), json!([a, b]), None);
        check(json!([a, b, a, a]), json!([a, b]), Some("a, a"));
        // A zero value equals an absent one; a pointer to a zero value does not.
        check(json!([a, {"uid": "a", "name": "x", "kind": ""}]), json!([a]), Some("a"));
        let controls = json!({"uid": "a", "name": "x", "controller": false});
        check(json!([a, controls]), json!([a, controls]), None);
    }
}
