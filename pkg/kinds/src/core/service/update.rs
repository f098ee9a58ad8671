//! Mutable fields of a service.

use super::cluster_ips::{is_headless, listed};
use super::{load_balancer_class, needs_health_check, validate};
use crate::validation::Spelling;
use crate::validation::cidr::legacy_ip;
use crate::validation::rules::{ValidationContext, metadata_update};
use crate::validation::value::{host_name, supported_value};
use api::tree::{child, children, integer, list, maybe_text, text, texts};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use jsontree::Value;
use schema::object::Object;
use std::collections::BTreeSet;

const IMMUTABLE: &str = "may not change once set";

pub(super) fn update(
    subresource: &str,
    new: &Object,
    old: &Object,
    context: &ValidationContext,
) -> ErrorList {
    let mut errors = metadata_update(new, old);
    if subresource == "status" {
        status(new, old, context.spelling(), &mut errors);
        return errors;
    }
    let empty = Object::new();
    let spec = child(new, "spec").unwrap_or(&empty);
    let old_spec = child(old, "spec").unwrap_or(&empty);
    if text(spec, "type") != "ExternalName" && text(old_spec, "type") != "ExternalName" {
        cluster_ips(spec, old_spec, &mut errors);
        families(spec, old_spec, &mut errors);
    }
    let balanced = [spec, old_spec].iter().all(|spec| text(spec, "type") == "LoadBalancer");
    let class = |spec| maybe_text(spec, "loadBalancerClass");
    if balanced && class(spec) != class(old_spec) {
        let value = spec.get("loadBalancerClass").unwrap_or(&Value::Null);
        errors.push(Error::invalid(&Path::root("spec.loadBalancerClass"), value, IMMUTABLE));
    }
    load_balancer_class(&Path::root("spec"), spec, &mut errors);
    let port = |spec| integer(spec, "healthCheckNodePort");
    if needs_health_check(spec) && needs_health_check(old_spec) && port(spec) != port(old_spec) {
        errors.push(Error::forbidden(&Path::root("spec.healthCheckNodePort"), "field is immutable"));
    }
    validate(new, Some(old), context.spelling(), &mut errors);
    errors
}

/// Checks changes of addresses: they may be added and, if the service becomes single-stack, dropped.
fn cluster_ips(spec: &Object, old_spec: &Object, errors: &mut ErrorList) {
    if is_headless(spec) && is_headless(old_spec) {
        return;
    }
    let new: Vec<&str> = texts(spec, "clusterIPs").collect();
    let old: Vec<&str> = texts(old_spec, "clusterIPs").collect();
    let path = Path::root("spec.clusterIPs");
    let invalid = |index, detail| Error::invalid(&path.index(index), listed(spec, "clusterIPs"), detail);
    if old.len() == new.len() {
        let changed = old.iter().zip(&new).enumerate().filter(|(_, (old, new))| old != new);
        errors.extend(changed.map(|(index, _)| invalid(index, IMMUTABLE)));
        return;
    }
    if new.is_empty() {
        errors.push(invalid(0, "primary clusterIP can not be unset"));
    }
    if old.first().zip(new.first()).is_some_and(|(old, new)| old != new) {
        errors.push(invalid(0, IMMUTABLE));
    }
    if old.len() > 1 && new.len() == 1 {
        single_stack(spec, "must be set to 'SingleStack' when releasing the secondary clusterIP", errors);
    }
}

/// Checks changes of IP families. The rule for addresses applies, if the service has an address.
fn families(spec: &Object, old_spec: &Object, errors: &mut ErrorList) {
    if is_headless(spec) || is_headless(old_spec) {
        return;
    }
    let new: Vec<&str> = texts(spec, "ipFamilies").collect();
    let old: Vec<&str> = texts(old_spec, "ipFamilies").collect();
    let path = Path::root("spec.ipFamilies");
    let path = path.index(0);
    if old.len() == new.len() {
        let changed = old.iter().zip(&new).filter(|(old, new)| old != new);
        errors.extend(changed.map(|_| Error::invalid(&path, listed(spec, "ipFamilies"), IMMUTABLE)));
        return;
    }
    let dropped = old.len() > new.len();
    if dropped && list(spec, "clusterIPs").is_empty() {
        let detail = "primary ipFamily can not be unset";
        errors.push(Error::invalid(&path, listed(spec, "ipFamilies"), detail));
    }
    if old.first().zip(new.first()).is_some_and(|(old, new)| old != new) {
        // Upstream shows the addresses here.
        errors.push(Error::invalid(&path, listed(spec, "clusterIPs"), IMMUTABLE));
    }
    if dropped && new.len() == 1 {
        single_stack(spec, "must be set to 'SingleStack' when releasing the secondary ipFamily", errors);
    }
}

fn single_stack(spec: &Object, detail: &str, errors: &mut ErrorList) {
    let policy = maybe_text(spec, "ipFamilyPolicy");
    if policy != Some("SingleStack") {
        let value = policy.map_or(BadValue::from(&Value::Null), BadValue::json_text);
        errors.push(Error::invalid(&Path::root("spec.ipFamilyPolicy"), value, detail));
    }
}

fn ingress(service: &Object) -> impl Iterator<Item = &Object> {
    let balancer = child(service, "status").and_then(|status| child(status, "loadBalancer"));
    balancer.into_iter().flat_map(|balancer| children(balancer, "ingress"))
}

fn status(new: &Object, old: &Object, spelling: Spelling, errors: &mut ErrorList) {
    let path = Path::root("status.loadBalancer.ingress");
    let balanced = child(new, "spec").is_some_and(|spec| text(spec, "type") == "LoadBalancer");
    if !balanced && ingress(new).next().is_some() {
        errors.push(Error::forbidden(&path, "may only be used when `spec.type` is 'LoadBalancer'"));
        return;
    }
    let old_ips: BTreeSet<&str> = ingress(old).map(|ingress| text(ingress, "ip")).collect();
    for (index, ingress) in ingress(new).enumerate() {
        let path = path.index(index);
        let ip = text(ingress, "ip");
        let mode_path = path.child("ipMode");
        if !ip.is_empty() {
            legacy_ip(&path.child("ip"), ip, &old_ips, spelling, errors);
        }
        match (maybe_text(ingress, "ipMode"), ip) {
            (None, "") => {}
            (None, _) => errors.push(Error::required(&mode_path, "must be specified when `ip` is set")),
            (Some(_), "") => {
                errors.push(Error::forbidden(&mode_path, "may not be specified when `ip` is not set"));
            }
            (Some(mode), _) => supported_value(&mode_path, mode, &["Proxy", "VIP"], errors),
        }
        let host = text(ingress, "hostname");
        if !host.is_empty() {
            host_name(&path.child("hostname"), host, errors);
        }
    }
}
