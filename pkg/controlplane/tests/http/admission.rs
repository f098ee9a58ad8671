//! Tests that admission handles every change, regardless of its path.

use jsontree::{Value, json};

use crate::client::{Client, JSON, ReadResponse};

const CORE: &str = "/api/v1/namespaces/default";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";
const ORPHANS: &str = "299 - \"child pods are preserved by default when jobs are deleted; set \
                       propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress \
                       this warning\"";

/// Client of a server that rejects everything in admission.
async fn denied() -> Client {
    Client::start_with(|config| config.admission.enabled = vec!["AlwaysDeny".to_owned()]).await
}

/// Returns status code and message of a failure.
fn code_and_message(response: &ReadResponse) -> (u16, String) {
    (response.code, response.json()["message"].as_str().unwrap_or("").to_owned())
}

async fn refused(client: &Client, request: (&str, &str, &str), body: Value, resource: &str, name: &str) {
    let (method, path, content_type) = request;
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let response = client.send(method, path, &[("content-type", content_type)], text).await;
    let message = format!("{resource} {name:?} is forbidden: admission control is denying all modifications");
    assert_eq!(code_and_message(&response), (403, message), "{method} {path}");
}

#[tokio::test]
async fn every_write_passes_admission() {
    let client = denied().await;
    let check = async |method: &str, path: &str, body: Value, resource: &str, name: &str| {
        let content_type = match method {
            "PATCH" => "application/apply-patch+yaml",
            _ => JSON,
        };
        refused(&client, (method, path, content_type), body, resource, name).await;
    };
    let core = |path: &str| format!("{CORE}/{path}");
    let map = |metadata: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
    let maps = &core("configmaps");
    check("POST", maps, map(json!({"name": "a"})), "configmaps", "a").await;
    check("POST", maps, map(json!({"generateName": "a-"})), "configmaps", "a-").await;
    let applied = core("configmaps/a?fieldManager=me");
    check("PATCH", &applied, map(json!({"name": "a"})), "configmaps", "a").await;
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}});
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
    check("PUT", leases, lease, "leases.coordination.k8s.io", "l").await;
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}});
    check("POST", &core("pods/p/eviction"), eviction, "pods", "p").await;
    let binding =
        json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"name": "n"}});
    check("POST", &core("pods/p/binding"), binding.clone(), "pods", "p").await;
    check("POST", &core("bindings"), binding, "bindings", "p").await;
    let token = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"});
    check("POST", &core("serviceaccounts/default/token"), token, "serviceaccounts", "default").await;
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let reviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    check("POST", reviews, review, "selfsubjectreviews.authentication.k8s.io", "Unknown").await;
}

#[tokio::test]
async fn rejected_deletion_keeps_object() {
    let client = denied().await;
    let services = &format!("{CORE}/services");
    let kubernetes = &format!("{services}/kubernetes");
    refused(&client, ("DELETE", kubernetes, JSON), Value::Null, "services", "kubernetes").await;
    refused(&client, ("DELETE", services, JSON), Value::Null, "services", "Unknown").await;
    assert_eq!(client.get(kubernetes, JSON).await.code, 200);
    let missing = client.send("DELETE", &format!("{services}/x"), &[], String::new()).await;
    assert_eq!(
        code_and_message(&missing),
        (404, "services \"x\" not found".to_owned()),
        "nobody is asked about it"
    );
}

#[tokio::test]
async fn connections_pass_admission_before_resolution() {
    let client = denied().await;
    let check = async |method: &str, path: &str, resource: &str, name: &str| {
        refused(&client, (method, path, JSON), Value::Null, resource, name).await;
    };
    check("POST", &format!("{CORE}/pods/p/exec?command=sh"), "pods", "p").await;
    check("GET", &format!("{CORE}/pods/p/attach"), "pods", "p").await;
    check("GET", &format!("{CORE}/pods/p/portforward?ports=80"), "pods", "p").await;
    for method in ["GET", "POST", "DELETE"] {
        check(method, &format!("{CORE}/pods/p/proxy/x"), "pods", "p").await;
        check(method, &format!("{CORE}/services/s:80/proxy/"), "services", "s:80").await;
        check(method, "/api/v1/nodes/n/proxy/", "nodes", "n").await;
    }
    let unreadable = client.get(&format!("{CORE}/pods/p/portforward?ports=x"), JSON).await;
    assert_eq!(unreadable.code, 400, "options are read first");
    let log = client.get(&format!("{CORE}/pods/p/log"), JSON).await;
    assert_eq!(log.code, 404, "a log is read, not connected to");
}

