//! Questions about the set in a FieldsV1 text that need no decoded set.

use schema::json::Scanner;

use super::super::model::TypeRef;
use super::super::reconcile::Parts;
use super::wire::read_element;
use super::{Node, PathElement, Set};

static EMPTY: Set = Set::new();

/// A FieldsV1 text.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FieldsText<'t>(pub(crate) &'t str);

/// Properties of a step in a text.
#[derive(Default)]
struct Step {
    /// True if the path to the step is in the set.
    member: bool,
    has_children: bool,
}

impl FieldsText<'_> {
    /// True if the set has all paths of `with` and none of `without`, is not empty, and fits the type: no
    /// [reconciliation](super::super::reconcile) changes it. False also for a text that continues after the set, or whose
    /// steps are malformed, of an unknown kind, or not in order.
    pub(crate) fn has(self, with: &Set, without: &Set, ty: TypeRef<'_>) -> bool {
        let mut scan = Scanner::new(self.0.as_bytes());
        let root = read(&mut scan, &Parts::of_object(ty), with, without);
        root.is_some_and(|root| root.has_children) && scan.end().is_ok()
    }
}

/// Reads the steps of one level; `None` if the answer is false.
fn read(scan: &mut Scanner<'_>, parts: &Parts<'_>, with: &Set, without: &Set) -> Option<Step> {
    if scan.value_start().ok()? != b'{' {
        return None;
    }
    scan.open().ok()?;
    let mut step = Step::default();
    let mut found = 0;
    let mut previous: Option<PathElement> = None;
    while let Some(name) = scan.next_member(!step.member && previous.is_none()).ok()? {
        let name = name.text();
        if name == "." {
            step.member = true;
            scan.skip().ok()?;
            continue;
        }
        let element = read_element(&name).ok()??;
        if previous.is_some_and(|previous| previous >= element) {
            return None;
        }
        let wanted = with.node(&element);
        let unwanted = without.node(&element);
        let parts = parts.below(&element);
        let child = read(scan, &parts, children(wanted), children(unwanted))?;
        let has_path = |node: &Node| node.member;
        if (child.has_children && matches!(parts, Parts::Atomic))
            || (wanted.is_some_and(has_path) && !child.member)
            || (unwanted.is_some_and(has_path) && child.member)
        {
            return None;
        }
        found += usize::from(wanted.is_some());
        previous = Some(element);
    }
    step.has_children = previous.is_some();
    step.member |= !step.has_children;
    // Every node of a set leads to a path.
    (found == with.nodes().len()).then_some(step)
}

fn children(node: Option<&Node>) -> &Set {
    node.map_or(&EMPTY, |node| &node.children)
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::builtin::IO_K8S_API_CORE_V1_CONFIGMAP;

    #[track_caller]
    fn check(text: &str, with: &str, without: &str, expected: bool) {
        let ty = TypeRef::builtin(&IO_K8S_API_CORE_V1_CONFIGMAP);
        let set = |text: &str| Set::parse(text.as_bytes()).unwrap();
        let with = if with.is_empty() { Set::new() } else { set(with) };
        let without = if without.is_empty() { Set::new() } else { set(without) };
        assert_eq!(FieldsText(text).has(&with, &without, ty), expected, "{text}");
    }

    #[test]
    fn paths_are_found_in_text() {
        let text = r#"{"f:data":{".":{},"f:a":{},"f:b":{}},"f:immutable":{}}"#;
        check(text, "", "", true);
        check(text, r#"{"f:data":{".":{},"f:b":{}}}"#, "", true);
        check(text, r#"{"f:data":{"f:c":{}}}"#, "", false);
        check(text, r#"{"f:binaryData":{}}"#, "", false);
        check(text, "", r#"{"f:data":{"f:c":{}}}"#, true);
        check(text, "", r#"{"f:data":{"f:a":{}}}"#, false);
        check(text, "", r#"{"f:data":{}}"#, false);
        check(r#"{"f:data":{"f:a":{}}}"#, "", r#"{"f:data":{}}"#, true);
    }

    #[test]
    fn texts_that_need_decoding_are_rejected() {
        check("{}", "", "", false);
        check(r#"{"f:data":{"f:a":{}}} x"#, "", "", false);
        check("null", "", "", false);
        check(r#"{"f:data":{"f:b":{},"f:a":{}}}"#, "", "", false);
        check(r#"{"f:data":{"f:a":{},"f:a":{}}}"#, "", "", false);
        check(r#"{"f:data":{"f:a":null}}"#, "", "", false);
        check(r#"{"f:data":{"x:a":{}}}"#, "", "", false);
        // An atomic list is owned as a whole.
        check(r#"{"f:metadata":{"f:ownerReferences":{"i:0":{}}}}"#, "", "", true);
        check(r#"{"f:metadata":{"f:managedFields":{"i:0":{}}}}"#, "", "", false);
    }
}
