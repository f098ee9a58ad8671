//! Adapts sets that were written under an older schema: the owners of parts of a field that has become atomic
//! now own the whole field. (Fields that have become granular are kept and compared as they are.)

use super::model::{Items, Kind, TypeRef};
use super::set::{Node, Set};

/// Adapts `set`, of an object of type `ty`, to the type; returns true if anything changed.
pub fn reconcile(set: &mut Set, ty: TypeRef<'_>) -> bool {
    match ty.kind(None) {
        // An atomic object has no field to own instead.
        Kind::Map(map) if map.atomic || map.is_deduced() => false,
        Kind::List(list) if matches!(list.items, Items::Atomic) => false,
        kind => reconcile_below(set, kind),
    }
}

fn reconcile_below(set: &mut Set, kind: Kind<'_>) -> bool {
    let mut changed = false;
    // A step without children is valid for any type.
    for node in set.nodes_mut().iter_mut().filter(|node| !node.children.is_empty()) {
        let element = match kind {
            Kind::Map(map) => {
                node.element.as_field().and_then(|name| map.field(name)).or_else(|| map.element())
            }
            Kind::List(list) => Some(list.element),
            Kind::Scalar(_) | Kind::Undeclared => None,
        };
        changed |= element.is_some_and(|ty| reconcile_node(node, ty));
    }
    changed
}

fn reconcile_node(node: &mut Node, ty: TypeRef<'_>) -> bool {
    let atomic = match ty.kind(None) {
        // Objects without a schema are never atomic.
        Kind::Map(map) if map.is_deduced() => return false,
        Kind::Map(map) => map.atomic,
        Kind::List(list) => matches!(list.items, Items::Atomic),
        Kind::Scalar(_) | Kind::Undeclared => return false,
    };
    if atomic {
        node.member = true;
        node.children = Set::new();
        return true;
    }
    reconcile_below(&mut node.children, ty.kind(None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::builtin;

    #[track_caller]
    fn check(ty: TypeRef<'_>, original: &str, expected: &str) {
        let mut set = Set::parse(original.as_bytes()).unwrap();
        let changed = reconcile(&mut set, ty);
        assert_eq!(set, Set::parse(expected.as_bytes()).unwrap());
        assert_eq!(changed, original != expected);
    }

    #[track_caller]
    fn check_deployment(original: &str, expected: &str) {
        let deployment = builtin::message("io.k8s.api.apps.v1.Deployment").unwrap();
        check(TypeRef::builtin(deployment), original, expected);
    }

    #[test]
    fn parts_of_atomic_maps_become_the_map() {
        let inner = r#"{"f:spec":{"f:replicas":{},"f:selector":{"f:matchLabels":{".":{},"f:a":{}}}}}"#;
        check_deployment(inner, r#"{"f:spec":{"f:replicas":{},"f:selector":{}}}"#);
        let inner_and_map = r#"{"f:spec":{"f:selector":{".":{},"f:matchLabels":{}}}}"#;
        check_deployment(inner_and_map, r#"{"f:spec":{"f:selector":{}}}"#);
    }

    #[test]
    fn items_of_atomic_lists_become_the_list() {
        let container = |args: &str| {
            let name = r#""k:{\"name\":\"a\"}""#;
            format!(
                r#"{{"f:spec":{{"f:template":{{"f:spec":{{"f:containers":{{{name}:{{".":{{}},"f:args":{args}}}}}}}}}}}}}"#
            )
        };
        check_deployment(&container(r#"{".":{},"v:\"x\"":{}}"#), &container("{}"));
        check_deployment(&container(r#"{"i:0":{}}"#), &container("{}"));
    }

    #[test]
    fn sets_that_fit_stay_as_they_are() {
        for fits in [
            r#"{"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{".":{},"f:selector":{}}}"#,
            r#"{"f:unknown":{"f:a":{"f:b":{}}},"f:spec":{"f:unknown":{"f:a":{}}}}"#,
            r#"{"f:metadata":{"f:finalizers":{"v:\"a\"":{}}},"f:spec":{"f:replicas":{"f:odd":{}}}}"#,
        ] {
            check_deployment(fits, fits);
        }
    }

    #[test]
    fn objects_without_a_schema_are_left_alone() {
        let text = r#"{"f:spec":{"f:list":{"i:0":{"f:a":{}}},"f:map":{"f:a":{"f:b":{}}}}}"#;
        check(TypeRef::DEDUCED, text, text);
    }
}
