//! Extra permissions for changes of a ResourceClaim. Admin access to devices needs a label of the namespace
//! (KEP-5018). Scheduler decisions and driver reports about devices need permissions of their own (the gate
//! `DRAResourceClaimGranularStatusAuthorization`; upstream's `pkg/registry/resource/utils.go`).

use std::collections::{BTreeSet, HashMap};

use api::resources::{self, Builtin};
use api::semantic;
use api::tree::{child, children, flag, list, text};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::names::name_is_dns_subdomain;
use apimachinery::user_info::UserInfo;
use authentication::service_account::split_username;
use authorization::{Attributes, require};
use component_base::features::Gate;
use futures::FutureExt;
use futures::future::BoxFuture;
use jsontree::Value;
use registry::Target;
use schema::builtin::{
    IO_K8S_API_RESOURCE_V1_ALLOCATEDDEVICESTATUS as DEVICE,
    IO_K8S_API_RESOURCE_V1_RESOURCECLAIMSTATUS as STATUS,
};
use schema::object::Object;

use crate::scope::RequestScope;

const ADMIN_ACCESS_LABEL: &str = "resource.kubernetes.io/admin-access";
const NODE_NAME: &str = "authentication.kubernetes.io/node-name";
/// Maximum number of drivers in one write, far above the number of devices of a claim. Larger writes are
/// rejected without an authorization check.
const DRIVERS_MAX: usize = 256;

/// Returns the changes of a claim or claim template that the user may not make. Objects are in the storage
/// version.
pub(super) fn permission_errors<'f>(
    call: &'f RequestScope<'f>,
    new: &'f Object,
    old: Option<&'f Object>,
) -> Option<BoxFuture<'f, ErrorList>> {
    match (call.resource().builtin, call.endpoint().subresource, old) {
        (Some(Builtin::ResourceClaim), "", None) => Some(check_spec(call, child(new, "spec")).boxed()),
        (Some(Builtin::ResourceClaimTemplate), "", None) => {
            Some(check_spec(call, child(new, "spec").and_then(|spec| child(spec, "spec"))).boxed())
        }
        (Some(Builtin::ResourceClaim), "status", Some(old)) => Some(check_status(call, new, old).boxed()),
        _ => None,
    }
}

/// Specs are immutable, so updates of them need no check.
async fn check_spec(call: &RequestScope<'_>, spec: Option<&Object>) -> ErrorList {
    let requests = spec.and_then(|spec| child(spec, "devices"));
    let mut requests = requests.into_iter().flat_map(|devices| list(devices, "requests"));
    let admin_request = requests.position(|request| {
        request.get("exactly").and_then(Value::as_object).is_some_and(|exact| flag(exact, "adminAccess"))
    });
    let Some(index) = admin_request else { return ErrorList::new() };
    admin_access(call, &Path::root("spec.devices.requests").index(index).child("adminAccess")).await
}

async fn check_status(call: &RequestScope<'_>, new: &Object, old: &Object) -> ErrorList {
    let empty = Object::new();
    let status = |claim| child(claim, "status").unwrap_or(&empty);
    let new = status(new);
    let old = status(old);
    let mut errors = ErrorList::new();
    if let (Some(index), None) = (granted_admin(new), granted_admin(old)) {
        let results = Path::root("status.allocation.devices.results");
        errors.append(admin_access(call, &results.index(index).child("adminAccess")).await);
    }
    let gates = call.api.registry.gates();
    if !gates.enabled(Gate::DRAResourceClaimGranularStatusAuthorization) {
        return errors;
    }
    errors.append(binding(call, new, old).await);
    // Without an allocation, a claim has no device reports.
    if gates.enabled(Gate::DRAResourceClaimDeviceStatus) && child(new, "allocation").is_some() {
        errors.append(check_device_reports(call, new, old).await);
    }
    errors
}

/// Index of the first device that is allocated with admin access.
fn granted_admin(status: &Object) -> Option<usize> {
    let devices = child(status, "allocation").and_then(|allocation| child(allocation, "devices"))?;
    list(devices, "results")
        .iter()
        .position(|result| result.as_object().is_some_and(|result| flag(result, "adminAccess")))
}

/// Checks that the namespace has the label for admin access.
async fn admin_access(call: &RequestScope<'_>, path: &Path<'_>) -> ErrorList {
    let name = call.info.namespace.as_str();
    let refused = match resources::find("", "v1", "namespaces", "") {
        None => return ErrorList::new(),
        Some(row) => call.api.registry.get(&Target { resource: row, namespace: "", name }, "").await,
    };
    match refused {
        Ok(namespace) if namespace.header().label(ADMIN_ACCESS_LABEL) == Some("true") => ErrorList::new(),
        Ok(_) => {
            let detail = format!(
                "admin access to devices requires the `{ADMIN_ACCESS_LABEL}: true` label on the containing namespace"
            );
            [Error::forbidden(path, detail)].into()
        }
        Err(status) => {
            let detail = format!("could not retrieve namespace to verify admin access: {}", status.message);
            [Error::internal(path, detail)].into()
        }
    }
}

/// True if a member is equal in both statuses.
fn is_member_equal(name: &str, new: &Object, old: &Object) -> bool {
    let field = STATUS.member(name);
    field.is_none_or(|field| semantic::equal_members(field, new.get(name), old.get(name)))
}

