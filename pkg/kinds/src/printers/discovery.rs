//! Rows of endpoint slices.

use super::format::{UNSET, age, list_with_more};
use super::view::View;
use super::{Cell, Cells};
use apimachinery::time::UnixTime;

/// Most ports, and most addresses, shown.
const SHOWN_MAX: usize = 3;

pub(super) fn printer(resource: &str) -> Option<Cells> {
    (resource == "endpointslices").then_some(endpoint_slice)
}

fn endpoint_slice(object: View<'_>, now: UnixTime) -> Vec<Cell<'_>> {
    let ports: Vec<String> = object.get("ports").items().map(port).collect();
    let endpoints = object.get("endpoints").items();
    let addresses = endpoints.flat_map(|endpoint| endpoint.get("addresses").texts());
    let addresses: Vec<String> = addresses.map(str::to_owned).collect();
    vec![
        object.name(),
        object.get("addressType").into(),
        or_unset(list_with_more(&ports, SHOWN_MAX, ",")).into(),
        or_unset(list_with_more(&addresses, SHOWN_MAX, ",")).into(),
        age(object, now),
    ]
}

/// The number, else the name, else any.
fn port(port: View<'_>) -> String {
    match port.get("port") {
        number if number.exists() => number.int().to_string(),
        _ => port.get("name").text_or("*").to_owned(),
    }
}

fn or_unset(text: String) -> String {
    if text.is_empty() { UNSET.to_owned() } else { text }
}
