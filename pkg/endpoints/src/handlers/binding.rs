//! POST of a Binding: assigns a pod to a node, which is how a scheduler reports its decision (upstream's
//! `BindingREST`). Admission runs for the Binding. The change of the pod skips the pod's own strategy and
//! admission.

use api::options::{CreateOptions, Preconditions};
use api::{resources, tree};
use apimachinery::field::{self, Path};
use apimachinery::gvk::GroupResource;
use apimachinery::names;
use apimachinery::status::Status;
use apimachinery::time::UnixTime;
use component_base::features::{Gate, Gates};
use jsontree::Value;
use kinds::strategy::drop_init_containers;
use kinds::strategy::pod_conditions::{self, Condition};
use registry::generic::Admit;
use registry::{Target, meta};
use schema::object::{self, Object};

use super::admission::Admission;
use super::success_status;
use crate::routing::dispatch::Response;
use crate::scope::RequestScope;

/// Assigns the pod. `uid` is the pod's uid that the client expects.
///
/// # Errors
/// 400 for another pod's Binding, 409 for a pod that cannot be bound now, 500 without a node. Upstream
/// returns 500 here too, although 422 would be correct.
pub(super) async fn bind(
    call: &RequestScope<'_>,
    admit: &Admission<'_>,
    mut binding: Object,
    uid: &str,
    options: &CreateOptions,
) -> Result<Response, Box<Status>> {
    let dry_run = !options.dry_run.is_empty();
    admit.mutate(&mut binding, None).await?;
    let name = meta::text(&binding, "name").to_owned();
    if !call.name().is_empty() && call.name() != name {
        return Err(Status::bad_request("name in URL does not match name in Binding object").into());
    }
    if let Some(message) = field::aggregate(&errors(&binding)) {
        return Err(Status::unmapped(message).into());
    }
    admit.validate(&binding, None).await?;
    if name.is_empty() {
        return Err(Status::bad_request("Name parameter required.").into());
    }
    let pods = resources::find("", "v1", "pods", "").ok_or_else(Status::unknown_path)?;
    let target = Target { resource: pods, namespace: &call.info.namespace, name: &name };
    let nonempty = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    let preconditions = Preconditions {
        uid: nonempty(uid),
        resource_version: nonempty(meta::text(&binding, "resourceVersion")),
    };
    let now = call.api.registry.now();
    let gates = call.api.registry.gates();
    let mut edit = |pod: &mut Object| assign(pod, &binding, now, gates);
    call.api.registry.edit(&target, &preconditions, dry_run, &mut edit).await?;
    Ok(call.reply()?.success(&success_status()))
}

/// Validates a Binding (upstream's `ValidatePodBinding`).
fn errors(binding: &Object) -> field::ErrorList {
    let target = Path::root("target");
    let text = |name: &str| object::get_str(binding, &["target", name]).unwrap_or("");
    let mut errors = field::ErrorList::new();
    if !matches!(text("kind"), "" | "Node") {
        errors.push(field::Error::not_supported(&target.child("kind"), text("kind"), &["Node", "<empty>"]));
    }
    let path = target.child("name");
    match text("name") {
        "" => errors.push(field::Error::required(&path, "")),
        name if matches!(text("kind"), "" | "Node") => {
            let problems = names::is_dns1123_subdomain(name).into_iter();
            errors.extend(problems.map(|problem| field::Error::invalid(&path, name, problem)));
        }
        _ => {}
    }
    errors
}

/// Sets the node of the pod, and the annotations and labels of the Binding.
///
/// # Errors
/// 409 for a pod that is not waiting for a node.
fn assign(pod: &mut Object, binding: &Object, now: UnixTime, gates: &Gates) -> Result<(), Box<Status>> {
    let name = meta::text(pod, "name").to_owned();
    let refused = |cause: String| -> Result<(), Box<Status>> {
        Err(Status::conflict(&GroupResource::new("", "pods/binding"), &name, &cause).into())
    };
    if meta::is_deleting(pod) {
        return refused(format!("pod {name} is being deleted, cannot be assigned to a host"));
    }
    let node = object::get_str(pod, &["spec", "nodeName"]).unwrap_or("");
    if !node.is_empty() {
        let node = apimachinery::go_quote::quote(node);
        return refused(format!("pod {name} is already assigned to node {node}"));
    }
    if !object::get_list(pod, &["spec", "schedulingGates"]).is_empty() {
        return refused(format!("pod {name} has non-empty .spec.schedulingGates"));
    }
    let node = object::get_str(binding, &["target", "name"]).unwrap_or("");
    object::set(pod, &["spec", "nodeName"], node);
    if gates.enabled(Gate::ClearingNominatedNodeNameAfterBinding) {
        object::remove(pod, &["status", "nominatedNodeName"]);
    }
    merge(pod, binding, "annotations");
    drop_init_containers(pod);
    if gates.enabled(Gate::PodTopologyLabelsAdmission) {
        merge(pod, binding, "labels");
    }
    let condition = Condition { condition_type: "PodScheduled", reason: "", message: "" };
    pod_conditions::set_condition_true(pod, condition, now);
    Ok(())
}

