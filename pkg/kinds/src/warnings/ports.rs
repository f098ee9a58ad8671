//! Warnings about pod ports: duplicate ports, and names that several ports have.

use super::collector::Warnings;
use super::common::each;
use api::tree::{children, integer, text};
use apimachinery::field::Path;
use apimachinery::go_quote::Quoted;
use schema::object::Object;
use std::collections::BTreeMap;
use std::fmt::{self, Display};

/// Port of a container, as in upstream's internal type.
#[derive(Clone, Copy)]
struct Port<'o> {
    position: PortPosition<'o>,
    name: &'o str,
    host_port: i64,
    container_port: i64,
    protocol: &'o str,
    host_ip: &'o str,
}

/// Position of a port.
#[derive(Clone, Copy)]
struct PortPosition<'p> {
    spec: &'p Path<'p>,
    list: &'static str,
    container: usize,
    port: usize,
}

impl Display for PortPosition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.spec.child(self.list);
        path.index(self.container).child("ports").index(self.port).fmt(f)
    }
}

/// Formats like Go's `%+v` of a struct.
impl Display for Port<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Port { name, host_port, container_port, protocol, host_ip, .. } = self;
        write!(
            f,
            "{{Name:{name} HostPort:{host_port} ContainerPort:{container_port} Protocol:{protocol} \
             HostIP:{host_ip}}}"
        )
    }
}

fn ports<'o>(spec_path: &'o Path<'o>, spec: &'o Object) -> impl Iterator<Item = Port<'o>> {
    each(spec).flat_map(move |(list, container, object)| {
        children(object, "ports").enumerate().map(move |(index, port)| Port {
            position: PortPosition { spec: spec_path, list, container, port: index },
            name: text(port, "name"),
            host_port: integer(port, "hostPort"),
            container_port: integer(port, "containerPort"),
            protocol: text(port, "protocol"),
            host_ip: text(port, "hostIP"),
        })
    })
}

/// Warns about conflicting ports in the containers of a pod spec.
pub(super) fn conflicts(path: &Path<'_>, spec: &Object, out: &mut Warnings) {
    let mut seen = PortIndex::default();
    for port in ports(path, spec) {
        if port.host_port == 0 && !port.host_ip.is_empty() {
            out.add(format_args!("{}: hostIP set without hostPort: {port}", port.position));
        }
        for rival in seen.conflicting_ports(&port) {
            let kind = if (port.host_ip, port.host_port) == (rival.host_ip, rival.host_port) {
                "duplicate"
            } else if port.host_port == 0 || rival.host_port == 0 {
                // Unnecessary but harmless.
                "overlapping"
            } else {
                // One is for all addresses and the other for a single one, so the result is undefined.
                "dangerously ambiguous"
            };
            out.add(format_args!("{}: {kind} port definition with {}", port.position, rival.position));
        }
        if out.is_full() {
            return;
        }
        seen.add(port);
    }
}

/// Ports so far, indexed so that only conflicting ones are compared: a pod may have thousands.
#[derive(Default)]
struct PortIndex<'o> {
    ports: Vec<Port<'o>>,
    by_key: BTreeMap<Key<'o>, Vec<usize>>,
}

/// Container port and protocol, with the host port and host address if they matter.
type Key<'o> = (i64, &'o str, Option<i64>, Option<&'o str>);

