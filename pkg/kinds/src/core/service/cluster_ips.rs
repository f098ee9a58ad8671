//! Cluster IPs of a service and their IP families.

use crate::validation::cidr::legacy_ip;
use crate::validation::value::supported_value;
use crate::validation::{Spelling, canonical_ip};
use api::tree::{list, maybe_text, text, texts};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use jsontree::Value;
use schema::object::Object;
use std::collections::BTreeSet;
use std::net::IpAddr;

const POLICIES: &[&str] = &["PreferDualStack", "RequireDualStack", "SingleStack"];

/// True for a headless service.
pub(super) fn is_headless(spec: &Object) -> bool {
    texts(spec, "clusterIPs").eq(["None"])
}

/// Returns a list for an error.
pub(super) fn listed(spec: &Object, member: &str) -> BadValue {
    spec.get(member).unwrap_or(&Value::Null).into()
}

/// Validates `clusterIPs`, `ipFamilies` and `ipFamilyPolicy` of a service other than `ExternalName`.
/// Addresses of the old service are always valid.
pub(super) fn cluster_ips_and_families(
    spec: &Object,
    old: &Object,
    spelling: Spelling,
    errors: &mut ErrorList,
) {
    if text(spec, "type") == "ExternalName" {
        return;
    }
    let path = Path::root("spec.clusterIPs");
    let families_path = Path::root("spec.ipFamilies");
    let ips: Vec<&str> = texts(spec, "clusterIPs").collect();
    let families: Vec<&str> = texts(spec, "ipFamilies").collect();
    first_matches(&path, spec, &ips, errors);
    let mut seen = BTreeSet::new();
    for (index, family) in families.iter().enumerate() {
        let path = families_path.index(index);
        supported_value(&path, family, &["IPv4", "IPv6"], errors);
        if !seen.insert(family) {
            errors.push(Error::duplicate(&path, BadValue::json_text(family)));
        }
    }
    if let Some(policy) = maybe_text(spec, "ipFamilyPolicy") {
        supported_value(&Path::root("spec.ipFamilyPolicy"), policy, POLICIES, errors);
    }
    if !addresses(&path, spec, old, spelling, errors) {
        return;
    }
    let is_v6 = |ip: &str| matches!(canonical_ip(ip).map(|ip| ip.to_canonical()), Some(IpAddr::V6(_)));
    if ips.len() > 1 && ips.iter().all(|ip| is_v6(ip) == is_v6(ips.first().unwrap_or(&""))) {
        let detail = "may specify no more than one IP for each IP family";
        errors.push(Error::invalid(&path, listed(spec, "clusterIPs"), detail));
    }
    if is_headless(spec) {
        return;
    }
    for (index, (ip, family)) in ips.iter().zip(&families).enumerate() {
        if matches!((*family, is_v6(ip)), ("IPv4", true) | ("IPv6", false)) {
            let detail = format!("expected an {family} value as indicated by `ipFamilies[{index}]`");
            errors.push(Error::invalid(&path.index(index), *ip, detail));
        }
    }
}

/// Checks that `clusterIP` is the first of `clusterIPs`.
fn first_matches(path: &Path<'_>, spec: &Object, ips: &[&str], errors: &mut ErrorList) {
    let detail = match (text(spec, "clusterIP"), ips.first()) {
        ("", Some(_)) => "must be empty when `clusterIP` is not specified",
        ("", None) => return,
        (_, None) => {
            errors.push(Error::required(path, ""));
            return;
        }
        (ip, Some(first)) if *first != ip => "first value must match `clusterIP`",
        _ => return,
    };
    errors.push(Error::invalid(path, listed(spec, "clusterIPs"), detail));
}

/// Validates each address. Returns true if they are valid enough for the combined checks.
fn addresses(
    path: &Path<'_>,
    spec: &Object,
    old: &Object,
    spelling: Spelling,
    errors: &mut ErrorList,
) -> bool {
    let before = errors.len();
    let several = list(spec, "clusterIPs").len() > 1;
    let old: BTreeSet<&str> = texts(old, "clusterIPs").collect();
    for (index, ip) in texts(spec, "clusterIPs").enumerate() {
        match (index, ip) {
            (0, "None") if several => {
                let detail = "'None' must be the first and only value";
                errors.push(Error::invalid(path, listed(spec, "clusterIPs"), detail));
            }
            (0, "None") => {}
            _ => legacy_ip(&path.index(index), ip, &old, spelling, errors),
        }
    }
    let good = errors.len() == before;
    if list(spec, "clusterIPs").len() > 2 {
        errors.push(Error::invalid(path, listed(spec, "clusterIPs"), "may only hold up to 2 values"));
    }
    good
}
