//! HorizontalPodAutoscalers: `autoscaling/v2`, the stored version, and `autoscaling/v1`. The latter only has
//! a field for the CPU utilization and stores the rest in annotations.

use super::kind::{Conversion, NONE, Spoke};
use super::{json_text, scaling_behavior, scaling_metrics};
use crate::tree::{child, child_mut, text};
use jsontree::{Value, json};
use schema::builtin::{
    IO_K8S_API_AUTOSCALING_V1_HORIZONTALPODAUTOSCALERCONDITION as CONDITION,
    IO_K8S_API_AUTOSCALING_V1_METRICSPEC as METRIC_SPEC,
    IO_K8S_API_AUTOSCALING_V1_METRICSTATUS as METRIC_STATUS,
};
use schema::object::{self, Object};
use schema::table::Message;

pub(super) static CONVERSION: Conversion = Conversion {
    spokes: &[Spoke::of("autoscaling/v1", v1_to_v2, v2_to_v1)],
    normalise: |object| {
        drop_annotations(object);
        Ok(())
    },
    ..NONE
};

const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const CURRENT_METRICS: &str = "autoscaling.alpha.kubernetes.io/current-metrics";
const CONDITIONS: &str = "autoscaling.alpha.kubernetes.io/conditions";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";
const ANNOTATIONS: [&str; 6] = [
    METRICS,
    CURRENT_METRICS,
    CONDITIONS,
    BEHAVIOR,
    "autoscaling.alpha.kubernetes.io/scale-down-tolerance",
    "autoscaling.alpha.kubernetes.io/scale-up-tolerance",
];

/// Target without any metric, in percent.
const DEFAULT_CPU_UTILIZATION: i64 = 80;

/// Converts to the stored form. An annotation that does not parse is dropped silently, as in upstream.
fn v1_to_v2(autoscaler: &mut Object) {
    let mut metrics =
        read(autoscaler, METRICS, &METRIC_SPEC, scaling_metrics::spec_to_v2).unwrap_or_default();
    let cpu =
        object::remove(autoscaler, &["spec", "targetCPUUtilizationPercentage"]).filter(|v| !v.is_null());
    if let Some(cpu) = cpu.or_else(|| metrics.is_empty().then(|| Value::from(DEFAULT_CPU_UTILIZATION))) {
        let target = json!({"type": "Utilization", "averageUtilization": cpu});
        metrics.push(json!({"type": "Resource", "resource": {"name": "cpu", "target": target}}));
    }
    object::set(autoscaler, &["spec", "metrics"], metrics);
    if let Some(behavior) = annotation(autoscaler, BEHAVIOR).and_then(scaling_behavior::from_text) {
        object::set(autoscaler, &["spec", "behavior"], behavior);
    }
    let cpu =
        object::remove(autoscaler, &["status", "currentCPUUtilizationPercentage"]).filter(|v| !v.is_null());
    let current =
        read(autoscaler, CURRENT_METRICS, &METRIC_STATUS, scaling_metrics::status_to_v2).or_else(|| {
            let current = json!({"averageUtilization": cpu?});
            Some(vec![json!({"type": "Resource", "resource": {"name": "cpu", "current": current}})])
        });
    let conditions = read(autoscaler, CONDITIONS, &CONDITION, |condition| condition);
    // An empty list in an annotation is also an empty list in the status, where JSON distinguishes it from
    // null.
    for (name, items) in [("currentMetrics", current), ("conditions", conditions)] {
        if let Some(items) = items {
            object::set(autoscaler, &["status", name], items);
        }
    }
    drop_annotations(autoscaler);
}

