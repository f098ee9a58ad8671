//! autoscaling: horizontal pod autoscalers. In v1 the target utilization is the conversion's business.

use super::Rule;
use super::fill::{behind, if_nil, is_zero, within};
use super::object::Object;
use jsontree::json;

/// How long a scaling policy looks back, in seconds.
const PERIOD_SECONDS: i64 = 15;

pub(super) fn rule(version: &str, kind: &str) -> Option<Rule> {
    Some(match (version, kind) {
        ("v1", "HorizontalPodAutoscaler") => |autoscaler| within(autoscaler, "spec", at_least_one),
        ("v2", "HorizontalPodAutoscaler") => |autoscaler| within(autoscaler, "spec", spec),
        _ => return None,
    })
}

fn at_least_one(spec: &mut Object) {
    if_nil(spec, "minReplicas", 1);
}

/// Without metrics it is the processor at 80 percent. Without behaviour the controller's own rules hold;
/// where there is some, it is completed.
fn spec(spec: &mut Object) {
    at_least_one(spec);
    if is_zero(spec, "metrics") {
        let target = json!({"type": "Utilization", "averageUtilization": 80});
        let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": target}});
        spec.set("metrics", json!([cpu]));
    }
    behind(spec, "behavior", |behavior| {
        within(behavior, "scaleUp", scale_up);
        within(behavior, "scaleDown", scale_down);
    });
}

/// Up at once: by four pods or to the double, whichever is more.
fn scale_up(rules: &mut Object) {
    if_nil(rules, "stabilizationWindowSeconds", 0);
    if_nil(rules, "selectPolicy", "Max");
    if_nil(
        rules,
        "policies",
        json!([
            {"type": "Pods", "value": 4, "periodSeconds": PERIOD_SECONDS},
            {"type": "Percent", "value": 100, "periodSeconds": PERIOD_SECONDS},
        ]),
    );
}

/// Down to nothing if need be; the window stays open, for the controller has a flag for it.
fn scale_down(rules: &mut Object) {
    if_nil(rules, "selectPolicy", "Max");
    if_nil(rules, "policies", json!([{"type": "Percent", "value": 100, "periodSeconds": PERIOD_SECONDS}]));
}
