//! Rows of role bindings.

use super::format::age;
use super::view::View;
use super::{Cell, Cells};
use apimachinery::time::UnixTime;

pub(super) fn printer(resource: &str) -> Option<Cells> {
    matches!(resource, "clusterrolebindings" | "rolebindings").then_some(binding)
}

fn binding(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let role = object.get("roleRef");
    let subjects = |kind: &str, text: fn(View<'_>) -> String| -> Cell<'static> {
        let subjects = object.get("subjects").items().filter(|s| s.get("kind").text() == kind);
        let texts: Vec<String> = subjects.map(text).collect();
        texts.join(", ").into()
    };
    vec![
        object.name(),
        format!("{}/{}", role.get("kind").text(), role.get("name").text()).into(),
        age(object, now),
        subjects("User", |subject| subject.get("name").text().to_owned()),
        subjects("Group", |subject| subject.get("name").text().to_owned()),
        subjects("ServiceAccount", |subject| {
            format!("{}/{}", subject.get("namespace").text(), subject.get("name").text())
        }),
    ]
}
