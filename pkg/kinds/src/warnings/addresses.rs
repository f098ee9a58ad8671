//! Warnings about the spelling of addresses, which several kinds have.

use crate::warnings::collector::Warnings;
use crate::warnings::ip;
use api::tree::{children, text, texts};
use apimachinery::field::Path;
use jsontree::Value;
use schema::object::{Object, get_list, get_object};

/// Warns about the status of a `Service` or an `Ingress`.
pub(crate) fn load_balancer_status(object: &Object, out: &mut Warnings) {
    let path = Path::root("status.loadBalancer.ingress");
    let ingress = get_list(object, &["status", "loadBalancer", "ingress"]);
    for (index, ingress) in ingress.iter().enumerate() {
        let ip = ingress.get("ip").and_then(Value::as_str);
        ip::address(&path.index(index), ip.unwrap_or_default(), out);
    }
}

/// Warns about a list of addresses.
pub(crate) fn addresses(path: &Path<'_>, object: &Object, member: &str, out: &mut Warnings) {
    for (index, address) in texts(object, member).enumerate() {
        ip::address(&path.index(index), address, out);
    }
}

/// Warns about a list of objects with an address each.
pub(crate) fn addresses_of(path: &Path<'_>, object: &Object, member: &str, out: &mut Warnings) {
    for (index, holder) in children(object, member).enumerate() {
        ip::address(&path.index(index).child("ip"), text(holder, "ip"), out);
    }
}

pub(crate) fn managed_by<'o>(object: &'o Object, label: &str) -> Option<&'o str> {
    get_object(object, &["metadata", "labels"])?.get(label)?.as_str()
}
