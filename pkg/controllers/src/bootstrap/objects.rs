//! Initial objects of a cluster, as data. `tools/bootstrap-objects.py` generates the file.

use component_base::features::Gates;
use schema::object::Object;
use schema::{builtin, json};

use super::gated;
use crate::error::Error;

/// One JSON object per line. Roles have the rules of all gates.
const LINES: &str = include_str!("objects.jsonl");

/// Returns the objects of a kind that exist with these feature gates, in the form that clients send.
///
/// # Errors
/// The built-in data is invalid.
pub fn of_kind(group_version: &str, kind: &str, gates: &Gates) -> Result<Vec<Object>, Error> {
    let mut objects = all_of_kind(group_version, kind)?;
    objects.retain(|object| gated::is_enabled(object, gates));
    for object in &mut objects {
        gated::remove_disabled_rules(object, gates);
    }
    Ok(objects)
}

/// Returns the objects of a kind that exist with all gates.
pub(super) fn all_of_kind(group_version: &str, kind: &str) -> Result<Vec<Object>, Error> {
    let message = builtin::kind(group_version, kind)
        .ok_or_else(|| Error::Invalid(format!("no kind {kind} is known")))?;
    let begins = format!("{{\"apiVersion\":\"{group_version}\",\"kind\":\"{kind}\",");
    let decode = |line: &str| json::decode(message, line.as_bytes()).map(|decoded| decoded.object);
    let lines = LINES.lines().filter(|line| line.starts_with(&begins));
    lines.map(|line| decode(line).map_err(|error| Error::Invalid(error.to_string()))).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_known_object() {
        let check = |group_version: &str, kind: &str, expected: usize| {
            let objects = all_of_kind(group_version, kind).unwrap();
            assert_eq!(objects.len(), expected, "{kind}");
            objects.len()
        };
        let rbac = "rbac.authorization.k8s.io/v1";
        let flow_control = "flowcontrol.apiserver.k8s.io/v1";
        let total = check("scheduling.k8s.io/v1", "PriorityClass", 2)
            + check(rbac, "ClusterRole", 76)
            + check(rbac, "ClusterRoleBinding", 57)
            + check(rbac, "Role", 7)
            + check(rbac, "RoleBinding", 7)
            + check(flow_control, "PriorityLevelConfiguration", 8)
            + check(flow_control, "FlowSchema", 11);
        assert_eq!(LINES.lines().count(), total);
    }

    #[test]
    fn unknown_kind_is_an_error() {
        assert_eq!(all_of_kind("v1", "Nothing").unwrap_err().to_string(), "no kind Nothing is known");
    }
}