/// Converts to the form with annotations.
fn v2_to_v1(autoscaler: &mut Object) {
    drop_annotations(autoscaler);
    let mut other = Vec::new();
    let mut cpu = None;
    for metric in remove_list(autoscaler, "spec", "metrics") {
        match cpu_member(&metric, "target") {
            Some(utilization) => cpu = cpu.or(Some(utilization)),
            None => other.push(scaling_metrics::spec_to_v1(metric)),
        }
    }
    if let Some(cpu) = cpu {
        object::set(autoscaler, &["spec", "targetCPUUtilizationPercentage"], cpu);
    }
    write(autoscaler, METRICS, &METRIC_SPEC, &other);
    if let Some(Value::Object(behavior)) = object::remove(autoscaler, &["spec", "behavior"]) {
        set_annotation(autoscaler, BEHAVIOR, scaling_behavior::to_text(&behavior));
    }
    // CPU metrics of the status are also in the annotation, because v1 has no field for the raw value.
    let current = remove_list(autoscaler, "status", "currentMetrics");
    if let Some(cpu) = current.iter().filter_map(|metric| cpu_member(metric, "current")).next_back() {
        object::set(autoscaler, &["status", "currentCPUUtilizationPercentage"], cpu);
    }
    let current: Vec<Object> = current.into_iter().map(scaling_metrics::status_to_v1).collect();
    write(autoscaler, CURRENT_METRICS, &METRIC_STATUS, &current);
    let conditions = remove_list(autoscaler, "status", "conditions");
    write(autoscaler, CONDITIONS, &CONDITION, &conditions);
}

/// Removes the annotations that represent fields.
fn drop_annotations(autoscaler: &mut Object) {
    let Some(metadata) = child_mut(autoscaler, "metadata") else { return };
    let Some(annotations) = child_mut(metadata, "annotations") else { return };
    annotations.retain(|name, _| !ANNOTATIONS.contains(&name.as_str()));
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
}

fn annotation<'o>(autoscaler: &'o Object, name: &str) -> Option<&'o str> {
    object::get_str(autoscaler, &["metadata", "annotations", name])
}

fn set_annotation(autoscaler: &mut Object, name: &str, value: String) {
    object::set(autoscaler, &["metadata", "annotations", name], value);
}

/// Reads a list from an annotation. Returns `None` if the annotation is absent or any part is malformed.
fn read(
    autoscaler: &Object,
    name: &str,
    message: &'static Message,
    convert: fn(Object) -> Object,
) -> Option<Vec<Value>> {
    let items: Option<Vec<Value>> = serde_json::from_str(annotation(autoscaler, name)?).ok()?;
    let decode = |mut item: Value| {
        if item.is_null() {
            return Some(Object::new());
        }
        json_text::fold_names(message, &mut item);
        schema::json::decode(message, item.to_string().as_bytes()).ok().map(|decoded| decoded.object)
    };
    let objects = items.unwrap_or_default().into_iter().map(decode).collect::<Option<Vec<Object>>>()?;
    Some(objects.into_iter().map(|object| Value::Object(convert(object))).collect())
}

/// Writes a list to an annotation, unless the list is empty.
fn write(autoscaler: &mut Object, name: &str, message: &'static Message, items: &[Object]) {
    if !items.is_empty()
        && let Some(text) = json_text::list_of(message, items)
    {
        set_annotation(autoscaler, name, text);
    }
}

/// Removes a list of objects from the autoscaler and returns it.
fn remove_list(autoscaler: &mut Object, part: &str, name: &str) -> Vec<Object> {
    let Some(Value::Array(items)) = object::remove(autoscaler, &[part, name]) else { return Vec::new() };
    let objects = items.into_iter().map(|item| match item {
        Value::Object(object) => object,
        _ => Object::new(),
    });
    objects.collect()
}

/// Returns the average utilization of a CPU metric.
fn cpu_member(metric: &Object, member: &str) -> Option<Value> {
    let resource = child(metric, "resource").filter(|_| text(metric, "type") == "Resource")?;
    let utilization = child(resource, member)?.get("averageUtilization").filter(|value| !value.is_null());
    utilization.filter(|_| text(resource, "name") == "cpu").cloned()
}
