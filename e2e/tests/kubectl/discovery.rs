//! Server metadata: versions, resources, schemas.

use e2e::Server;

e2e::on_forks_and_etcd!(
    version_is_the_emulated_upstream_release,
    api_versions_lists_groups_and_versions,
    api_resources_lists_names_and_verbs,
    explain_describes_fields,
    explain_contains_field_descriptions,
    readyz_reports_ready,
    validation_rejects_unknown_fields,
);

fn version_is_the_emulated_upstream_release(server: &Server) {
    let kubectl = server.kubectl();
    let version: serde_json::Value = serde_json::from_str(&kubectl.ok("version -o json")).unwrap();
    let server = &version["serverVersion"];
    assert_eq!((&server["major"], &server["minor"]), (&"1".into(), &"37".into()));
    assert!(server["gitVersion"].as_str().unwrap().starts_with("v1.37."), "{server}");
}

fn api_versions_lists_groups_and_versions(server: &Server) {
    let printed = server.kubectl().ok("api-versions");
    let versions: Vec<&str> = printed.lines().collect();
    for expected in ["v1", "apps/v1", "batch/v1", "coordination.k8s.io/v1", "rbac.authorization.k8s.io/v1"] {
        assert!(versions.contains(&expected), "{expected} in\n{printed}");
    }
}

fn api_resources_lists_names_and_verbs(server: &Server) {
    let printed = server.kubectl().ok("api-resources -o wide --no-headers");
    let rows: Vec<String> =
        printed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    let all = "create,delete,deletecollection,get,list,patch,update,watch";
    for expected in [
        format!("configmaps cm v1 true ConfigMap {all}"),
        format!("deployments deploy apps/v1 true Deployment {all} all"),
        format!("pods po v1 true Pod {all} all"),
        format!("leases coordination.k8s.io/v1 true Lease {all}"),
        format!("nodes no v1 false Node {all}"),
        "bindings v1 true Binding create".to_owned(),
    ] {
        assert!(rows.contains(&expected), "{expected:?} in\n{printed}");
    }
}

fn explain_describes_fields(server: &Server) {
    let kubectl = server.kubectl();
    let check = |path: &str, expected: &[&str]| {
        let printed = kubectl.ok(&format!("explain {path}"));
        let lines: Vec<String> =
            printed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        for line in expected {
            assert!(lines.iter().any(|actual| actual == line), "{line:?} in\n{printed}");
        }
    };
    check("pod.spec.containers", &["KIND: Pod", "FIELD: containers <[]Container>", "image <string>"]);
    check("pod.spec.containers", &["name <string> -required-", "ports <[]ContainerPort>"]);
    check("deployment.spec.replicas", &["GROUP: apps", "VERSION: v1", "FIELD: replicas <integer>"]);
    check("configmap.data", &["FIELD: data <map[string]string>"]);
}

/// From both documents: kubectl reads OpenAPI 3.0 by default.
fn explain_contains_field_descriptions(server: &Server) {
    let kubectl = server.kubectl();
    let check = |path: &str, expected: &[&str]| {
        for output in ["plaintext", "plaintext-openapiv2"] {
            let printed = kubectl.ok(&format!("explain {path} --output {output}"));
            let words = printed.split_whitespace().collect::<Vec<_>>().join(" ");
            for text in expected {
                assert!(words.contains(text), "{text:?} in\n{printed}");
            }
        }
    };
    check("pod", &["Pod is a collection of containers", "Specification of the desired behavior of the pod."]);
    check("deployment.spec.strategy", &["DeploymentStrategy describes how to replace existing pods"]);
    check("cronjob.spec.schedule", &["The schedule in Cron format"]);
    check("horizontalpodautoscaler.spec --api-version autoscaling/v1", &["maxReplicas is the upper limit"]);
}

fn readyz_reports_ready(server: &Server) {
    let kubectl = server.kubectl();
    assert_eq!(kubectl.ok("get --raw /readyz"), "ok");
    assert_eq!(kubectl.ok("get --raw /livez"), "ok");
    assert!(kubectl.ok("cluster-info").contains("control plane"));
}

fn validation_rejects_unknown_fields(server: &Server) {
    let kubectl = server.kubectl();
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndate: {}\n";
    let done = kubectl.run("create -f -", object);
    assert!(!done.status.success());
    assert!(done.stderr.contains("unknown field \"date\""), "{}", done.stderr);
    assert!(kubectl.fails("get configmap c").contains("NotFound"));
}
