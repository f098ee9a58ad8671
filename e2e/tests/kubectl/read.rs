//! `get` in all its forms, `describe`, `events`.

use e2e::Server;
use serde_json::Value;

e2e::on_forks_and_etcd!(
    get_prints_every_output_form,
    get_prints_the_default_columns_and_the_wide_ones,
    get_selects_by_label_and_by_field,
    get_all_namespaces_shows_namespace_column,
    a_chunked_get_shows_every_object_once,
    a_missing_object_is_not_found,
    describe_shows_the_object,
    events_are_listed_with_their_objects,
);

/// Creates a namespace with a ConfigMap.
fn prepare(server: &Server) -> e2e::Kubectl {
    let kubectl = server.kubectl();
    kubectl.ok("create namespace a");
    kubectl.ok("create configmap one -n a --from-literal=k=v --from-literal=l=w");
    kubectl
}

fn get_prints_every_output_form(server: &Server) {
    let kubectl = prepare(server);
    let check = |form: &str, expected: &str| {
        assert_eq!(kubectl.ok(&format!("get configmap one -n a -o {form}")), expected, "{form}");
    };
    check("name", "configmap/one\n");
    check("jsonpath={.data.k}", "v");
    check("jsonpath={.metadata.name}/{.kind}/{.apiVersion}", "one/ConfigMap/v1");
    check("go-template={{.data.l}}", "w");
    check("custom-columns=NAME:.metadata.name,K:.data.k", "NAME   K\none    v\n");

    let json: Value = serde_json::from_str(&kubectl.ok("get configmap one -n a -o json")).unwrap();
    assert_eq!(json["apiVersion"], "v1");
    assert_eq!(json["kind"], "ConfigMap");
    assert_eq!(json["data"], serde_json::json!({"k": "v", "l": "w"}));
    let uid = json["metadata"]["uid"].as_str().unwrap();
    let revision = json["metadata"]["resourceVersion"].as_str().unwrap();
    let time = json["metadata"]["creationTimestamp"].as_str().unwrap();
    let yaml = format!(
        "apiVersion: v1\ndata:\n  k: v\n  l: w\nkind: ConfigMap\nmetadata:\n  creationTimestamp: \"{time}\"\n  \
         name: one\n  namespace: a\n  resourceVersion: \"{revision}\"\n  uid: {uid}\n"
    );
    check("yaml", &yaml);

    let list: Value = serde_json::from_str(&kubectl.ok("get configmaps -n a -o json")).unwrap();
    assert_eq!(list["kind"], "List");
    assert_eq!(list["items"][0], json);
}

fn get_prints_the_default_columns_and_the_wide_ones(server: &Server) {
    let kubectl = prepare(server);
    kubectl.ok("create deployment web -n a --image=nginx:1 --replicas=2");
    kubectl.ok("run p -n a --image=nginx:1");
    let columns = |what: &str, expected: &str| {
        let printed = kubectl.ok(&format!("get -n a {what}"));
        let head: Vec<&str> = printed.lines().next().unwrap().split_whitespace().collect();
        assert_eq!(head.join(" "), expected, "{what}");
        printed
    };
    let row =
        |printed: &str| printed.lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(row(&columns("configmap one", "NAME DATA AGE")).starts_with("one 2 "));
    assert!(row(&columns("deployment", "NAME READY UP-TO-DATE AVAILABLE AGE")).starts_with("web 0/2 0 0 "));
    let wide =
        columns("deployment -o wide", "NAME READY UP-TO-DATE AVAILABLE AGE CONTAINERS IMAGES SELECTOR");
    assert!(row(&wide).ends_with("nginx nginx:1 app=web"), "{wide}");
    assert!(row(&columns("pods", "NAME READY STATUS RESTARTS AGE")).starts_with("p 0/1 Pending 0 "));
    columns("pods -o wide", "NAME READY STATUS RESTARTS AGE IP NODE NOMINATED NODE READINESS GATES");
    assert!(row(&columns("pods --show-labels", "NAME READY STATUS RESTARTS AGE LABELS")).ends_with("run=p"));
}

