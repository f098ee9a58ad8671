//! Selects the default class: the newest class that is marked as default.

use std::cmp::Reverse;
use std::sync::Arc;

use schema::object::Object;

use crate::meta;

/// Returns the newest class with one of `annotations` set to `true`. Classes of the same age are ordered by
/// name.
pub(crate) fn newest(classes: Vec<Arc<Object>>, annotations: &[&str]) -> Option<Arc<Object>> {
    let marked = |class: &Object| annotations.iter().any(|key| meta::annotation(class, key) == Some("true"));
    // Times are in UTC and without fractions, so their text order is their time order.
    let age = |class: &Object| Reverse(meta::text(class, "creationTimestamp").to_owned());
    let candidates = classes.into_iter().filter(|class| marked(class));
    candidates.min_by_key(|class| (age(class), meta::text(class, "name").to_owned()))
}

#[cfg(test)]
mod tests {
    use jsontree::json;

    use super::*;
    use crate::testing::object;

    #[test]
    fn the_newest_marked_class_counts() {
        let class = |name: &str, second: u8, marks: &str| {
            Arc::new(object(json!({"metadata": {"name": name, "annotations": {"mark": marks},
                "creationTimestamp": format!("2026-01-01T00:00:0{second}Z")}})))
        };
        let check = |classes: &[Arc<Object>], expected: Option<&str>| {
            let got = newest(classes.to_vec(), &["mark"]);
            assert_eq!(got.as_deref().map(|class| meta::text(class, "name")), expected);
        };
        check(&[], None);
        check(&[class("a", 1, "false"), class("b", 1, "")], None);
        check(&[class("a", 1, "true"), class("b", 2, "true"), class("c", 3, "no")], Some("b"));
        check(&[class("b", 1, "true"), class("a", 1, "true")], Some("a"));
    }
}
