//! Name resolution of a pod (`dnsPolicy`, `dnsConfig`, `hostAliases`) and its own name.

use crate::validation::value::{dns_subdomain, invalid_each, required_one_of};
use crate::validation::{Spelling, is_valid_legacy_ip};
use api::tree::{child, children, flag, list, maybe_text, text, texts};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::names;
use jsontree::Value;
use schema::object::Object;

const POLICIES: &[&str] = &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const NAMESERVERS_MAX: usize = 3;
const SEARCH_PATHS_MAX: usize = 32;
/// Length limit of the list of search paths in bytes, including separators.
const SEARCH_LIST_BYTES_MAX: usize = 2048;
/// Linux' length limit of a host name in bytes.
const HOSTNAME_BYTES_MAX: usize = 64;

/// Validates the policy. `path` is that of the policy.
pub(super) fn policy(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    required_one_of(path, text(spec, "dnsPolicy"), POLICIES, errors);
}

/// Validates `dnsConfig`, which the policy `None` requires. `path` is that of the configuration.
pub(super) fn config(path: &Path<'_>, spec: &Object, spelling: Spelling, errors: &mut ErrorList) {
    let none = text(spec, "dnsPolicy") == "None";
    let Some(config) = child(spec, "dnsConfig") else {
        if none {
            errors.push(Error::required(path, "must provide `dnsConfig` when `dnsPolicy` is None"));
        }
        return;
    };
    let servers = path.child("nameservers");
    if none && list(config, "nameservers").is_empty() {
        let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
        errors.push(Error::required(&servers, detail));
        return;
    }
    let value = |member: &str| Value::from(list(config, member));
    if list(config, "nameservers").len() > NAMESERVERS_MAX {
        let detail = format!("must not have more than {NAMESERVERS_MAX} nameservers");
        errors.push(Error::invalid(&servers, &value("nameservers"), detail));
    }
    for (index, server) in texts(config, "nameservers").enumerate() {
        invalid_each(&servers.index(index), server, is_valid_legacy_ip(server, spelling), errors);
    }
    searches(&path.child("searches"), config, errors);
    let options = path.child("options");
    for (index, option) in children(config, "options").enumerate() {
        if text(option, "name").is_empty() {
            errors.push(Error::required(&options.index(index), "must not be empty"));
        }
    }
}

fn searches(path: &Path<'_>, config: &Object, errors: &mut ErrorList) {
    let all = Value::from(list(config, "searches"));
    let paths = list(config, "searches").len();
    if paths > SEARCH_PATHS_MAX {
        let detail = format!("must not have more than {SEARCH_PATHS_MAX} search paths");
        errors.push(Error::invalid(path, &all, detail));
    }
    let bytes = texts(config, "searches").map(str::len).sum::<usize>() + paths.saturating_sub(1);
    if bytes > SEARCH_LIST_BYTES_MAX {
        let detail = format!(
            "must not have more than {SEARCH_LIST_BYTES_MAX} characters (including spaces) in the search list"
        );
        errors.push(Error::invalid(path, &all, detail));
    }
    for (index, search) in texts(config, "searches").enumerate().filter(|(_, search)| *search != ".") {
        let name = search.strip_suffix('.').unwrap_or(search);
        invalid_each(&path.index(index), name, names::is_dns1123_subdomain_with_underscore(name), errors);
    }
}

/// Validates additional entries of the hosts file. `path` is that of the list.
pub(super) fn host_aliases(path: &Path<'_>, spec: &Object, spelling: Spelling, errors: &mut ErrorList) {
    for (index, alias) in children(spec, "hostAliases").enumerate() {
        let path = path.index(index);
        let ip = text(alias, "ip");
        invalid_each(&path.child("ip"), ip, is_valid_legacy_ip(ip, spelling), errors);
        let path = path.child("hostnames");
        for (index, name) in texts(alias, "hostnames").enumerate() {
            dns_subdomain(&path.index(index), name, errors);
        }
    }
}

/// Validates `hostnameOverride` (KEP-4762). `path` is that of the pod spec.
pub(super) fn hostname_override(path: &Path<'_>, spec: &Object, errors: &mut ErrorList) {
    let Some(name) = maybe_text(spec, "hostnameOverride") else { return };
    let path = path.child("hostnameOverride");
    for other in ["setHostnameAsFQDN", "hostNetwork"] {
        if flag(spec, other) {
            errors.push(Error::forbidden(&path, format!("may not be specified when {other} is true")));
        }
    }
    if name.len() > HOSTNAME_BYTES_MAX {
        errors.push(Error::too_long(&path, Some(HOSTNAME_BYTES_MAX)));
    }
    dns_subdomain(&path, name, errors);
}
