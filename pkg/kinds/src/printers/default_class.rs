//! Mark of the default storage class. Only lists have it.

use std::borrow::Cow;

use api::resources::Resource;
use api::table::Cell;
use api::table::view::View;
use apimachinery::time::UnixTime;
use schema::object::Object;

use super::Row;

const ANNOTATIONS: [&str; 2] =
    ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];

/// Default class of a list of storage classes: the newest one with the annotation. Among classes of one second
/// it is the first by name.
#[derive(Debug, Default)]
pub struct DefaultClass {
    found: Option<Candidate>,
}

#[derive(Debug)]
struct Candidate {
    name: String,
    created: Option<UnixTime>,
}

impl Candidate {
    /// True if this class takes precedence over `other`.
    fn precedes(&self, other: &Candidate) -> bool {
        self.created > other.created || (self.created == other.created && self.name < other.name)
    }
}

impl DefaultClass {
    /// Returns an empty search, or `None` for other kinds.
    pub fn of(resource: &Resource<'_>) -> Option<DefaultClass> {
        let is_class = resource.group == "storage.k8s.io" && resource.plural == "storageclasses";
        is_class.then(DefaultClass::default)
    }

    /// Considers an object of the list.
    pub fn consider(&mut self, object: &Object) {
        let metadata = View::of(object).get("metadata");
        let annotations = metadata.get("annotations");
        if !ANNOTATIONS.iter().any(|name| annotations.get(name).text() == "true") {
            return;
        }
        let created = metadata.get("creationTimestamp").time();
        let candidate = Candidate { name: metadata.get("name").text().to_owned(), created };
        if self.found.as_ref().is_none_or(|found| candidate.precedes(found)) {
            self.found = Some(candidate);
        }
    }

    /// Marks the name in the row of the default class.
    pub fn mark(&self, row: &mut Row<'_>) {
        let Some(found) = &self.found else { return };
        if let Some(Cell::Text(name)) = row.cells.first_mut()
            && *name == found.name
        {
            *name = Cow::Owned(format!("{name} (default)"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn class(name: &str, created: &str, annotation: &str) -> Value {
        let annotations = json!({annotation: "true"});
        json!({"metadata": {"name": name, "creationTimestamp": created, "annotations": annotations}})
    }

    fn default_of(classes: &[Value]) -> Option<String> {
        let mut search = DefaultClass::default();
        classes.iter().filter_map(Value::as_object).for_each(|class| search.consider(class));
        search.found.map(|found| found.name)
    }

    #[test]
    fn newest_annotated_class_is_default() {
        const OLD: &str = "2024-01-01T00:00:00Z";
        const NEW: &str = "2024-01-02T00:00:00Z";
        let other = class("other", "2024-01-03T00:00:00Z", "x");
        let classes = [class("b", NEW, ANNOTATIONS[0]), class("a", NEW, ANNOTATIONS[1])];
        assert_eq!(default_of(&classes), Some("a".to_owned()));
        let classes = [class("c", NEW, ANNOTATIONS[0]), class("a", OLD, ANNOTATIONS[0]), other.clone()];
        assert_eq!(default_of(&classes), Some("c".to_owned()));
        assert_eq!(default_of(&[other]), None);
    }
}