/// Checks the permission to bind, which the scheduler has for all claims.
async fn binding(call: &RequestScope<'_>, new: &Object, old: &Object) -> ErrorList {
    if is_member_equal("allocation", new, old) && is_member_equal("reservedFor", new, old) {
        return ErrorList::new();
    }
    let attributes = Attributes {
        subresource: "binding",
        namespace: "",
        name: "",
        ..Attributes::of_request(call.user, call.info)
    };
    let Err(status) = require(call.api.authorizer.as_ref(), attributes).await else {
        return ErrorList::new();
    };
    let detail = format!(
        "changing status.allocation or status.reservedFor requires resource=\"resourceclaims/binding\", \
         verb=\"{}\" permission: {}",
        attributes.verb, status.message
    );
    [Error::forbidden(&Path::root("status.allocation"), detail)].into()
}

/// Checks the permissions to report devices. They are per driver, and for claims of one's own node or of any
/// node.
async fn check_device_reports(call: &RequestScope<'_>, new: &Object, old: &Object) -> ErrorList {
    let drivers = changed_drivers(new, old);
    let request = Attributes::of_request(call.user, call.info);
    let everywhere = format!("arbitrary-node:{}", request.verb);
    let own_node = format!("associated-node:{}", request.verb);
    let verbs = if is_on_node(call.user, allocated_node(new)) {
        vec![own_node, everywhere]
    } else {
        vec![everywhere]
    };
    let mut errors = ErrorList::new();
    for (number, driver) in drivers.into_iter().enumerate() {
        let mut first = None;
        for verb in verbs.iter().filter(|_| number < DRIVERS_MAX) {
            let attributes = Attributes { verb, subresource: "driver", name: driver, ..request };
            match require(call.api.authorizer.as_ref(), attributes).await {
                Ok(_) => {
                    first = None;
                    break;
                }
                Err(status) => first = first.or(Some(status.message.clone())),
            }
        }
        let refused = if number < DRIVERS_MAX { first } else { Some("too many drivers".to_owned()) };
        if let Some(why) = refused {
            let detail = format!(
                "changing status.devices requires resource=\"resourceclaims/driver\", verb=\"[{}]\" permission: {why}",
                verbs.join(" ")
            );
            errors.push(Error::forbidden(&Path::root("status.devices"), detail));
        }
    }
    errors
}

/// Names of the drivers with added, removed or changed device reports.
fn changed_drivers<'s>(new: &'s Object, old: &'s Object) -> BTreeSet<&'s str> {
    fn key(device: &Object) -> [&str; 4] {
        ["driver", "pool", "device", "shareID"].map(|name| text(device, name))
    }
    let mut removed: HashMap<_, _> = children(old, "devices").map(|device| (key(device), device)).collect();
    let mut drivers = BTreeSet::new();
    for device in children(new, "devices") {
        let old_device = removed.remove(&key(device));
        if !old_device.is_some_and(|old_device| semantic::equal(&DEVICE, old_device, device)) {
            drivers.insert(text(device, "driver"));
        }
    }
    drivers.extend(removed.keys().map(|[driver, ..]| *driver));
    drivers
}

/// Node of an allocation, if it is for a single node.
fn allocated_node(status: &Object) -> Option<&str> {
    let selector = child(child(status, "allocation")?, "nodeSelector")?;
    let [Value::Object(term)] = list(selector, "nodeSelectorTerms") else { return None };
    let [Value::Object(field)] = list(term, "matchFields") else { return None };
    let [Value::String(name)] = list(field, "values") else { return None };
    let by_name = list(term, "matchExpressions").is_empty()
        && (text(field, "key"), text(field, "operator")) == ("metadata.name", "In");
    Some(name.as_str()).filter(|name| by_name && !name.is_empty())
}

/// True if the user is a service account whose pod runs on the node.
fn is_on_node(user: &UserInfo, node: Option<&str>) -> bool {
    let names = user.extra.get(NODE_NAME).map(Vec::as_slice);
    let (Some(node), Some([name])) = (node, names) else { return false };
    split_username(&user.name).is_some() && name == node && name_is_dns_subdomain(name, false).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::json;

    fn status(value: Value) -> Object {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn only_drivers_of_changed_reports_are_checked() {
        let device =
            |driver: &str, data: Value| json!({"driver": driver, "pool": "p", "device": "d", "data": data});
        let of = |devices: &[Value]| status(json!({"devices": devices}));
        let old =
            of(&[device("same", json!({"a": 1})), device("gone", json!(null)), device("changed", json!(1))]);
        let new =
            of(&[device("same", json!({"a": 1})), device("new", json!(null)), device("changed", json!(2))]);
        assert_eq!(Vec::from_iter(changed_drivers(&new, &old)), ["changed", "gone", "new"]);
        assert!(changed_drivers(&old, &old).is_empty());
    }

    #[test]
    fn driver_must_be_on_allocated_node() {
        let term = |operator: &str, values: Value| json!({"matchFields": [{"key": "metadata.name", "operator": operator, "values": values}]});
        let allocated =
            |terms: Value| status(json!({"allocation": {"nodeSelector": {"nodeSelectorTerms": terms}}}));
        let driver = UserInfo {
            name: "system:serviceaccount:ns:driver".to_owned(),
            extra: [(NODE_NAME.to_owned(), vec!["n".to_owned()])].into(),
            ..UserInfo::default()
        };
        let check = |user: &UserInfo, terms: Value, expected: bool| {
            assert_eq!(is_on_node(user, allocated_node(&allocated(terms.clone()))), expected, "{terms}");
        };
        check(&driver, json!([term("In", json!(["n"]))]), true);
        check(&driver, json!([term("In", json!(["m"]))]), false);
        check(&driver, json!([term("NotIn", json!(["n"]))]), false);
        check(&driver, json!([term("In", json!(["n"])), term("In", json!(["n"]))]), false);
        let person = UserInfo { name: "driver".to_owned(), ..driver.clone() };
        check(&person, json!([term("In", json!(["n"]))]), false);
    }
}
