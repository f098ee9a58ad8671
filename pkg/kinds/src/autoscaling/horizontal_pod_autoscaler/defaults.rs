//! Defaults. The conversion sets the target utilization of v1.

use crate::defaults::fill::{default_struct, if_nil, if_present, is_zero};
use crate::defaults::object::Object;
use jsontree::json;

/// Period of a scaling policy in seconds.
const PERIOD_SECONDS: i64 = 15;

/// Scales up immediately, by four pods or by 100 percent, whichever is more.
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

/// Scales down by up to 100 percent. The window stays unset because the controller has a flag for it.
fn scale_down(rules: &mut Object) {
    if_nil(rules, "selectPolicy", "Max");
    if_nil(rules, "policies", json!([{"type": "Percent", "value": 100, "periodSeconds": PERIOD_SECONDS}]));
}

pub(super) fn at_least_one(spec: &mut Object) {
    if_nil(spec, "minReplicas", 1);
}

/// Without metrics, the default is CPU at 80 percent. Without a behavior, the controller's own rules apply; a
/// given behavior is completed.
pub(super) fn spec(spec: &mut Object) {
    at_least_one(spec);
    if is_zero(spec, "metrics") {
        let target = json!({"type": "Utilization", "averageUtilization": 80});
        let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": target}});
        spec.set("metrics", json!([cpu]));
    }
    if_present(spec, "behavior", |behavior| {
        default_struct(behavior, "scaleUp", scale_up);
        default_struct(behavior, "scaleDown", scale_down);
    });
}
