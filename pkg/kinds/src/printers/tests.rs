//! Tests of the cells of hand-made objects, compared with upstream's output, and of the row shape of every
//! resource.
#![allow(clippy::unwrap_used)]

use super::*;
use api::resources;
use jsontree::{Value, json};

mod in_place;
mod pods;

/// 2024-01-02T03:04:05Z
const NOW: UnixTime = UnixTime::from_seconds(1_704_164_645);

/// Prints an object as a tree and, for a built-in type, as a message.
fn check(group_version: &str, resource: &str, object: Value, expected: Value) {
    let tree = object.as_object().unwrap();
    assert_eq!(printed(group_version, resource, &Subject::tree(tree)), expected, "{resource} {object}");
    let of_name = |row: &&resources::Resource| (row.group_version, row.plural) == (group_version, resource);
    for row in resources::all().filter(of_name).filter(|row| row.serves("list")) {
        let mut raw = Vec::new();
        schema::proto::encode(row.message, tree, &mut raw).unwrap();
        let subject = Subject::message(row.message, &raw);
        assert_eq!(printed(group_version, resource, &subject), expected, "{resource} {object}");
    }
}

fn printed(group_version: &str, resource: &str, subject: &Subject<'_>) -> Value {
    json_of(&printer(group_version, resource).row(subject, NOW).unwrap().cells)
}

/// The printer of a resource, or of the `Scale` of a workload in the group.
fn printer(group_version: &str, resource: &str) -> Printer {
    let is_named = |row: &&resources::Resource| {
        row.group_version == group_version
            && match resource {
                "scale" => row.subresource == "scale",
                plural => row.subresource.is_empty() && row.plural == plural,
            }
    };
    Printer::of(resources::all().find(is_named).unwrap())
}

