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
/// `is_fractional` allows values that are not whole numbers (`DRAFractionalCapacityRange`).
pub(super) fn request_policy(
    path: &Path<'_>,
    capacity: Option<&Value>,
    policy: &Object,
    is_fractional: bool,
    errors: &mut ErrorList,
) {
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
    if !is_set(policy, "default") {
        let detail = format!("required when {member} is defined");
        errors.push(Error::required(&path.child("default"), detail));
        return;
    }
    let policy =
        Policy { default: quantity(policy.get("default")), capacity: quantity(capacity), is_fractional };
    let path = path.child(member);
    match range {
        Some(range) => policy.valid_range(&path, range, errors),
        None => policy.valid_values(&path, values, errors),
    }
}

fn invalid(path: &Path<'_>, value: &Quantity, detail: impl Into<String>) -> Error {
    Error::invalid(path, value.to_string(), detail)
}

/// Request policy of a capacity.
struct Policy {
    default: Quantity,
    /// The available capacity.
    capacity: Quantity,
    /// True if values that are not whole numbers are allowed.
    is_fractional: bool,
}

impl Policy {
    fn valid_values(&self, path: &Path<'_>, items: &[Value], errors: &mut ErrorList) {
        let Policy { default, capacity, .. } = self;
        let values: Vec<Quantity> = items.iter().map(|value| quantity(Some(value))).collect();
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
                let key = if self.is_fractional { value.decimal_text() } else { value.value().to_string() };
                if seen.contains(&key) {
                    errors.push(Error::duplicate(&path.index(index), key));
                } else {
                    seen.insert(key);
                }
            }
            found = values.contains(default);
        }
        if !found {
            errors.push(invalid(path, default, "default value is not valid according to the requestPolicy"));
        }
    }

    fn valid_range(&self, path: &Path<'_>, range: &Object, errors: &mut ErrorList) {
        let member = |name: &str| is_set(range, name).then(|| quantity(range.get(name)));
        let Some(min) = member("min") else {
            errors.push(Error::required(&path.child("min"), "required when validRange is defined"));
            return;
        };
        let range = Range { min, max: member("max"), step: member("step") };
        self.bounds(path, &range, errors);
        let values = range.values(&self.default);
        let in_thousandths = self.is_fractional && values.iter().any(|(_, value)| is_fractional(value));
        if in_thousandths {
            let before = errors.len();
            for (name, value) in values.iter().filter(|(_, value)| !is_in_thousandths(value)) {
                let detail = "value cannot be represented as a milli value";
                errors.push(invalid(&path.child(name), value, detail));
            }
            if errors.len() > before {
                return;
            }
        }
        self.step(path, &range, in_thousandths, errors);
    }

    fn bounds(&self, path: &Path<'_>, range: &Range, errors: &mut ErrorList) {
        let Policy { default, capacity, .. } = self;
        let min = &range.min;
        let default_path = path.child("default");
        let max_path = path.child("max");
        if min > capacity {
            let detail = format!("min is larger than capacity value: {capacity}");
            errors.push(invalid(&path.child("min"), min, detail));
        }
        if default < min {
            errors.push(invalid(&default_path, default, format!("default is less than min: {min}")));
        }
        let Some(max) = &range.max else { return };
        if min > max {
            errors.push(invalid(&max_path, min, format!("min is larger than max: {max}")));
        }
        if max > capacity {
            errors.push(invalid(&max_path, max, format!("max is larger than capacity value: {capacity}")));
        }
        if default > max {
            errors.push(invalid(&default_path, default, format!("default is more than max: {max}")));
        }
    }

    /// Checks that the default and the maximum are multiples of the step from the minimum.
    fn step(&self, path: &Path<'_>, range: &Range, in_thousandths: bool, errors: &mut ErrorList) {
        let Some(step) = &range.step else { return };
        let Policy { default, capacity, .. } = self;
        let step_path = path.child("step");
        if step.sign() != Ordering::Greater {
            errors.push(invalid(&step_path, step, "must be greater than zero"));
            return;
        }
        let mut first = range.min.clone();
        first.add(step);
        if first > *capacity {
            let detail = format!("one step {first} is larger than capacity value: {capacity}");
            errors.push(invalid(&step_path, step, detail));
        }
        if !in_thousandths {
            let before = errors.len();
            for (name, value) in range.values(default) {
                let error = out_of_range(value).map(|detail| invalid(&path.child(name), value, detail));
                errors.extend(error);
            }
            if errors.len() > before {
                return;
            }
        }
        let number = |value: &Quantity| if in_thousandths { value.milli_value() } else { value.value() };
        let min = &range.min;
        for value in [Some(default), range.max.as_ref()].into_iter().flatten() {
            let distance = number(value).wrapping_sub(number(min));
            // A step that rounds to zero is never a divisor.
            if distance.checked_rem(number(step)) != Some(0) {
                let detail = format!("value is not a multiple of a given step ({step}) from ({min})");
                errors.push(invalid(&step_path, value, detail));
            }
        }
    }
}

/// Range of a policy.
struct Range {
    min: Quantity,
    max: Option<Quantity>,
    step: Option<Quantity>,
}

impl Range {
    /// Returns the default and the bounds that are set, with their names in errors.
    fn values<'q>(&'q self, default: &'q Quantity) -> Vec<(&'static str, &'q Quantity)> {
        let optional = [("max", &self.max), ("step", &self.step)];
        let set = optional.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
        [("default", default), ("min", &self.min)].into_iter().chain(set).collect()
    }
}

/// True for a quantity that is not a whole number.
fn is_fractional(quantity: &Quantity) -> bool {
    !quantity.clone().round_up(0)
}

/// True for a quantity that is a 64-bit number of thousandths.
fn is_in_thousandths(quantity: &Quantity) -> bool {
    Quantity::from_milli(quantity.milli_value(), quantity.format()) == *quantity
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
