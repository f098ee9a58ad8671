//! Endpoints: addresses and ports of a Service's endpoints, in the old form.

mod columns;
mod warnings;

use crate::defaults::fill::{each, if_zero};
use crate::kind::{Columns, Kind, RareProperties, Validation, Version, WarningRules};
use crate::strategy::hooks::Common;
use crate::validation::endpoint_ip::endpoint_ip;
use crate::validation::rules::{ContextRules, ValidationContext, metadata, metadata_update};
use crate::validation::value::{dns_label, dns_subdomain, invalid_each, qualified_name, required_one_of};
use crate::validation::{NameRule, Spelling, is_valid_legacy_ip};
use api::semantic::equal_members;
use api::tree::{children, integer, list, maybe_text, text};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::names;
use schema::builtin::IO_K8S_API_CORE_V1_ENDPOINTS as MESSAGE;
use schema::object::Object;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[Version::with_defaults("v1", |endpoints| {
        each(endpoints, "subsets", |subset| each(subset, "ports", |port| if_zero(port, "protocol", "TCP")))
    })],
    validation: Validation::Settings(RULES),
    warnings: WarningRules { create: warnings::endpoints, ..WarningRules::NONE },
    columns: Columns::Custom(columns::COLUMNS),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};

pub(crate) const RULES: ContextRules =
    ContextRules { create: |new, given| validate(new, None, given.spelling()), update };

fn update(_: &str, new: &Object, old: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = metadata_update(new, old);
    errors.append(validate(new, Some(old), context.spelling()));
    errors
}

fn validate(new: &Object, old: Option<&Object>, spelling: Spelling) -> ErrorList {
    let mut errors = metadata(new, true, NameRule::DnsSubdomain);
    let before = errors.len();
    subsets(new, spelling, &mut errors);
    // Unchanged subsets that old versions accepted stay valid.
    if errors.len() > before && old.is_some_and(|old| same_subsets(new, old)) {
        errors.truncate(before);
    }
    errors
}

fn same_subsets(a: &Object, b: &Object) -> bool {
    let subsets = MESSAGE.members.iter().find(|member| member.name == "subsets");
    subsets.is_some_and(|subsets| equal_members(subsets.field, a.get("subsets"), b.get("subsets")))
}

fn subsets(endpoints: &Object, spelling: Spelling, errors: &mut ErrorList) {
    let path = Path::root("subsets");
    for (index, subset) in children(endpoints, "subsets").enumerate() {
        let path = path.index(index);
        let lists = ["addresses", "notReadyAddresses"];
        if lists.iter().all(|name| list(subset, name).is_empty()) {
            errors.push(Error::required(&path, "must specify `addresses` or `notReadyAddresses`"));
        }
        for name in lists {
            let path = path.child(name);
            for (index, address_of) in children(subset, name).enumerate() {
                address(address_of, &path.index(index), spelling, errors);
            }
        }
        let path = path.child("ports");
        let several = list(subset, "ports").len() > 1;
        for (index, port_of) in children(subset, "ports").enumerate() {
            port(port_of, several, &path.index(index), errors);
        }
    }
}

fn address(address: &Object, path: &Path<'_>, spelling: Spelling, errors: &mut ErrorList) {
    let ip = text(address, "ip");
    invalid_each(&path.child("ip"), ip, is_valid_legacy_ip(ip, spelling), errors);
    let host = text(address, "hostname");
    if !host.is_empty() {
        dns_label(&path.child("hostname"), host, errors);
    }
    if let Some(node) = maybe_text(address, "nodeName") {
        dns_subdomain(&path.child("nodeName"), node, errors);
    }
    endpoint_ip(&path.child("ip"), ip, errors);
}

fn port(port: &Object, needs_name: bool, path: &Path<'_>, errors: &mut ErrorList) {
    match text(port, "name") {
        "" if needs_name => errors.push(Error::required(&path.child("name"), "")),
        "" => {}
        name => dns_label(&path.child("name"), name, errors),
    }
    let number = integer(port, "port");
    invalid_each(&path.child("port"), number, names::is_port_number(number), errors);
    required_one_of(&path.child("protocol"), text(port, "protocol"), &["SCTP", "TCP", "UDP"], errors);
    if let Some(protocol) = maybe_text(port, "appProtocol") {
        qualified_name(&path.child("appProtocol"), protocol, errors);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use apimachinery::field::ErrorType::{self, *};
    use jsontree::{Value, json};

    fn endpoints(subsets: Value) -> Object {
        let meta = json!({"name": "n", "namespace": "ns", "resourceVersion": "1"});
        Object::from_iter([("metadata".to_owned(), meta), ("subsets".to_owned(), subsets)])
    }

    fn check(subsets: Value, expected: &[(ErrorType, &str)]) {
        let errors = (RULES.create)(&endpoints(subsets.clone()), &ValidationContext::default());
        let actual: Vec<(ErrorType, &str)> =
            errors.iter().map(|error| (error.kind(), error.field())).collect();
        assert_eq!(actual, expected, "{subsets}");
    }

    #[test]
    fn subsets_have_addresses_and_ports() {
        let port = json!({"port": 80, "protocol": "TCP"});
        check(json!([{"addresses": [{"ip": "10.0.0.1", "nodeName": "n"}], "ports": [port]}]), &[]);
        check(json!([{"notReadyAddresses": [{"ip": "2001:DB8::1"}]}]), &[]);
        check(json!([{}]), &[(Required, "subsets[0]")]);
        let bad = json!({"ip": "", "hostname": "A", "nodeName": "N"});
        check(
            json!([{"addresses": [bad], "ports": [port, {"name": "A", "protocol": "x", "appProtocol": ""}]}]),
            &[
                (Invalid, "subsets[0].addresses[0].ip"),
                (Invalid, "subsets[0].addresses[0].hostname"),
                (Invalid, "subsets[0].addresses[0].nodeName"),
                (Invalid, "subsets[0].addresses[0].ip"),
                (Required, "subsets[0].ports[0].name"),
                (Invalid, "subsets[0].ports[1].name"),
                (Invalid, "subsets[0].ports[1].port"),
                (NotSupported, "subsets[0].ports[1].protocol"),
                (Invalid, "subsets[0].ports[1].appProtocol"),
                (Invalid, "subsets[0].ports[1].appProtocol"),
            ],
        );
    }

    #[test]
    fn bad_subsets_may_stay() {
        let bad = endpoints(json!([{}]));
        assert_eq!(update("", &bad, &bad, &ValidationContext::default()), ErrorList::new());
        let errors = update("", &bad, &endpoints(json!([])), &ValidationContext::default());
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), ["subsets[0]"]);
    }
}
