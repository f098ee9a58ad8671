//! Tests of services.

use super::*;
use crate::validation::rules::Settings;
use component_base::features::{Gate, Gates};
use jsontree::{Value, json};

fn service(changes: Value) -> Object {
    let mut spec = json!({"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster",
        "ports": [{"port": 80, "targetPort": 80, "protocol": "TCP"}]});
    if let (Some(spec), Value::Object(changes)) = (spec.as_object_mut(), changes) {
        for (key, value) in changes {
            match value {
                Value::Null => _ = spec.remove(&key),
                value => _ = spec.insert(key, value),
            }
        }
    }
    let object = json!({"metadata": {"name": "s", "namespace": "n", "resourceVersion": "1"}, "spec": spec});
    object.as_object().cloned().unwrap_or_default()
}

fn check(changes: Value, expected: &[(&str, &str)]) {
    let errors = create(&service(changes.clone()), &ValidationContext::default());
    let got: Vec<(&str, &str)> = errors.iter().map(|e| (e.reason(), e.field())).collect();
    assert_eq!(got, expected, "{changes}");
}

#[test]
fn ports_are_named_and_different() {
    check(json!({}), &[]);
    check(json!({"ports": null}), &[("FieldValueRequired", "spec.ports")]);
    check(json!({"ports": null, "clusterIP": "None", "clusterIPs": ["None"]}), &[]);
    let port =
        |name: &str, number: i64| json!({"name": name, "port": number, "targetPort": "x", "protocol": "TCP"});
    check(json!({"ports": [port("a", 1), port("b", 2)]}), &[]);
    check(
        json!({"ports": [port("", 1), port("b", 1)]}),
        &[("FieldValueRequired", "spec.ports[0].name"), ("FieldValueDuplicate", "spec.ports[1]")],
    );
    check(
        json!({"ports": [port("a", 0), port("a", 2)]}),
        &[("FieldValueInvalid", "spec.ports[0].port"), ("FieldValueDuplicate", "spec.ports[1].name")],
    );
    let errors =
        create(&service(json!({"ports": [port("a", 1), port("b", 1)]})), &ValidationContext::default());
    let texts: Vec<String> = errors.iter().map(Error::to_string).collect();
    assert_eq!(
        texts,
        ["spec.ports[1]: Duplicate value: {\"Name\":\"\",\"Protocol\":\"TCP\",\"AppProtocol\":null,\
        \"Port\":1,\"TargetPort\":0,\"NodePort\":0}"]
    );
}

#[test]
fn types_exclude_fields_of_other_types() {
    check(json!({"type": "x"}), &[("FieldValueNotSupported", "spec.type")]);
    let port = json!([{"port": 80, "targetPort": 80, "protocol": "TCP", "nodePort": 30000}]);
    check(json!({"ports": port}), &[("FieldValueForbidden", "spec.ports[0].nodePort")]);
    check(
        json!({"type": "ExternalName", "ports": null, "ipFamilies": ["IPv4"]}),
        &[("FieldValueForbidden", "spec.ipFamilies"), ("FieldValueRequired", "spec.externalName")],
    );
    let balanced = json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "allocateLoadBalancerNodePorts": true});
    check(balanced, &[("FieldValueRequired", "spec.healthCheckNodePort")]);
    check(
        json!({"loadBalancerClass": "a", "externalTrafficPolicy": "Local"}),
        &[
            ("FieldValueForbidden", "spec.loadBalancerClass"),
            ("FieldValueInvalid", "spec.externalTrafficPolicy"),
        ],
    );
    check(
        json!({"loadBalancerSourceRanges": [" 10.0.0.0/8 ", "x"]}),
        &[
            ("FieldValueForbidden", "spec.LoadBalancerSourceRanges"),
            ("FieldValueInvalid", "spec.LoadBalancerSourceRanges[1]"),
        ],
    );
}

#[test]
fn affinity_lasts_a_day_at_most() {
    let affinity = |seconds: i64| json!({"sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": seconds}}});
    check(affinity(86_400), &[]);
    let path = "spec.sessionAffinityConfig.clientIP.timeoutSeconds";
    check(affinity(86_401), &[("FieldValueInvalid", path)]);
    check(json!({"sessionAffinity": "ClientIP"}), &[("FieldValueRequired", "spec.sessionAffinityConfig")]);
    check(json!({"sessionAffinityConfig": {}}), &[("FieldValueForbidden", "spec.sessionAffinityConfig")]);
}

