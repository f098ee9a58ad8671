//! Allocation, consumers and device statuses of a claim.

pub(crate) mod devices;

use super::claim::{Names, request_names, request_ref, request_refs};
use super::configuration::configuration;
use super::offered_device::binding_conditions;
use super::skipped_operations::skipped_operations;
use super::toleration::toleration;
use super::{ITEMS_MAX, at_most};
use crate::validation::immutable::immutable;
use crate::validation::node_selector::node_selector;
use crate::validation::value::{dns_label, dns_subdomain, required_one_of};
use crate::validation::volume_source::{csi_driver, required};
use api::tree::{child, children, list, text};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::names;
use jsontree::Value;
use schema::builtin::IO_K8S_API_RESOURCE_V1_RESOURCECLAIMSTATUS as STATUS;
use schema::object::Object;
use std::collections::BTreeSet;

/// Limit of consumers of a claim.
const USERS_MAX: usize = 256;

/// Validates the status of a claim that replaces another. An allocation is immutable until it is removed, and
/// an unallocated claim has no consumers.
pub(super) fn status(new: &Object, old: &Object, errors: &mut ErrorList) {
    let empty = Object::new();
    let status = child(new, "status").unwrap_or(&empty);
    let old = child(old, "status").unwrap_or(&empty);
    let path = Path::root("status");
    users(&path.child("reservedFor"), status, errors);
    devices::devices(&path.child("devices"), status, errors);
    let deleted = child(new, "metadata").is_some_and(|meta| meta.contains_key("deletionTimestamp"));
    let now = list(status, "reservedFor");
    let before = list(old, "reservedFor");
    let detail = if now.is_empty() {
        None
    } else if child(status, "allocation").is_none() {
        Some("may not be specified when `allocated` is not set")
    } else {
        let user = |user: &Value| {
            ["apiGroup", "resource", "name", "uid"]
                .map(|name| user.get(name).and_then(Value::as_str).unwrap_or_default().to_owned())
        };
        let before: BTreeSet<_> = before.iter().map(user).collect();
        let added = deleted && now.iter().any(|now| !before.contains(&user(now)));
        added.then_some(
            "new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set",
        )
    };
    errors.extend(detail.map(|detail| Error::forbidden(&path.child("reservedFor"), detail)));
    let path = path.child("allocation");
    match (child(status, "allocation"), child(old, "allocation")) {
        (Some(_), Some(_)) => immutable(&path, &STATUS, "allocation", status, old, errors),
        (Some(allocation), None) => {
            let devices = child(new, "spec").and_then(|spec| child(spec, "devices")).unwrap_or(&empty);
            allocated_devices(&path, allocation, &request_names(devices), errors);
        }
        (None, _) => {}
    }
}

fn users(path: &Path<'_>, status: &Object, errors: &mut ErrorList) {
    if !at_most(path, list(status, "reservedFor").len(), USERS_MAX, errors) {
        return;
    }
    for (index, user) in children(status, "reservedFor").enumerate() {
        required(&path.index(index), user, &["resource", "name", "uid"], errors);
    }
    let mut seen = BTreeSet::new();
    for (index, user) in children(status, "reservedFor").enumerate() {
        let uid = text(user, "uid");
        if !seen.insert(uid) {
            errors.push(Error::duplicate(&path.index(index), uid));
        }
    }
}

fn allocated_devices(path: &Path<'_>, allocation: &Object, names: &Names<'_>, errors: &mut ErrorList) {
    let empty = Object::new();
    let devices = child(allocation, "devices").unwrap_or(&empty);
    let results = path.child("devices.results");
    if at_most(&results, list(devices, "results").len(), ITEMS_MAX, errors) {
        for (index, result) in children(devices, "results").enumerate() {
            let path = results.index(index);
            request_ref(&path.child("request"), text(result, "request"), names, errors);
            csi_driver(&path.child("driver"), text(result, "driver"), errors);
            pool(&path.child("pool"), text(result, "pool"), errors);
            dns_label(&path.child("device"), text(result, "device"), errors);
            binding_conditions(&path, result, errors);
            let tolerations = path.child("tolerations");
            for (index, item) in children(result, "tolerations").enumerate() {
                toleration(&tolerations.index(index), item, errors);
            }
            devices::share_id(&path.child("shareID"), result, errors);
            skipped_operations(&path, result, errors);
        }
    }
    // The configurations of the class and of the claim.
    let config = path.child("devices.config");
    if at_most(&config, list(devices, "config").len(), 2 * ITEMS_MAX, errors) {
        for (index, entry) in children(devices, "config").enumerate() {
            let path = config.index(index);
            let source = text(entry, "source");
            required_one_of(&path.child("source"), source, &["FromClaim", "FromClass"], errors);
            request_refs(&path.child("requests"), entry, names, errors);
            configuration(&path, entry, false, errors);
        }
    }
    if let Some(selector) = child(allocation, "nodeSelector") {
        node_selector(&path.child("nodeSelector"), selector, false, errors);
    }
}

/// Checks for a device pool: DNS subdomains separated by slashes.
pub(super) fn pool(path: &Path<'_>, name: &str, errors: &mut ErrorList) {
    if name.is_empty() {
        errors.push(Error::required(path, ""));
        return;
    }
    if name.len() > names::DNS1123_SUBDOMAIN_BYTES_MAX {
        errors.push(Error::too_long(path, Some(names::DNS1123_SUBDOMAIN_BYTES_MAX)));
    }
    for part in name.split('/') {
        dns_subdomain(path, part, errors);
    }
}
