//! Request policies for a device's capacity (KEP-5075).

use super::at_most;
use crate::validation::resources::quantity;
use api::tree::{child, is_set, list};
use apimachinery::field::{Error, ErrorList, Path};
use apimachinery::quantity::{Format, Quantity};
use jsontree::Value;
use schema::object::Object;
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// Limit of values to choose from.
const VALUES_MAX: usize = 10;

/// Validates a request policy: values to choose from, or a range. `capacity` is the available capacity.
pub(super) fn request_policy(
    path: &Path<'_>,
    capacity: Option<&Value>,
    policy: &Object,
    errors: &mut ErrorList,
) {
    let capacity = quantity(capacity);
    let default = is_set(policy, "default").then(|| quantity(policy.get("default")));
    let values = list(policy, "validValues");
    let (member, range) = match (values.is_empty(), child(policy, "validRange")) {
        (false, Some(_)) => {
            let detail = "exactly one policy can be specified, cannot specify \"validValues\" and \
                \"validRange\" at the same time";
            errors.push(Error::forbidden(path, detail));
            return;
        }
        (false, None) => ("validValues", None),
        (true, Some(range)) => ("validRange", Some(range)),
        (true, None) => return,
    };
    let Some(default) = default else {
        let detail = format!("required when {member} is defined");
        errors.push(Error::required(&path.child("default"), detail));
        return;
    };
    let path = path.child(member);
    match range {
        Some(range) => valid_range(&path, range, &default, &capacity, errors),
        None => valid_values(&path, values, &default, &capacity, errors),
    }
}

fn invalid(path: &Path<'_>, value: &Quantity, detail: impl Into<String>) -> Error {
    Error::invalid(path, value.to_string(), detail)
}

fn valid_values(
    path: &Path<'_>,
    values: &[Value],
    default: &Quantity,
    capacity: &Quantity,
    errors: &mut ErrorList,
) {
    let values: Vec<Quantity> = values.iter().map(|value| quantity(Some(value))).collect();
    for (index, pair) in values.windows(2).enumerate() {
        if let [before, value] = pair
            && before > value
        {
            let detail = "values must be sorted in ascending order";
            errors.push(invalid(&path.index(index + 1), value, detail));
        }
    }
    let mut found = false;
    if at_most(path, values.len(), VALUES_MAX, errors) {
        for (index, value) in values.iter().enumerate().filter(|(_, value)| *value > capacity) {
            let detail = format!("option is larger than capacity value: {capacity}");
            errors.push(invalid(&path.index(index), value, detail));
        }
        let mut seen = BTreeSet::new();
        for (index, value) in values.iter().enumerate() {
            if !seen.insert(value.value()) {
                errors.push(Error::duplicate(&path.index(index), value.value().to_string()));
            }
        }
        found = values.contains(default);
    }
    if !found {
        errors.push(invalid(path, default, "default value is not valid according to the requestPolicy"));
    }
}

fn valid_range(
    path: &Path<'_>,
    range: &Object,
    default: &Quantity,
    capacity: &Quantity,
    errors: &mut ErrorList,
) {
    let member = |name: &str| is_set(range, name).then(|| quantity(range.get(name)));
    let min_path = path.child("min");
    let max_path = path.child("max");
    let step_path = path.child("step");
    let Some(min) = member("min") else {
        errors.push(Error::required(&min_path, "required when validRange is defined"));
        return;
    };
    let max = member("max");
    if min > *capacity {
        errors.push(invalid(&min_path, &min, format!("min is larger than capacity value: {capacity}")));
    }
    if *default < min {
        errors.push(invalid(&path.child("default"), default, format!("default is less than min: {min}")));
    }
    if let Some(max) = &max {
        if min > *max {
            errors.push(invalid(&max_path, &min, format!("min is larger than max: {max}")));
        }
        if max > capacity {
            errors.push(invalid(&max_path, max, format!("max is larger than capacity value: {capacity}")));
        }
        if default > max {
            errors.push(invalid(&path.child("default"), default, format!("default is more than max: {max}")));
        }
    }
    let Some(step) = member("step") else { return };
    if step.sign() != Ordering::Greater {
        errors.push(invalid(&step_path, &step, "must be greater than zero"));
        return;
    }
    let mut first = min.clone();
    first.add(&step);
    if first.cmp(capacity) == Ordering::Greater {
        let detail = format!("one step {first} is larger than capacity value: {capacity}");
        errors.push(invalid(&step_path, &step, detail));
    }
    let bounds =
        [("default", Some(default)), ("min", Some(&min)), ("max", max.as_ref()), ("step", Some(&step))];
    let before = errors.len();
    for (member, bound) in bounds {
        if let Some(detail) = bound.and_then(out_of_range) {
            errors.extend(bound.map(|bound| invalid(&path.child(member), bound, detail)));
        }
    }
    if errors.len() > before {
        return;
    }
    for value in [Some(default), max.as_ref()].into_iter().flatten() {
        let distance = value.value().wrapping_sub(min.value());
        // A step that rounds to zero is never a divisor.
        if distance.checked_rem(step.value()) != Some(0) {
            let detail = format!("value is not a multiple of a given step ({step}) from ({min})");
            errors.push(invalid(&step_path, value, detail));
        }
    }
}

/// Returns the error of a quantity that is not a 64-bit number, which the multiples of steps need.
fn out_of_range(bound: &Quantity) -> Option<&'static str> {
    let max = Quantity::new(i64::MAX, Format::DecimalSi);
    if bound.sign() == Ordering::Less {
        Some("must be greater than or equal to 0")
    } else {
        (*bound > max).then_some("must not be larger than 9223372036854775807")
    }
}
