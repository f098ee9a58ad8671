//! Table columns of endpoint slices.

use crate::printers::column::{AGE, Column, NAME};
use crate::printers::format::{UNSET, list_with_more};
use api::table::view::View;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("AddressType", |object, _| object.get("addressType").into())
        .with_description_of("io.k8s.api.discovery.v1.EndpointSlice", "addressType"),
    Column::text("Ports", |object, _| ports(object).into())
        .with_description_of("io.k8s.api.discovery.v1.EndpointSlice", "ports"),
    Column::text("Endpoints", |object, _| addresses(object).into())
        .with_description_of("io.k8s.api.discovery.v1.EndpointSlice", "endpoints"),
    AGE,
];

fn ports(slice: View<'_>) -> String {
    let ports: Vec<String> = slice.get("ports").items().map(port).collect();
    or_unset(list_with_more(&ports, SHOWN_MAX, ","))
}

fn addresses(slice: View<'_>) -> String {
    let endpoints = slice.get("endpoints").items();
    let addresses = endpoints.flat_map(|endpoint| endpoint.get("addresses").texts());
    let addresses: Vec<String> = addresses.map(str::to_owned).collect();
    or_unset(list_with_more(&addresses, SHOWN_MAX, ","))
}

/// Limit of shown ports and of shown addresses.
const SHOWN_MAX: usize = 3;

/// Returns the number, otherwise the name, otherwise `*`.
fn port(port: View<'_>) -> String {
    match port.get("port") {
        number if number.exists() => number.int().to_string(),
        _ => port.get("name").text_or("*").to_owned(),
    }
}

fn or_unset(text: String) -> String {
    if text.is_empty() { UNSET.to_owned() } else { text }
}