#[tokio::test]
async fn orphaning_job_deletion_has_warning() {
    let client = Client::start().await;
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": template}});
    let check = async |path: &str, query: &str, expected: &str| {
        assert_eq!(client.post(JOBS, &job).await.code, 201);
        let response = client.send("DELETE", &format!("{path}{query}"), &[], String::new()).await;
        assert_eq!((response.code, response.header("warning")), (200, expected), "{path}{query}");
        let rest = json!({"metadata": {"finalizers": null}}).to_string();
        let merge = [("content-type", "application/merge-patch+json")];
        client.send("PATCH", &format!("{JOBS}/j"), &merge, rest).await;
    };
    let path_of_job = &format!("{JOBS}/j");
    check(path_of_job, "", ORPHANS).await;
    check(JOBS, "", ORPHANS).await;
    check(path_of_job, "?propagationPolicy=Background", "").await;
    check(JOBS, "?propagationPolicy=Orphan", "").await;
    check(path_of_job, "?orphanDependents=false", "").await;
}

/// A configuration file of admission plugins.
const TOLD: &str = "
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: PodSecurity
  configuration:
    apiVersion: pod-security.admission.config.k8s.io/v1
    kind: PodSecurityConfiguration
    defaults: {enforce: baseline}
    exemptions: {namespaces: [kube-system]}
- name: EventRateLimit
  path: events.yaml
- name: ResourceQuota
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: ResourceQuotaConfiguration
    limitedResources: [{resource: services, matchContains: [services.loadbalancers]}]
";

#[tokio::test]
async fn plugins_use_configuration_file() {
    let dir = tempfile::tempdir().unwrap();
    let limits = "
apiVersion: eventratelimit.admission.k8s.io/v1alpha1
kind: Configuration
limits: [{type: Namespace, qps: 1, burst: 1}]
";
    std::fs::write(dir.path().join("events.yaml"), limits).unwrap();
    let file = dir.path().join("admission.yaml");
    std::fs::write(&file, TOLD).unwrap();
    let client = Client::start_with(|config| {
        config.admission.enabled = vec!["EventRateLimit".to_owned()];
        config.admission.disabled.push("ServiceAccount".to_owned());
        config.admission.config_file = Some(file);
    })
    .await;
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"hostPID": true, "containers": [{"name": "c", "image": "i"}]}});
    let (code, message) = code_and_message(&client.post(&format!("{CORE}/pods"), &pod).await);
    let violation = "violates PodSecurity \"baseline:latest\": host namespaces (hostPID=true)";
    assert_eq!((code, message), (403, format!("pods \"p\" is forbidden: {violation}")));
    assert_eq!(client.post("/api/v1/namespaces/kube-system/pods", &pod).await.code, 201);
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"},
        "involvedObject": {"namespace": "kube-public"}});
    let events = "/api/v1/namespaces/kube-public/events";
    assert_eq!(client.post(events, &event).await.code, 201);
    let limit = "Too many requests: limit reached on type Namespace for key kube-public".to_owned();
    assert_eq!(code_and_message(&client.post(events, &event).await), (429, limit));
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80}]}});
    let uncovered = "services \"s\" is forbidden: insufficient quota to consume: services.loadbalancers";
    let response = client.post(&format!("{CORE}/services"), &service).await;
    assert_eq!(code_and_message(&response), (403, uncovered.to_owned()));
}

#[tokio::test]
async fn put_needs_existing_namespace() {
    let client = Client::start().await;
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "a"}})
        .to_string();
    for (namespace, code) in [("default", 201), ("nowhere", 404)] {
        let path = format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/a");
        let response = client.send("PUT", &path, &[("content-type", JSON)], lease.clone()).await;
        assert_eq!(response.code, code, "{namespace}");
    }
}