#[test]
fn addresses_are_one_per_family() {
    let ips = |ips: &[&str]| json!({"clusterIP": ips.first(), "clusterIPs": ips});
    check(ips(&["10.0.0.1", "2001:db8::1"]), &[]);
    let path = ("FieldValueInvalid", "spec.clusterIPs");
    check(ips(&["10.0.0.1", "10.0.0.2"]), &[path]);
    check(ips(&["None", "10.0.0.2"]), &[path]);
    check(ips(&["010.0.0.1"]), &[("FieldValueInvalid", "spec.clusterIPs[0]")]);
    check(json!({"clusterIP": "10.0.0.1"}), &[("FieldValueRequired", "spec.clusterIPs")]);
    check(
        json!({"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv6"]}),
        &[("FieldValueInvalid", "spec.clusterIPs[0]")],
    );
    check(
        json!({"ipFamilies": ["IPv4", "IPv4"], "ipFamilyPolicy": "x"}),
        &[("FieldValueDuplicate", "spec.ipFamilies[1]"), ("FieldValueNotSupported", "spec.ipFamilyPolicy")],
    );
}

#[test]
fn addresses_are_immutable() {
    let check = |new: Value, old: Value, expected: &[&str]| {
        let errors = update::update("", &service(new), &service(old), &ValidationContext::default());
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected);
    };
    let ips = |ips: &[&str]| json!({"clusterIP": ips.first(), "clusterIPs": ips});
    check(ips(&["10.0.0.1", "2001:db8::1"]), ips(&["10.0.0.1"]), &[]);
    check(ips(&["10.0.0.2"]), ips(&["10.0.0.1"]), &["spec.clusterIPs[0]"]);
    check(ips(&["10.0.0.1"]), ips(&["10.0.0.1", "2001:db8::1"]), &["spec.ipFamilyPolicy"]);
    // Existing addresses are allowed in any spelling.
    check(ips(&["010.0.0.1"]), ips(&["010.0.0.1"]), &[]);
    let balanced = |class: &str| {
        json!({"type": "LoadBalancer", "loadBalancerClass": class,
        "externalTrafficPolicy": "Cluster", "allocateLoadBalancerNodePorts": true})
    };
    check(balanced("a"), balanced("b"), &["spec.loadBalancerClass"]);
}

#[test]
fn a_load_balancer_has_names_or_addresses() {
    let with = |kind: &str, ingress: Value| {
        let mut service = service(json!({"type": kind}));
        service.insert("status", json!({"loadBalancer": {"ingress": [ingress]}}));
        service
    };
    let check = |service: Object, expected: &[&str]| {
        let errors =
            update::update("status", &service, &self::service(json!({})), &ValidationContext::default());
        assert_eq!(errors.iter().map(Error::field).collect::<Vec<_>>(), expected);
    };
    check(with("LoadBalancer", json!({"ip": "1.2.3.4", "ipMode": "VIP"})), &[]);
    let path = |step: &str| format!("status.loadBalancer.ingress[0].{step}");
    check(with("LoadBalancer", json!({"ip": "1.2.3.4"})), &[&path("ipMode")]);
    check(with("LoadBalancer", json!({"hostname": "1.2.3.4"})), &[&path("hostname")]);
    check(with("ClusterIP", json!({})), &["status.loadBalancer.ingress"]);
}

#[test]
fn gate_determines_address_spelling() {
    let sloppy = json!({
        "type": "LoadBalancer", "externalTrafficPolicy": "Cluster", "allocateLoadBalancerNodePorts": true,
        "clusterIP": "10.0.0.011", "clusterIPs": ["10.0.0.011"], "externalIPs": ["192.168.0.012"],
        "loadBalancerSourceRanges": ["010.0.0.0/8"],
    });
    let fields = |open: bool| {
        let gates = Gates::default().with(Gate::StrictIPCIDRValidation, open);
        let context = ValidationContext {
            settings: Settings { gates, ..Settings::default() },
            ..ValidationContext::default()
        };
        let errors = create(&service(sloppy.clone()), &context);
        errors.iter().map(|error| error.field().to_owned()).collect::<Vec<_>>()
    };
    let all = ["spec.clusterIPs[0]", "spec.externalIPs[0]", "spec.LoadBalancerSourceRanges[0]"];
    assert_eq!(fields(true), all);
    assert_eq!(fields(false), [""; 0]);
}

#[test]
fn older_releases_need_letters_in_names() {
    let mut digit = service(json!({}));
    digit.insert("metadata".to_owned(), json!({"name": "1a", "namespace": "n"}));
    for (relaxed, errors) in [(true, 0), (false, 1)] {
        let gates = Gates::default().with(Gate::RelaxedServiceNameValidation, relaxed);
        let settings = Settings { gates, ..Settings::default() };
        let context = ValidationContext { settings, ..ValidationContext::default() };
        assert_eq!(create(&digit, &context).iter().count(), errors, "{relaxed}");
    }
}
