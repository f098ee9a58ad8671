//! Configuration commands: client-side and server-side apply, diff, edit, rollout undo.

use e2e::Server;

e2e::on_forks_and_etcd!(
    server_side_apply_creates_changes_and_removes,
    conflict_names_the_other_manager,
    server_side_apply_migrates_from_client_side,
    a_server_side_dry_run_of_an_apply_changes_nothing,
    managers_are_recorded_for_every_verb,
    diff_shows_what_an_apply_would_change,
    edit_changes_what_the_editor_changed,
    set_changes_a_template,
    a_forced_replace_makes_a_new_object,
    rollout_undo_restores_the_previous_template,
    field_validation_controls_unknown_fields,
);

fn config_map(data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c, namespace: default}}\ndata: {{{data}}}\n")
}

const APPLY: &str = "apply --server-side -f -";

fn server_side_apply_creates_changes_and_removes(server: &Server) {
    let kubectl = server.kubectl();
    let check = |data: &str, expected: &str| {
        let output = kubectl.ok_with(APPLY, &config_map(data));
        assert_eq!(output, "configmap/c serverside-applied\n");
        assert_eq!(kubectl.ok("get configmap c -o jsonpath={.data}"), expected, "{data}");
    };
    check("k: v, l: w", r#"{"k":"v","l":"w"}"#);
    let version = || kubectl.ok("get configmap c -o jsonpath={.metadata.resourceVersion}");
    let before = version();
    check("k: v, l: w", r#"{"k":"v","l":"w"}"#);
    assert_eq!(version(), before, "an apply that changes nothing writes nothing");
    // Fields removed from the configuration disappear; fields of other managers stay.
    kubectl.ok(r#"patch configmap c --type=merge -p {"data":{"m":"x"}}"#);
    check("k: z", r#"{"k":"z","m":"x"}"#);
}

fn conflict_names_the_other_manager(server: &Server) {
    let kubectl = server.kubectl();
    kubectl.ok_with("apply --server-side --field-manager=one -f -", &config_map("k: v"));
    kubectl.ok_with("apply --server-side --field-manager=two -f -", &config_map("k: v, l: w"));
    let done = kubectl.run("apply --server-side --field-manager=two -f -", &config_map("k: x"));
    assert!(!done.status.success());
    assert!(
        done.stderr.contains("Apply failed with 1 conflict: conflict with \"one\": .data.k"),
        "{}",
        done.stderr
    );
    let forced = "apply --server-side --field-manager=two --force-conflicts -f -";
    kubectl.ok_with(forced, &config_map("k: x"));
    assert_eq!(kubectl.ok("get configmap c -o jsonpath={.data}"), r#"{"k":"x"}"#);
    let managers =
        kubectl.ok("get configmap c --show-managed-fields -o jsonpath={.metadata.managedFields[*].manager}");
    assert_eq!(managers, "two");
}

fn server_side_apply_migrates_from_client_side(server: &Server) {
    let kubectl = server.kubectl();
    kubectl.ok_with("apply -f -", &config_map("k: v, l: w"));
    // kubectl owns the fields that it applied client-side: there is no conflict, and removed fields
    // disappear.
    kubectl.ok_with(APPLY, &config_map("k: x"));
    assert_eq!(kubectl.ok("get configmap c -o jsonpath={.data}"), r#"{"k":"x"}"#);
    // And back to client-side apply.
    assert_eq!(kubectl.ok_with("apply -f -", &config_map("k: z")), "configmap/c configured\n");
    assert_eq!(kubectl.ok("get configmap c -o jsonpath={.data}"), r#"{"k":"z"}"#);
}

fn a_server_side_dry_run_of_an_apply_changes_nothing(server: &Server) {
    let kubectl = server.kubectl();
    let dry = "apply --server-side --dry-run=server -f -";
    let output = kubectl.ok_with(dry, &config_map("k: v"));
    assert_eq!(output, "configmap/c serverside-applied (server dry run)\n");
    assert!(kubectl.fails("get configmap c").contains("NotFound"));
    kubectl.ok_with(APPLY, &config_map("k: v"));
    kubectl.ok_with(dry, &config_map("k: w"));
    assert_eq!(kubectl.ok("get configmap c -o jsonpath={.data.k}"), "v");
}

fn managers_are_recorded_for_every_verb(server: &Server) {
    let kubectl = server.kubectl();
    let check = |command: &str, expected: &str| {
        kubectl.ok(command);
        let path = "jsonpath={range.metadata.managedFields[*]}{.manager}/{.operation}/{.subresource};{end}";
        let managers = kubectl.ok(&format!("get deployment d --show-managed-fields -o {path}"));
        assert_eq!(managers, expected, "{command}");
    };
    check("create deployment d --image=nginx:1", "kubectl-create/Update/;");
    check("label deployment d a=b", "kubectl-create/Update/;kubectl-label/Update/;");
    check(
        "scale deployment d --replicas=3",
        "kubectl/Update/scale;kubectl-create/Update/;kubectl-label/Update/;",
    );
    check(
        r#"patch deployment d --subresource=status --type=merge -p {"status":{"replicas":1}}"#,
        "kubectl/Update/scale;kubectl-create/Update/;kubectl-label/Update/;kubectl-patch/Update/status;",
    );
}

fn diff_shows_what_an_apply_would_change(server: &Server) {
    let kubectl = server.kubectl();
    kubectl.ok_with("apply -f -", &config_map("k: v"));
    assert_eq!(kubectl.ok_with("diff -f -", &config_map("k: v")), "");
    for side in ["", "--server-side"] {
        let done = kubectl
            .run(&format!("diff {side} --force-conflicts={} -f -", !side.is_empty()), &config_map("k: w"));
        assert_eq!(done.status.code(), Some(1), "{}", done.stderr);
        assert!(done.stdout.contains("-  k: v\n+  k: w\n"), "{}", done.stdout);
    }
    assert_eq!(kubectl.ok("get configmap c -o jsonpath={.data.k}"), "v");
}

fn edit_changes_what_the_editor_changed(server: &Server) {
    let kubectl = server.kubectl().with_env("KUBE_EDITOR", "sed -i s/before/after/");
    kubectl.ok("create configmap c --from-literal=k=before");
    assert_eq!(kubectl.ok("edit configmap c"), "configmap/c edited\n");
    assert_eq!(kubectl.ok("get configmap c -o jsonpath={.data.k}"), "after");
    assert_eq!(kubectl.run("edit configmap c", "").stderr, "Edit cancelled, no changes made.\n");
}

fn set_changes_a_template(server: &Server) {
    let kubectl = server.kubectl();
    kubectl.ok("create deployment d --image=nginx:1");
    let check = |command: &str, path: &str, expected: &str| {
        kubectl.ok(&format!("set {command}"));
        let container = format!("jsonpath={{.spec.template.spec.containers[0].{path}}}");
        assert_eq!(kubectl.ok(&format!("get deployment d -o {container}")), expected, "{command}");
    };
    check("env deployment/d A=1 B=2", "env[*].name", "A B");
    check("env deployment/d A-", "env[*].name", "B");
    check(
        "resources deployment/d --limits=cpu=1000m,memory=1Gi",
        "resources.limits",
        r#"{"cpu":"1","memory":"1Gi"}"#,
    );
    kubectl.ok("set serviceaccount deployment/d other");
    let account = "jsonpath={.spec.template.spec.serviceAccountName}";
    assert_eq!(kubectl.ok(&format!("get deployment d -o {account}")), "other");
}

fn a_forced_replace_makes_a_new_object(server: &Server) {
    let kubectl = server.kubectl();
    kubectl.ok_with("create -f -", &config_map("k: v"));
    let uid = || kubectl.ok("get configmap c -o jsonpath={.metadata.uid}");
    let before = uid();
    kubectl.ok_with("replace --force -f -", &config_map("k: w"));
    assert_ne!(uid(), before);
    assert_eq!(kubectl.ok("get configmap c -o jsonpath={.data.k}"), "w");
}

/// The Deployment controller stores former templates in ReplicaSets; here they are created manually.
fn rollout_undo_restores_the_previous_template(server: &Server) {
    let kubectl = server.kubectl();
    kubectl.ok("create deployment d --image=nginx:2");
    kubectl.ok("annotate deployment d deployment.kubernetes.io/revision=2");
    let uid = kubectl.ok("get deployment d -o jsonpath={.metadata.uid}");
    for revision in [1, 2] {
        let replica_set = format!(
            r#"{{"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {{
                "name": "d-{revision}", "namespace": "default", "labels": {{"app": "d", "pod-template-hash": "h{revision}"}},
                "annotations": {{"deployment.kubernetes.io/revision": "{revision}"}},
                "ownerReferences": [{{"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "{uid}",
                    "controller": true}}]}},
              "spec": {{"replicas": 0, "selector": {{"matchLabels": {{"app": "d", "pod-template-hash": "h{revision}"}}}},
                "template": {{"metadata": {{"labels": {{"app": "d", "pod-template-hash": "h{revision}"}}}},
                  "spec": {{"containers": [{{"name": "nginx", "image": "nginx:{revision}"}}]}}}}}}}}"#
        );
        kubectl.ok_with("create -f -", &replica_set);
    }
    let history = kubectl.ok("rollout history deployment/d");
    assert!(history.contains("\n1 ") && history.contains("\n2 "), "{history}");
    assert_eq!(kubectl.ok("rollout undo deployment/d"), "deployment.apps/d rolled back\n");
    let image = "jsonpath={.spec.template.spec.containers[0].image}";
    assert_eq!(kubectl.ok(&format!("get deployment d -o {image}")), "nginx:1");
}

fn field_validation_controls_unknown_fields(server: &Server) {
    let kubectl = server.kubectl();
    let object = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\nbogus: 1\n";
    let strict = kubectl.run("create --validate=strict -f -", object);
    assert!(strict.stderr.contains("strict decoding error: unknown field \"bogus\""), "{}", strict.stderr);
    let warned = kubectl.run("create --validate=warn -f -", object);
    assert_eq!(warned.stdout, "configmap/c created\n", "{}", warned.stderr);
    assert!(warned.stderr.contains("Warning: unknown field \"bogus\""), "{}", warned.stderr);
    kubectl.ok("delete configmap c");
    let ignored = kubectl.run("create --validate=ignore -f -", object);
    assert_eq!((ignored.stdout.as_str(), ignored.stderr.as_str()), ("configmap/c created\n", ""));
}
