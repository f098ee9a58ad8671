//! The TARGETS column of autoscalers: current and target value of each metric.
//!
//! Version 1 only has fields for CPU. It stores other metrics as JSON in annotations, in a flatter shape than
//! version 2.

use crate::printers::format::{NONE, UNKNOWN, list_with_more, quantity};
use api::table::view::View;
use jsontree::{Object, Value};

/// Limit of shown metrics.
const SHOWN_MAX: usize = 2;

/// Default target of version 1 in percent.
const DEFAULT_CPU_PERCENT: i64 = 80;

/// Prints the column of an `autoscaling/v2` object.
pub(super) fn v2(autoscaler: View<'_>) -> String {
    let statuses: Vec<View<'_>> = autoscaler.get_path("status.currentMetrics").items().collect();
    let specs = autoscaler.get_path("spec.metrics").items();
    let texts: Vec<String> =
        specs.enumerate().map(|(index, spec)| v2_metric(spec, statuses.get(index).copied())).collect();
    if texts.is_empty() { NONE.to_owned() } else { list_with_more(&texts, SHOWN_MAX, ", ") }
}

fn v2_metric(spec: View<'_>, status: Option<View<'_>>) -> String {
    let Some((source, resource)) = source(spec.get("type").text()) else {
        return "<unknown type>".to_owned();
    };
    let target = spec.get(source).get("target");
    let status = status.map(|status| status.get(source)).filter(|status| status.exists());
    let current = status.map(|status| status.get("current"));
    let metric = Metric {
        resource: resource.then(|| spec.get(source).get("name").text()),
        pods: source == "pods",
        target: MetricAmounts {
            value: target.get("value"),
            average: target.get("averageValue"),
            percent: target.get("averageUtilization"),
        },
        current: current.map(|current| MetricAmounts {
            value: current.get("value"),
            average: current.get("averageValue"),
            percent: current.get("averageUtilization"),
        }),
    };
    metric.text()
}

/// Returns the field of a metric type. The boolean is true for resource metrics.
fn source(metric_type: &str) -> Option<(&'static str, bool)> {
    Some(match metric_type {
        "External" => ("external", false),
        "Pods" => ("pods", false),
        "Object" => ("object", false),
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        _ => return None,
    })
}

/// Target or current amounts of a metric.
#[derive(Clone, Copy)]
struct MetricAmounts<'a> {
    value: View<'a>,
    average: View<'a>,
    percent: View<'a>,
}

struct Metric<'a> {
    /// Name of the resource, for a resource metric.
    resource: Option<&'a str>,
    /// True if the metric is implicitly an average over pods.
    pods: bool,
    target: MetricAmounts<'a>,
    current: Option<MetricAmounts<'a>>,
}

impl Metric<'_> {
    fn text(&self) -> String {
        let average = self.target.average.exists();
        match self.resource {
            Some(name) if average => {
                let current = self.current.map(|current| quantity_or_nil(current.average));
                format!("{name}: {}/{}", or_unknown(current), quantity(self.target.average))
            }
            Some(name) => {
                let current = self.current.and_then(|current| percent(current.percent));
                let target = percent(self.target.percent).unwrap_or_else(|| "<auto>".to_owned());
                format!("{name}: {}/{target}", or_unknown(current))
            }
            None if self.pods => {
                let current = self.current.map(|current| quantity_or_nil(current.average));
                format!("{}/{}", or_unknown(current), quantity_or_nil(self.target.average))
            }
            None if average => {
                let current = self.current.filter(|current| current.average.exists());
                let current = current.map(|current| quantity(current.average));
                format!("{}/{} (avg)", or_unknown(current), quantity(self.target.average))
            }
            None => {
                let current = self.current.map(|current| quantity_or_nil(current.value));
                format!("{}/{}", or_unknown(current), quantity_or_nil(self.target.value))
            }
        }
    }
}

fn or_unknown(text: Option<String>) -> String {
    text.unwrap_or_else(|| UNKNOWN.to_owned())
}

fn percent(field: View<'_>) -> Option<String> {
    field.exists().then(|| format!("{}%", field.int()))
}

/// A quantity behind a nil pointer prints as `<nil>`.
fn quantity_or_nil(field: View<'_>) -> String {
    if field.exists() { quantity(field) } else { "<nil>".to_owned() }
}

/// Prints the column of an `autoscaling/v1` object, whose annotations and CPU fields are treated like those
/// of version 2.
pub(super) fn v1(autoscaler: View<'_>) -> String {
    let annotations = autoscaler.get_path("metadata.annotations");
    let annotated =
        |name: &str| -> Option<Vec<Value>> { serde_json::from_str(annotations.get(name).text()).ok() };
    let cpu_target = autoscaler.get_path("spec.targetCPUUtilizationPercentage");
    let specs = annotated("autoscaling.alpha.kubernetes.io/metrics").unwrap_or_default();
    let mut texts = Vec::new();
    let statuses = annotated("autoscaling.alpha.kubernetes.io/current-metrics");
    let cpu_status = autoscaler.get_path("status.currentCPUUtilizationPercentage");
    let current = |index: usize| -> Option<Object> {
        match &statuses {
            Some(statuses) => statuses.get(index)?.as_object().cloned(),
            None if index == 0 && cpu_status.exists() => cpu_as_status(cpu_status.int()),
            None => None,
        }
    };
    for (index, spec) in specs.iter().filter_map(Value::as_object).enumerate() {
        let status = current(index);
        texts.push(v1_metric(View::of(spec), status.as_ref().map(View::of)));
    }
    let default = specs.is_empty() && !cpu_target.exists();
    if default || cpu_target.exists() {
        let target = if default { DEFAULT_CPU_PERCENT } else { cpu_target.int() };
        let status = current(texts.len());
        let status = status.as_ref().map(|s| View::of(s).get("resource")).filter(|s| s.exists());
        let percent = status.and_then(|s| percent(s.get("currentAverageUtilization")));
        texts.push(format!("cpu: {}/{target}%", or_unknown(percent)));
    }
    list_with_more(&texts, SHOWN_MAX, ", ")
}

fn cpu_as_status(percent: i64) -> Option<Object> {
    let status = jsontree::json!({"resource": {"name": "cpu", "currentAverageUtilization": percent}});
    status.as_object().cloned()
}

fn v1_metric(spec: View<'_>, status: Option<View<'_>>) -> String {
    let Some((source, resource)) = source(spec.get("type").text()) else {
        return "<unknown type>".to_owned();
    };
    let spec = spec.get(source);
    let status = status.map(|status| status.get(source));
    let target_average = if source == "object" { "averageValue" } else { "targetAverageValue" };
    let current_average = if source == "object" { "averageValue" } else { "currentAverageValue" };
    let metric = Metric {
        resource: resource.then(|| spec.get("name").text()),
        pods: source == "pods",
        target: MetricAmounts {
            value: spec.get("targetValue"),
            average: spec.get(target_average),
            percent: spec.get("targetAverageUtilization"),
        },
        current: status.filter(|status| status.exists()).map(|status| MetricAmounts {
            value: status.get("currentValue"),
            average: status.get(current_average),
            percent: status.get("currentAverageUtilization"),
        }),
    };
    metric.text()
}