impl<'o> PortIndex<'o> {
    /// Iterates over ports that conflict with a new one, in order. They have the same number and protocol,
    /// and the same or unspecified host port and address.
    fn conflicting_ports(&self, port: &Port<'o>) -> impl Iterator<Item = &Port<'o>> {
        let key = |host_port, host_ip| (port.container_port, port.protocol, host_port, host_ip);
        let own_port = Some(port.host_port);
        let keys = match (port.host_port, port.host_ip) {
            (0, _) => [Some(key(None, None)), None, None],
            (_, "") => [Some(key(Some(0), None)), Some(key(own_port, None)), None],
            (_, ip) => {
                [Some(key(Some(0), None)), Some(key(own_port, Some(""))), Some(key(own_port, Some(ip)))]
            }
        };
        let matches = keys.into_iter().flatten().filter_map(|key| self.by_key.get(&key));
        let mut indexes: Vec<usize> = matches.flatten().copied().collect();
        indexes.sort_unstable();
        indexes.into_iter().filter_map(|index| self.ports.get(index))
    }

    fn add(&mut self, port: Port<'o>) {
        let index = self.ports.len();
        let own_port = Some(port.host_port);
        let ip = Some(port.host_ip);
        for (host_port, host_ip) in [(None, None), (own_port, None), (own_port, ip)] {
            let key = (port.container_port, port.protocol, host_port, host_ip);
            self.by_key.entry(key).or_default().push(index);
        }
        self.ports.push(port);
    }
}

/// Warns about names that several ports of a pod spec have.
pub(super) fn repeated_names(path: &Path<'_>, spec: &Object, out: &mut Warnings) {
    let mut first: BTreeMap<&str, PortPosition<'_>> = BTreeMap::new();
    for Port { name, position, .. } in ports(path, spec).filter(|port| !port.name.is_empty()) {
        let other = *first.entry(name).or_insert(position);
        if (other.list, other.container, other.port) != (position.list, position.container, position.port) {
            out.add(format_args!(
                "{position}: duplicate port name {} with {other}, services and probes that select ports by name \
                 will use {other}",
                Quoted(name)
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{collector::Warnings, testing::object};
    use super::*;
    use jsontree::{Value, json};

    fn warnings(containers: Value) -> Vec<String> {
        let mut out = Warnings::default();
        let path = Path::root("spec");
        let spec = object(json!({"containers": containers}));
        conflicts(&path, &spec, &mut out);
        repeated_names(&path, &spec, &mut out);
        out.into_texts()
    }

    /// Checks the warning about the second port of a container, for given host ports and addresses of both.
    fn check(first: (i64, &str), second: (i64, &str), expected: Option<&str>) {
        let port = |(host_port, ip): (i64, &str)| json!({"containerPort": 80, "protocol": "TCP", "hostPort": host_port, "hostIP": ip});
        let at = "spec.containers[0].ports";
        let expected: Vec<String> = expected
            .map(|kind| format!("{at}[1]: {kind} port definition with {at}[0]"))
            .into_iter()
            .collect();
        assert_eq!(
            warnings(json!([{"ports": [port(first), port(second)]}])),
            expected,
            "{first:?} {second:?}"
        );
    }

    #[test]
    fn conflicting_ports_warn() {
        for port in [(0, ""), (1, ""), (1, "1.1.1.1")] {
            check(port, port, Some("duplicate"));
        }
        check((0, ""), (1, ""), Some("overlapping"));
        check((1, "1.1.1.1"), (0, ""), Some("overlapping"));
        check((1, ""), (1, "1.1.1.1"), Some("dangerously ambiguous"));
        check((1, "1.1.1.1"), (1, ""), Some("dangerously ambiguous"));
        check((1, "1.1.1.1"), (1, "2.2.2.2"), None);
        check((1, ""), (2, ""), None);
    }

    #[test]
    fn ports_differ_by_protocol_and_number() {
        let ports = json!([
            {"containerPort": 80, "protocol": "TCP"},
            {"containerPort": 80, "protocol": "UDP"},
            {"containerPort": 81, "protocol": "TCP"},
        ]);
        assert_eq!(warnings(json!([{"ports": ports}])), [""; 0]);
    }

    #[test]
    fn ports_conflict_across_containers() {
        let port = |host: i64| json!({"containerPort": 80, "protocol": "TCP", "hostPort": host});
        assert_eq!(
            warnings(json!([{"ports": [port(1)]}, {"ports": [port(0), port(1)]}])),
            [
                "spec.containers[1].ports[0]: overlapping port definition with spec.containers[0].ports[0]",
                "spec.containers[1].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
                "spec.containers[1].ports[1]: overlapping port definition with spec.containers[1].ports[0]",
            ]
        );
    }

    #[test]
    fn an_address_of_the_host_needs_its_port() {
        let port = json!({"containerPort": 80, "protocol": "TCP", "hostIP": "1.1.1.1"});
        assert_eq!(
            warnings(json!([{"ports": [port]}])),
            ["spec.containers[0].ports[0]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:80 \
              Protocol:TCP HostIP:1.1.1.1}"]
        );
    }

    #[test]
    fn repeated_name_refers_to_first_port() {
        let port = |number: i64| json!({"name": "http", "containerPort": number, "protocol": "TCP"});
        let text = |container: usize| {
            format!(
                "spec.containers[{container}].ports[0]: duplicate port name \"http\" with \
                 spec.containers[0].ports[0], services and probes that select ports by name will use \
                 spec.containers[0].ports[0]"
            )
        };
        let containers = json!([{"ports": [port(1)]}, {"ports": [port(2)]}, {"ports": [port(3)]}]);
        assert_eq!(warnings(containers), [text(1), text(2)]);
    }
}
