//! Contents of a claim: requests, constraints between them, and configurations for drivers.

use super::configuration::{compiler, configuration, selectors};
use super::derived_attributes::Expressions;
use super::duplicates::duplicates;
use super::toleration::toleration;
use super::{ITEMS_MAX, ValidationContext, at_most};
use crate::validation::value::{NOT_POSITIVE, dns_label, dns_subdomain, invalid_each};
use crate::validation::volume_source::csi_driver;
use api::tree::{child, children, integer, list, maybe_text, text, texts};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names;
use component_base::features::Gate;
use schema::object::Object;
use std::collections::{BTreeMap, BTreeSet};

/// Limit of alternatives in a request.
const ALTERNATIVES_MAX: usize = 8;
/// Length limit of an attribute name without its domain, in bytes.
const ATTRIBUTE_BYTES_MAX: usize = 32;

/// Request names with the names of their alternatives.
pub(super) type Names<'o> = BTreeMap<&'o str, BTreeSet<&'o str>>;

pub(super) fn request_names(claim: &Object) -> Names<'_> {
    let alternatives =
        |request| children(request, "firstAvailable").map(|other| text(other, "name")).collect();
    children(claim, "requests").map(|request| (text(request, "name"), alternatives(request))).collect()
}

/// Validates a claim. `path` is that of `devices`.
pub(super) fn device_claim(
    path: &Path<'_>,
    claim: &Object,
    context: &ValidationContext,
    errors: &mut ErrorList,
) {
    let names = request_names(claim);
    let mut expressions = Expressions::new(claim, compiler(context));
    let requests = path.child("requests");
    if at_most(&requests, list(claim, "requests").len(), ITEMS_MAX, errors) {
        for (index, request_of) in children(claim, "requests").enumerate() {
            request(&requests.index(index), request_of, &mut expressions, errors);
        }
        duplicates(&requests, children(claim, "requests").map(|request| text(request, "name")), errors);
    }
    let constraints = path.child("constraints");
    if at_most(&constraints, list(claim, "constraints").len(), ITEMS_MAX, errors) {
        for (index, constraint_of) in children(claim, "constraints").enumerate() {
            constraint(&constraints.index(index), constraint_of, &names, context, errors);
        }
    }
    let config = path.child("config");
    if at_most(&config, list(claim, "config").len(), ITEMS_MAX, errors) {
        for (index, entry) in children(claim, "config").enumerate() {
            let path = config.index(index);
            request_refs(&path.child("requests"), entry, &names, errors);
            configuration(&path, entry, false, errors);
        }
    }
    expressions.total_cost(path, errors);
}

fn request(path: &Path<'_>, request: &Object, expressions: &mut Expressions<'_>, errors: &mut ErrorList) {
    let name = text(request, "name");
    dns_label(&path.child("name"), name, errors);
    let detail = "exactly one of `exactly` or `firstAvailable` is required";
    match (child(request, "exactly"), list(request, "firstAvailable").len()) {
        (None, 0) => errors.push(Error::required(path, detail)),
        (Some(exactly), 0) => device_request(&path.child("exactly"), exactly, name, expressions, errors),
        (Some(_), _) => {
            let detail = format!("{detail}, but multiple fields are set");
            errors.push(Error::invalid(path, BadValue::Plain("null".to_owned()), detail));
        }
        (None, count) => {
            let path = path.child("firstAvailable");
            if !at_most(&path, count, ALTERNATIVES_MAX, errors) {
                return;
            }
            for (index, other) in children(request, "firstAvailable").enumerate() {
                let path = path.index(index);
                let other_name = text(other, "name");
                dns_label(&path.child("name"), other_name, errors);
                device_request(&path, other, &format!("{name}/{other_name}"), expressions, errors);
            }
            duplicates(&path, children(request, "firstAvailable").map(|other| text(other, "name")), errors);
        }
    }
}

