//! Tests of the elements for stored values.
#![allow(clippy::unwrap_used, clippy::panic)]

use cacher::Element;
use jsontree::json;
use storage::KeyValue;

use super::*;

fn form(plural: &str) -> StoredForm {
    let (row, storage) = stored_rows().find(|(row, _)| row.plural == plural).unwrap();
    StoredForm::new(row.into(), Fields::of(storage.prefix), Gates::default())
}

fn storage(plural: &str) -> &'static StorageSpec<'static> {
    stored_rows().find(|(row, _)| row.plural == plural).unwrap().1
}

fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is no object"),
    }
}

/// Element of a value, under an arbitrary key.
fn element(plural: &str, value: Bytes) -> Arc<Element> {
    let kv = KeyValue::new("/registry/x/ns/a", value, 5);
    Element::new(kv, &form(plural))
}

/// Bytes of an object with all its defaults.
fn complete(plural: &str, value: Value) -> Bytes {
    let storage = storage(plural);
    let mut object = object(value);
    kinds::defaults::apply(storage.group_version, storage.kind, &mut object, &Gates::default());
    encoded(plural, Value::Object(object))
}

fn encoded(plural: &str, value: Value) -> Bytes {
    let storage = storage(plural);
    let mut object = object(value);
    object.insert("kind", storage.kind.into());
    object.insert("apiVersion", storage.group_version.into());
    codec::encode(storage, &object).unwrap()
}

#[test]
fn selectable_fields_match_upstream() {
    let check = |plural: &str, value: Value, path: &str, expected: &str| {
        let at = form(plural).fields.position(path).unwrap();
        let element = element(plural, encoded(plural, value));
        assert_eq!(element.header().field(at), expected, "{plural} {path}");
    };
    let pod = json!({
        "spec": {"nodeName": "n", "hostNetwork": true, "schedulerName": "s"},
        "status": {"phase": "Running", "podIPs": [{"ip": "10.0.0.1"}, {"ip": "::1"}]},
    });
    check("pods", pod.clone(), "spec.nodeName", "n");
    check("pods", pod.clone(), "spec.hostNetwork", "true");
    check("pods", pod.clone(), "spec.schedulerName", "s");
    check("pods", pod.clone(), "spec.restartPolicy", "Always");
    check("pods", pod.clone(), "status.phase", "Running");
    check("pods", pod, "status.podIP", "10.0.0.1");
    assert_eq!(form("pods").fields.position(""), None, "status.podIPs is a label without a value");
    check("pods", json!({"spec": {}}), "spec.hostNetwork", "false");
    check("nodes", json!({}), "spec.unschedulable", "false");
    check("jobs", json!({"status": {"succeeded": 3}}), "status.successful", "3");
    check("jobs", json!({}), "status.successful", "0");
    check("replicationcontrollers", json!({"status": {"replicas": 2}}), "status.replicas", "2");
    check("secrets", json!({"type": "Opaque"}), "type", "Opaque");
    let event = json!({"source": {"component": "kubelet"}, "reportingComponent": "r", "reason": "x"});
    check("events", event.clone(), "source", "kubelet");
    check("events", event, "reportingComponent", "r");
    check("events", json!({"reportingComponent": "r"}), "source", "r");
    check("events", json!({"involvedObject": {"name": "p"}}), "involvedObject.name", "p");
}

#[test]
fn selectable_field_paths_exist() {
    let leads = |message: &'static schema::table::Message, place: &[&str]| {
        let mut at = Some(message);
        place.iter().all(|name| {
            let field = at.and_then(|m| find(m, name));
            at = field.and_then(|f| match f.ty {
                schema::table::Type::Message(inner) => Some(inner),
                _ => None,
            });
            field.is_some()
        })
    };
    fn find(message: &'static schema::table::Message, name: &str) -> Option<&'static schema::table::Field> {
        message.fields.iter().find_map(|field| match field.ty {
            schema::table::Type::Message(inner) if field.inlined() => find(inner, name),
            _ => (field.name == name).then_some(field),
        })
    }
    for (_, storage) in stored_rows() {
        for path in Fields::of(storage.prefix).header_fields() {
            let split = [&path.split('.').collect::<Vec<_>>()[..]];
            let field_paths = field_paths(storage.kind, path);
            let places = if field_paths.is_empty() { &split[..] } else { field_paths };
            for place in places {
                assert!(leads(storage.message, place), "{} has no {place:?}", storage.kind);
            }
        }
    }
}

#[test]
fn canonical_values_are_unchanged() {
    for plural in ["pods", "events", "customresourcedefinitions"] {
        let value = complete(plural, json!({"metadata": {"name": "a", "labels": {"k": "v", "app": "x"}}}));
        let element = element(plural, value.clone());
        assert_eq!(element.value().unwrap(), &value, "{plural}");
        assert_eq!(element.header().label("k"), Some("v"), "{plural}");
        assert_eq!(element.header().labels().count(), 2, "{plural}");
    }
    for plural in ["pods", "customresourcedefinitions"] {
        let value = complete(plural, json!({"metadata": {"name": "a"}}));
        assert_eq!(element(plural, value.clone()).value().unwrap().as_ptr(), value.as_ptr(), "not a copy");
    }
}