fn get_selects_by_label_and_by_field(server: &Server) {
    let kubectl = prepare(server);
    kubectl.ok("create configmap two -n a");
    kubectl.ok("label configmap two -n a tier=back");
    let check = |selector: &str, expected: &str| {
        assert_eq!(kubectl.ok(&format!("get configmaps -n a -o name {selector}")), expected, "{selector}");
    };
    check("", "configmap/one\nconfigmap/two\n");
    check("-l tier=back", "configmap/two\n");
    check("-l tier!=back", "configmap/one\n");
    check("-l !tier", "configmap/one\n");
    check("-l tier=front", "");
    check("--field-selector metadata.name=one", "configmap/one\n");
}

fn get_all_namespaces_shows_namespace_column(server: &Server) {
    let kubectl = prepare(server);
    let printed = kubectl.ok("get configmaps -A --no-headers");
    let row: Vec<&str> = printed.lines().next().unwrap().split_whitespace().collect();
    assert_eq!(row[..3], ["a", "one", "2"]);
}

fn a_chunked_get_shows_every_object_once(server: &Server) {
    const COUNT: usize = 23;
    let kubectl = prepare(server);
    let object = |n: usize| format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{n:02}}}");
    let manifest: Vec<String> = (0..COUNT).map(object).collect();
    kubectl.ok_with("create -n default -f -", &manifest.join("\n---\n"));
    let expected: String = (0..COUNT).map(|n| format!("configmap/c{n:02}\n")).collect();
    for chunk in [1, 5, 23, 500] {
        let printed = kubectl.ok(&format!("get configmaps -n default -o name --chunk-size={chunk}"));
        assert_eq!(printed, expected, "chunks of {chunk}");
    }
    let log = kubectl.run("get configmaps -n default -o name --chunk-size=5 -v=6", "").stderr;
    assert_eq!(log.matches("limit=5").count(), 5, "five pages: {log}");
}

fn a_missing_object_is_not_found(server: &Server) {
    let kubectl = prepare(server);
    let check = |what: &str, expected: &str| assert_eq!(kubectl.fails(&format!("get -n a {what}")), expected);
    check("configmap none", "Error from server (NotFound): configmaps \"none\" not found\n");
    check("deployment none", "Error from server (NotFound): deployments.apps \"none\" not found\n");
    check("nothings", "error: the server doesn't have a resource type \"nothings\"\n");
}

fn describe_shows_the_object(server: &Server) {
    let kubectl = prepare(server);
    kubectl.ok("create deployment web -n a --image=nginx:1 --replicas=2");
    kubectl.ok("run p -n a --image=nginx:1");
    let check = |what: &str, expected: &[&str]| {
        let printed = kubectl.ok(&format!("describe {what}"));
        let lines: Vec<String> =
            printed.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        for line in expected {
            assert!(lines.iter().any(|actual| actual == line), "{line:?} in\n{printed}");
        }
    };
    check("configmap one -n a", &["Name: one", "Namespace: a", "k:", "v"]);
    check("namespace a", &["Name: a", "Status: Active"]);
    check("pod p -n a", &["Name: p", "Labels: run=p", "Status: Pending", "Image: nginx:1"]);
    let replicas = "Replicas: 2 desired | 0 updated | 0 total | 0 available | 0 unavailable";
    check("deployment web -n a", &["Selector: app=web", replicas]);
}

fn events_are_listed_with_their_objects(server: &Server) {
    let kubectl = prepare(server);
    // `describe` finds events by the uid of their object.
    let uid = kubectl.ok("get configmap one -n a -o jsonpath={.metadata.uid}");
    let event = format!(
        "apiVersion: v1\nkind: Event\nmetadata: {{name: e, namespace: a}}\n\
         type: Warning\nreason: Tested\nmessage: all is well\ncount: 1\n\
         firstTimestamp: '2026-01-01T00:00:00Z'\nlastTimestamp: '2026-01-01T00:00:00Z'\n\
         involvedObject: {{apiVersion: v1, kind: ConfigMap, namespace: a, name: one, uid: {uid}}}\n"
    );
    kubectl.ok_with("create -f -", &event);
    let check = |command: &str| {
        let printed = kubectl.ok(command);
        let row: Vec<&str> = printed.lines().nth(1).unwrap().split_whitespace().skip(1).collect();
        assert_eq!(row.join(" "), "Warning Tested configmap/one all is well", "{command}");
    };
    let printed = kubectl.ok("events -n a");
    assert!(printed.contains("Tested") && printed.contains("ConfigMap/one"), "{printed}");
    check("get events -n a");
    assert!(kubectl.ok("describe configmap one -n a").contains("all is well"));
}
