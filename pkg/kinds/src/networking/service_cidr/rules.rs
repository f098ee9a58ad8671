//! Validation of ranges for Service addresses.

use crate::validation::NameRule;
use crate::validation::cidr::{Cidr, cidr};
use crate::validation::go_value::go_value;
use crate::validation::immutable::IMMUTABLE;
use crate::validation::rules::{Rules, metadata, metadata_update};
use api::tree::{child, texts};
use apimachinery::field::{Error, ErrorList, Path};
use jsontree::Value;
use schema::builtin::IO_K8S_API_NETWORKING_V1_SERVICECIDRSPEC as CIDR_SPEC;
use schema::object::Object;

pub(super) const RULES: Rules = Rules { create: ranges, update: ranges_update };

/// One for each IP family.
const RANGES_MAX: usize = 2;

fn ranges(new: &Object) -> ErrorList {
    let mut errors = metadata(new, false, NameRule::DnsSubdomain);
    validate_ranges(new, &mut errors);
    errors
}

fn list_of(object: &Object) -> Vec<&str> {
    child(object, "spec").into_iter().flat_map(|spec| texts(spec, "cidrs")).collect()
}

/// Returns the list for an error.
fn cidrs_value(object: &Object) -> &Value {
    child(object, "spec").and_then(|spec| spec.get("cidrs")).unwrap_or(&Value::Null)
}

fn validate_ranges(object: &Object, errors: &mut ErrorList) {
    let path = Path::root("spec.cidrs");
    let ranges = list_of(object);
    if ranges.is_empty() {
        errors.push(Error::required(&path, "at least one CIDR required"));
        return;
    }
    if ranges.len() > RANGES_MAX {
        // Upstream shows the whole spec here.
        let empty = Object::new();
        let value = go_value(&CIDR_SPEC, child(object, "spec").unwrap_or(&empty));
        errors.push(Error::invalid(&path, value, "may only hold up to 2 values"));
        return;
    }
    for (index, range) in ranges.iter().enumerate() {
        cidr(&path.index(index), range, errors);
    }
    let mut families = ranges.iter().map(|range| Cidr::parse(range).map(|range| range.network.is_ipv4()));
    if let (Some(Some(first)), Some(Some(second))) = (families.next(), families.next())
        && first == second
    {
        let detail =
            "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64";
        errors.push(Error::invalid(&path, cidrs_value(object), detail));
    }
}

/// CIDRs are immutable, but one of the other IP family may be added.
fn ranges_update(subresource: &str, new: &Object, old: &Object) -> ErrorList {
    let mut errors = metadata_update(new, old);
    if subresource == "status" {
        return errors;
    }
    let path = Path::root("spec.cidrs");
    let ranges = list_of(new);
    let old_ranges = list_of(old);
    let added = (old_ranges.len(), ranges.len()) == (1, 2);
    if !added && ranges.len() != old_ranges.len() {
        errors.push(Error::invalid(&path, cidrs_value(new), IMMUTABLE));
        return errors;
    }
    let changed = ranges.iter().zip(&old_ranges).enumerate().filter(|(_, (new, old))| new != old);
    errors.extend(changed.map(|(index, (new, _))| Error::invalid(&path.index(index), *new, IMMUTABLE)));
    if added {
        validate_ranges(new, &mut errors);
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::json;

    fn object(name: &str, spec: &Value) -> Object {
        let object = json!({"metadata": {"name": name, "resourceVersion": "1"}, "spec": spec});
        object.as_object().cloned().unwrap_or_default()
    }

    fn fields(errors: &ErrorList) -> Vec<&str> {
        errors.iter().map(Error::field).collect()
    }

    #[test]
    fn ranges_are_one_per_family_and_immutable() {
        let with = |list: &[&str]| object("r", &json!({"cidrs": list}));
        let check = |list: &[&str], expected: &[&str]| assert_eq!(fields(&ranges(&with(list))), expected);
        check(&["10.0.0.0/8", "2001:db8::/64"], &[]);
        check(&[], &["spec.cidrs"]);
        check(&["10.0.0.0/8", "11.0.0.0/8"], &["spec.cidrs"]);
        check(&["10.0.0.0/8", "::/0", "x"], &["spec.cidrs"]);
        check(&["2001:DB8::/64"], &["spec.cidrs[0]"]);
        let change = |new: &[&str], old: &[&str], expected: &[&str]| {
            assert_eq!(fields(&ranges_update("", &with(new), &with(old))), expected);
        };
        change(&["10.0.0.0/8", "2001:db8::/64"], &["10.0.0.0/8"], &[]);
        change(&["11.0.0.0/8"], &["10.0.0.0/8"], &["spec.cidrs[0]"]);
        change(&["10.0.0.0/8"], &["10.0.0.0/8", "2001:db8::/64"], &["spec.cidrs"]);
    }
}
