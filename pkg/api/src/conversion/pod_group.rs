//! PodGroups and Workloads: `scheduling.k8s.io/v1beta1`, and `v1alpha2` of v1.36. No release serves `v1alpha2`
//! since v1.37, but its objects can be in storage.

use super::kind::{Conversion, NONE, Spoke};
use super::move_member;
use crate::tree::{child_mut, children_mut, maybe_text};
use jsontree::{Value, json};
use schema::object::Object;

const V1ALPHA2: &str = "scheduling.k8s.io/v1alpha2";

pub(super) static POD_GROUP: Conversion =
    Conversion { spokes: &[Spoke::of(V1ALPHA2, group_to_hub, group_from_hub)], ..NONE };

pub(super) static WORKLOAD: Conversion =
    Conversion { spokes: &[Spoke::of(V1ALPHA2, workload_to_hub, workload_from_hub)], ..NONE };

/// Type of a condition in `v1alpha2` and in the hub.
const SCHEDULED: [&str; 2] = ["PodGroupScheduled", "PodGroupInitiallyScheduled"];

fn group_to_hub(group: &mut Object) {
    if let Some(spec) = child_mut(group, "spec") {
        mode_to_hub(spec);
        if let Some(Value::Object(mut template)) = spec.remove("podGroupTemplateRef")
            && let Some(Value::Object(mut old)) = template.remove("workload")
        {
            let mut reference = Object::new();
            move_member(&mut old, "workloadName", &mut reference, "workloadName");
            move_member(&mut old, "podGroupTemplateName", &mut reference, "templateName");
            spec.insert("workloadRef", Value::from(reference));
        }
    }
    let [old, new] = SCHEDULED;
    rename_condition(group, old, new);
}

fn group_from_hub(group: &mut Object) {
    if let Some(spec) = child_mut(group, "spec") {
        mode_from_hub(spec);
        if let Some(Value::Object(mut reference)) = spec.remove("workloadRef") {
            let mut workload = Object::new();
            move_member(&mut reference, "workloadName", &mut workload, "workloadName");
            move_member(&mut reference, "templateName", &mut workload, "podGroupTemplateName");
            spec.insert("podGroupTemplateRef", json!({ "workload": (Value::from(workload)) }));
        }
        for member in ["parentCompositePodGroupName", "preemptionPolicy"] {
            spec.remove(member);
        }
    }
    let [old, new] = SCHEDULED;
    rename_condition(group, new, old);
}

fn rename_condition(group: &mut Object, from: &str, to: &str) {
    let Some(status) = child_mut(group, "status") else { return };
    for condition in children_mut(status, "conditions") {
        if maybe_text(condition, "type") == Some(from) {
            condition.insert("type", Value::from(to));
        }
    }
}

fn workload_to_hub(workload: &mut Object) {
    let Some(spec) = child_mut(workload, "spec") else { return };
    for template in children_mut(spec, "podGroupTemplates") {
        mode_to_hub(template);
    }
}

fn workload_from_hub(workload: &mut Object) {
    let Some(spec) = child_mut(workload, "spec") else { return };
    spec.remove("compositePodGroupTemplates");
    for template in children_mut(spec, "podGroupTemplates") {
        mode_from_hub(template);
        template.remove("preemptionPolicy");
    }
}

/// The disruption mode was a word, and is a union of structs.
fn mode_to_hub(owner: &mut Object) {
    let mode = match maybe_text(owner, "disruptionMode") {
        Some("Pod") => json!({"single": {}}),
        Some("PodGroup") => json!({"all": {}}),
        _ => return,
    };
    owner.insert("disruptionMode", mode);
}

fn mode_from_hub(owner: &mut Object) {
    let Some(mode) = child_mut(owner, "disruptionMode") else { return };
    let word = if mode.contains_key("all") { "PodGroup" } else { "Pod" };
    owner.insert("disruptionMode", Value::from(word));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: &Value) -> Object {
        value.as_object().cloned().unwrap_or_default()
    }

    #[test]
    fn stored_v1alpha2_group_round_trips() {
        let old = object(&json!({
            "spec": {
                "podGroupTemplateRef": {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}},
                "disruptionMode": "PodGroup",
            },
            "status": {"conditions": [{"type": "PodGroupScheduled", "status": "True"}]},
        }));
        let mut group = old.clone();
        group_to_hub(&mut group);
        let new = object(&json!({
            "spec": {
                "workloadRef": {"workloadName": "w", "templateName": "t"},
                "disruptionMode": {"all": {}},
            },
            "status": {"conditions": [{"type": "PodGroupInitiallyScheduled", "status": "True"}]},
        }));
        assert_eq!(group, new);
        group_from_hub(&mut group);
        assert_eq!(group, old);
    }

    #[test]
    fn stored_v1alpha2_workload_round_trips() {
        let old = object(&json!({"spec": {"podGroupTemplates": [{"name": "a", "disruptionMode": "Pod"}]}}));
        let mut workload = old.clone();
        workload_to_hub(&mut workload);
        let template = json!({"name": "a", "disruptionMode": {"single": {}}});
        assert_eq!(workload, object(&json!({"spec": {"podGroupTemplates": [template]}})));
        workload_from_hub(&mut workload);
        assert_eq!(workload, old);
    }
}
