//! Shared formatting of printers: ages, label selectors, containers, truncated lists.

use api::table::Cell;
pub(crate) use api::table::UNKNOWN;
use api::table::view::View;
use apimachinery::duration::human_duration;
use apimachinery::labels::from_label_selector;
use apimachinery::quantity::canonicalize;
use apimachinery::time::UnixTime;
use std::borrow::Cow;
use std::collections::BTreeSet;

/// Text for a missing value in most columns.
pub(crate) const NONE: &str = "<none>";
/// Text for an unset value in some columns.
pub(crate) const UNSET: &str = "<unset>";

/// Returns the time in a field if it is set.
pub(crate) fn time(field: View<'_>) -> Option<UnixTime> {
    field.time().filter(|time| !time.is_go_zero())
}

/// Returns the time since the time in a field.
pub(crate) fn since(field: View<'_>, now: UnixTime) -> String {
    match time(field) {
        Some(time) => human_duration(now.nanos_since(time)),
        None => UNKNOWN.to_owned(),
    }
}

pub(crate) fn age(object: View<'_>, now: UnixTime) -> Cell<'static> {
    since(object.get_path("metadata.creationTimestamp"), now).into()
}

/// `a=b,c=d`, or `<none>`.
pub(crate) fn labels(map: View<'_>) -> String {
    let pairs: Vec<String> = map.entries().map(|(key, value)| format!("{key}={}", value.text())).collect();
    or_none(pairs.join(","))
}

/// Formats a label selector: `<none>` if empty, `<error>` if malformed.
pub(crate) fn label_selector(selector: View<'_>) -> String {
    match from_label_selector(selector.object().as_deref()) {
        Ok(selector) => or_none(selector.to_string()),
        Err(_) => "<error>".to_owned(),
    }
}

/// The names of containers, joined by commas.
pub(crate) fn container_names(pod_spec: View<'_>) -> Cell<'static> {
    of_containers(pod_spec, "name")
}

/// The images of containers, joined by commas.
pub(crate) fn container_images(pod_spec: View<'_>) -> Cell<'static> {
    of_containers(pod_spec, "image")
}

fn of_containers(pod_spec: View<'_>, field: &str) -> Cell<'static> {
    let texts: Vec<&str> = pod_spec.get("containers").items().map(|c| c.get(field).text()).collect();
    texts.join(",").into()
}

/// The name of a class, marked if the annotation makes the class the default.
pub(crate) fn name_of_class(class: View<'_>, annotation: &str) -> Cell<'static> {
    let is_default = class.get_path("metadata.annotations").get(annotation).text() == "true";
    let suffix = if is_default { " (default)" } else { "" };
    format!("{}{suffix}", class.get_path("metadata.name").text()).into()
}

/// Joins the first `max` texts and appends the number of further ones.
pub(crate) fn list_with_more(texts: &[String], max: usize, separator: &str) -> String {
    with_more(texts.get(..max).unwrap_or(texts), texts.len(), separator)
}

/// Joins the shown texts and appends the number of further ones among `count`.
pub(crate) fn with_more(shown: &[String], count: usize, separator: &str) -> String {
    let text = shown.join(separator);
    match count.saturating_sub(shown.len()) {
        0 => text,
        more => format!("{text} + {more} more..."),
    }
}

/// Returns the canonical text of a quantity; a missing one is zero.
pub(crate) fn quantity(field: View<'_>) -> String {
    let text = field.scalar().unwrap_or(Cow::Borrowed("0"));
    match canonicalize(&text) {
        Ok(canonical) => canonical.into_owned(),
        Err(_) => text.into_owned(),
    }
}

/// `True`, `False` or `<unset>`.
pub(crate) fn bool_or_unset(field: View<'_>) -> &'static str {
    match (field.exists(), field.flag()) {
        (false, _) => UNSET,
        (true, true) => "True",
        (true, false) => "False",
    }
}

/// Returns `resource.group`, or `resource` in the core group.
pub(crate) fn group_resource(group: &str, resource: &str) -> String {
    if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") }
}

pub(crate) fn or_none(text: String) -> String {
    if text.is_empty() { NONE.to_owned() } else { text }
}

/// Returns ready and desired replicas.
pub(crate) fn ready_replicas(object: View<'_>) -> String {
    format!("{}/{}", object.get_path("status.readyReplicas").int(), object.get_path("spec.replicas").int())
}

/// Returns the addresses of a load balancer, or the host name where an address is missing.
pub(crate) fn load_balancer(status: View<'_>) -> String {
    let address = |ingress: View<'_>| match ingress.get("ip").text() {
        "" => ingress.get("hostname").text().to_owned(),
        ip => ip.to_owned(),
    };
    let addresses: BTreeSet<String> = status.get("ingress").items().map(address).collect();
    let addresses: Vec<String> = addresses.into_iter().filter(|a| !a.is_empty()).collect();
    addresses.join(",")
}
