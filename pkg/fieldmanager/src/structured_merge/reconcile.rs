//! Adapts sets that were written under an older schema: the owners of parts of a field that has become atomic
//! now own the whole field. (Fields that have become granular are kept and compared as they are.)

use super::PathElement;
use super::model::{Items, Kind, TypeRef};
use super::set::Set;

/// Ownership of the parts of a field.
pub(super) enum Parts<'t> {
    /// Any set of them can be owned: the type does not declare them.
    Undeclared,
    /// Only the whole field can be owned.
    Atomic,
    /// Each part has an owner of its own.
    Granular(Kind<'t>),
}

impl<'t> Parts<'t> {
    /// Returns the ownership of the parts of an object. An atomic object has no field to own instead.
    pub(super) fn of_object(ty: TypeRef<'t>) -> Self {
        match Parts::of(ty) {
            Parts::Atomic => Parts::Undeclared,
            parts => parts,
        }
    }

    fn of(ty: TypeRef<'t>) -> Self {
        match ty.kind(None) {
            // Objects without a schema are never atomic.
            Kind::Map(map) if map.is_deduced() => Parts::Undeclared,
            Kind::Map(map) if map.atomic => Parts::Atomic,
            Kind::List(list) if matches!(list.items, Items::Atomic) => Parts::Atomic,
            Kind::Scalar(_) | Kind::Undeclared => Parts::Undeclared,
            kind => Parts::Granular(kind),
        }
    }

    /// Returns the ownership of the parts of one part.
    pub(super) fn below(&self, element: &PathElement) -> Self {
        let ty = match self {
            Parts::Granular(Kind::Map(map)) => {
                element.as_field().and_then(|name| map.field(name)).or_else(|| map.element())
            }
            Parts::Granular(Kind::List(list)) => Some(list.element),
            _ => None,
        };
        ty.map_or(Parts::Undeclared, Parts::of)
    }
}

/// Adapts `set`, of an object of type `ty`, to the type; returns true if anything changed.
pub fn reconcile(set: &mut Set, ty: TypeRef<'_>) -> bool {
    reconcile_below(set, &Parts::of_object(ty))
}

fn reconcile_below(set: &mut Set, parts: &Parts<'_>) -> bool {
    if matches!(parts, Parts::Undeclared) {
        return false;
    }
    let mut changed = false;
    // A step without children is valid for any type.
    for node in set.nodes_mut().iter_mut().filter(|node| !node.children.is_empty()) {
        match parts.below(&node.element) {
            Parts::Atomic => {
                node.member = true;
                node.children = Set::new();
                changed = true;
            }
            parts => changed |= reconcile_below(&mut node.children, &parts),
        }
    }
    changed
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