fn json_of(cells: &[Cell<'_>]) -> Value {
    let mut out = Vec::new();
    for cell in cells {
        out.push(if out.is_empty() { b'[' } else { b',' });
        cell.write(&mut out);
    }
    out.push(b']');
    serde_json::from_slice(&out).unwrap()
}

#[test]
fn every_column_has_a_cell_and_description() {
    let rows = resources::all().filter(|resource| resource.serves("list"));
    let mut count = 0;
    for resource in rows {
        let gv = resource.group_version;
        let name = resource.plural;
        let printer = Printer::of(resource);
        let columns = printer.columns().count();
        let empty = Object::new();
        let subject = Subject::tree(&empty);
        let row = printer.row(&subject, NOW).unwrap();
        // Upstream prints an age for IP addresses but has no column for it.
        let surplus = usize::from(name == "ipaddresses");
        assert_eq!(row.cells.len(), columns + surplus, "{gv} {name}");
        assert!(printer.columns().any(|column| column.name == "Name"), "{gv} {name}");
        count += 1;
    }
    assert!(count > 80, "only {count} resources have columns");
}

#[test]
fn subresources_use_table_of_returned_kind() {
    let check = |group, version, path: (&str, &str), first: &str, columns: usize| {
        let row = resources::find(group, version, path.0, path.1).unwrap();
        let printer = Printer::of(row);
        let formats: Vec<&str> = printer.columns().map(|column| column.format).collect();
        assert_eq!((formats.len(), formats[0]), (columns, first), "{path:?}");
        let empty = Object::new();
        assert_eq!(printer.row(&Subject::tree(&empty), NOW).unwrap().cells.len(), columns, "{path:?}");
    };
    check("apps", "v1", ("deployments", ""), "name", 8);
    check("apps", "v1", ("deployments", "status"), "name", 8);
    check("apps", "v1", ("deployments", "scale"), "", 4);
    check("", "v1", ("replicationcontrollers", "scale"), "", 4);
    check("", "v1", ("pods", "ephemeralcontainers"), "name", 9);
}

#[test]
fn default_printer_shows_name_and_creation_time() {
    let object = json!({"metadata": {"name": "a", "creationTimestamp": "2024-01-02T03:04:05Z"}});
    check("v1", "limitranges", object, json!(["a", "2024-01-02T03:04:05Z"]));
    check("v1", "limitranges", json!({"metadata": {"name": "a"}}), json!(["a", "0001-01-01T00:00:00Z"]));
}

#[test]
fn definitions_show_scope_versions_and_names() {
    let version = |name: &str, served, storage| json!({"name": name, "served": served, "storage": storage});
    let object = json!({
        "metadata": {"name": "foos.x.io", "creationTimestamp": "2024-01-02T03:04:05Z"},
        "spec": {"group": "x.io", "scope": "Namespaced", "names": {"kind": "Foo", "shortNames": ["f", "fo"]},
            "versions": [version("v1beta1", true, false), version("v1", true, true), version("v0", false, false)]},
        "status": {"conditions": [{"type": "Established", "status": "True"}]},
    });
    let expected = json!([
        "foos.x.io",
        "Namespaced",
        "v1(storage),v1beta1",
        "2024-01-02T03:04:05Z",
        "x.io",
        "Foo",
        "f,fo",
        true,
    ]);
    check("apiextensions.k8s.io/v1", "customresourcedefinitions", object, expected);
}

#[test]
fn ages_count_from_creation() {
    let check_age = |created: Value, expected: &str| {
        let object = json!({"metadata": {"name": "a", "creationTimestamp": created}});
        check("v1", "serviceaccounts", object, json!(["a", expected]));
    };
    check_age(json!("2024-01-02T03:04:00Z"), "5s");
    check_age(json!("2024-01-01T03:04:05Z"), "24h");
    check_age(json!("2024-01-02T03:04:06Z"), "0s");
    check_age(json!("2024-01-02T03:05:05Z"), "<invalid>");
    check_age(Value::Null, "<unknown>");
}

#[test]
fn core_kinds() {
    check(
        "v1",
        "configmaps",
        json!({"data": {"a": ""}, "binaryData": {"b": ""}}),
        json!(["", 2, "<unknown>"]),
    );
    check(
        "v1",
        "nodes",
        json!({
            "metadata": {"name": "n", "labels": {
                "node-role.kubernetes.io/worker": "", "node-role.kubernetes.io/": "",
                "kubernetes.io/role": "edge"}},
            "spec": {"unschedulable": true},
            "status": {
                "conditions": [{"type": "Ready", "status": "Unknown"}],
                "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                "nodeInfo": {"kubeletVersion": "v1.36.2", "kernelVersion": "6.1", "architecture": "amd64"}}
        }),
        json!([
            "n",
            "NotReady,SchedulingDisabled",
            "edge,worker",
            "<unknown>",
            "v1.36.2",
            "10.0.0.1",
            "<none>",
            "<unknown>",
            "6.1 (amd64)",
            "<unknown>"
        ]),
    );
    check(
        "v1",
        "endpoints",
        json!({"subsets": [
            {"addresses": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}], "ports": [{"port": 80}, {"port": 81}]},
            {"addresses": [{"ip": "10.0.0.3"}]}]}),
        json!(["", "10.0.0.1:80,[fd00::1]:80,10.0.0.1:81 + 2 more...", "<unknown>"]),
    );
    check("v1", "endpoints", json!({"subsets": [{"addresses": []}]}), json!(["", "", "<unknown>"]));
    let many = json!({"subsets": [
        {"addresses": vec![json!({"ip": "10.0.0.1"}); 300], "ports": vec![json!({"port": 80}); 300]}]});
    check(
        "v1",
        "endpoints",
        many,
        json!(["", "10.0.0.1:80,10.0.0.1:80,10.0.0.1:80 + 89997 more...", "<unknown>"]),
    );
    check(
        "v1",
        "resourcequotas",
        json!({"status": {
            "hard": {"limits.cpu": "2", "pods": "10", "requests.cpu": "1"}, "used": {"pods": "3"}}}),
        json!(["", "pods: 3/10, requests.cpu: 0/1", "limits.cpu: 0/2", "<unknown>"]),
    );
    check(
        "v1",
        "componentstatuses",
        json!({"conditions": [{"type": "Healthy", "status": "False", "message": "m", "error": "e"}]}),
        json!(["", "Unhealthy", "m", "e"]),
    );
}

