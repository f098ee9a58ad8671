//! The objects that a fresh cluster begins with, as data. `tools/bootstrap-objects.py` makes the file.

use schema::object::Object;
use schema::{builtin, json};

/// One object per line, in JSON.
const LINES: &str = include_str!("objects.jsonl");

/// The objects of a kind, as clients would send them.
///
/// # Errors
/// The data are not what they should be.
pub fn of_kind(group_version: &str, kind: &str) -> Result<Vec<Object>, String> {
    let message = builtin::kind(group_version, kind).ok_or_else(|| format!("no kind {kind} is known"))?;
    let begins = format!("{{\"apiVersion\":\"{group_version}\",\"kind\":\"{kind}\",");
    let decode = |line: &str| json::decode(message, line.as_bytes()).map(|decoded| decoded.object);
    let lines = LINES.lines().filter(|line| line.starts_with(&begins));
    lines.map(|line| decode(line).map_err(|error| error.to_string())).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_an_object_of_a_kind_that_is_kept() {
        let check = |group_version: &str, kind: &str, expected: usize| {
            let objects = of_kind(group_version, kind).unwrap();
            assert_eq!(objects.len(), expected, "{kind}");
            objects.len()
        };
        let rbac = "rbac.authorization.k8s.io/v1";
        let flow_control = "flowcontrol.apiserver.k8s.io/v1";
        let total = check("scheduling.k8s.io/v1", "PriorityClass", 2)
            + check(rbac, "ClusterRole", 70)
            + check(rbac, "ClusterRoleBinding", 51)
            + check(rbac, "Role", 7)
            + check(rbac, "RoleBinding", 7)
            + check(flow_control, "PriorityLevelConfiguration", 8)
            + check(flow_control, "FlowSchema", 11);
        assert_eq!(LINES.lines().count(), total);
    }

    #[test]
    fn nothing_is_made_of_a_kind_that_does_not_exist() {
        assert_eq!(of_kind("v1", "Nothing"), Err("no kind Nothing is known".to_owned()));
    }
}
