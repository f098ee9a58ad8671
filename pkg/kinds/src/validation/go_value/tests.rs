//! Tests of printed Go values.

use super::*;
use jsontree::json;
use schema::builtin as types;

fn check(message: &'static Message, object: Value, expected: &str) {
    let Value::Object(object) = object else { unreachable!("tests give objects") };
    assert_eq!(go_json(message, &object), expected);
}

#[test]
fn all_fields_have_go_names() {
    check(
        &types::IO_K8S_API_CORE_V1_SECCOMPPROFILE,
        json!({"type": "Localhost"}),
        r#"{"Type":"Localhost","LocalhostProfile":null}"#,
    );
    check(
        &types::IO_K8S_API_CORE_V1_SERVICEPORT,
        json!({"port": 80, "protocol": "TCP", "name": "<a>"}),
        r#"{"Name":"\u003ca\u003e","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}"#,
    );
    check(
        &types::IO_K8S_API_RESOURCE_V1_DEVICEATTRIBUTE,
        json!({"int": 2}),
        "{\"IntValue\":2,\"BoolValue\":null,\"StringValue\":null,\"VersionValue\":null,\"IntValues\":null,\
         \"BoolValues\":null,\"StringValues\":null,\"VersionValues\":null}",
    );
}

#[test]
fn types_of_apimachinery_are_printed_as_served() {
    check(
        &types::IO_K8S_API_CORE_V1_PODAFFINITYTERM,
        json!({"labelSelector": {"matchLabels": {"a": "b"}}, "topologyKey": "k"}),
        "{\"LabelSelector\":{\"matchLabels\":{\"a\":\"b\"}},\"Namespaces\":null,\"TopologyKey\":\"k\",\
         \"NamespaceSelector\":null,\"MatchLabelKeys\":null,\"MismatchLabelKeys\":null}",
    );
}

#[test]
fn metadata_is_embedded() {
    let message = &types::IO_K8S_API_CORE_V1_PODTEMPLATESPEC;
    let Value::Object(object) = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"dnsPolicy": "Default"}})
    else {
        unreachable!("tests give objects")
    };
    let text = go_json(message, &object);
    assert!(text.starts_with(r#"{"labels":{"a":"b"},"Spec":{"Volumes":null,"#), "{text}");
    assert!(text.contains(r#""DNSPolicy":"Default","NodeSelector":null"#), "{text}");
}

#[test]
fn host_settings_precede_the_security_context() {
    let message = &types::IO_K8S_API_CORE_V1_PODSPEC;
    let Value::Object(object) = json!({"hostNetwork": true, "serviceAccount": "a", "securityContext": {}})
    else {
        unreachable!("tests give objects")
    };
    let text = go_json(message, &object);
    let expected = "\"DeprecatedServiceAccount\":\"a\",\"AutomountServiceAccountToken\":null,\"NodeName\":\"\",\
        \"HostNetwork\":true,\"HostPID\":false,\"HostIPC\":false,\"ShareProcessNamespace\":null,\
        \"SecurityContext\":{\"SELinuxOptions\":null,";
    assert!(text.contains(expected), "{text}");
}

#[test]
fn lines_are_indented_by_one_space() {
    let Value::Object(object) = json!({"nodeSelectorTerms": [{"matchFields": []}]}) else {
        unreachable!("tests give objects")
    };
    let expected = "{\n \"NodeSelectorTerms\": [\n  {\n   \"MatchExpressions\": null,\n   \"MatchFields\": []\n  }\n ]\n}";
    assert_eq!(go_lines(&types::IO_K8S_API_CORE_V1_NODESELECTOR, &object), expected);
}
