//! The ports of a container.

use crate::validation::value::{invalid_each, required_one_of};
use api::tree::{children, integer, text};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::names;
use schema::object::Object;
use std::collections::BTreeSet;

/// Host port: protocol, address, number.
pub(super) type HostPort<'a> = (&'a str, &'a str, i64);

pub(super) fn ports(container: &Object, path: &Path<'_>, errors: &mut ErrorList) {
    let mut port_names = BTreeSet::new();
    for (index, port) in children(container, "ports").enumerate() {
        let path = path.index(index);
        let name = text(port, "name");
        let messages = if name.is_empty() { Vec::new() } else { names::is_port_name(name) };
        if messages.is_empty() && !name.is_empty() && !port_names.insert(name) {
            errors.push(Error::duplicate(&path.child("name"), name));
        }
        invalid_each(&path.child("name"), name, messages, errors);
        match integer(port, "containerPort") {
            0 => errors.push(Error::required(&path.child("containerPort"), "")),
            number => port_number(&path.child("containerPort"), number, errors),
        }
        let number = integer(port, "hostPort");
        if number != 0 {
            port_number(&path.child("hostPort"), number, errors);
        }
        required_one_of(&path.child("protocol"), text(port, "protocol"), &["SCTP", "TCP", "UDP"], errors);
    }
}

/// Checks that the host ports of a container are still free. `path` is that of the container.
pub(super) fn unique_host_ports<'o>(
    container: &'o Object,
    used: &mut BTreeSet<HostPort<'o>>,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    let path = path.child("ports");
    for (index, port) in children(container, "ports").enumerate() {
        let protocol = text(port, "protocol");
        let ip = text(port, "hostIP");
        let number = integer(port, "hostPort");
        if number != 0 && !used.insert((protocol, ip, number)) {
            let value = format!("{protocol}/{ip}/{number}");
            errors.push(Error::duplicate(&path.index(index).child("hostPort"), value));
        }
    }
}

fn port_number(path: &Path<'_>, number: i64, errors: &mut ErrorList) {
    invalid_each(path, number, names::is_port_number(number), errors);
}
