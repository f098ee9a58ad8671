//! Table columns of ingresses.

use crate::printers::column::{AGE, Column, NAME};
use crate::printers::format::{NONE, load_balancer};
use api::table::view::View;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("Class", |object, _| object.get_path("spec.ingressClassName").text_or(NONE).into())
        .with_description(
            "The name of the IngressClass resource that should be used for additional configuration",
        ),
    Column::text("Hosts", |object, _| hosts(object.get_path("spec.rules")).into())
        .with_description("Hosts that incoming requests are matched against before the ingress rule"),
    Column::text("Address", |object, _| load_balancer(object.get_path("status.loadBalancer")).into())
        .with_description("Address is a list containing ingress points for the load-balancer"),
    Column::text("Ports", |object, _| {
        if object.get_path("spec.tls").is_empty() { "80" } else { "80, 443" }.into()
    })
    .with_description("Ports of TLS configurations that open"),
    AGE,
];

/// Returns up to three hosts. After three hosts, every further rule counts as one more, also one without a
/// host.
fn hosts(rules: View<'_>) -> String {
    const SHOWN_MAX: usize = 3;
    let mut hosts = Vec::new();
    let mut more = false;
    for host in rules.items().map(|rule| rule.get("host").text()) {
        more |= hosts.len() == SHOWN_MAX;
        if !more && !host.is_empty() {
            hosts.push(host);
        }
    }
    match (hosts.is_empty(), more) {
        (true, _) => "*".to_owned(),
        (false, false) => hosts.join(","),
        (false, true) => format!("{} + {} more...", hosts.join(","), rules.len() - SHOWN_MAX),
    }
}
