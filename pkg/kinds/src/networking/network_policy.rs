//! Network policies: allowed traffic of pods.

mod defaults;
mod warnings;

use crate::defaults::fill::default_struct;
use crate::kind::{Columns, Kind, RareProperties, Validation, Version, WarningRules};
use crate::printers::column::{AGE, Column, NAME};
use crate::printers::format;
use crate::strategy::hooks::Common;
use crate::validation::cidr::{Cidr, legacy_cidr};
use crate::validation::rules::{ContextRules, ValidationContext, metadata, metadata_update};
use crate::validation::selector::label_selector;
use crate::validation::value::{invalid_each, port_number_or_name, supported_value};
use crate::validation::{NameRule, Spelling};
use api::tree::{child, children, list, maybe_integer, maybe_text, text, texts};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::names;
use jsontree::Value;
use schema::object::Object;
use std::collections::BTreeSet;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[
        Version::with_defaults("networking.k8s.io/v1", defaults::network_policy),
        Version::with_defaults("extensions/v1beta1", |policy| {
            default_struct(policy, "spec", defaults::policy_types)
        }),
    ],
    validation: Validation::Settings(RULES),
    warnings: WarningRules { create: warnings::network_policy, ..WarningRules::NONE },
    columns: Columns::Custom(&[
        NAME,
        Column::text("Pod-Selector", |object, _| {
            format::label_selector(object.get_path("spec.podSelector")).into()
        })
        .with_description_of("io.k8s.api.networking.v1.NetworkPolicySpec", "podSelector"),
        AGE,
    ]),
    gated: &[],
    strategy: &Common,
    rare_properties: RareProperties::NONE,
};

pub(crate) const RULES: ContextRules = ContextRules { create, update };

const POLICY_TYPES: &[&str] = &["Ingress", "Egress"];

/// Relaxed rules for updates of objects that already break them.
struct Options<'o> {
    /// Allows selector values that are not valid label values.
    bad_selector: bool,
    /// CIDRs in the old policy.
    ranges: BTreeSet<&'o str>,
    spelling: Spelling,
}

fn create(new: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = metadata(new, true, NameRule::DnsSubdomain);
    let options = Options { bad_selector: false, ranges: BTreeSet::new(), spelling: context.spelling() };
    spec(new, &options, &mut errors);
    errors
}

fn update(_: &str, new: &Object, old: &Object, context: &ValidationContext) -> ErrorList {
    let mut errors = metadata_update(new, old);
    let empty = Object::new();
    let old_spec = child(old, "spec").unwrap_or(&empty);
    let mut bad = ErrorList::new();
    label_selector(&Path::NIL, child(old_spec, "podSelector"), false, &mut bad);
    let bad_selector = !bad.is_empty();
    let ranges = ranges(old_spec).collect();
    let options = Options { bad_selector, ranges, spelling: context.spelling() };
    spec(new, &options, &mut errors);
    errors
}

fn ranges(spec: &Object) -> impl Iterator<Item = &str> {
    let peers = [("ingress", "from"), ("egress", "to")]
        .into_iter()
        .flat_map(|(rules, peers)| children(spec, rules).flat_map(move |rule| children(rule, peers)));
    let blocks = peers.filter_map(|peer| child(peer, "ipBlock"));
    blocks.flat_map(|block| std::iter::once(text(block, "cidr")).chain(texts(block, "except")))
}

fn spec(policy: &Object, options: &Options<'_>, errors: &mut ErrorList) {
    let empty = Object::new();
    let path = Path::root("spec");
    let spec = child(policy, "spec").unwrap_or(&empty);
    let selector = child(spec, "podSelector");
    label_selector(&path.child("podSelector"), selector, options.bad_selector, errors);
    for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
        let path = path.child(rules);
        for (index, rule) in children(spec, rules).enumerate() {
            let path = path.index(index);
            let ports_path = path.child("ports");
            for (index, port_of) in children(rule, "ports").enumerate() {
                port(&ports_path.index(index), port_of, errors);
            }
            let peers_path = path.child(peers);
            for (index, peer_of) in children(rule, peers).enumerate() {
                peer(&peers_path.index(index), peer_of, options, errors);
            }
        }
    }
    let path = path.child("policyTypes");
    if list(spec, "policyTypes").len() > POLICY_TYPES.len() {
        let value = spec.get("policyTypes").unwrap_or(&Value::Null);
        errors.push(Error::invalid(&path, value, "may not specify more than two policyTypes"));
        return;
    }
    for (index, kind) in texts(spec, "policyTypes").enumerate() {
        supported_value(&path.index(index), kind, POLICY_TYPES, errors);
    }
}

fn port(path: &Path<'_>, port: &Object, errors: &mut ErrorList) {
    if let Some(protocol) = maybe_text(port, "protocol") {
        supported_value(&path.child("protocol"), protocol, &["TCP", "UDP", "SCTP"], errors);
    }
    let end = maybe_integer(port, "endPort");
    let end_path = path.child("endPort");
    let first = port.get("port").filter(|port| !port.is_null());
    let mut end_is_wrong = |end: i64, detail: &str| errors.push(Error::invalid(&end_path, end, detail));
    match (first.map(Value::as_i64), end) {
        (None, Some(end)) => end_is_wrong(end, "may not be specified when `port` is not specified"),
        (Some(None), Some(end)) => end_is_wrong(end, "may not be specified when `port` is non-numeric"),
        _ => {}
    }
    if first.is_some() {
        port_number_or_name(&path.child("port"), first, errors);
    }
    if let (Some(first), Some(end)) = (first.and_then(Value::as_i64), end) {
        if end < first {
            errors.push(Error::invalid(&end_path, end, "must be greater than or equal to `port`"));
        }
        invalid_each(&end_path, end, names::is_port_number(end), errors);
    }
}