#[test]
fn other_encodings_and_versions_become_canonical() {
    let json =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
    let canonical = encoded("configmaps", json.clone());
    assert_eq!(element("configmaps", json.to_string().into()).value().unwrap(), &canonical);
    let old = json!({
        "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a"}, "spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "x", "name": "y"}},
    });
    let element = element("horizontalpodautoscalers", old.to_string().into());
    let envelope = Envelope::parse(element.value().unwrap()).unwrap();
    assert_eq!(envelope.api_version, "autoscaling/v2");
}

#[test]
fn newer_defaults_are_applied() {
    let check = |plural: &str, old: Value| {
        let value = encoded(plural, old.clone());
        let expected = complete(plural, old);
        assert_ne!(value, expected, "{plural}");
        assert_eq!(element(plural, value).value().unwrap(), &expected, "{plural}");
    };
    let named = || json!({"metadata": {"name": "a"}});
    for plural in ["pods", "services", "deployments", "statefulsets", "jobs", "cronjobs", "secrets"] {
        check(plural, named());
    }
    for plural in ["namespaces", "persistentvolumes", "persistentvolumeclaims", "networkpolicies"] {
        check(plural, named());
    }
    check(
        "deployments",
        json!({"spec": {"replicas": 0, "template": {"spec": {"volumes": [{"name": "v"}]}}}}),
    );
    check("endpointslices", json!({"ports": [{"name": "", "protocol": "TCP"}, {"name": ""}]}));
    check("customresourcedefinitions", json!({"spec": {"names": {"kind": "A"}}}));
    check("apiservices", json!({"spec": {"service": {"name": "a"}}}));
}

#[test]
fn complete_crd_is_read_without_schema() {
    let definition = json!({
        "metadata": {"name": "as.g", "labels": {"a": "b", "openAPIV3Schema": "c", "fieldsV1": "d"},
            "creationTimestamp": "2026-01-02T03:04:05Z"},
        "spec": {"group": "g", "scope": "Cluster", "names": {"plural": "as", "kind": "A"}, "versions": [
            {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}},
        ]},
    });
    let plural = "customresourcedefinitions";
    let complete = complete(plural, definition.clone());
    let lacking = encoded(plural, definition);
    let read = |value: &[u8]| {
        let element = element(plural, Bytes::copy_from_slice(value));
        let labels = ["a", "openAPIV3Schema", "fieldsV1"].map(|label| element.header().label(label));
        assert_eq!(labels, [Some("b"), Some("c"), Some("d")]);
        (element.value().unwrap().clone(), form(plural).canonical_outline(value).is_some())
    };
    assert_eq!(read(&complete), (complete.clone(), true));
    assert_eq!(read(&lacking), (complete.clone(), false), "names and a strategy are missing");
    let spaced = String::from_utf8(complete.to_vec()).unwrap().replace(":{", ": {");
    assert_eq!(read(spaced.as_bytes()), (complete.clone(), false));
    let other_version = String::from_utf8(complete.to_vec()).unwrap().replace("k8s.io/v1beta1", "k8s.io/v1");
    assert!(!read(other_version.as_bytes()).1, "it is of another version");
}

#[test]
fn defaults_follow_written_version() {
    let old = json!({
        "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "spec": {"maxReplicas": 3},
    });
    let element = element("horizontalpodautoscalers", old.to_string().into());
    let storage = storage("horizontalpodautoscalers");
    let tree = codec::decode_value(storage, element.value().unwrap()).unwrap();
    assert_eq!(tree["spec"]["minReplicas"], 1);
    let upstream = api::conversion::convert(
        object(json!({"spec": {"maxReplicas": 3, "minReplicas": 1}})),
        "autoscaling/v1",
        storage.group_version,
        storage.kind,
    );
    assert_eq!(tree["spec"], upstream["spec"]);
}

#[test]
fn noncanonical_aliases_are_made_consistent() {
    let old = json!({
        "apiVersion": "v1", "kind": "Pod",
        "spec": {"serviceAccount": "s"}, "status": {"podIP": "10.0.0.1"},
    });
    let element = element("pods", old.to_string().into());
    let tree = codec::decode_value(storage("pods"), element.value().unwrap()).unwrap();
    assert_eq!(tree["spec"]["serviceAccountName"], "s");
    assert_eq!(tree["status"]["podIPs"], json!([{"ip": "10.0.0.1"}]));
}

#[test]
fn undecodable_value_has_reason() {
    for (plural, value) in [("pods", &b"k8s\0\xff"[..]), ("pods", b"{"), ("customresourcedefinitions", b"[]")]
    {
        let element = element(plural, Bytes::from_static(value));
        assert!(element.value().is_err(), "{plural} {value:?}");
    }
}

#[test]
fn each_storage_prefix_is_one_resource() {
    let configs = resources("/registry/", Gates::default(), |row| row.watch_cache);
    let of = |prefix: &str| configs.iter().filter(|c| c.prefix == prefix).collect::<Vec<_>>();
    let events = of("/registry/events/");
    assert_eq!((events.len(), events[0].cached, &*events[0].group), (1, false, ""));
    let pods = of("/registry/pods/")[0];
    let node = form("pods").fields.position("spec.nodeName");
    assert_eq!((pods.cached, pods.index), (true, node));
    assert!(node.is_some());
    assert_eq!(of("/registry/services/specs/").len(), 1);
    assert_eq!(of("/registry/horizontalpodautoscalers/").len(), 1);
}