/// Copies the entries of a metadata map from the Binding to the pod.
fn merge(pod: &mut Object, binding: &Object, member: &str) {
    let Some(entries) = meta::metadata(binding).and_then(|metadata| tree::child(metadata, member)) else {
        return;
    };
    if entries.is_empty() {
        return;
    }
    let slot = meta::metadata_mut(pod).entry(member).or_insert(Value::Null);
    match slot.as_object_mut() {
        Some(map) => map.extend(entries.clone()),
        None => *slot = Value::Object(entries.clone()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use jsontree::json;

    fn tree(value: Value) -> Object {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_binding_names_a_node() {
        let check = |target: Value, expected: Option<&str>| {
            let binding = tree(json!({"target": target}));
            assert_eq!(field::aggregate(&errors(&binding)).as_deref(), expected);
        };
        check(json!({"kind": "Node", "name": "n"}), None);
        check(json!({"name": "n"}), None);
        check(json!({}), Some("target.name: Required value"));
        let kind = "target.kind: Unsupported value: \"Pod\": supported values: \"Node\", \"<empty>\"";
        check(json!({"kind": "Pod", "name": "n"}), Some(kind));
        let label = names::is_dns1123_subdomain("A b").concat();
        check(json!({"name": "A b"}), Some(&format!("target.name: Invalid value: \"A b\": {label}")));
        check(json!({"kind": "Pod"}), Some(&format!("[{kind}, target.name: Required value]")));
    }

    #[test]
    fn pod_binds_once_after_gates_are_removed() {
        let check = |pod: Value, expected: Result<(), &str>| {
            let binding = tree(json!({"target": {"name": "n2"}}));
            let actual = assign(&mut tree(pod), &binding, UnixTime::from_seconds(0), &Gates::default());
            let actual = actual.map_err(|status| status.message.clone());
            let prefix = "Operation cannot be fulfilled on pods/binding \"p\": ";
            assert_eq!(actual, expected.map_err(|cause| format!("{prefix}{cause}")));
        };
        let named = json!({"name": "p"});
        check(json!({"metadata": named}), Ok(()));
        check(
            json!({"metadata": {"name": "p", "deletionTimestamp": "2020-01-01T00:00:00Z"}}),
            Err("pod p is being deleted, cannot be assigned to a host"),
        );
        check(
            json!({"metadata": named, "spec": {"nodeName": "n1"}}),
            Err("pod p is already assigned to node \"n1\""),
        );
        check(
            json!({"metadata": named, "spec": {"schedulingGates": [{"name": "g"}]}}),
            Err("pod p has non-empty .spec.schedulingGates"),
        );
    }

    #[test]
    fn bound_pod_gets_metadata_of_binding() {
        let mut pod = tree(json!({
            "metadata": {"name": "p", "labels": {"a": "1", "b": "1"}, "generation": 1},
            "status": {"nominatedNodeName": "n0"},
        }));
        let binding = tree(json!({
            "metadata": {"labels": {"b": "2"}, "annotations": {"c": "3"}},
            "target": {"name": "n1"},
        }));
        assign(&mut pod, &binding, UnixTime::from_seconds(0), &Gates::default()).unwrap();
        let condition =
            json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": "1970-01-01T00:00:00Z"});
        let expected = json!({
            "metadata": {
                "name": "p", "generation": 1,
                "labels": {"a": "1", "b": "2"}, "annotations": {"c": "3"},
            },
            "spec": {"nodeName": "n1"},
            "status": {"conditions": [condition]},
        });
        assert_eq!(Value::Object(pod), expected);
    }

    #[test]
    fn gates_keep_nomination_and_labels() {
        let mut pod = tree(json!({"metadata": {"name": "p"}, "status": {"nominatedNodeName": "n0"}}));
        let binding = tree(json!({"metadata": {"labels": {"a": "1"}}, "target": {"name": "n1"}}));
        let gates = Gates::default()
            .with(Gate::ClearingNominatedNodeNameAfterBinding, false)
            .with(Gate::PodTopologyLabelsAdmission, false);
        assign(&mut pod, &binding, UnixTime::from_seconds(0), &gates).unwrap();
        assert_eq!(pod["status"]["nominatedNodeName"], "n0");
        assert_eq!(pod["metadata"], json!({"name": "p"}));
    }
}
