//! Table columns of endpoints.

use crate::printers::column::{AGE, Column, NAME};
use crate::printers::format::{NONE, with_more};
use api::table::view::View;

pub(super) static COLUMNS: &[Column] = &[
    NAME,
    Column::text("Endpoints", |object, _| endpoints(object).into())
        .with_description_of("io.k8s.api.core.v1.Endpoints", "subsets"),
    AGE,
];

/// Prints up to three `address:port`, or addresses without ports. Every address is combined with every port,
/// which can be too many combinations to generate all.
fn endpoints(object: View<'_>) -> String {
    const SHOWN_MAX: usize = 3;
    let subsets = object.get("subsets");
    let mut shown = Vec::new();
    let mut count = 0_usize;
    for subset in subsets.items() {
        let addresses = subset.get("addresses");
        let ports = subset.get("ports");
        count = count.saturating_add(addresses.len().saturating_mul(ports.len().max(1)));
        let ips = || addresses.items().map(|address| address.get("ip").text());
        let bare = ips().filter(|_| ports.is_empty()).map(str::to_owned);
        let paired = ports.items().take(SHOWN_MAX).flat_map(|port| {
            let number = port.get("port").int();
            ips().map(move |ip| host_port(ip, number))
        });
        shown.extend(bare.chain(paired).take(SHOWN_MAX - shown.len()));
    }
    if subsets.is_empty() { NONE.to_owned() } else { with_more(&shown, count, ",") }
}

fn host_port(host: &str, port: i64) -> String {
    if host.contains([':', '%']) { format!("[{host}]:{port}") } else { format!("{host}:{port}") }
}
