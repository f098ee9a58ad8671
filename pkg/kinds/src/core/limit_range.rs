//! Limit ranges: limits and defaults for pods, containers and claims in a namespace.

mod defaults;
mod strategy;

use crate::kind::{Columns, Kind, RareProperties, Validation, Version, WarningRules};
use crate::validation::NameRule;
use crate::validation::resource_name::{any_resource, container_resource, is_overcommit_allowed};
use crate::validation::resources::{quantity, resource_list};
use crate::validation::rules::{Rules, metadata};
use crate::validation::value::invalid_each;
use api::tree::{child, children, text};
use apimachinery::field::{BadValue, Error, ErrorList, Path};
use apimachinery::names;
use apimachinery::quantity::{Format, Quantity};
use schema::object::Object;
use std::collections::BTreeSet;

pub(crate) static KIND: Kind = Kind {
    names: NameRule::DnsSubdomain,
    qualified_finalizers: true,
    defaults: &[Version::with_defaults("v1", defaults::limit_range)],
    validation: Validation::Objects(RULES),
    warnings: WarningRules::NONE,
    columns: Columns::NameAndCreation,
    gated: &[],
    strategy: &strategy::LimitRanges,
    rare_properties: RareProperties::NONE,
};

/// An update has the same rules as a creation.
pub(crate) const RULES: Rules = Rules { create, update: |_, new, _| create(new) };

/// Largest number with thousandths that fit.
const MAX_MILLI: i64 = i64::MAX / 1000;

fn create(new: &Object) -> ErrorList {
    let mut errors = metadata(new, true, NameRule::DnsSubdomain);
    let path = Path::root("spec.limits");
    let mut kinds = BTreeSet::new();
    let limits = child(new, "spec").into_iter().flat_map(|spec| children(spec, "limits"));
    for (index, limit) in limits.enumerate() {
        let path = path.index(index);
        let kind = text(limit, "type");
        limit_type(&path.child("type"), kind, &mut errors);
        if !kinds.insert(kind) {
            errors.push(Error::duplicate(&path.child("type"), BadValue::json_text(kind)));
        }
        names_of_resources(limit, kind, &path, &mut errors);
        for name in resources_of(limit, kind) {
            Limits::new(limit, kind, name).validate(&path, &mut errors);
        }
    }
    errors
}

/// Validates the type of a limit: a known type or a qualified name.
fn limit_type(path: &Path<'_>, kind: &str, errors: &mut ErrorList) {
    let messages = names::is_label_key(kind);
    let standard = kind.contains('/') || matches!(kind, "Pod" | "Container" | "PersistentVolumeClaim");
    if messages.is_empty() && !standard {
        let detail = "must be a standard limit type or fully qualified";
        errors.push(Error::invalid(path, BadValue::json_text(kind), detail));
    }
    invalid_each(path, BadValue::json_text(kind), messages, errors);
}

fn names_of_resources(limit: &Object, kind: &str, path: &Path<'_>, errors: &mut ErrorList) {
    let rule = if matches!(kind, "Pod" | "Container") { container_resource } else { any_resource };
    let check = |member: &str, errors: &mut ErrorList| {
        let path = path.child(member);
        for (name, _) in resource_list(limit, member) {
            rule(&path.key(name), name, errors);
        }
    };
    check("max", errors);
    check("min", errors);
    for member in ["default", "defaultRequest"] {
        if kind != "Pod" {
            check(member, errors);
        } else if child(limit, member).is_some_and(|list| !list.is_empty()) {
            let detail = "may not be specified when `type` is 'Pod'";
            errors.push(Error::forbidden(&path.child(member), detail));
        }
    }
    let bounds_storage = ["min", "max"].iter().any(|member| has(limit, member, "storage"));
    if kind == "PersistentVolumeClaim" && !bounds_storage {
        let detail = "either minimum or maximum storage value is required, but neither was provided";
        errors.push(Error::required(&path.child("limits"), detail));
    }
    check("maxLimitRequestRatio", errors);
}

