//! Adds the enclosing structs of members to sets.

use crate::structured_merge::model::TypeRef;
use crate::structured_merge::{PathElement, Set};

/// Adds every declared field that leads to a path of the set; keys of maps are not added.
pub fn ensure_named_fields_are_members(set: &Set, ty: TypeRef) -> Set {
    let mut named = Set::new();
    for node in set.nodes() {
        let mut member = node.member;
        let mut inner = TypeRef::UNDECLARED;
        match &node.element {
            PathElement::Field(name) => {
                if let Some(map) = ty.map() {
                    let (field, declared) = map.member(name);
                    inner = field;
                    member |= declared && !node.children.is_empty();
                }
            }
            PathElement::Key(_) => {
                if let Some(list) = ty.list() {
                    inner = list.element;
                }
            }
            PathElement::Value(_) | PathElement::Index(_) => {}
        }
        named.push(node.element.clone(), member, ensure_named_fields_are_members(&node.children, inner));
    }
    named
}