#[test]
fn services_show_addresses_and_ports() {
    let check_service = |spec: Value, ingress: Value, cluster_ip: &str, external: &str, ports: &str| {
        let kind = spec.get("type").cloned().unwrap();
        let object = json!({"spec": spec, "status": {"loadBalancer": {"ingress": ingress}}});
        check(
            "v1",
            "services",
            object,
            json!(["", kind, cluster_ip, external, ports, "<unknown>", "<none>"]),
        );
    };
    check_service(json!({"type": "ClusterIP"}), json!([]), "<none>", "<none>", "<none>");
    check_service(
        json!({"type": "NodePort", "clusterIPs": ["10.0.0.1", "fd00::1"], "externalIPs": ["1.2.3.4"],
            "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]}),
        json!([]),
        "10.0.0.1",
        "1.2.3.4",
        "80:30080/TCP,53/UDP",
    );
    check_service(json!({"type": "LoadBalancer"}), json!([]), "<none>", "<pending>", "<none>");
    check_service(
        json!({"type": "LoadBalancer", "externalIPs": ["1.2.3.4"]}),
        json!([{"hostname": "lb"}, {"ip": "5.6.7.8"}, {"ip": "5.6.7.8"}]),
        "<none>",
        "5.6.7.8,lb,1.2.3.4",
        "<none>",
    );
    check_service(
        json!({"type": "ExternalName", "externalName": "x.y"}),
        json!([]),
        "<none>",
        "x.y",
        "<none>",
    );
}

#[test]
fn volumes_show_class_size_and_modes() {
    check(
        "v1",
        "persistentvolumes",
        json!({
            "metadata": {"name": "pv", "annotations": {"volume.beta.kubernetes.io/storage-class": "old"}},
            "spec": {"capacity": {"storage": "1024Mi"}, "storageClassName": "new", "volumeMode": "Block",
                "accessModes": ["ReadWriteMany", "ReadWriteOnce", "ReadWriteMany"],
                "persistentVolumeReclaimPolicy": "Retain", "claimRef": {"namespace": "ns", "name": "c"}},
            "status": {"phase": "Bound"}}),
        json!([
            "pv",
            "1Gi",
            "RWO,RWX",
            "Retain",
            "Bound",
            "ns/c",
            "old",
            "<unset>",
            "",
            "<unknown>",
            "Block"
        ]),
    );
    check(
        "v1",
        "persistentvolumeclaims",
        json!({
            "metadata": {"name": "c", "deletionTimestamp": "2024-01-02T03:04:05Z"},
            "spec": {"volumeName": "", "accessModes": ["ReadWriteOnce"]},
            "status": {"phase": "Pending", "capacity": {"storage": "1Gi"}}}),
        json!(["c", "Terminating", "", "", "", "", "<unset>", "<unknown>", "<unset>"]),
    );
}

#[test]
fn events_print_equally_in_both_groups() {
    let expected = json!(["10s", "Normal", "Up", "pod/p", "spec", "kubelet, n1", "hi", "65s", 3, "e"]);
    check(
        "v1",
        "events",
        json!({"metadata": {"name": "e"}, "type": "Normal", "reason": "Up", "message": " hi\n", "count": 3,
            "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "spec"},
            "source": {"component": "kubelet", "host": "n1"},
            "firstTimestamp": "2024-01-02T03:03:00Z", "lastTimestamp": "2024-01-02T03:03:55Z"}),
        expected.clone(),
    );
    check(
        "events.k8s.io/v1",
        "events",
        json!({"metadata": {"name": "e"}, "type": "Normal", "reason": "Up", "note": "hi",
            "regarding": {"kind": "Pod", "name": "p", "fieldPath": "spec"},
            "reportingController": "kubelet", "reportingInstance": "n1",
            "eventTime": "2024-01-02T03:03:00.000000Z",
            "series": {"count": 3, "lastObservedTime": "2024-01-02T03:03:55.000000Z"}}),
        expected,
    );
    check(
        "v1",
        "events",
        json!({"involvedObject": {"kind": "Node"}}),
        json!(["<unknown>", "", "", "node", "", "", "", "<unknown>", 1, ""]),
    );
}

#[test]
fn workloads() {
    let template =
        json!({"spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "y"}]}});
    check(
        "apps/v1",
        "deployments",
        json!({"spec": {"replicas": 3, "template": template}, "status": {"readyReplicas": 1}}),
        json!(["", "1/3", 0, 0, "<unknown>", "a,b", "x,y", ""]),
    );
    check(
        "apps/v1",
        "replicasets",
        json!({"spec": {"selector": {"matchExpressions": [{"key": "a", "operator": "Bad"}]}}}),
        json!(["", 0, 0, 0, "<unknown>", "", "", "<error>"]),
    );
    check(
        "apps/v1",
        "controllerrevisions",
        json!({"revision": 7, "metadata": {"ownerReferences": [
            {"kind": "X", "name": "x", "apiVersion": "v1"},
            {"kind": "StatefulSet", "name": "DB", "apiVersion": "apps/v1", "controller": true}]}}),
        json!(["", "statefulset.apps/DB", 7, "<unknown>"]),
    );
    check(
        "batch/v1",
        "jobs",
        json!({"spec": {"parallelism": 2}, "status": {"succeeded": 1, "startTime": "2024-01-02T03:03:55Z",
            "conditions": [{"type": "Complete", "status": "False"}, {"type": "Failed", "status": "True"}]}}),
        json!(["", "Failed", "1/1 of 2", "10s", "<unknown>", "", "", "<none>"]),
    );
    check(
        "batch/v1",
        "cronjobs",
        json!({"spec": {"schedule": "@daily", "suspend": false}, "status": {"active": [{}]}}),
        json!(["", "@daily", "<none>", "False", 1, "<none>", "<unknown>", "", "", "<none>"]),
    );
    check(
        "policy/v1",
        "poddisruptionbudgets",
        json!({"spec": {"minAvailable": "50%", "maxUnavailable": 1}}),
        json!(["", "50%", "1", 0, "<unknown>"]),
    );
    check("apps/v1", "scale", json!({"spec": {"replicas": 2}}), json!(["", 2, 0, "<unknown>"]));
}

#[test]
fn autoscalers_show_current_and_wanted_metrics() {
    let check_targets = |version: &str, object: Value, targets: &str| {
        let expected = json!(["", "/", targets, "<unset>", 0, 0, "<unknown>"]);
        check(&format!("autoscaling/{version}"), "horizontalpodautoscalers", object, expected);
    };
    let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": {"averageUtilization": 80}}});
    let pods = json!({"type": "Pods", "pods": {"target": {"averageValue": "0.5"}}});
    let external = json!({"type": "External", "external": {"target": {"averageValue": "5"}}});
    check_targets("v2", json!({}), "<none>");
    check_targets(
        "v2",
        json!({"spec": {"metrics": [cpu, pods]},
            "status": {"currentMetrics": [{"resource": {"current": {"averageUtilization": 12}}}]}}),
        "cpu: 12%/80%, <unknown>/500m",
    );
    check_targets(
        "v2",
        json!({"spec": {"metrics": [external, pods, cpu]}}),
        "<unknown>/5 (avg), <unknown>/500m + 1 more...",
    );
    check_targets("v1", json!({}), "cpu: <unknown>/80%");
    check_targets(
        "v1",
        json!({"spec": {"targetCPUUtilizationPercentage": 50}, "status": {"currentCPUUtilizationPercentage": 7}}),
        "cpu: 7%/50%",
    );
    let annotation = r#"[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"5"}}]"#;
    check_targets(
        "v1",
        json!({"metadata": {"annotations": {"autoscaling.alpha.kubernetes.io/metrics": annotation}}}),
        "<unknown>/5",
    );
}

#[test]
fn network_kinds() {
    let rule = |host: &str| json!({"host": host});
    check(
        "networking.k8s.io/v1",
        "ingresses",
        json!({"spec": {"ingressClassName": "nginx", "tls": [{}],
            "rules": [rule("a"), rule(""), rule("b"), rule("c"), rule("d")]}}),
        json!(["", "nginx", "a,b,c + 2 more...", "", "80, 443", "<unknown>"]),
    );
    check(
        "networking.k8s.io/v1",
        "ingressclasses",
        json!({"metadata": {"name": "c", "annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}},
            "spec": {"controller": "x/y", "parameters": {"kind": "P", "apiGroup": "g.io", "name": "n"}}}),
        json!(["c (default)", "x/y", "P.g.io/n", "<unknown>"]),
    );
    check(
        "networking.k8s.io/v1",
        "ipaddresses",
        json!({"spec": {"parentRef": {"resource": "Services", "namespace": "ns", "name": "s"}}}),
        json!(["", "services/ns/s", "<unknown>"]),
    );
    check(
        "networking.k8s.io/v1",
        "networkpolicies",
        json!({"spec": {"podSelector": {"matchLabels": {"a": "b"}}}}),
        json!(["", "a=b", "<unknown>"]),
    );
    check(
        "discovery.k8s.io/v1",
        "endpointslices",
        json!({"addressType": "IPv4", "ports": [{"port": 80}, {"name": "p"}, {}],
            "endpoints": [{"addresses": ["a", "b", "c"]}, {"addresses": ["d"]}]}),
        json!(["", "IPv4", "80,p,*", "a,b,c + 1 more...", "<unknown>"]),
    );
}

#[test]
fn security_kinds() {
    check(
        "rbac.authorization.k8s.io/v1",
        "rolebindings",
        json!({"roleRef": {"kind": "Role", "name": "r"}, "subjects": [
            {"kind": "User", "name": "u"}, {"kind": "User", "name": "v"},
            {"kind": "ServiceAccount", "namespace": "ns", "name": "sa"}]}),
        json!(["", "Role/r", "<unknown>", "u, v", "", "ns/sa"]),
    );
    check(
        "certificates.k8s.io/v1",
        "certificatesigningrequests",
        json!({"spec": {"username": "u", "expirationSeconds": 3600},
            "status": {"conditions": [{"type": "Approved"}], "certificate": "eA=="}}),
        json!(["", "<unknown>", "<none>", "u", "60m", "Approved,Issued"]),
    );
    check(
        "admissionregistration.k8s.io/v1",
        "validatingadmissionpolicybindings",
        json!({"spec": {"policyName": "p", "paramRef": {"selector": {
            "matchLabels": {"a": "b"}, "matchExpressions": [{"key": "k", "operator": "In", "values": ["x", "y"]}]}}}}),
        json!([
            "",
            "p",
            "&LabelSelector{MatchLabels:map[string]string{a: b,},MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:k,Operator:In,Values:[x y],},},}",
            "<unknown>"
        ]),
    );
    check(
        "admissionregistration.k8s.io/v1",
        "validatingadmissionpolicies",
        json!({"spec": {"validations": [{}], "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}}),
        json!(["", 1, "v1/ConfigMap", "<unknown>"]),
    );
}

#[test]
fn server_kinds() {
    let check_service = |object: Value, service: &str, available: &str| {
        let expected = json!(["", service, available, "<unknown>"]);
        check("apiregistration.k8s.io/v1", "apiservices", object, expected);
    };
    check_service(json!({}), "Local", "Unknown");
    check_service(
        json!({"spec": {"service": {"namespace": "ns", "name": "s"}},
            "status": {"conditions": [{"type": "Available", "status": "False", "reason": "MissingEndpoints"}]}}),
        "ns/s",
        "False (MissingEndpoints)",
    );
    check_service(
        json!({"status": {"conditions": [{"type": "Available", "status": "True", "reason": "Local"}]}}),
        "Local",
        "True",
    );
    check(
        "flowcontrol.apiserver.k8s.io/v1",
        "prioritylevelconfigurations",
        json!({"spec": {"type": "Limited", "limited": {"nominalConcurrencyShares": 5}}}),
        json!(["", "Limited", 5, "<none>", "<none>", "<none>", "<unknown>"]),
    );
    check(
        "flowcontrol.apiserver.k8s.io/v1",
        "flowschemas",
        json!({"spec": {"matchingPrecedence": 9}}),
        json!(["", "", 9, "<none>", "<unknown>", "?"]),
    );
    let status = json!({"status": "Failure", "reason": "NotFound", "message": "gone"});
    let cells = status_cells(status.as_object().unwrap());
    assert_eq!(json_of(&cells), json!(["Failure", "NotFound", "gone"]));
}

#[test]
fn device_kinds() {
    let check_claim = |status: Value, state: &str| {
        check(
            "resource.k8s.io/v1",
            "resourceclaims",
            json!({"status": status}),
            json!(["", state, "<unknown>"]),
        );
    };
    check_claim(json!({}), "pending");
    check_claim(json!({"allocation": {}}), "allocated");
    check_claim(json!({"allocation": {}, "reservedFor": [{}]}), "allocated,reserved");
    check(
        "resource.k8s.io/v1alpha3",
        "resourcepoolstatusrequests",
        json!({"status": {"poolCount": 3, "pools": [{"totalDevices": 2}, {"totalDevices": 5, "validationError": "x"}],
            "conditions": [{"type": "Complete", "status": "True", "lastTransitionTime": "2024-01-02T03:04:00Z"}]}}),
        json!(["", "", "7", "0", "0", "0", "1", 3, "Complete (2/3 pools)", "5s"]),
    );
}

#[test]
fn column_descriptions_omit_possible_values() {
    for row in resources::all().filter(|row| row.serves("list")) {
        for description in Printer::of(row).columns().map(Column::description) {
            assert!(!description.contains("Possible enum values"), "{}: {description}", row.plural);
        }
    }
}

#[test]
fn column_descriptions_match_upstream() {
    let check = |version: &str, resource: &str, column: usize, start: &str| {
        let description = printer(version, resource).columns().nth(column).unwrap().description();
        assert!(description.starts_with(start), "{resource}: {description}");
    };
    check("v1", "pods", 0, "Name must be unique within a namespace.");
    check("v1", "pods", 1, "The aggregate readiness state of this pod");
    check("v1", "namespaces", 1, "The status of the namespace");
    check("v1", "limitranges", 1, "CreationTimestamp is a timestamp");
    check("storagemigration.k8s.io/v1beta1", "storageversionmigrations", 0, "Name must be unique");
    check("apps/v1", "scale", 1, "replicas is the desired number of instances");
    check("v1", "scale", 2, "replicas is the actual number of observed instances");
    assert_eq!(printer("apps/v1", "scale").columns().count(), 4);
    let [status, _, message] = status_column_descriptions();
    // Upstream looks up the last description under a name that does not exist.
    assert!(status.starts_with("Status of the operation.") && message.is_empty());
}