fn has(limit: &Object, member: &str, name: &str) -> bool {
    child(limit, member).is_some_and(|list| list.contains_key(name))
}

/// Returns the names of all resources in a limit.
fn resources_of<'o>(limit: &'o Object, kind: &str) -> BTreeSet<&'o str> {
    let defaults = if kind == "Pod" { &[][..] } else { &["default", "defaultRequest"] };
    let members = ["max", "min", "maxLimitRequestRatio"].iter().chain(defaults);
    members
        .flat_map(|member| child(limit, member))
        .flat_map(Object::keys)
        .map(jsontree::Key::as_str)
        .collect()
}

/// Values of a limit for one resource.
struct Limits<'o> {
    name: &'o str,
    min: Option<Quantity>,
    max: Option<Quantity>,
    default: Option<Quantity>,
    default_request: Option<Quantity>,
    ratio: Option<Quantity>,
}

impl<'o> Limits<'o> {
    fn new(limit: &Object, kind: &str, name: &'o str) -> Self {
        let get =
            |member| child(limit, member).and_then(|list| list.get(name)).map(|value| quantity(Some(value)));
        let default = |member| if kind == "Pod" { None } else { get(member) };
        Self {
            name,
            min: get("min"),
            max: get("max"),
            default: default("default"),
            default_request: default("defaultRequest"),
            ratio: get("maxLimitRequestRatio"),
        }
    }

    /// Validates the relations between the quantities. `path` is that of the limit.
    fn validate(&self, path: &Path<'_>, errors: &mut ErrorList) {
        let name = self.name;
        let invalid = |member: &str, value: &Quantity, detail: String| {
            Error::invalid(&path.child(member).key(name), value.to_string(), detail)
        };
        let mut above =
            |low: (&str, &Option<Quantity>), high: (&str, &Option<Quantity>), member, shows_low| {
                if let (Some(a), Some(b)) = (low.1, high.1)
                    && a > b
                {
                    let detail = format!("{} value {a} is greater than {} value {b}", low.0, high.0);
                    errors.push(invalid(member, if shows_low { a } else { b }, detail));
                }
            };
        let min = ("min", &self.min);
        let max = ("max", &self.max);
        let default = ("default", &self.default);
        let request = ("default request", &self.default_request);
        above(min, max, "min", true);
        above(min, request, "defaultRequest", false);
        above(request, max, "defaultRequest", true);
        above(request, ("default limit", &self.default), "defaultRequest", true);
        // The last two errors show the bound instead of the default, as in upstream.
        above(min, default, "default", true);
        above(default, max, "default", false);
        if let Some(ratio) = &self.ratio {
            let details = [self.low_ratio(ratio), self.high_ratio(ratio)].into_iter().flatten();
            errors.extend(details.map(|detail| invalid("maxLimitRequestRatio", ratio, detail)));
        }
        if let (Some(default), Some(request)) = (&self.default, &self.default_request)
            && !is_overcommit_allowed(name)
            && default != request
        {
            let detail =
                format!("default value {default} must equal to defaultRequest value {request} in {name}");
            errors.push(invalid("defaultRequest", request, detail));
        }
    }

    fn low_ratio(&self, ratio: &Quantity) -> Option<String> {
        let one = Quantity::new(1, Format::DecimalSi);
        (*ratio < one).then(|| format!("ratio {ratio} is less than 1"))
    }

