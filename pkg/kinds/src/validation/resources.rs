//! Resource quantities, and the requirements of containers, pods and volume claims.

use super::resource_name::{
    ResourceNameRule, is_huge_pages, is_integer, is_multiple_of_page_size, is_overcommit_allowed,
};
use super::value::{NEGATIVE, NOT_POSITIVE, dns_label};
use api::tree::{child, children, text};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::quantity::Quantity;
use jsontree::Value;
use schema::object::Object;
use std::collections::BTreeSet;

/// Validation settings for resource requirements.
#[derive(Clone, Copy)]
pub(crate) struct Requirements<'a> {
    pub name: ResourceNameRule,
    /// Names in the pod's `resourceClaims`.
    pub claims: &'a BTreeSet<&'a str>,
    /// Allows huge pages in fractions of a page, because the old object had such a quantity.
    pub allow_partial_huge_pages: bool,
}

/// Parses the quantity in a tree; an absent or malformed one is zero.
pub(crate) fn quantity(value: Option<&Value>) -> Quantity {
    value.and_then(Value::as_str).and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Iterates over the resources of a list (`limits`, `requests`, `capacity`, …) in the order of their names.
pub(crate) fn resource_list<'o>(
    object: &'o Object,
    member: &str,
) -> impl Iterator<Item = (&'o str, Quantity)> + use<'o> {
    let list = child(object, member).into_iter().flatten();
    list.map(|(name, value)| (name.as_str(), quantity(Some(value))))
}

/// Checks that a quantity is not negative.
pub(crate) fn nonnegative_quantity(path: &Path<'_>, value: &Quantity, errors: &mut ErrorList) {
    if value.sign().is_lt() {
        errors.push(Error::invalid(path, value.to_string(), NEGATIVE));
    }
}

/// Checks that a quantity is positive.
pub(crate) fn positive_quantity(path: &Path<'_>, value: &Quantity, errors: &mut ErrorList) {
    if value.sign().is_le() {
        errors.push(Error::invalid(path, value.to_string(), NOT_POSITIVE));
    }
}

/// Checks that a resource's quantity is not negative, and an integer if the resource requires that.
pub(crate) fn resource_quantity(path: &Path<'_>, name: &str, value: &Quantity, errors: &mut ErrorList) {
    nonnegative_quantity(path, value, errors);
    if value.milli_value() % 1000 != 0 && is_integer(name) {
        errors.push(Error::invalid(path, value.to_string(), "must be an integer"));
    }
}

impl Requirements<'_> {
    /// Validates `limits`, `requests` and `claims`. `path` is that of the requirements.
    pub(crate) fn validate(&self, requirements: &Object, path: &Path<'_>, errors: &mut ErrorList) {
        let lists = [path.child("limits"), path.child("requests")];
        for (name, limit) in resource_list(requirements, "limits") {
            self.resource(&lists[0].key(name), name, &limit, errors);
            self.huge_pages(&lists[0].key(name), name, &limit, errors);
        }
        let limits = child(requirements, "limits");
        for (name, request) in resource_list(requirements, "requests") {
            self.resource(&lists[1].key(name), name, &request, errors);
            let limit = limits.and_then(|limits| limits.get(name)).map(|limit| quantity(Some(limit)));
            errors.extend(exceeds(&lists, name, &request, limit));
            self.huge_pages(&lists[1].key(name), name, &request, errors);
        }
        let named = |test: fn(&str) -> bool| {
            let lists = ["limits", "requests"].into_iter().filter_map(|list| child(requirements, list));
            lists.flat_map(Object::keys).any(|name| test(name))
        };
        if named(is_huge_pages) && !named(|name| matches!(name, "cpu" | "memory")) {
            errors.push(Error::forbidden(path, "HugePages require cpu or memory"));
        }
        claims(requirements, self.claims, &path.child("claims"), errors);
    }

    fn resource(&self, path: &Path<'_>, name: &str, value: &Quantity, errors: &mut ErrorList) {
        (self.name)(path, name, errors);
        resource_quantity(path, name, value, errors);
    }

    fn huge_pages(&self, path: &Path<'_>, name: &str, value: &Quantity, errors: &mut ErrorList) {
        let partial = is_huge_pages(name) && !is_multiple_of_page_size(name, value);
        if partial && !self.allow_partial_huge_pages {
            let detail = format!("{value} is not positive integer multiple of {name}");
            errors.push(Error::invalid(path, value.to_string(), detail));
        }
    }
}

/// True if any requirement is for huge pages in fractions of a page.
pub(crate) fn has_partial_huge_pages(list: &Object) -> bool {
    list.iter()
        .any(|(name, value)| is_huge_pages(name) && !is_multiple_of_page_size(name, &quantity(Some(value))))
}

/// Returns the error for a request that exceeds its limit, if there is one.
fn exceeds(
    [limits, requests]: &[Path<'_>; 2],
    name: &str,
    request: &Quantity,
    limit: Option<Quantity>,
) -> Option<Error> {
    let overcommit = is_overcommit_allowed(name);
    let relation = match &limit {
        None if overcommit => return None,
        None => return Some(Error::required(limits, "Limit must be set for non overcommitable resources")),
        Some(limit) if !overcommit && request != limit => "equal to",
        Some(limit) if request > limit => "less than or equal to",
        Some(_) => return None,
    };
    let detail = format!("must be {relation} {name} limit of {}", limit.unwrap_or_default());
    Some(Error::invalid(requests, request.to_string(), detail))
}

/// Validates the names of claims that a container uses. Each must be a claim of the pod, and they must not
/// overlap.
fn claims(requirements: &Object, claim_names: &BTreeSet<&str>, path: &Path<'_>, errors: &mut ErrorList) {
    let mut seen: BTreeSet<(&str, &str)> = BTreeSet::new();
    for (index, claim) in children(requirements, "claims").enumerate() {
        let path = path.index(index);
        let name = text(claim, "name");
        let request = text(claim, "request");
        if name.is_empty() {
            errors.push(Error::required(&path, ""));
            continue;
        }
        if seen.contains(&(name, "")) {
            errors.push(Error::duplicate(&path, name));
        } else {
            overlapping_claim(&seen, name, request, &path, errors);
            seen.insert((name, request));
        }
        if !claim_names.contains(name) {
            errors.push_with(|| unknown_claim(&path, name, claim_names));
        }
    }
}

/// Returns an error with all known names in quotes.
fn unknown_claim(path: &Path<'_>, name: &str, names: &BTreeSet<&str>) -> Error {
    let listed = if names.is_empty() {
        " which is empty".to_owned()
    } else {
        format!(": {}", names.iter().copied().collect::<Vec<_>>().join(", "))
    };
    let detail = format!("must be one of the names in pod.spec.resourceClaims{listed}");
    Error::not_found(path, name).with_detail_prefix(&detail)
}

/// A whole claim overlaps each of its requests; a request overlaps itself.
fn overlapping_claim(
    seen: &BTreeSet<(&str, &str)>,
    name: &str,
    request: &str,
    path: &Path<'_>,
    errors: &mut ErrorList,
) {
    if request.is_empty() {
        let requests = seen.range((name, "")..).take_while(|(claim, _)| *claim == name);
        errors.extend(requests.map(|_| Error::duplicate(path, name)));
        return;
    }
    dns_label(&path.child("request"), request, errors);
    if seen.contains(&(name, request)) {
        errors.push(Error::duplicate(path, format!("{name}/{request}")));
    }
}

#[cfg(test)]
#[path = "resources/tests.rs"]
mod tests;
