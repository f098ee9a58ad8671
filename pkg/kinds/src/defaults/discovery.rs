//! discovery.k8s.io: endpoint slices.

use super::Rule;
use super::fill::{each, if_nil};
use super::object::Object;

pub(super) fn rule(version: &str, kind: &str) -> Option<Rule> {
    Some(match (version, kind) {
        ("v1" | "v1beta1", "EndpointSlice") => |slice| each(slice, "ports", port),
        _ => return None,
    })
}

fn port(port: &mut Object) {
    if_nil(port, "name", "");
    if_nil(port, "protocol", "TCP");
}