    /// Returns an error for a limit-to-request ratio that is impossible with this minimum and maximum.
    #[allow(clippy::cast_precision_loss, reason = "upstream compares floating-point numbers")]
    fn high_ratio(&self, ratio: &Quantity) -> Option<String> {
        let min = self.min.as_ref()?;
        let max = self.max.as_ref()?;
        let in_thousandths = [ratio, min, max].iter().all(|quantity| quantity.value() < MAX_MILLI);
        let (value, min, max) = if in_thousandths {
            (ratio.milli_value() as f64 / 1000.0, min.milli_value(), max.milli_value())
        } else {
            (ratio.value() as f64, min.value(), max.value())
        };
        let limit = max as f64 / min as f64;
        (value > limit).then(|| format!("ratio {ratio} is greater than max/min = {limit:.6}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jsontree::{Value, json};

    fn check(limits: Value, expected: &[&str]) {
        let meta = json!({"name": "n", "namespace": "ns"});
        let spec = json!({"limits": limits});
        let range = Object::from_iter([("metadata".to_owned(), meta), ("spec".to_owned(), spec)]);
        let texts: Vec<String> = create(&range).iter().map(Error::to_string).collect();
        assert_eq!(texts, expected, "{range:?}");
    }

    fn check_container(mut limit: Value, expected: &[&str]) {
        limit["type"] = "Container".into();
        check(json!([limit]), expected);
    }

    #[test]
    fn types_are_known_and_occur_once() {
        check(json!([{"type": "Pod"}, {"type": "example.com/x"}]), &[]);
        let detail = "must be a standard limit type or fully qualified";
        check(json!([{"type": "x"}]), &[&format!("spec.limits[0].type: Invalid value: \"x\": {detail}")]);
        check(json!([{"type": "Pod"}, {"type": "Pod"}]), &["spec.limits[1].type: Duplicate value: \"Pod\""]);
    }

    #[test]
    fn pods_have_no_defaults() {
        let detail = "Forbidden: may not be specified when `type` is 'Pod'";
        check(
            json!([{"type": "Pod", "default": {"cpu": "1"}, "defaultRequest": {"cpu": "1"}}]),
            &[
                &format!("spec.limits[0].default: {detail}"),
                &format!("spec.limits[0].defaultRequest: {detail}"),
            ],
        );
    }

    #[test]
    fn claims_are_bounded_in_size() {
        check(json!([{"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}]), &[]);
        let detail = "either minimum or maximum storage value is required, but neither was provided";
        check(
            json!([{"type": "PersistentVolumeClaim"}]),
            &[&format!("spec.limits[0].limits: Required value: {detail}")],
        );
    }

    #[test]
    fn quantities_are_in_order() {
        let ordered = json!({"min": {"cpu": "1"}, "defaultRequest": {"cpu": "2"}, "default": {"cpu": "3"}, "max": {"cpu": "4"}});
        check_container(ordered, &[]);
        check_container(
            json!({"min": {"cpu": "4"}, "defaultRequest": {"cpu": "3"}, "default": {"cpu": "2"}, "max": {"cpu": "1"}}),
            &[
                "spec.limits[0].min[cpu]: Invalid value: \"4\": min value 4 is greater than max value 1",
                "spec.limits[0].defaultRequest[cpu]: Invalid value: \"3\": \
                 min value 4 is greater than default request value 3",
                "spec.limits[0].defaultRequest[cpu]: Invalid value: \"3\": \
                 default request value 3 is greater than max value 1",
                "spec.limits[0].defaultRequest[cpu]: Invalid value: \"3\": \
                 default request value 3 is greater than default limit value 2",
                "spec.limits[0].default[cpu]: Invalid value: \"4\": min value 4 is greater than default value 2",
                "spec.limits[0].default[cpu]: Invalid value: \"1\": default value 2 is greater than max value 1",
            ],
        );
    }

    #[test]
    fn ratios_fit_minimum_and_maximum() {
        let ratio = |ratio: &str| json!({"min": {"cpu": "300m"}, "max": {"cpu": "1"}, "maxLimitRequestRatio": {"cpu": ratio}});
        let path = "spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value:";
        check_container(ratio("3"), &[]);
        check_container(ratio("4"), &[&format!("{path} \"4\": ratio 4 is greater than max/min = 3.333333")]);
        check_container(ratio("500m"), &[&format!("{path} \"500m\": ratio 500m is less than 1")]);
    }

    #[test]
    fn non_overcommittable_resource_has_one_default() {
        check_container(
            json!({"default": {"example.com/gpu": "2"}, "defaultRequest": {"example.com/gpu": "1"}}),
            &["spec.limits[0].defaultRequest[example.com/gpu]: Invalid value: \"1\": \
               default value 2 must equal to defaultRequest value 1 in example.com/gpu"],
        );
    }
}
