//! Wording of violation messages.

use api::tree::{child, text};
use schema::object::Object;

use crate::meta::containers;

/// `"a", "b"`.
pub(super) fn quoted<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> String {
    let quoted = items.into_iter().map(|item| format!("\"{}\"", item.as_ref()));
    quoted.collect::<Vec<_>>().join(", ")
}

pub(super) fn plural<'w>(one: &'w str, many: &'w str, count: usize) -> &'w str {
    if count == 1 { one } else { many }
}

/// `container "a"` or `containers "a", "b"`.
pub(super) fn noun_with_names(noun: &str, names: &[&str]) -> String {
    let s = plural("", "s", names.len());
    format!("{noun}{s} {}", quoted(names))
}

pub(super) fn context(of: &Object) -> Option<&Object> {
    child(of, "securityContext")
}

/// Returns the names of the containers that satisfy `hold`.
pub(super) fn containers_that<'p>(
    spec: &'p Object,
    mut hold: impl FnMut(&'p Object) -> bool,
) -> Vec<&'p str> {
    let held = containers(spec).filter(|container| hold(container));
    held.map(|container| text(container, "name")).collect()
}

/// Describes the owners of matching security contexts: the pod, containers, or both; `None` if there are
/// none.
pub(super) fn setters<'p>(spec: &'p Object, mut bad: impl FnMut(&'p Object) -> bool) -> Option<String> {
    let pod = context(spec).is_some_and(&mut bad).then(|| "pod".to_owned());
    let names = containers_that(spec, |container| context(container).is_some_and(&mut bad));
    let containers = (!names.is_empty()).then(|| noun_with_names("container", &names));
    let setters: Vec<String> = pod.into_iter().chain(containers).collect();
    (!setters.is_empty()).then(|| setters.join(" and "))
}