fn peer(path: &Path<'_>, peer: &Object, options: &Options<'_>, errors: &mut ErrorList) {
    let selectors = ["podSelector", "namespaceSelector"];
    for member in selectors {
        label_selector(&path.child(member), child(peer, member), options.bad_selector, errors);
    }
    let selected = selectors.iter().any(|member| child(peer, member).is_some());
    match child(peer, "ipBlock") {
        Some(block) => {
            ip_block(&path.child("ipBlock"), block, options, errors);
            if selected {
                errors.push(Error::forbidden(path, "may not specify both ipBlock and another peer"));
            }
        }
        None if selected => {}
        None => errors.push(Error::required(path, "must specify a peer")),
    }
}

/// Validates a CIDR and the excluded CIDRs inside it. Those in the old policy, in any place, are always
/// valid.
fn ip_block(path: &Path<'_>, block: &Object, options: &Options<'_>, errors: &mut ErrorList) {
    let Options { ranges: old, spelling, .. } = options;
    let range = text(block, "cidr");
    if range.is_empty() {
        errors.push(Error::required(&path.child("cidr"), ""));
        return;
    }
    legacy_cidr(&path.child("cidr"), range, old, *spelling, errors);
    let Some(range) = Cidr::parse(range) else { return };
    let path = path.child("except");
    for (index, except) in texts(block, "except").enumerate() {
        let path = path.index(index);
        legacy_cidr(&path, except, old, *spelling, errors);
        let Some(inner) = Cidr::parse(except) else { continue };
        if !range.contains(inner.network) || range.bits >= inner.bits {
            errors.push(Error::invalid(&path, except, "must be a strict subset of `cidr`"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::json;

    fn policy(spec: &Value) -> Object {
        let object =
            json!({"metadata": {"name": "p", "namespace": "n", "resourceVersion": "1"}, "spec": spec});
        object.as_object().cloned().unwrap_or_default()
    }

    fn check(spec: Value, expected: &[(&str, &str)]) {
        let errors = create(&policy(&spec), &ValidationContext::default());
        let got: Vec<(&str, &str)> = errors.iter().map(|e| (e.reason(), e.field())).collect();
        assert_eq!(got, expected, "{spec}");
    }

    #[test]
    fn port_ranges_end_after_their_start() {
        let port = |port: Value| json!({"egress": [{"ports": [port]}]});
        check(port(json!({"port": 1, "endPort": 2, "protocol": "UDP"})), &[]);
        check(port(json!({"port": "http"})), &[]);
        let end = ("FieldValueInvalid", "spec.egress[0].ports[0].endPort");
        check(port(json!({"port": 2, "endPort": 1})), &[end]);
        check(port(json!({"endPort": 1})), &[end]);
        check(port(json!({"port": "a", "endPort": 1})), &[end]);
        check(
            port(json!({"protocol": "x"})),
            &[("FieldValueNotSupported", "spec.egress[0].ports[0].protocol")],
        );
    }

    #[test]
    fn peers_are_pods_or_ranges() {
        let peer = |peer: Value| json!({"ingress": [{"from": [peer]}]});
        check(peer(json!({"podSelector": {}, "namespaceSelector": {}})), &[]);
        check(peer(json!({})), &[("FieldValueRequired", "spec.ingress[0].from[0]")]);
        let block = json!({"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]});
        check(peer(json!({"ipBlock": block})), &[]);
        check(
            peer(json!({"ipBlock": block, "podSelector": {}})),
            &[("FieldValueForbidden", "spec.ingress[0].from[0]")],
        );
        let except = ("FieldValueInvalid", "spec.ingress[0].from[0].ipBlock.except[0]");
        check(peer(json!({"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.0.0.0/8"]}})), &[except]);
        check(peer(json!({"ipBlock": {"cidr": "10.0.0.0/8", "except": ["::/0"]}})), &[except]);
        check(
            peer(json!({"ipBlock": {}})),
            &[("FieldValueRequired", "spec.ingress[0].from[0].ipBlock.cidr")],
        );
    }

    #[test]
    fn policies_are_of_two_types() {
        check(json!({"policyTypes": ["Ingress", "x"]}), &[("FieldValueNotSupported", "spec.policyTypes[1]")]);
        check(json!({"policyTypes": ["x", "x", "x"]}), &[("FieldValueInvalid", "spec.policyTypes")]);
    }

    #[test]
    fn existing_ranges_are_allowed() {
        let bad = json!({"egress": [{"to": [{"ipBlock": {"cidr": "010.0.0.0/8"}}]}]});
        check(bad.clone(), &[("FieldValueInvalid", "spec.egress[0].to[0].ipBlock.cidr")]);
        assert_eq!(update("", &policy(&bad), &policy(&bad), &ValidationContext::default()), ErrorList::new());
    }
}
