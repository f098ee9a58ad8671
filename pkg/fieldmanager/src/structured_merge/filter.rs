//! Fields that are never owned through an endpoint: those it resets (`.status` for writes of the spec), or
//! all except its own (`pods/resize`).

use super::path::PathElement;
use super::set::Set;

/// The paths of a set that can be owned.
#[derive(Debug, Clone)]
pub enum Filter {
    /// All except these paths and their children.
    Exclude(Set),
    /// Only the paths that match.
    Include(Matcher),
}

impl Filter {
    /// Removes the paths that cannot be owned; returns true if there were any.
    pub fn apply(&self, set: &mut Set) -> bool {
        match self {
            Filter::Exclude(excluded) => set.subtract_recursively(excluded),
            Filter::Include(matcher) => matcher.retain(set),
        }
    }
}

/// A pattern of paths.
#[derive(Debug, Clone, Default)]
pub struct Matcher {
    /// True if all paths match; then there are no steps.
    all: bool,
    steps: Vec<MatchStep>,
}

#[derive(Debug, Clone)]
struct MatchStep {
    /// `None` matches any element and is sorted first.
    element: Option<PathElement>,
    below: Matcher,
}

impl Matcher {
    /// Matches the paths that begin with one of the prefixes, or are a beginning of one; `None` matches any
    /// element. If several patterns match an element, only the first applies to its children, and `None` is
    /// first, as in upstream.
    pub fn prefixes<'p>(prefixes: impl IntoIterator<Item = &'p [Option<PathElement>]>) -> Self {
        let mut matcher = Matcher::default();
        prefixes.into_iter().for_each(|prefix| matcher.add(prefix));
        matcher
    }

    fn add(&mut self, prefix: &[Option<PathElement>]) {
        if self.all {
            return;
        }
        let Some((first, rest)) = prefix.split_first() else {
            *self = Matcher { all: true, steps: Vec::new() };
            return;
        };
        match self.steps.iter_mut().find(|step| step.element == *first) {
            Some(step) => step.below.add(rest),
            None => {
                let mut below = Matcher::default();
                below.add(rest);
                let at = self.steps.partition_point(|step| step.element < *first);
                self.steps.insert(at, MatchStep { element: first.clone(), below });
            }
        }
    }

    /// Removes the paths that do not match; returns true if there were any.
    fn retain(&self, set: &mut Set) -> bool {
        if self.all {
            return false;
        }
        let mut changed = false;
        set.nodes_mut().retain_mut(|node| {
            let fits =
                |step: &&MatchStep| step.element.as_ref().is_none_or(|element| *element == node.element);
            let Some(step) = self.steps.iter().find(fits) else {
                changed = true;
                return false;
            };
            changed |= step.below.retain(&mut node.children);
            !node.is_vacant()
        });
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str) -> Set {
        Set::parse(text.as_bytes()).unwrap()
    }

    #[track_caller]
    fn check(filter: &Filter, input: &str, expected: &str) {
        let mut filtered = set(input);
        let input = set(input);
        let changed = filter.apply(&mut filtered);
        assert_eq!(filtered, set(expected));
        assert_eq!(changed, filtered != input);
    }

    fn field(name: &str) -> Option<PathElement> {
        Some(PathElement::field(name))
    }

    #[test]
    fn excluded_fields_are_removed_with_children() {
        let filter = Filter::Exclude(set(r#"{"f:status":{},"f:metadata":{"f:labels":{}}}"#));
        check(&filter, r#"{"f:status":{"f:a":{"f:b":{}}},"f:spec":{"f:a":{}}}"#, r#"{"f:spec":{"f:a":{}}}"#);
        check(&filter, r#"{"f:metadata":{"f:labels":{".":{},"f:x":{}}}}"#, "{}");
        check(&filter, r#"{"f:metadata":{"f:name":{}}}"#, r#"{"f:metadata":{"f:name":{}}}"#);
    }

    #[test]
    fn included_fields_stay_with_parents_and_children() {
        let step = |name| [field("spec"), field("containers"), None, field(name)];
        let filter = Filter::Include(Matcher::prefixes([&step("resources")[..], &step("resizePolicy")[..]]));
        check(
            &filter,
            r#"{"f:metadata":{"f:name":{}},"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},"f:image":{},
                "f:resizePolicy":{},"f:resources":{"f:limits":{"f:cpu":{}}}}},"f:nodeName":{}}}"#,
            r#"{"f:spec":{"f:containers":{"k:{\"name\":\"a\"}":{".":{},
                "f:resizePolicy":{},"f:resources":{"f:limits":{"f:cpu":{}}}}}}}"#,
        );
        check(&filter, r#"{"f:spec":{"f:nodeName":{}}}"#, "{}");
        check(&filter, r#"{"f:spec":{}}"#, r#"{"f:spec":{}}"#);
    }

    #[test]
    fn wildcards_hide_named_elements() {
        let any = [None, field("a")];
        let named = [field("x"), field("b")];
        let filter = Filter::Include(Matcher::prefixes([&named[..], &any[..]]));
        check(&filter, r#"{"f:x":{"f:a":{},"f:b":{}}}"#, r#"{"f:x":{"f:a":{}}}"#);
        check(
            &Filter::Include(Matcher::prefixes([&any[..], &[][..]])),
            r#"{"f:q":{"f:z":{}}}"#,
            r#"{"f:q":{"f:z":{}}}"#,
        );
    }
}