/// Validates a request for devices of one class. `name` is how constraints refer to it.
fn device_request(
    path: &Path<'_>,
    request: &Object,
    name: &str,
    expressions: &mut Expressions<'_>,
    errors: &mut ErrorList,
) {
    let class = path.child("deviceClassName");
    match text(request, "deviceClassName") {
        "" => errors.push(Error::required(&class, "")),
        name => dns_subdomain(&class, name, errors),
    }
    selectors(&path.child("selectors"), request, Some(&expressions.compiler), errors);
    expressions.derived_attributes(&path.child("derivedAttributes"), request, name, errors);
    let mode = text(request, "allocationMode");
    let count = integer(request, "count");
    match mode {
        "All" if count != 0 => {
            let detail = "must not be specified when allocationMode is 'All'";
            errors.push(Error::invalid(&path.child("count"), count, detail));
        }
        "ExactCount" if count <= 0 => errors.push(Error::invalid(&path.child("count"), count, NOT_POSITIVE)),
        "All" | "ExactCount" => {}
        mode => {
            let path = path.child("allocationMode");
            errors.push(Error::not_supported(&path, BadValue::json_text(mode), &["All", "ExactCount"]));
        }
    }
    let tolerations = path.child("tolerations");
    for (index, item) in children(request, "tolerations").enumerate() {
        toleration(&tolerations.index(index), item, errors);
    }
}

fn constraint(
    path: &Path<'_>,
    constraint: &Object,
    names: &Names<'_>,
    context: &ValidationContext,
    errors: &mut ErrorList,
) {
    request_refs(&path.child("requests"), constraint, names, errors);
    let attribute = ["matchAttribute", "distinctAttribute"]
        .into_iter()
        .find_map(|member| maybe_text(constraint, member).map(|name| (member, name)));
    match attribute {
        Some((member, name)) => full_attribute_name(&path.child(member), name, errors),
        None if !context.settings.gates.enabled(Gate::DRAConsumableCapacity) => {
            errors.push(Error::required(&path.child("matchAttribute"), ""));
        }
        None => {
            // The text is upstream's.
            let detail = "exactly one of \"matchAttribute\" or \"distinctAttribute\" is required, but multiple \
                fields are set";
            errors.push(Error::required(path, detail));
        }
    }
}

/// Validates a reference to a request, or to one of its alternatives after a slash.
pub(super) fn request_ref(path: &Path<'_>, name: &str, names: &Names<'_>, errors: &mut ErrorList) {
    let (request, other) = name.split_once('/').map_or((name, None), |(name, other)| (name, Some(other)));
    let nested = other.is_some_and(|other| other.contains('/'));
    if !nested {
        dns_label(path, request, errors);
        if let Some(other) = other {
            dns_label(path, other, errors);
        }
    }
    let exists = names.get(request).is_some_and(|others| other.is_none_or(|other| others.contains(other)));
    if nested || !exists {
        let detail = "must be the name of a request in the claim or the name of a request and a subrequest \
            separated by '/'";
        errors.push(Error::invalid(path, name, detail));
    }
}

/// Validates references to requests. `path` is that of the list.
pub(super) fn request_refs(path: &Path<'_>, owner: &Object, names: &Names<'_>, errors: &mut ErrorList) {
    if !at_most(path, list(owner, "requests").len(), ITEMS_MAX, errors) {
        return;
    }
    for (index, name) in texts(owner, "requests").enumerate() {
        request_ref(&path.index(index), name, names, errors);
    }
    duplicates(path, texts(owner, "requests"), errors);
}

/// Checks for a device attribute with a domain.
fn full_attribute_name(path: &Path<'_>, name: &str, errors: &mut ErrorList) {
    attribute_name(path, name, errors);
    if !name.contains('/') {
        let detail = "a fully qualified name must be a domain and a name separated by a slash";
        errors.push(Error::invalid(path, BadValue::json_text(name), detail));
    }
}

/// Checks for a device attribute: a C identifier, after a domain and a slash unless it is the driver's. A
/// name with more slashes is not checked.
pub(super) fn attribute_name(path: &Path<'_>, name: &str, errors: &mut ErrorList) {
    match *name.split('/').collect::<Vec<_>>() {
        [id] => identifier(path, id, errors),
        [domain, id] => {
            match domain {
                "" => errors.push(Error::invalid(path, "", "the domain must not be empty")),
                domain => csi_driver(path, domain, errors),
            }
            match id {
                "" => errors.push(Error::invalid(path, "", "the name must not be empty")),
                id => identifier(path, id, errors),
            }
        }
        _ => {}
    }
}

fn identifier(path: &Path<'_>, id: &str, errors: &mut ErrorList) {
    if id.len() > ATTRIBUTE_BYTES_MAX {
        errors.push(Error::too_long(path, Some(ATTRIBUTE_BYTES_MAX)));
    }
    invalid_each(path, id, names::is_c_identifier(id), errors);
}
