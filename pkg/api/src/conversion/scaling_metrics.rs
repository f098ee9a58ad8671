//! The metrics of HorizontalPodAutoscalers: flat in `autoscaling/v1` (which keeps them in annotations),
//! nested in `autoscaling/v2`.

use jsontree::Value;
use schema::object::{self, Object};

/// A member of a metric in `v1` and its path in `v2`.
struct MetricMember {
    v1: &'static str,
    v2: &'static [&'static str],
    /// True if `v1` cannot omit the member: an absent one becomes 0.
    required_in_v1: bool,
}

const fn optional(v1: &'static str, v2: &'static [&'static str]) -> MetricMember {
    MetricMember { v1, v2, required_in_v1: false }
}

const fn required_quantity(v1: &'static str, v2: &'static [&'static str]) -> MetricMember {
    MetricMember { v1, v2, required_in_v1: true }
}

/// Target type of a metric. `v1` has no such field, so the type follows from the given values.
#[derive(Clone, Copy)]
enum Target {
    None,
    Average,
    /// Utilization if present, otherwise an average.
    UtilizationFirst,
    /// A value if present, otherwise an average.
    ValueFirst,
    /// An average if present, otherwise a value.
    AverageFirst,
}

/// The sources of a metric spec or status: name, parts, kind of target.
type Sources = [(&'static str, &'static [MetricMember], Target); 5];

const SPEC: Sources = [
    (
        "object",
        &[
            optional("target", &["describedObject"]),
            optional("metricName", &["metric", "name"]),
            optional("targetValue", &["target", "value"]),
            optional("selector", &["metric", "selector"]),
            optional("averageValue", &["target", "averageValue"]),
        ],
        Target::AverageFirst,
    ),
    (
        "pods",
        &[
            optional("metricName", &["metric", "name"]),
            required_quantity("targetAverageValue", &["target", "averageValue"]),
            optional("selector", &["metric", "selector"]),
        ],
        Target::Average,
    ),
    ("resource", RESOURCE_SPEC, Target::UtilizationFirst),
    ("containerResource", RESOURCE_SPEC, Target::UtilizationFirst),
    (
        "external",
        &[
            optional("metricName", &["metric", "name"]),
            optional("metricSelector", &["metric", "selector"]),
            optional("targetValue", &["target", "value"]),
            optional("targetAverageValue", &["target", "averageValue"]),
        ],
        Target::ValueFirst,
    ),
];

/// `name` and `container` are the same in both versions.
const RESOURCE_SPEC: &[MetricMember] = &[
    optional("targetAverageUtilization", &["target", "averageUtilization"]),
    optional("targetAverageValue", &["target", "averageValue"]),
];

const STATUS: Sources = [
    (
        "object",
        &[
            optional("target", &["describedObject"]),
            optional("metricName", &["metric", "name"]),
            required_quantity("currentValue", &["current", "value"]),
            optional("selector", &["metric", "selector"]),
            optional("averageValue", &["current", "averageValue"]),
        ],
        Target::None,
    ),
    (
        "pods",
        &[
            optional("metricName", &["metric", "name"]),
            required_quantity("currentAverageValue", &["current", "averageValue"]),
            optional("selector", &["metric", "selector"]),
        ],
        Target::None,
    ),
    ("resource", RESOURCE_STATUS, Target::None),
    ("containerResource", RESOURCE_STATUS, Target::None),
    (
        "external",
        &[
            optional("metricName", &["metric", "name"]),
            optional("metricSelector", &["metric", "selector"]),
            required_quantity("currentValue", &["current", "value"]),
            optional("currentAverageValue", &["current", "averageValue"]),
        ],
        Target::None,
    ),
];

const RESOURCE_STATUS: &[MetricMember] = &[
    optional("currentAverageUtilization", &["current", "averageUtilization"]),
    required_quantity("currentAverageValue", &["current", "averageValue"]),
];

pub(super) fn spec_to_v2(metric: Object) -> Object {
    to_v2(metric, &SPEC)
}

pub(super) fn spec_to_v1(metric: Object) -> Object {
    to_v1(metric, &SPEC)
}

pub(super) fn status_to_v2(metric: Object) -> Object {
    to_v2(metric, &STATUS)
}

pub(super) fn status_to_v1(metric: Object) -> Object {
    to_v1(metric, &STATUS)
}

fn to_v2(mut metric: Object, sources: &Sources) -> Object {
    for (name, parts, target) in sources {
        let Some(Value::Object(source)) = metric.get_mut(*name) else { continue };
        // All values are removed before any is set, because `target` is a member in both versions.
        let values: Vec<Option<Value>> = parts.iter().map(|part| source.remove(part.v1)).collect();
        for (part, value) in parts.iter().zip(values) {
            if let Some(value) = value.or_else(|| part.required_in_v1.then(|| Value::from("0"))) {
                object::set(source, part.v2, value);
            }
        }
        set_target_type(source, *target);
    }
    metric
}

fn to_v1(mut metric: Object, sources: &Sources) -> Object {
    for (name, parts, _) in sources {
        let Some(Value::Object(source)) = metric.get_mut(*name) else { continue };
        let values: Vec<Option<Value>> = parts.iter().map(|part| object::remove(source, part.v2)).collect();
        for emptied in ["target", "current", "metric"] {
            source.remove(emptied);
        }
        for (part, value) in parts.iter().zip(values) {
            if let Some(value) = value {
                source.insert(part.v1.to_owned(), value);
            }
        }
    }
    metric
}

fn set_target_type(source: &mut Object, target: Target) {
    let has = |name| object::get(source, &["target", name]).is_some();
    let average = "AverageValue";
    let kind = match target {
        Target::None => return,
        Target::UtilizationFirst if has("averageUtilization") => "Utilization",
        Target::ValueFirst if has("value") => "Value",
        Target::AverageFirst if !has("averageValue") => "Value",
        Target::Average | Target::UtilizationFirst | Target::ValueFirst | Target::AverageFirst => average,
    };
    if matches!(target, Target::AverageFirst) {
        let value = object::get_str(source, &["target", "value"]);
        // `v1` always has a value; next to an average, 0 means absent.
        match (kind == average, value) {
            (true, Some("0")) => drop(object::remove(source, &["target", "value"])),
            (false, None) => object::set(source, &["target", "value"], "0"),
            _ => {}
        }
    }
    object::set(source, &["target", "type"], kind);
}
